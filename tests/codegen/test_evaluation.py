"""Order of evaluation, functions, values and tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sharedoa.frontend import tree
from sharedoa.model.scalars import boolean, f32, i32, weak_int
from sharedoa.model.types import VOID, TupleType

from .machine import Kernel
from .single_thread import OUT, emit_to, results, truth
from .trees import (
    HERE,
    add,
    array,
    assign,
    binary,
    call,
    compare,
    const,
    convert,
    element,
    function,
    give,
    load,
    program,
    store,
    thread,
    use,
    value_struct,
    variable,
    when,
)

# ----------------------------------------------------------- evaluation order


def tracing() -> tuple[tree.Function, Callable[[int], tree.Expression]]:
    """``trace(OUT, n)`` appends n to OUT, whose first element counts, and gives n."""
    log, n = array("log", weak_int), variable("n")
    place = element(use(log), const(0))
    count = variable("count")
    trace = function(
        "trace",
        [log, n],
        weak_int,
        [
            assign(count, add(load(place), const(1))),
            store(place, use(count)),
            store(element(use(log), use(count)), use(n)),
            give(use(n)),
        ],
    )
    return trace, lambda number: call(trace, use(OUT), const(number))


def order_of(make: Callable[[Callable[[int], tree.Expression]], list[tree.Statement]]) -> list[int]:
    trace, traced = tracing()
    out = results(make(traced), trace)
    return out[1 : 1 + out[0]]


def is_one(value: tree.Expression) -> tree.Compare:
    return compare("eq", value, const(1))


def test_operands_are_evaluated_left_to_right() -> None:
    assert order_of(lambda t: [tree.Evaluate(HERE, add(add(t(1), t(2)), t(3)))]) == [1, 2, 3]


def test_a_store_evaluates_its_value_then_its_place() -> None:
    def make(traced: Callable[[int], tree.Expression]) -> list[tree.Statement]:
        return [store(element(use(OUT), traced(7)), traced(2))]

    assert order_of(make)[:2] == [2, 7]


def test_an_augmented_store_evaluates_its_place_once() -> None:
    old = variable("old")

    def make(traced: Callable[[int], tree.Expression]) -> list[tree.Statement]:
        place = element(use(OUT), traced(7))
        return [
            emit_to(7, const(40)),
            tree.AugmentedStore(HERE, place, old, add(use(old), traced(2))),
        ]

    trace, traced = tracing()
    assert results(make(traced), trace) == [2, 7, 2, 0, 0, 0, 0, 42]


@pytest.mark.parametrize(
    ("operator", "left", "evaluated"),
    [("and", 0, [0]), ("and", 1, [1, 5]), ("or", 0, [0, 5]), ("or", 1, [1])],
)
def test_logical_operators_stop_early(operator: Any, left: int, evaluated: list[int]) -> None:
    def make(traced: Callable[[int], tree.Expression]) -> list[tree.Statement]:
        value = tree.Logical(boolean, HERE, operator, is_one(traced(left)), is_one(traced(5)))
        return [tree.Evaluate(HERE, value)]

    assert order_of(make) == evaluated


@pytest.mark.parametrize("operator", ["and", "or"])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_logical_operators_give_pythons_result(operator: Any, left: bool, right: bool) -> None:
    value = tree.Logical(boolean, HERE, operator, truth(left), truth(right))
    expected = (left and right) if operator == "and" else (left or right)
    assert results([emit_to(0, convert(weak_int, value))])[0] == expected


@pytest.mark.parametrize(("test", "chosen"), [(1, 2), (0, 3)])
def test_a_conditional_evaluates_one_branch(test: int, chosen: int) -> None:
    def make(traced: Callable[[int], tree.Expression]) -> list[tree.Statement]:
        value = tree.Conditional(
            weak_int, HERE, is_one(traced(test)), add(traced(2), const(0)), traced(3)
        )
        return [emit_to(7, value)]

    assert order_of(make) == [test, chosen]


def test_let_evaluates_its_value_once() -> None:
    bound = variable("bound")

    def make(traced: Callable[[int], tree.Expression]) -> list[tree.Statement]:
        body = binary("mul", use(bound), use(bound))
        return [emit_to(7, tree.Let(weak_int, HERE, bound, traced(6), body))]

    trace, traced = tracing()
    assert results(make(traced), trace) == [1, 6, 0, 0, 0, 0, 0, 36]


# ---------------------------------------------------------- functions, values


def test_recursion_is_found_and_works() -> None:
    n = variable("n")
    factorial = function("factorial", [n], weak_int, [])
    rest = call(factorial, binary("sub", use(n), const(1)))
    factorial.body += [
        when(compare("le", use(n), const(1)), [give(const(1))]),
        give(binary("mul", use(n), rest)),
    ]
    whole = program([OUT], [emit_to(0, call(factorial, const(10)))], factorial)
    kernel, out = Kernel(whole), np.zeros(1, np.int64)
    kernel.launch(1, out)
    assert out[0] == 3628800
    assert kernel.lowered.recursive


def test_mutual_recursion_is_found_and_plain_calls_are_not() -> None:
    even = function("even", [], VOID, [])
    odd = function("odd", [], VOID, [tree.Evaluate(HERE, call(even))])
    even.body.append(tree.Evaluate(HERE, call(odd)))
    start: list[tree.Statement] = [tree.Evaluate(HERE, call(even))]
    assert Kernel(program([], start, even, odd)).lowered.recursive
    shared = function("shared", [], VOID, [])
    user = function("user", [], VOID, [tree.Evaluate(HERE, call(shared))] * 2)
    body = [tree.Evaluate(HERE, call(user)), tree.Evaluate(HERE, call(shared))]
    assert not Kernel(program([], list(body), user, shared)).lowered.recursive


def test_assigning_to_a_parameter_stays_in_the_function() -> None:
    n, mine = variable("n"), variable("mine")
    double = function(
        "double", [n], weak_int, [assign(n, binary("mul", use(n), const(2))), give(use(n))]
    )
    body: list[tree.Statement] = [
        assign(mine, const(21)),
        emit_to(0, call(double, use(mine))),
        emit_to(1, use(mine)),
    ]
    assert results(body, double)[:2] == [42, 21]


def test_values_and_tuples_travel_through_functions() -> None:
    inner = value_struct("Inner", flag=boolean, count=i32)
    outer = value_struct("Outer", inner=inner, scale=f32)
    items = TupleType((outer, weak_int))
    value, n = tree.Variable("value", outer), variable("n")
    pack = function(
        "pack", [value, n], items, [give(tree.MakeTuple(items, HERE, [use(value), use(n)]))]
    )
    made = tree.MakeValue(
        outer,
        HERE,
        [
            tree.MakeValue(inner, HERE, [truth(True), const(-5, i32)]),
            const(2.5, f32),
        ],
    )
    packed = tree.Variable("packed", items)
    first = tree.TupleItem(outer, HERE, use(packed), 0)
    count = tree.ValueField(i32, HERE, tree.ValueField(inner, HERE, first, "inner"), "count")
    flag = tree.ValueField(boolean, HERE, tree.ValueField(inner, HERE, first, "inner"), "flag")
    body: list[tree.Statement] = [
        assign(packed, call(pack, made, const(9))),
        emit_to(0, convert(weak_int, count)),
        emit_to(1, convert(weak_int, flag)),
        emit_to(2, convert(weak_int, tree.ValueField(f32, HERE, first, "scale"))),
        emit_to(3, tree.TupleItem(weak_int, HERE, use(packed), 1)),
    ]
    assert results(body, pack)[:4] == [-5, 1, 2, 9]


def test_threads_know_their_index_and_the_launch() -> None:
    sizes = array("sizes", weak_int)
    body: list[tree.Statement] = [
        store(element(use(OUT)), thread()),
        store(element(use(sizes)), tree.GridSize(weak_int, HERE, 0)),
    ]
    out, found = np.zeros(5, np.int64), np.zeros(5, np.int64)
    Kernel(program([OUT, sizes], body)).launch(5, out, found)
    assert out.tolist() == [0, 1, 2, 3, 4]
    assert found.tolist() == [5] * 5
