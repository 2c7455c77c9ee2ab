"""What the pass is told of a virtual call or type test, and of the program around it.

A virtual call is symbolic: a receiver, a slot, and the classes that the receiver may have. What it
means is what C++ compilers emit (its canonical form):

    address = emit_address(reference)
    vtable  = load i64 (address of the object's vtable pointer)                            A
    entry   = load i32 (vtable + 4 * slot)                                                 B
    method  = load ptr (function table of the family + 8 * entry)
    result  = call method(reference, arguments...)                                         C

A type test means the word before the slots of that vtable, of a reference that is not null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from llvmlite import ir

from dispatch import emitter
from dispatch.dataclass import dataclass
from dispatch.windows import Windows


class LoweringError(RuntimeError):
    """A call is not as it was described: a fault of the code generator."""


class Candidate(emitter.Candidate, Protocol):
    """A class that the receiver may have, and the function that a call then runs."""

    @property
    def entry_base(self) -> int:
        """The entry of slot 0 in the family's function table."""
        ...


@dataclass(frozen=True, eq=False)
class Site:
    """A type test, or what a call has in common with one. ``family`` names the classes that share
    tables with the receiver's. ``identify``: the strategy that was decided on; None where the
    candidates alone tell the class or method. ``emit_vtable_address(builder, object address)``
    gives the i64 address of a receiver's vtable pointer."""

    family: str
    emit_vtable_address: Callable[[ir.IRBuilder, Any], Any]
    candidates: tuple[Candidate, ...]
    identify: str | None

    @property
    def type_indices(self) -> frozenset[int]:
        return frozenset(candidate.type_index for candidate in self.candidates)


@dataclass(frozen=True, eq=False)
class VirtualCall(Site):
    """A virtual call of ``method``, of the type ``signature``, whose first parameter is the
    receiver's reference (i64). ``report(builder, reference)`` emits the report of a receiver that
    has none of the candidates' classes (debug mode); the call's result is then zero."""

    method: str
    slot: int
    signature: ir.FunctionType
    report: Callable[[ir.IRBuilder, Any], None]


class Ranges(NamedTuple):
    """``types``: type indices of ranges by address, which begin at the bounds of the state block
    with the same numbers (empty: not known); ``windows``: those that hold them, and begin at the
    first bound."""

    types: tuple[int, ...] = ()
    windows: Windows | None = None


@dataclass(frozen=True)
class Environment:
    """What the pass must know of the target and of the program.

    ``emit_address(builder, reference)`` gives the i64 address of a reference,
    ``emit_order(builder, reference)`` an unsigned integer that orders references like their
    addresses and like the bounds of the state block. ``ranges()``: where the objects lie that
    receivers can be, asked only where that decides how code looks them up.
    """

    object_space: int
    constant_space: int
    is_device: bool
    emit_address: Callable[[ir.IRBuilder, Any], Any]
    emit_order: Callable[[ir.IRBuilder, Any], Any]
    debug: bool = False
    ranges: Callable[[], Ranges] = Ranges
