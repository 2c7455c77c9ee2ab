"""Runs and compiles hand-made modules: host code through MCJIT, PTX for sm_90."""

from __future__ import annotations

import ctypes
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()


def verified(module: ir.Module) -> Any:
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    return parsed


def optimise(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


class HostCode:
    """A module as native code."""

    def __init__(self, module: ir.Module, optimised: bool) -> None:
        machine = llvm.Target.from_default_triple().create_target_machine(opt=3)
        parsed = verified(module)
        if optimised:
            optimise(parsed, machine)
        self._engine = llvm.create_mcjit_compiler(parsed, machine)
        self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        found: int = self._engine.get_global_value_address(symbol)
        return found

    def function(self, symbol: str, result: Any, *parameters: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *parameters)(self._engine.get_function_address(symbol))

    def words(self, symbol: str, count: int) -> Any:
        """A global array of ``count`` 64-bit words."""
        return (ctypes.c_int64 * count).from_address(self.address(symbol))


NVPTX = ("nvptx64-nvidia-cuda", "sm_90")
AMDGPU = ("amdgcn-amd-amdhsa", "gfx90a")


def new_device_module(device: tuple[str, str] = NVPTX) -> ir.Module:
    module = ir.Module("device")
    module.triple = device[0]
    module.data_layout = str(_machine(device).target_data)
    return module


def ptx(module: ir.Module) -> str:
    """PTX of the module, optimised at O3."""
    parsed = verified(module)
    optimise(parsed, _machine(NVPTX))
    text: str = _machine(NVPTX).emit_assembly(parsed)
    return text


def amdgpu_object(module: ir.Module) -> bytes:
    """An ELF object of the module, optimised at O3."""
    parsed = verified(module)
    optimise(parsed, _machine(AMDGPU))
    code: bytes = _machine(AMDGPU).emit_object(parsed)
    return code


def _machine(device: tuple[str, str]) -> Any:
    triple, cpu = device
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3)
