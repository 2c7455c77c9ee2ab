"""What all GPUs share: LLVM's machine for an architecture, and the kernel entry, which runs one
thread of the launch on each hardware thread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from llvmlite import binding as llvm
from llvmlite import ir

from dispatch import state

from .base import I32, I64, VOID
from .nvptx_warp import NvptxWarp

AXES = ("x", "y")


class GpuTarget(ABC):
    """The half of a target that differs between GPUs by names only."""

    name: str
    triple: ClassVar[str]
    kernel_convention: ClassVar[str]
    relocation: ClassVar[str]
    object_space = 1
    constant_space: int
    is_device = True

    @property
    def warp(self) -> NvptxWarp | None:
        return None

    def __init__(self, architecture: str) -> None:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        self.architecture = architecture

    @cached_property
    def machine(self) -> Any:
        """LLVM's target machine."""
        target = llvm.Target.from_triple(self.triple)
        return target.create_target_machine(cpu=self.architecture, opt=3, reloc=self.relocation)

    @property
    def fingerprint(self) -> str:
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"{self.name} {self.architecture} llvm {version}"

    def libraries(self, ir_text: str) -> str:
        return ""

    def new_module(self, name: str) -> ir.Module:
        module = ir.Module(name)
        module.triple = self.triple
        module.data_layout = str(self.machine.target_data)
        return module

    @abstractmethod
    def emit_thread_index(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        """i32: this thread's index along an axis."""

    def emit_current_thread(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        return builder.zext(self.emit_thread_index(builder, axis), I64)

    def emit_entry(
        self,
        module: ir.Module,
        symbol: str,
        body: ir.Function,
        leaf_types: Sequence[ir.Type],
        debug: bool,
        uses_barrier: bool,
    ) -> None:
        """``kernel(leaves..., i32 nx, i32 ny)``: threads outside nx times ny return at once.

        Index arithmetic is 32 bits wide, unsigned: half the registers and instructions of 64.
        """
        state.state_block(module, self.constant_space)
        parameters = [*leaf_types, I32, I32]
        entry = ir.Function(module, ir.FunctionType(VOID, parameters), symbol)
        entry.calling_convention = self.kernel_convention
        *leaves, nx, ny = entry.args
        builder = ir.IRBuilder(entry.append_basic_block("entry"))
        inside, outside = entry.append_basic_block("inside"), entry.append_basic_block("outside")
        x, y = self.emit_thread_index(builder, 0), self.emit_thread_index(builder, 1)
        in_row = builder.icmp_unsigned("<", x, nx)
        in_column = builder.icmp_unsigned("<", y, ny)
        builder.cbranch(builder.and_(in_row, in_column), inside, outside)
        builder.position_at_end(inside)
        wide = [builder.zext(value, I64) for value in (x, y, nx, ny)]
        builder.call(body, [*leaves, *wide])
        builder.ret_void()
        builder.position_at_end(outside)
        builder.ret_void()
