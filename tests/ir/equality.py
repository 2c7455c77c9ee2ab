"""Whether two programs are the same, told without their texts."""

from __future__ import annotations

import struct
from typing import Any

from sharedoa.ir.core import Function, Operation, Program, Region, Value

Pairs = dict[Value, Value]


def assert_equal(one: Program, other: Program) -> None:
    """The same functions in the same order, operation for operation."""
    assert one.kernel.symbol == other.kernel.symbol
    assert other.functions[other.kernel.symbol] is other.kernel
    assert list(one.functions) == list(other.functions)
    for a, b in zip(one.functions.values(), other.functions.values(), strict=True):
        _functions(a, b)


def _functions(one: Function, other: Function) -> None:
    assert type(one) is type(other)
    for name in vars(one):
        if name != "body":
            assert _seen(getattr(one, name)) == _seen(getattr(other, name)), name
    pairs: Pairs = {}
    uses: list[tuple[Value, Value]] = []
    _regions(one.body, other.body, pairs, uses)
    for a, b in uses:
        assert pairs[a] is b


def _regions(one: Region, other: Region, pairs: Pairs, uses: list[tuple[Value, Value]]) -> None:
    _made(one.arguments, other.arguments, pairs)
    assert all(value.source is None for value in other.arguments)
    for a, b in zip(one.operations, other.operations, strict=True):
        _operations(a, b, pairs, uses)


def _operations(
    one: Operation, other: Operation, pairs: Pairs, uses: list[tuple[Value, Value]]
) -> None:
    assert one.kind == other.kind
    assert one.location == other.location
    assert list(one.attributes) == list(other.attributes)
    assert _seen(one.attributes) == _seen(other.attributes)
    assert all(value.source is other for value in other.results)
    uses += zip(one.operands, other.operands, strict=True)
    _made(one.results, other.results, pairs)
    for a, b in zip(one.regions, other.regions, strict=True):
        _regions(a, b, pairs, uses)


def _made(one: list[Value], other: list[Value], pairs: Pairs) -> None:
    for a, b in zip(one, other, strict=True):
        assert (a.name, a.type) == (b.name, b.type)
        pairs[a] = b


def _seen(value: Any) -> Any:
    """An attribute in a form that tells apart what Python takes for equal."""
    if isinstance(value, float):
        return float, struct.pack(">d", value)
    if isinstance(value, (tuple, list)):
        return type(value), [_seen(each) for each in value]
    if isinstance(value, dict):
        return [(_seen(key), _seen(each)) for key, each in value.items()]
    return type(value), value
