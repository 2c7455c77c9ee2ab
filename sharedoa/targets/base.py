"""What the compiler asks of a target: data layout, kernel entry, intrinsics, machine code.

A kernel's body is one internal function ``(leaf values..., i64 x, i64 y, i64 nx, i64 ny)``; the
target wraps it in the entry that its launches call. Values of the leaves travel in 8-byte slots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from llvmlite import ir

from dispatch.dataclass import dataclass

if TYPE_CHECKING:
    from .warp import Warp

#: What each stage of compilation made, by extension: "opt.ll" and "ptx" are text, "o" is bytes.
Stages = dict[str, str | bytes]

VOID = ir.VoidType()
I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
POINTER = ir.PointerType()


@dataclass(frozen=True)
class Unsigned:
    """An i64 that a print takes for a number without sign."""

    value: ir.Value


@dataclass(frozen=True)
class Formatted:
    """An integer or a double that is printed in a format of Python's that C has, too
    (``texts`` of the front end)."""

    piece: Any
    spec: str


#: A piece of a print: text as it is, or an LLVM value of type i1, i64 (``Unsigned`` or not), float
#: or double; numbers may be ``Formatted``.
PrintPiece = Any

EmitTurns = Callable[[ir.IRBuilder], ir.Value]
"""Emits an i32: after how many threads of a launch what they do repeats, at least 1."""


@dataclass(frozen=True)
class Asking:
    """Functions with the parameters of a kernel's body: ``goes_on`` says whether a thread does
    anything, ``fetch``, for processors, gets what that loads first from memory; to do so for one of
    ``every`` threads in a row is enough, and for threads beyond the last allowed."""

    goes_on: ir.Function
    fetch: ir.Function | None = None
    every: int = 1


class Target(Protocol):
    """A machine that kernels are compiled for; the smallest, ``host``, is the one to read first."""

    name: str
    object_space: int
    shared_space: int
    """Address space of what the threads of a block share."""
    device_scope: str
    """LLVM's name for all threads of a launch, in fences; empty for all of the machine."""
    """Address space of objects and arrays."""
    constant_space: int
    """Address space of function tables and of the module state block."""
    is_device: bool

    @property
    def machine(self) -> Any:
        """LLVM's target machine."""
        ...

    @property
    def warp(self) -> Warp | None:
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
        asking: Asking | None = None,
        block: tuple[int, int] | None = None,
        at_once: int = 1,
        turns: EmitTurns | None = None,
    ) -> None:
        """Define the external function ``symbol`` that runs ``body`` for every thread, or for all
        that go on. ``block``: of how many threads along x and y every block of a launch on a device
        is, if that is known; ``at_once``: how many threads along x each of a device's is;
        ``turns``: threads of a block may change places, and those that do the same are so many
        numbers apart."""
        ...

    def emit_current_thread(
        self, builder: ir.IRBuilder, axis: int, turns: EmitTurns | None = None
    ) -> ir.Value:
        """i64: this thread's index along ``axis``, anywhere in the program; -1 where unknown.
        ``turns``: as of ``emit_entry``."""
        ...

    def emit_noted_thread(self, builder: ir.IRBuilder) -> ir.Value:
        """As ``emit_current_thread`` along x, anywhere in a program whose entry has ``asking``."""
        ...

    @property
    def lanes(self) -> int:
        """How many threads run in step."""
        ...

    def emit_lane(self, builder: ir.IRBuilder) -> ir.Value:
        """i32: this thread's number among those that run in step with it."""
        ...

    def emit_block(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        """i64: the index of this thread's block along ``axis`` (debug mode)."""
        ...

    def emit_phase(self, builder: ir.IRBuilder) -> ir.Value:
        """Pointer to an i64: how many barriers this thread has passed, in the debug mode of kernels
        with barriers."""
        ...

    def emit_debug_thread(
        self, builder: ir.IRBuilder, x: ir.Value, y: ir.Value, phase: ir.Value
    ) -> None:
        """From here on it is thread (x, y) that runs, which has passed ``phase`` barriers (debug
        mode of kernels with barriers)."""
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
        """Print the pieces one after another, nothing between them; floats with as many digits as
        it takes to tell them from all others of their type.

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


def as_integer(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The bits of a float; integers as they are."""
    if value.type in (F32, F64):
        value = builder.bitcast(value, I32 if value.type == F32 else I64)
    return value


def as_word(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The bits of a scalar as an i64."""
    value = as_integer(builder, value)
    return value if value.type == I64 else builder.zext(value, I64)


def private_text(module: ir.Module, text: str | bytes, space: int = 0) -> ir.Constant:
    """The address of the first byte of a constant NUL-terminated string, of a ``str`` in UTF-8."""
    data = bytearray((text.encode() if isinstance(text, str) else text) + b"\0")
    value = ir.Constant(ir.ArrayType(I8, len(data)), data)
    variable = ir.GlobalVariable(
        module, value.type, module.get_unique_name("text"), addrspace=space
    )
    variable.linkage, variable.global_constant, variable.initializer = "internal", True, value
    return variable.gep([I32(0), I32(0)])


def print_format(
    pieces: Sequence[PrintPiece], floating: Callable[[ir.Value, str], tuple[bytes, ir.Value]]
) -> tuple[bytes, list[ir.Value]]:
    """The printf format of ``pieces`` and its arguments, in order; an i1 is left as %s.
    ``floating`` says what it is for a float in a format of Python's."""
    format, values = b"", []
    for piece in pieces:
        if isinstance(piece, str):
            format += piece.replace("%", "%%").encode()
            continue
        spec = ""
        if isinstance(piece, Formatted):
            piece, spec = piece.piece, piece.spec
        layout = c_layout(spec.removesuffix("d"))
        kind, value = layout + b"llu", piece.value if isinstance(piece, Unsigned) else piece
        if not isinstance(piece, Unsigned):
            kind = b"%s" if piece.type == I1 else layout + b"lld"
            if piece.type in (F32, F64):
                kind, value = floating(piece, spec)
        format += kind
        values.append(value)
    return format, values


def c_layout(spec: str) -> bytes:
    """A format of Python's as printf has it: numbers stand on the right unless it says else."""
    return b"%" + spec.replace("<", "-").replace(">", "").encode()
