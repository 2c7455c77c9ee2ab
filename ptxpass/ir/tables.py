"""The tables of function addresses that a module carries.

A *function table* a family is indexed by the entries that vtable records hold; a *row table* a
family by type index and slot: ``(type_index - first) * stride + column``, with a column for each
slot that is called through it. Both are constant arrays that end in a null pointer: what has no
method, and what keeps the optimiser from folding the table of a single class, which the paper's
modes load from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir

from .sites import Candidate, LoweringError, VirtualCall

_POINTER = ir.PointerType()
_INDEX = ir.IntType(64)
_FUNCTIONS = "sharedoa_functions_"
_ROWS = "sharedoa_rows_"


class FunctionTables:
    """Both kinds of table of one module. ``calls``: all that will load from them."""

    def __init__(self, module: ir.Module, calls: Iterable[VirtualCall], space: int) -> None:
        self._module = module
        self._space = space
        self._calls: dict[str, list[VirtualCall]] = {}
        for call in calls:
            self._calls.setdefault(call.family, []).append(call)
        self._entries: dict[str, dict[int, str]] = {}
        self._rows: dict[str, _RowTable] = {}

    def function(self, symbol: str) -> ir.Function:
        found = self._module.globals.get(symbol)
        if not isinstance(found, ir.Function):
            raise LoweringError(f"the module has no function {symbol}")
        return found

    def emit_entry(self, builder: ir.IRBuilder, call: VirtualCall, entry: Any) -> Any:
        """The address of the function at ``entry`` (i32) of the family's function table."""
        known = self._entries.setdefault(call.family, {})
        known.update((each.entry_base + call.slot, each.symbol) for each in call.candidates)
        return self._load(builder, _FUNCTIONS, call, builder.zext(entry, _INDEX))

    def emit_row(self, builder: ir.IRBuilder, call: VirtualCall, type_index: Any) -> Any:
        """The address of the method in the row of ``type_index`` (i32)."""
        rows = self._rows.get(call.family)
        if rows is None:
            rows = self._rows[call.family] = _RowTable(self._calls[call.family])
        return self._load(builder, _ROWS, call, rows.emit_index(builder, type_index, call.slot))

    def _load(self, builder: ir.IRBuilder, kind: str, call: VirtualCall, index: Any) -> Any:
        name = kind + call.family
        table = self._module.globals.get(name)
        if table is None:
            table = ir.GlobalVariable(self._module, ir.ArrayType(_POINTER, 0), name, self._space)
            table.linkage, table.global_constant, table.align = "internal", True, 8
        place = builder.gep(table, [index], inbounds=True, source_etype=_POINTER)
        return builder.load(place, "method", align=8, typ=ir.PointerType(call.signature))

    def complete(self) -> None:
        """Fill the tables; none was used that is not complete now.

        Raises LoweringError if the module has no function of a candidate's symbol.
        """
        for family, entries in self._entries.items():
            symbols = [entries.get(entry) for entry in range(max(entries, default=-1) + 1)]
            self._fill(_FUNCTIONS + family, symbols)
        for family, rows in self._rows.items():
            self._fill(_ROWS + family, rows.symbols())

    def _fill(self, name: str, symbols: Sequence[str | None]) -> None:
        table = self._module.globals[name]
        functions = [
            ir.Constant(_POINTER, None) if symbol is None else self.function(symbol)
            for symbol in [*symbols, None]
        ]
        table.value_type = ir.ArrayType(_POINTER, len(functions))
        table.initializer = ir.Constant(table.value_type, functions)


class _RowTable:
    """The shape and contents of one family's row table."""

    def __init__(self, calls: Sequence[VirtualCall]) -> None:
        slots = sorted({call.slot for call in calls})
        self._columns = {slot: column for column, slot in enumerate(slots)}
        self._methods: dict[tuple[int, int], Candidate] = {
            (candidate.type_index, call.slot): candidate
            for call in calls
            for candidate in call.candidates
        }
        indices = [type_index for type_index, _ in self._methods]
        self._first, self._last = min(indices), max(indices)

    def emit_index(self, builder: ir.IRBuilder, type_index: Any, slot: int) -> Any:
        stride = len(self._columns)
        start = builder.mul(builder.zext(type_index, _INDEX), _INDEX(stride))
        # One constant, which the optimiser adds to the table's address.
        return builder.add(start, _INDEX(self._columns[slot] - self._first * stride))

    def symbols(self) -> list[str | None]:
        found = [
            self._methods.get((type_index, slot))
            for type_index in range(self._first, self._last + 1)
            for slot in self._columns
        ]
        return [None if candidate is None else candidate.symbol for candidate in found]
