"""C++ virtual tables of a module, by the Itanium ABI.

A class ``C`` has the variable ``_ZTV1C``: offset to top (0), type information (0 in CUDA), then a
function a slot; an object's first word is the address of the first function, ``_ZTV1C + 16``. A
second base class that has virtual functions adds a group to the same variable: a negative offset
to top, type information, functions (*thunks* that correct ``this``). Virtual bases put offsets
before a group; where they are 0 they look like pure functions, and only what vtable pointers name
tells the one from the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dispatch.dataclass import dataclass

from .names import class_name
from .syntax import Function, Module, Shape, SymbolValue, Variable

if TYPE_CHECKING:
    from .table_stores import TableUses

PREFIX = "_ZTV"
_RENAMED = "__nv_static_"
ADDRESS_POINT = 16
"""Bytes from the start of a table to what vtable pointers name."""
SLOT_BYTES = 8
_SIGN = 1 << 63
_TYPE_INFORMATION = "_ZTI"
_WORD = re.compile(r"[A-Za-z_$][\w$]*")


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

    def __init__(self, module: Module, uses: TableUses) -> None:
        self._shapes = {name: function.shape for name, function in module.functions.items()}
        variables = module.variables
        self.tables = {
            name: _read(variable, uses) for name, variable in variables.items() if is_vtable(name)
        }
        self._elsewhere = dict(self._functions_elsewhere(module, uses))

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
        for function, where in self._elsewhere.items():
            if self._fits(function, shape):
                return Targets((), f"not only a vtable: {where} such a function, {function}")
        return Targets(tuple(found))

    def _fits(self, function: str | None, shape: Shape) -> bool:
        return function is not None and self._shapes.get(function) == shape

    def _functions_elsewhere(self, module: Module, uses: TableUses) -> Iterator[tuple[str, str]]:
        """The functions whose addresses stand in variables that are no vtables, or are taken by
        code: an object's first word may lead to a table of them. And where that is."""
        for item in module.items:
            if isinstance(item, Variable) and item.has_initialiser and not is_vtable(item.name):
                # Wherever in a variable they are, a table may begin there.
                for name in _WORD.findall(item.text.partition("=")[2]):
                    if name in self._shapes:
                        yield name, f"{item.name} has"
            elif isinstance(item, Function) and item.body is not None:
                for name in uses.functions_kept(item, self._shapes.keys()):
                    yield name, f"{item.name} takes the address of"


def is_vtable(name: str) -> bool:
    """Also those that ``nvcc -rdc=true`` renames, of classes in anonymous namespaces."""
    return name.startswith(PREFIX) or (name.startswith(_RENAMED) and PREFIX in name)


def _read(variable: Variable, uses: TableUses) -> Vtable:
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
    if others and first[0] is None and ADDRESS_POINT not in uses.address_points(variable.name):
        unclear = "virtual base or pure function"
        return Vtable(variable.name, (), unclear=unclear, others=others, shared=shared)
    return Vtable(variable.name, first, tuple(second), shared=shared)


def _is_number(value: int | SymbolValue) -> bool:
    return isinstance(value, int) and value != 0


def _is_type_information(values: Iterable[int | SymbolValue]) -> bool:
    return any(
        value == 0 or (isinstance(value, SymbolValue) and value.name.startswith(_TYPE_INFORMATION))
        for value in values
    )
