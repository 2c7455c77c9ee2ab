"""C++ virtual tables of a module, by the Itanium ABI.

A class ``C`` has the variable ``_ZTV1C``: offset to top (0), type information (0 in CUDA), then a
function a slot; an object's first word is the address of the first function, ``_ZTV1C + 16``. A
second base class that has virtual functions adds a group to the same variable: a negative offset
to top, type information, functions (*thunks* that correct ``this``). Virtual bases put offsets
before a group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .names import class_name
from .syntax import Module, Shape, SymbolValue, Variable

PREFIX = "_ZTV"
_RENAMED = "__nv_static_"
ADDRESS_POINT = 16
"""Bytes from the start of a table to what vtable pointers name."""
SLOT_BYTES = 8
_SIGN = 1 << 63
_TYPE_INFORMATION = "_ZTI"


@dataclass(frozen=True)
class Vtable:
    """``functions``: the symbol in each slot of the first group, None where it is pure.
    ``second``: the same for each further group. ``unclear``: why the groups are not understood,
    or nothing; ``others`` are then all functions that the table mentions."""

    symbol: str
    functions: tuple[str | None, ...]
    second: tuple[tuple[str | None, ...], ...] = ()
    unclear: str = ""
    others: tuple[str, ...] = ()
    shared: bool = False
    """Whether other modules may have it too, or define it."""

    @property
    def class_name(self) -> str:
        return class_name(self.symbol.partition(PREFIX)[2])


@dataclass(frozen=True)
class Targets:
    """The functions that a call of one slot and signature may meet: ``candidates`` (table symbol,
    function), and why it is not certain that they are all there are of its kind."""

    candidates: tuple[tuple[str, str], ...]
    obstacle: str = ""


class Vtables:
    """All tables of a module, and the functions in them by signature."""

    def __init__(self, module: Module) -> None:
        self._shapes = {name: function.shape for name, function in module.functions.items()}
        variables = module.variables
        self.tables = {
            name: _read(variable) for name, variable in variables.items() if is_vtable(name)
        }
        self._hand_written = {
            name: symbols
            for name, variable in variables.items()
            if not is_vtable(name) and (symbols := self._functions_of(variable))
        }

    @property
    def with_objects(self) -> list[str]:
        """The tables of classes that may have objects: those with functions."""
        return sorted(name for name, table in self.tables.items() if table.functions)

    @property
    def open_world(self) -> bool:
        """Whether other modules may define classes that come to this one's calls."""
        return any(table.shared for table in self.tables.values())

    def targets(self, slot: int, shape: Shape) -> Targets:
        """What a call through ``slot`` may run."""
        found = []
        for symbol, table in self.tables.items():
            function = table.functions[slot] if slot < len(table.functions) else None
            if self._fits(function, shape):
                assert function is not None
                found.append((symbol, function))
            for group in table.second:
                if slot < len(group) and self._fits(group[slot], shape):
                    reason = f"{group[slot]} stands there for a second base of {table.class_name}"
                    return Targets((), f"second base: {reason}")
            if any(self._fits(other, shape) for other in table.others):
                return Targets((), f"{table.unclear}: {table.symbol} may be the object's table")
        for name, functions in self._hand_written.items():
            if slot < len(functions) and self._fits(functions[slot], shape):
                return Targets((), f"not only a vtable: {name} has such a function there too")
        return Targets(tuple(found))

    def _fits(self, function: str | None, shape: Shape) -> bool:
        return function is not None and self._shapes.get(function) == shape

    def _functions_of(self, variable: Variable) -> tuple[str | None, ...]:
        """The functions in a table that is no vtable, by place; none if there are none."""
        values = variable.initial or []
        names = [
            value.name if isinstance(value, SymbolValue) and value.name in self._shapes else None
            for value in values
        ]
        return tuple(names) if any(names) else ()


def is_vtable(name: str) -> bool:
    """Also those that ``nvcc -rdc=true`` renames, of classes in anonymous namespaces."""
    return name.startswith(PREFIX) or (name.startswith(_RENAMED) and PREFIX in name)


def _read(variable: Variable) -> Vtable:
    shared = variable.linkage != ""
    values = variable.initial
    if values is None:
        if variable.has_initialiser:
            return Vtable(variable.name, (), unclear="unreadable table", shared=shared)
        # Of pure functions alone: all zeros, which compilers do not print.
        return Vtable(variable.name, (), shared=shared)
    groups: list[list[str | None]] = []
    others = tuple(value.name for value in values if isinstance(value, SymbolValue))
    place = 0
    while place < len(values):
        top = values[place]
        starts = top == 0 if not groups else isinstance(top, int) and not 0 <= top < _SIGN
        if not starts or not _is_type_information(values[place + 1 : place + 2]):
            unclear = "virtual base"
            return Vtable(variable.name, (), unclear=unclear, others=others, shared=shared)
        place += 2
        functions: list[str | None] = []
        while place < len(values) and not _is_number(values[place]):
            value = values[place]
            functions.append(value.name if isinstance(value, SymbolValue) else None)
            place += 1
        groups.append(functions)
    first, *second = [tuple(group) for group in groups] or [()]
    return Vtable(variable.name, first, tuple(second), shared=shared)


def _is_number(value: int | SymbolValue) -> bool:
    return isinstance(value, int) and value != 0


def _is_type_information(values: Iterable[int | SymbolValue]) -> bool:
    return any(
        value == 0 or (isinstance(value, SymbolValue) and value.name.startswith(_TYPE_INFORMATION))
        for value in values
    )
