"""Control flow against CPython running the same program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedoa.frontend import tree
from sharedoa.model.scalars import boolean, f32, i32, weak_int
from sharedoa.model.types import VOID, TupleType

from .machine import Kernel
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

OUT = array("out", weak_int)


def emit_to(position: int, value: tree.Expression) -> tree.Store:
    return store(element(use(OUT), const(position)), value)


def results(body: list[tree.Statement], *functions: tree.Function, size: int = 8) -> list[int]:
    """What a one-thread kernel ``body`` leaves in OUT."""
    out = np.zeros(size, np.int64)
    Kernel(program([OUT], body, *functions)).launch(1, out)
    return [int(number) for number in out]


def truth(value: bool) -> tree.Constant:
    return const(value, boolean)


def for_range(
    counter: tree.Variable,
    bounds: tuple[tree.Expression, tree.Expression, tree.Expression],
    body: list[tree.Statement],
    otherwise: list[tree.Statement] | None = None,
) -> tree.ForRange:
    return tree.ForRange(HERE, counter, *bounds, body, otherwise or [])


# ---------------------------------------------------------------------- range

#: Per thread: start, stop, step, and out: iterations, sum, last value, whether ``else`` ran.
RANGE_LIMIT = 40


def range_kernel(step: int | None) -> Kernel:
    names = ("start", "stop", "step", "count", "sum", "last", "completed")
    arrays = {name: array(name, weak_int) for name in names}
    counter, count, total = (variable(name) for name in ("i", "n", "s"))
    bounds = (
        load(element(use(arrays["start"]))),
        load(element(use(arrays["stop"]))),
        load(element(use(arrays["step"]))) if step is None else const(step),
    )
    body: list[tree.Statement] = [
        assign(count, add(use(count), const(1))),
        assign(total, add(use(total), use(counter))),
        when(compare("ge", use(count), const(RANGE_LIMIT)), [tree.Break(HERE)]),
    ]
    completed = [store(element(use(arrays["completed"])), const(1))]
    statements: list[tree.Statement] = [
        assign(counter, const(-77)),
        for_range(counter, bounds, body, completed),
        store(element(use(arrays["count"])), use(count)),
        store(element(use(arrays["sum"])), use(total)),
        store(element(use(arrays["last"])), use(counter)),
    ]
    return Kernel(program(list(arrays.values()), statements))


def python_range(start: int, stop: int, step: int) -> tuple[int, int, int, int]:
    count = total = 0
    counter, completed = -77, 0
    for counter in range(start, stop, step) if step else ():
        count, total = count + 1, total + counter
        if count >= RANGE_LIMIT:
            break
    else:
        completed = 1
    wrapped = (total + 2**63) % 2**64 - 2**63
    return count, wrapped, counter, completed


LOW, HIGH = -(2**63), 2**63 - 1
bounds_near_the_limits = st.sampled_from(
    [LOW, LOW + 1, LOW + 7, HIGH, HIGH - 1, HIGH - 9, -3, -1, 0, 1, 2, 9, 35, 60]
)
steps = st.sampled_from([1, -1, 2, -2, 3, -7, 0, LOW, HIGH, HIGH - 1, 2**62, -(2**62)])
RANGE_KERNELS: dict[int | None, Kernel] = {}


@pytest.mark.parametrize("step", [None, 1, -1, 0, 3, LOW])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(bounds_near_the_limits, bounds_near_the_limits, steps), min_size=1))
def test_ranges_count_as_pythons(step: int | None, cases: list[tuple[int, int, int]]) -> None:
    if step not in RANGE_KERNELS:
        RANGE_KERNELS[step] = range_kernel(step)
    given_arrays = np.array(cases, np.int64).T.copy()
    if step is not None:
        given_arrays[2] = step
    found = np.zeros((4, len(cases)), np.int64)
    RANGE_KERNELS[step].launch(len(cases), *given_arrays, *found)
    expected = [python_range(int(a), int(b), int(c)) for a, b, c in given_arrays.T]
    assert [tuple(map(int, row)) for row in found.T] == expected


def test_assigning_to_the_variable_does_not_disturb_the_iteration() -> None:
    counter, total = variable("i"), variable("s")
    body: list[tree.Statement] = [
        for_range(
            counter,
            (const(0), const(5), const(1)),
            [
                assign(total, add(use(total), use(counter))),
                assign(counter, const(100)),
            ],
        ),
        emit_to(0, use(total)),
        emit_to(1, use(counter)),
    ]
    assert results(body)[:2] == [10, 100]


def test_bounds_are_evaluated_once_and_first() -> None:
    counter, stop, runs = variable("i"), variable("stop"), variable("runs")
    body: list[tree.Statement] = [
        assign(stop, const(3)),
        for_range(
            counter,
            (const(0), use(stop), const(1)),
            [assign(stop, const(50)), assign(runs, add(use(runs), const(1)))],
        ),
        emit_to(0, use(runs)),
    ]
    assert results(body)[0] == 3


# ---------------------------------------------------------------- while, else


def collatz(limit: int) -> list[tree.Statement]:
    """Loops of both kinds, nested, with break, continue and else; mirrored by ``python_loops``."""
    n, i, j, total, ends = (variable(name) for name in ("n", "i", "j", "total", "ends"))
    is_odd = compare("ne", binary("mod", use(i), const(2)), const(0))
    inner: list[tree.Statement] = [
        when(compare("gt", use(j), use(i)), [tree.Break(HERE)]),
        when(compare("eq", use(j), const(3)), [tree.Continue(HERE), emit_to(7, const(666))]),
        assign(total, add(use(total), use(j))),
    ]
    outer: list[tree.Statement] = [
        assign(i, add(use(i), const(1))),
        when(is_odd, [tree.Continue(HERE)]),
        for_range(j, (const(0), use(n), const(1)), inner, [assign(ends, add(use(ends), const(1)))]),
        when(compare("gt", use(total), const(limit)), [tree.Break(HERE), emit_to(7, const(667))]),
    ]
    return [
        assign(n, const(6)),
        tree.While(HERE, compare("lt", use(i), const(20)), outer, [emit_to(0, const(1))]),
        emit_to(1, use(i)),
        emit_to(2, use(j)),
        emit_to(3, use(total)),
        emit_to(4, use(ends)),
    ]


def python_loops(limit: int) -> list[int]:
    n, i, j, total, ends = 6, 0, 0, 0, 0
    completed = 0
    while i < 20:
        i += 1
        if i % 2 != 0:
            continue
        for j in range(0, n, 1):
            if j > i:
                break
            if j == 3:
                continue
            total += j
        else:
            ends += 1
        if total > limit:
            break
    else:
        completed = 1
    return [completed, i, j, total, ends, 0, 0, 0]


@pytest.mark.parametrize("limit", [0, 5, 30, 1000])
def test_nested_loops_equal_pythons(limit: int) -> None:
    assert results(collatz(limit)) == python_loops(limit)


def test_an_endless_loop_ends_by_break_and_skips_its_else() -> None:
    i = variable("i")
    body: list[tree.Statement] = [
        tree.While(
            HERE,
            truth(True),
            [
                assign(i, add(use(i), const(1))),
                when(compare("eq", use(i), const(9)), [tree.Break(HERE)]),
            ],
            [emit_to(1, const(1))],
        ),
        emit_to(0, use(i)),
    ]
    assert results(body)[:2] == [9, 0]


def test_code_after_a_loop_that_never_ends_is_dropped() -> None:
    forever = function(
        "forever", [variable("n")], weak_int,
        [tree.While(HERE, truth(True), [give(const(4))], []), emit_to(0, const(1))],
    )  # fmt: skip
    assert results([emit_to(1, call(forever, const(0)))], forever)[:2] == [0, 4]


def test_code_after_return_break_and_continue_is_dropped() -> None:
    i = variable("i")
    loop_forever = tree.While(HERE, truth(True), [], [])
    early = function(
        "early",
        [],
        weak_int,
        [give(const(1)), give(const(2)), loop_forever],
    )
    both = function(
        "both",
        [],
        weak_int,
        [when(truth(True), [give(const(3))], [give(const(4))]), give(const(5))],
    )
    loop = for_range(i, (const(0), const(9), const(1)), [tree.Break(HERE), emit_to(3, const(1))])
    body: list[tree.Statement] = [
        emit_to(0, call(early)),
        emit_to(1, call(both)),
        loop,
        emit_to(2, use(i)),
        give(),
        emit_to(4, const(1)),
    ]
    assert results(body, early, both)[:5] == [1, 3, 0, 0, 0]


def test_a_function_that_ends_without_return_gives_zero() -> None:
    numbers = TupleType((weak_int, f32))
    pair = function("pair", [], numbers, [])
    body: list[tree.Statement] = [
        emit_to(0, const(5)),
        emit_to(0, tree.TupleItem(weak_int, HERE, call(pair), 0)),
    ]
    assert results(body, pair)[0] == 0


def test_locals_start_at_zero() -> None:
    never = variable("never")
    assert results([emit_to(0, add(use(never), const(2)))])[0] == 2


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
    assert Kernel(program([], [], even, odd)).lowered.recursive
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
