"""NVIDIA GPUs: PTX text, which the driver or ptxas turns into machine code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir

from dispatch import state

from . import libdevice
from .base import (
    F32,
    I1,
    I32,
    I64,
    POINTER,
    VOID,
    PrintPiece,
    Stages,
    declare,
    print_format,
    private_text,
)
from .gpu_entry import emit_gpu_entry
from .mathematics import emit_exact, emit_library_call
from .optimise import optimise, parse

TRIPLE = "nvptx64-nvidia-cuda"
DEFAULT_ARCHITECTURE = "sm_90"
#: Compute capabilities that LLVM 22 knows, oldest first; a newer device runs the newest one's PTX.
ARCHITECTURES = (
    "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120",
    "sm_121",
)  # fmt: skip
_AXES = ("x", "y")


def architecture_for(capability: tuple[int, int]) -> str:
    """The newest of ``ARCHITECTURES`` whose PTX a device of ``capability`` (major, minor) runs."""
    number = capability[0] * 10 + capability[1]
    usable = [name for name in ARCHITECTURES if int(name[3:]) <= number]
    return usable[-1] if usable else ARCHITECTURES[0]


class NvptxTarget:
    """PTX for one compute capability; newer devices run it too."""

    name = "nvptx"
    object_space = 1
    constant_space = 4
    is_device = True

    def __init__(self, architecture: str = DEFAULT_ARCHITECTURE) -> None:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        self.architecture = architecture

    @cached_property
    def machine(self) -> Any:
        """LLVM's target machine."""
        target = llvm.Target.from_triple(TRIPLE)
        return target.create_target_machine(cpu=self.architecture, opt=3)

    @property
    def fingerprint(self) -> str:
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"nvptx {self.architecture} llvm {version}"

    def new_module(self, name: str) -> ir.Module:
        module = ir.Module(name)
        module.triple = TRIPLE
        module.data_layout = str(self.machine.target_data)
        return module

    def emit_entry(
        self,
        module: ir.Module,
        symbol: str,
        body: ir.Function,
        leaf_types: Sequence[ir.Type],
        debug: bool,
        uses_barrier: bool,
    ) -> None:
        state.state_block(module, self.constant_space)
        emit_gpu_entry(module, symbol, body, leaf_types, "ptx_kernel", self._thread_index)

    def _thread_index(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        block, size, thread = (
            self._special_register(builder, f"{name}.{_AXES[axis]}")
            for name in ("ctaid", "ntid", "tid")
        )
        return builder.add(builder.mul(block, size), thread)

    def _special_register(self, builder: ir.IRBuilder, name: str) -> ir.Value:
        symbol = f"llvm.nvvm.read.ptx.sreg.{name}"
        return builder.call(declare(builder.module, symbol, I32, []), [])

    def emit_current_thread(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        return builder.zext(self._thread_index(builder, axis), I64)

    def emit_barrier(self, builder: ir.IRBuilder) -> None:
        symbol = "llvm.nvvm.barrier0"
        builder.call(declare(builder.module, symbol, VOID, [], "convergent"), [])

    def emit_math(
        self, builder: ir.IRBuilder, name: str, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        exact = emit_exact(builder, name, arguments)
        if exact is not None:
            return exact
        symbol = libdevice.function_name(name, arguments[0].type == F32)
        return emit_library_call(builder, symbol, arguments)

    def emit_print(self, builder: ir.IRBuilder, pieces: Sequence[PrintPiece]) -> None:
        module = builder.module
        format, values = print_format(pieces)
        # vprintf reads its arguments from memory; every one here is 8 bytes.
        with builder.goto_entry_block():
            buffer = builder.alloca(ir.ArrayType(I64, max(1, len(values))))
        for number, value in enumerate(values):
            place = builder.gep(buffer, [I32(0), I32(number)])
            builder.store(self._print_slot(builder, value), place)
        vprintf = declare(module, "vprintf", I32, [POINTER, POINTER])
        builder.call(vprintf, [self._generic_text(builder, format), buffer])

    def _print_slot(self, builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        if value.type == I1:
            texts = [self._generic_text(builder, word) for word in ("True", "False")]
            return builder.ptrtoint(builder.select(value, *texts), I64)
        return builder.bitcast(value, I64)

    def _generic_text(self, builder: ir.IRBuilder, text: str) -> ir.Value:
        return builder.addrspacecast(private_text(builder.module, text, space=1), POINTER)

    def compile(self, ir_text: str) -> Stages:
        module = parse(ir_text)
        libdevice.link(module, libdevice.used_functions(ir_text))
        optimise(module, self.machine)
        return {"opt.ll": str(module), "ptx": self.machine.emit_assembly(module)}
