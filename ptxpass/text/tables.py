"""What the pass adds to a module, and the type indices that it writes into vtables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dispatch import state
from dispatch.dataclass import dataclass

from .syntax import Function, Module, PtxError, Statement, Variable
from .vtables import ADDRESS_POINT, Vtables, is_vtable

VTABLES = "sharedoa_vtables"
"""The address that the first word of an object of each class must hold, class by class."""
_ROWS = "sharedoa_rows_"
FLAGS_WORD = 15
"""The word of the state block that says how a module was rewritten."""
REWRITTEN, TAGGED = 1, 2
_FIRST_VALUES = re.compile(r"(=\s*\{\s*)([^,{}]+)(,\s*)([^,{}]+)(?=[,}])")
_UPPER_HALF = 32


@dataclass(frozen=True)
class TextClass:
    """A class of the module. ``symbol`` is its table; ``name`` is readable where it is simple."""

    symbol: str
    name: str
    type_index: int


def number_classes(
    symbols: Sequence[str], known: Mapping[str, int] | None = None
) -> dict[str, int]:
    """A type index for every table: those given, then the next numbers in alphabetical order."""
    found = {symbol: index for symbol, index in (known or {}).items() if symbol in symbols}
    number = max((known or {}).values(), default=0)
    for symbol in sorted(symbols):
        if symbol not in found:
            number += 1
            found[symbol] = number
    return found


class RowTables:
    """Tables of functions by type index, one for each set of candidates."""

    def __init__(self, indices: Mapping[str, int]) -> None:
        self._indices = indices
        self._names: dict[tuple[tuple[int, str], ...], str] = {}

    def row(self, candidates: Sequence[tuple[str, str]]) -> tuple[str, int, int]:
        """(symbol, first type index, last) of the table for (table symbol, function) pairs."""
        methods = tuple(sorted((self._indices[table], method) for table, method in candidates))
        name = self._names.setdefault(methods, f"{_ROWS}{len(self._names)}")
        return name, methods[0][0], methods[-1][0]

    def definitions(self) -> list[str]:
        """The tables as text; 0 where a class between others has no such function."""
        found = []
        for methods, name in self._names.items():
            first, last = methods[0][0], methods[-1][0]
            functions = dict(methods)
            values = [functions.get(number, "0") for number in range(first, last + 1)]
            found.append(f".global .align 8 .u64 {name}[{len(values)}] = {{{', '.join(values)}}};")
        return found


def add_tables(
    module: Module,
    vtables: Vtables,
    indices: Mapping[str, int],
    rows: RowTables,
    tagged: bool,
    owns_state: bool,
) -> tuple[TextClass, ...]:
    """Complete ``module``: type indices in vtables, the list of tables, rows, the state block."""
    made = [
        TextClass(symbol, vtables.tables[symbol].class_name, indices[symbol])
        for symbol in vtables.with_objects
    ]
    classes = tuple(sorted(made, key=lambda found: found.type_index))
    for found in classes:
        _write_type_index(module.variables[found.symbol], found.type_index)
    lines = rows.definitions()
    if classes:
        addresses = ", ".join(f"generic({c.symbol})+{ADDRESS_POINT}" for c in classes)
        visible = ".visible " if owns_state else ""
        lines.append(f"{visible}.global .align 8 .u64 {VTABLES}[{len(classes)}] = {{{addresses}}};")
    _insert_before_code(module, [_state_block(module, tagged, owns_state)])
    _insert_after_vtables(module, lines)
    return classes


def _write_type_index(variable: Variable, type_index: int) -> None:
    """Into the upper half of the word before the first function, which CUDA leaves 0."""
    match = _FIRST_VALUES.search(variable.text)
    if match is None or match[4].strip() != "0":
        help = "compile without run-time type information, as CUDA does"
        raise PtxError(f"{variable.name} has no room for a type index", "", variable.line, help)
    value = type_index << _UPPER_HALF
    variable.text = variable.text[: match.start(4)] + str(value) + variable.text[match.end(4) :]


def _state_block(module: Module, tagged: bool, owns_state: bool) -> str:
    """Its declaration, in the place of the source's own if there is one."""
    module.items[:] = [
        item
        for item in module.items
        if not (isinstance(item, Variable) and item.name == state.SYMBOL)
    ]
    if not owns_state:
        return f".extern .const .align 8 .b64 {state.SYMBOL}[{state.WORDS}];"
    words = [0] * state.WORDS
    words[FLAGS_WORD] = REWRITTEN | (TAGGED if tagged else 0)
    values = ", ".join(map(str, words))
    return f".visible .const .align 8 .b64 {state.SYMBOL}[{state.WORDS}] = {{{values}}};"


def _insert_before_code(module: Module, lines: Sequence[str]) -> None:
    places = (i for i, item in enumerate(module.items) if _is_code(item))
    _insert(module, next(places, len(module.items)), lines)


def _insert_after_vtables(module: Module, lines: Sequence[str]) -> None:
    places = [
        place
        for place, item in enumerate(module.items)
        if isinstance(item, Variable) and is_vtable(item.name)
    ]
    _insert(module, places[-1] + 1 if places else len(module.items), lines)


def _insert(module: Module, place: int, lines: Sequence[str]) -> None:
    new = [Statement("\n", line, 0) for line in lines]
    module.items[place:place] = new


def _is_code(item: Statement) -> bool:
    return isinstance(item, Function) and item.body is not None
