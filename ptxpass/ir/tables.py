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

from .sites import CallSite, RewriteError, SiteCandidate

_POINTER = ir.PointerType()
_INDEX = ir.IntType(64)
_FUNCTIONS = "sharedoa_functions_"
_ROWS = "sharedoa_rows_"


def function_table(module: ir.Module, family: str, space: int) -> ir.GlobalVariable:
    """The family's function table, for canonical calls to load from: declared at its first use,
    without a length; ``rewrite`` completes or removes it."""
    return _declare(module, _FUNCTIONS + family, space)


def _declare(module: ir.Module, name: str, space: int) -> ir.GlobalVariable:
    found = module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(module, ir.ArrayType(_POINTER, 0), name, space)
        found.global_constant = True
        found.align = 8
    return found


class FunctionTables:
    """Both kinds of table of one module while its sites are rewritten."""

    def __init__(self, module: ir.Module, sites: Iterable[CallSite], space: int) -> None:
        self._module = module
        self._space = space
        self._sites: dict[str, list[CallSite]] = {}
        for site in sites:
            self._sites.setdefault(site.family, []).append(site)
        self._entries: dict[str, dict[int, str]] = {}
        self._rows: dict[str, _RowTable] = {}

    def function(self, symbol: str) -> ir.Function:
        found = self._module.globals.get(symbol)
        if not isinstance(found, ir.Function):
            raise RewriteError(f"the module has no function {symbol}")
        return found

    def emit_entry(self, builder: ir.IRBuilder, site: CallSite, entry: Any) -> Any:
        """The address of the function at ``entry`` (i32) of the site's function table."""
        known = self._entries.setdefault(site.family, {})
        known.update((candidate.entry, candidate.symbol) for candidate in site.candidates)
        table = function_table(self._module, site.family, self._space)
        return _load(builder, table, builder.zext(entry, _INDEX), site)

    def emit_row(self, builder: ir.IRBuilder, site: CallSite, type_index: Any) -> Any:
        """The address of the method in the row of ``type_index`` (i32)."""
        rows = self._rows.get(site.family)
        if rows is None:
            rows = self._rows[site.family] = _RowTable(self._sites[site.family])
        table = _declare(self._module, _ROWS + site.family, self._space)
        index = rows.emit_index(builder, type_index, site.slot)
        return _load(builder, table, index, site)

    def complete(self) -> None:
        """Fill the tables that are used and remove the function tables that are not."""
        for family in self._sites:
            if family in self._entries:
                entries = self._entries[family]
                symbols = [entries.get(entry) for entry in range(max(entries) + 1)]
                self._fill(_FUNCTIONS + family, symbols)
            else:
                self._module.globals.pop(_FUNCTIONS + family, None)
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
        table.linkage = "internal"
        table._clear_string_cache()


class _RowTable:
    """The shape and contents of one family's row table."""

    def __init__(self, sites: Sequence[CallSite]) -> None:
        slots = sorted({site.slot for site in sites})
        self._columns = {slot: column for column, slot in enumerate(slots)}
        self._methods: dict[tuple[int, int], SiteCandidate] = {
            (candidate.type_index, site.slot): candidate
            for site in sites
            for candidate in site.candidates
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


def _load(builder: ir.IRBuilder, table: ir.GlobalVariable, index: Any, site: CallSite) -> Any:
    place = builder.gep(table, [index], inbounds=True, source_etype=_POINTER)
    signature = site.call.callee.function_type
    return builder.load(place, "method", align=8, typ=ir.PointerType(signature))
