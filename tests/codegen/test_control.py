"""Loops, branches and dead code against CPython running the same program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedoa.frontend import tree
from sharedoa.model.scalars import f32, weak_int
from sharedoa.model.types import TupleType

from .machine import HOST, Kernel, lower_for
from .single_thread import OUT, emit_to, for_range, results, truth
from .trees import (
    HERE,
    add,
    array,
    assign,
    binary,
    call,
    compare,
    const,
    element,
    function,
    give,
    load,
    program,
    store,
    use,
    variable,
    when,
)

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
    completed: list[tree.Statement] = [store(element(use(arrays["completed"])), const(1))]
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


def test_variables_take_no_memory() -> None:
    kept, changed, counted = parameters = [variable(n) for n in ("kept", "changed", "counted")]
    body: list[tree.Statement] = [
        assign(changed, add(use(changed), use(kept))),
        for_range(counted, (const(0), const(3), const(1)), []),
        give(add(use(changed), add(use(kept), use(counted)))),
    ]
    f = function("f", parameters, weak_int, body)
    main: list[tree.Statement] = [emit_to(0, call(f, const(1), const(20), const(300)))]
    assert results(main, f)[0] == (20 + 1) + 1 + 2
    module = str(lower_for(HOST, program([OUT], main, f)).module)
    assert "phi" in module and "alloca" not in module
