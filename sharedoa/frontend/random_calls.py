"""``oa.random(seed, *counters)`` and its relatives in kernels: calls of functions of ``random.py``,
which take two counters; of more, pairs give the seed for those that follow."""

from __future__ import annotations

import ast
from typing import Any

from ..model.scalars import ScalarType, i64, u64
from ..philox import (
    exponential_32,
    following,
    integer,
    normal_32,
    uniform_32,
    uniform_64,
)
from . import tree
from .context import Context
from .conversions import coerce, constant, convert_scalar
from .expressions import expression
from .held_values import HeldValues
from .library import NAMED, Handler
from .operators import compare


def _drawn(function: Any, ends: int = 0) -> Handler:
    def handle(context: Context, node: ast.Call) -> tree.Expression:
        name = ast.unparse(node.func)
        if node.keywords or len(node.args) <= ends:
            before = "low, high, " if ends else ""
            context.reject(
                node, f"{name} takes a seed and counters", f"write {name}({before}seed, i, step)"
            )
        location = context.locate(node)
        values = [expression(context, each) for each in node.args]
        types = [i64] * ends + [u64] * (len(values) - ends)
        given = []
        for value, type, source in zip(values, types, node.args, strict=True):
            if type == i64:
                given.append(coerce(context, value, i64, source, name))
                continue
            if not (isinstance(value.type, ScalarType) and value.type.is_integer):
                context.reject(
                    source, f"{name} takes integers, not {value.type!r}", "number what it is about"
                )
            given.append(convert_scalar(context, value, u64, source))
        held = HeldValues()
        parts = [held.hold(each) for each in given]
        limits, seed, counters = parts[:ends], parts[ends], parts[ends + 1 :]
        zero = constant(0, u64, location)
        counters += [zero] * ((len(counters) % 2) or 2 * (not counters))
        while len(counters) > 2:
            seed = _call(context, following, [seed, *counters[:2]], location)
            counters = counters[2:]
        made = _call(context, function, [seed, *counters, *limits], location)
        if ends:
            made = _if_there_are_some(context, given[:ends], limits, made, node)
        return held.then(made)

    return handle


def _if_there_are_some(
    context: Context,
    given: list[tree.Expression],
    limits: list[tree.Expression],
    made: tree.Expression,
    node: ast.Call,
) -> tree.Expression:
    """``made`` of integers from the one limit to below the other, which fails if there are none."""
    name, location = ast.unparse(node.func), context.locate(node)
    low, high = given
    if isinstance(low, tree.Constant) and isinstance(high, tree.Constant):
        if low.value >= high.value:
            context.reject(
                node,
                f"{name}: there is no integer from {low.value} on below {high.value}",
                "give a larger end: it is not among the results",
            )
        return made
    test = compare(context, "lt", limits[0], limits[1], node)
    some = tree.Assert(location, test, f"{name} has integers between its ends")
    return tree.Sequence(made.type, location, [some], made)


def _call(
    context: Context, function: Any, given: list[tree.Expression], location: tree.Location
) -> tree.Expression:
    symbol = context.program.require_function(function)
    return tree.DirectCall(function.signature.result, location, symbol, given)


NAMED.update(
    random=_drawn(uniform_32),
    random64=_drawn(uniform_64),
    randint=_drawn(integer, ends=2),
    normal=_drawn(normal_32),
    exponential=_drawn(exponential_32),
)
