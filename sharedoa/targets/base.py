"""What the compiler asks of a target: data layout, kernel entry, intrinsics, machine code.

A kernel's body is one internal function ``(leaf values..., i64 x, i64 y, i64 nx, i64 ny)``; the
target wraps it in the entry that its launches call. Values of the leaves travel in 8-byte slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from llvmlite import ir

if TYPE_CHECKING:
    from .nvptx_warp import NvptxWarp

#: What each stage of compilation made, by extension: "opt.ll", "ptx", "s" are text, "o" is bytes.
Stages = dict[str, str | bytes]

VOID = ir.VoidType()
I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
POINTER = ir.PointerType()


@dataclass(frozen=True)
class Unsigned:
    """An i64 that a print takes for a number without sign."""

    value: ir.Value


#: A piece of a print: text as it is, or an LLVM value of type i1, i64 (``Unsigned`` or not) or
#: double.
PrintPiece = Any


class Target(Protocol):
    """A machine that kernels are compiled for; the smallest, ``host``, is the one to read first."""

    name: str
    object_space: int
    """Address space of objects and arrays."""
    constant_space: int
    """Address space of function tables and of the module state block."""
    is_device: bool

    @property
    def warp(self) -> NvptxWarp | None:
        """What threads that run in step do together, where there are such threads."""
        ...

    @property
    def fingerprint(self) -> str:
        """Everything about the machine and compiler that machine code depends on; one line."""
        ...

    def libraries(self, ir_text: str) -> str:
        """Which libraries of others the code of ``ir_text`` is made with, by what they hold; empty
        if it needs none."""
        ...

    def new_module(self, name: str) -> ir.Module:
        """An empty module with the triple and data layout of this target."""
        ...

    def emit_entry(
        self,
        module: ir.Module,
        symbol: str,
        body: ir.Function,
        leaf_types: Sequence[ir.Type],
        debug: bool,
        uses_barrier: bool,
    ) -> None:
        """Define the external function ``symbol`` that runs ``body`` for every thread."""
        ...

    def emit_current_thread(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        """i64: this thread's index along ``axis``, anywhere in the program; -1 where unknown."""
        ...

    def emit_barrier(self, builder: ir.IRBuilder) -> None:
        """Wait for every thread of the block that has not returned yet."""
        ...

    def emit_math(
        self,
        builder: ir.IRBuilder,
        name: str,
        arguments: Sequence[ir.Value],
        fast: bool = False,
    ) -> ir.Value:
        """A function of ``tree.MATH_FUNCTIONS`` on f32 or f64; ``is*`` give i1. ``fast``: an
        approximation will do."""
        ...

    def emit_print(self, builder: ir.IRBuilder, pieces: Sequence[PrintPiece]) -> None:
        """Print the pieces one after another, nothing between them.

        Raises BackendError where the device has no way to print.
        """
        ...

    def compile(self, ir_text: str) -> Stages:
        """Optimise and generate code. Only what the text defines as external is kept by name.

        Raises InternalError for text that LLVM does not accept, BackendError for a missing tool.
        """
        ...


def declare(
    module: ir.Module, name: str, result: ir.Type, parameters: Sequence[ir.Type], *attributes: str
) -> ir.Function:
    """The external function ``name``, declared in ``module`` at its first use."""
    found = module.globals.get(name)
    if found is None:
        found = ir.Function(module, ir.FunctionType(result, parameters), name)
        for attribute in ("nounwind", *attributes):
            found.attributes.add(attribute)
    return found


def private_text(module: ir.Module, text: str, space: int = 0) -> ir.Constant:
    """The address of the first byte of a constant NUL-terminated UTF-8 string."""
    data = bytearray(text.encode() + b"\0")
    value = ir.Constant(ir.ArrayType(I8, len(data)), data)
    variable = ir.GlobalVariable(
        module, value.type, module.get_unique_name("text"), addrspace=space
    )
    variable.linkage, variable.global_constant, variable.initializer = "internal", True, value
    return variable.gep([I32(0), I32(0)])


def print_format(pieces: Sequence[PrintPiece]) -> tuple[str, list[ir.Value]]:
    """The printf format of ``pieces`` and its arguments, in order; an i1 is left as %s."""
    format, values = "", []
    for piece in pieces:
        if isinstance(piece, str):
            format += piece.replace("%", "%%")
        elif isinstance(piece, Unsigned):
            format += "%llu"
            values.append(piece.value)
        else:
            format += "%s" if piece.type == I1 else "%lld" if piece.type == I64 else "%g"
            values.append(piece)
    return format, values
