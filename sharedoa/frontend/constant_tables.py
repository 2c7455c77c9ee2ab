"""Tuples of numbers and NumPy arrays around a kernel, which it indexes and only reads."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from ..model.constant_table import ConstantTable
from ..model.scalars import ScalarType, boolean, from_dtype, join
from ..model.types import TupleType, ValueType
from . import tree
from .context import Context
from .conversions import as_index, constant_of, is_nonnegative
from .dependencies import ContentDependency
from .held_values import HeldValues
from .operands import ConstantRow, Operand, Static

MOST_BYTES = 1 << 18
"""What a launch looks through, to see whether it is as it was, and what goes into the code."""


def row_of(context: Context, operand: Operand, node: ast.AST) -> Operand:
    """``operand`` as the table that it is, if it is one, as members of an enumeration are; else as
    it is."""
    if not isinstance(operand, Static):
        return operand
    if isinstance(operand.value, type) and issubclass(operand.value, IntEnum):
        return ConstantRow(tuple(operand.value), operand.name, [])
    if not isinstance(operand.value, (tuple, np.ndarray)):
        return operand
    if isinstance(operand.value, np.ndarray):
        _look_at_array(context, operand.value, operand.name, node)
    return ConstantRow(operand.value, operand.name, [])


def _look_at_array(context: Context, array: np.ndarray, name: str, node: ast.AST) -> None:
    if type(array) is not np.ndarray or from_dtype(array.dtype) is None or not array.ndim:
        kind = f"{type(array).__name__} of {array.dtype}"
        context.reject(
            node,
            f"{name} is a {array.ndim}-dimensional {kind}, which is no table that kernels can read",
            "tables are tuples, and plain NumPy arrays of numbers or bools",
        )
    _require_small(context, array.nbytes, name, node)
    context.depend(ContentDependency.of(array))


def _require_small(context: Context, size: int, name: str, node: ast.AST) -> None:
    if size > MOST_BYTES:
        context.reject(
            node,
            f"{name} has {size} bytes; as a table that is part of the code {MOST_BYTES} are the "
            "most",
            "pass it as an argument: oa.array(f32, data), with its own type",
        )


def length_of(row: ConstantRow) -> int | None:
    """How many items a table or row has; None if rows differ."""
    entries, _ = _taken(row.value, row.steps)
    lengths = {len(entry) for entry in entries if isinstance(entry, (tuple, np.ndarray))}
    return lengths.pop() if len(lengths) == 1 else None


def index_row(context: Context, row: ConstantRow, node: ast.Subscript) -> Operand:
    """``row[...]``: a number, a value, or a row."""
    from .expressions import expression

    slices: list[ast.expr] = [node.slice]
    if isinstance(node.slice, ast.Tuple):
        if isinstance(row.value, tuple):
            context.reject(node, "a tuple takes one index", f"write {row.name}[i][j]")
        slices = node.slice.elts
    for each in slices:
        index = expression(context, each)
        if index.type == boolean:
            context.reject(each, "a bool is no index here", "convert it: int(x)")
        row = item_of(context, row, as_index(context, index, each, "the index"), node)
    return simplest(context, row, node)


def item_of(
    context: Context, row: ConstantRow, index: tree.Expression, node: ast.AST
) -> ConstantRow:
    """The item of a row at ``index``, a weak int."""
    length = length_of(row)
    if length is None:
        shape = "has no items" if not _is_row(row) else "has rows of several lengths"
        context.reject(node, f"{row.name} {shape}", "index it once for each of its dimensions")
    if length == 0:
        context.reject(node, f"{row.name} is empty", "a table has at least one item")
    if not isinstance(index, tree.Constant):
        step: Any = (index, not is_nonnegative(context, index))
    elif -length <= index.value < length:
        step = int(index.value) % length
    else:
        context.reject(
            node,
            f"index {index.value} is outside of {row.name}, which has {length} items",
            f"use an index from {-length} to {length - 1}",
        )
    return ConstantRow(row.value, row.name, [*row.steps, step])


def _is_row(row: ConstantRow) -> bool:
    entries, _ = _taken(row.value, row.steps)
    return any(isinstance(entry, (tuple, np.ndarray)) for entry in entries)


def simplest(context: Context, row: ConstantRow, node: ast.AST) -> Operand:
    """What a row is: known when compiling, a number or value, or else a row."""
    if all(isinstance(step, int) for step in row.steps):
        (entry,), _ = _taken(row.value, row.steps)
        name = row.name + "".join(f"[{step}]" for step in row.steps)
        if isinstance(entry, np.ndarray):
            return ConstantRow(row.value, row.name, row.steps)
        return Static(entry, name)
    return row if _is_row(row) else value_of(context, row, node)


def value_of(context: Context, row: ConstantRow, node: ast.AST) -> tree.Expression:
    """The number, value struct or tuple that is at the indices of a row."""
    if isinstance(row.value, np.ndarray) and _is_row(row):
        context.reject(
            node,
            f"{row.name} is a NumPy array, of which kernels read single numbers",
            f"index it: {row.name}[{', '.join('ijkl'[: row.value.ndim])}]",
        )
    entries, shape = _taken(row.value, row.steps)
    if not shape:
        return constant_of(context, entries[0], node, row.name)
    given = [step for step in row.steps if not isinstance(step, int)]
    wraps = tuple(wraps for _, wraps in given)
    if _are_numbers(entries):
        indices = [index for index, _ in given]
        return _element(context, row.name, entries, shape, indices, wraps, node)
    held = HeldValues()
    places = [held.hold(index) for index, _ in given]

    def part(entries: Sequence[Any]) -> tree.Expression:
        if _are_numbers(entries):
            return _element(context, row.name, entries, shape, places, wraps, node)
        return _compound(context, row.name, entries, part, node)

    return held.then(part(entries))


def _taken(value: Any, steps: Sequence[Any]) -> tuple[Any, tuple[int, ...]]:
    """All that may be at these steps, and how many there are along each that is a variable."""
    if isinstance(value, np.ndarray):
        known = tuple(step if isinstance(step, int) else slice(None) for step in steps)
        found = value[known]
        axes = sum(1 for step in steps if not isinstance(step, int))
        shape = found.shape[:axes]
        return found.reshape((math.prod(shape), *found.shape[axes:])), shape
    entries, lengths = [value], []
    for step in steps:
        if isinstance(step, int):
            entries = [entry[step] for entry in entries]
        else:
            lengths.append(len(entries[0]))
            entries = [item for entry in entries for item in entry]
    return entries, tuple(lengths)


def _are_numbers(entries: Sequence[Any]) -> bool:
    if isinstance(entries, np.ndarray):
        return entries.ndim == 1
    return all(isinstance(entry, (bool, int, float, np.generic)) for entry in entries)


def _element(
    context: Context,
    name: str,
    entries: Sequence[Any],
    shape: tuple[int, ...],
    indices: list[tree.Expression],
    wraps: tuple[bool, ...],
    node: ast.AST,
) -> tree.Expression:
    if isinstance(entries, np.ndarray):
        element = from_dtype(entries.dtype)
        assert element is not None
        data = entries.astype(element.dtype.newbyteorder("<")).tobytes()
    else:
        element, data = _packed(context, name, entries, node)
    _require_small(context, len(data), name, node)
    table = ConstantTable(name, element, shape, data)
    return tree.TableElement(element, context.locate(node), table, indices, wraps)


def _packed(
    context: Context, name: str, entries: Sequence[Any], node: ast.AST
) -> tuple[ScalarType, bytes]:
    """Numbers of a tuple, with the one type that a variable holding any of them would have."""
    found: ScalarType | None = None
    for entry in entries:
        type = constant_of(context, entry, node, name).type
        assert isinstance(type, ScalarType)
        joined = type if found is None else join(found, type)
        if joined is None:
            context.reject(
                node,
                f"{name} has {found!r} and {type!r}, and an item has one type",
                "write numbers of one type, or two tuples",
            )
        found = joined
    assert found is not None
    for entry in entries:
        if found.is_integer and not found.range[0] <= entry <= found.range[1]:
            context.reject(node, f"{entry} in {name} does not fit {found}", "use smaller numbers")
    little = found.dtype.newbyteorder("<")
    return found, np.array([found(entry) for entry in entries], little).tobytes()


def _compound(
    context: Context,
    name: str,
    entries: Sequence[Any],
    part: Callable[[Sequence[Any]], tree.Expression],
    node: ast.AST,
) -> tree.Expression:
    """Tuples of one length, or value structs of one class, part by part."""
    location, first = context.locate(node), entries[0]
    kinds = {type(entry) for entry in entries}
    struct = getattr(type(first), "__sharedoa_value__", None)
    if kinds == {tuple} and {len(entry) for entry in entries} == {len(first)}:
        items = [part([entry[place] for entry in entries]) for place in range(len(first))]
        return tree.MakeTuple(TupleType(tuple(item.type for item in items)), location, items)
    if len(kinds) == 1 and isinstance(struct, ValueType):
        fields = [part([getattr(entry, field) for entry in entries]) for field in struct.fields]
        return tree.MakeValue(struct, location, fields)
    context.reject(
        node,
        f"{name} is indexed by a variable, and its items are no numbers of one kind",
        "a table has numbers, value structs of one class, or tuples of one length; "
        "let an object or an argument hold anything else",
    )
