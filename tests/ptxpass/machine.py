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


def new_nvptx_module() -> ir.Module:
    module = ir.Module("device")
    module.triple = "nvptx64-nvidia-cuda"
    module.data_layout = str(_nvptx_machine().target_data)
    return module


def ptx(module: ir.Module) -> str:
    """PTX of the module, optimised at O3."""
    machine = _nvptx_machine()
    parsed = verified(module)
    optimise(parsed, machine)
    text: str = machine.emit_assembly(parsed)
    return text


def _nvptx_machine() -> Any:
    return llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_90", opt=3)
