"""What the pass is told of a module, and what it reports.

The canonical form of a virtual call, with receiver ``reference`` (i64), is what C++ compilers emit:

    address = emit_address(reference)
    vtable  = load i64 (address + offset of the vtable pointer)                            A
    entry   = load i32 (vtable + 4 * slot)                                                 B
    method  = load ptr (function_table(module, family, space) + 8 * entry)
    result  = call method(reference, arguments...)                                         C

A type test is ``call i32 @sharedoa_type_index(reference)``, for a reference that is not null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from llvmlite import ir

from dispatch.windows import Windows


class RewriteError(RuntimeError):
    """The module is not as ``CallSite`` and ``TypeQuery`` say: a fault of the code generator."""


@dataclass(frozen=True)
class SiteCandidate:
    """A class that the receiver may have: its type index, the entry of its method in the family's
    function table, and the symbol of that method."""

    class_name: str
    type_index: int
    entry: int
    symbol: str


@dataclass(frozen=True, eq=False)
class CallSite:
    """A virtual call. ``location`` is "file:line", ``function`` the symbol of the function that
    holds it, ``chain`` the instructions from the receiver to ``method``, which nothing else uses.
    """

    number: int
    method: str
    static_class: str
    family: str
    slot: int
    candidates: tuple[SiteCandidate, ...]
    location: str
    function: str
    receiver: Any
    call: ir.CallInstr
    chain: Sequence[ir.Instruction]

    @property
    def type_indices(self) -> frozenset[int]:
        return frozenset(candidate.type_index for candidate in self.candidates)


@dataclass(frozen=True, eq=False)
class TypeQuery:
    """A type test. ``candidates``: (type index, class name) of each class the receiver may have."""

    number: int
    family: str
    candidates: tuple[tuple[int, str], ...]
    location: str
    function: str
    receiver: Any
    call: ir.CallInstr

    @property
    def type_indices(self) -> frozenset[int]:
        return frozenset(type_index for type_index, _ in self.candidates)


def _at_start(builder: ir.IRBuilder, object_address: Any, family: str) -> Any:
    return object_address


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
    addresses and like the bounds of the state block. ``kernel`` is the kernel's symbol; its body is
    ``<kernel>.body(leaves..., i64 x, i64 y, i64 nx, i64 ny)``.
    ``on_no_type(builder, site, reference)`` emits the report of a receiver that has none of the
    site's classes (debug mode); the call's result is then zero. Without it nothing is reported.
    ``emit_vtable_address(builder, object address, family)`` gives the i64 address of the object's
    vtable pointer: by default the object's own, as in C++.
    ``populated``: type indices of the classes that any receiver can have (None: all); ``ranges()``:
    where their objects lie, asked only where that decides how code looks them up.
    """

    object_space: int
    constant_space: int
    is_device: bool
    emit_address: Callable[[ir.IRBuilder, Any], Any]
    emit_order: Callable[[ir.IRBuilder, Any], Any]
    kernel: str
    debug: bool = False
    on_no_type: Callable[[ir.IRBuilder, CallSite, Any], None] | None = None
    emit_vtable_address: Callable[[ir.IRBuilder, Any, str], Any] = _at_start
    populated: frozenset[int] | None = None
    ranges: Callable[[], Ranges] = Ranges


@dataclass(frozen=True)
class SiteReport:
    """What became of a virtual call. ``uniform``: the receiver is the same for a whole warp (looked
    at only in modes that spare such calls)."""

    number: int
    method: str
    static_class: str
    location: str
    candidates: tuple[str, ...]
    uniform: bool
    decision: str
    reason: str
