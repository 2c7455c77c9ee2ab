"""Which receivers are the same for every thread of a warp.

Comments in the kernels say it of each line that calls a method or asks for a class; ``nodes[k]`` is
as uniform as ``k``.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.ir import operations
from sharedoa.ir.core import Operation, Region, constant_of, operations_in
from sharedoa.ir.operations import PURE, Effects, Kind
from sharedoa.ir.passes.unused import remove_unused
from sharedoa.ir.rewrite import make, replace_uses
from sharedoa.ir.text import NOWHERE
from sharedoa.ir.uniformity import is_of_launch, uniform_receivers
from sharedoa.model.scalars import weak_int

from ..differential.effort import EXAMPLES
from ..source_files import load_module
from .diverging import Marked, Source, run_in_step
from .programs import app_kernels, program_of


class Node(oa.Object):
    value: i32
    other: Node
    near: oa.inline[i32, 4]

    def ask(self) -> None: ...


class Leaf(Node):
    def ask(self) -> None:
        self.value = 1


class Inner(Node):
    def ask(self) -> None:
        self.value = 2


Nodes = oa.Array[Node]


def optimised(kernel: Callable[..., Any]) -> ir.Program:
    program = program_of(kernel)
    remove_unused(program, debug=False)
    return program


def sites(program: ir.Program) -> list[Operation]:
    return [o for o in operations_in(program) if o.kind in ("call_virtual", "type_test")]


def is_said_uniform(site: Operation) -> bool:
    line = linecache.getline(site.location.file, site.location.line)
    code, _, comment = line.partition("  # ")
    assert comment.strip() in ("uniform", "divergent"), code
    return comment.strip() == "uniform"


def uniform_lines(program: ir.Program) -> dict[int, bool]:
    uniform = uniform_receivers(program)
    return {site.location.line: site in uniform for site in sites(program)}


def check(kernel: Callable[..., Any]) -> None:
    """What is found is what the comments say."""
    program = optimised(kernel)
    said = {site.location.line: is_said_uniform(site) for site in sites(program)}
    assert said
    assert uniform_lines(program) == said


# ------------------------------------------------------------------ operations


def test_parameters_and_what_is_computed_from_them() -> None:
    def kernel(nodes: Nodes, node: Node, n: i32) -> None:
        x, y = oa.grid(2)
        nx, ny = oa.gridsize(2)
        node.ask()  # uniform
        nodes[n].ask()  # uniform
        nodes[7].ask()  # uniform
        nodes[n + nx * ny].ask()  # uniform
        nodes[len(nodes) - 1].ask()  # uniform
        nodes[x].ask()  # divergent
        nodes[y].ask()  # divergent
        nodes[n + x].ask()  # divergent
        nodes[n if x < nx else 3].ask()  # divergent
        nodes[n if n < nx else 3].ask()  # uniform
        node.value = i32(isinstance(nodes[n], Leaf))  # uniform
        node.value = i32(isinstance(nodes[x], Leaf))  # divergent

    check(kernel)


def test_loads() -> None:
    def kernel(nodes: Nodes, node: Node, numbers: oa.Array[i32]) -> None:
        i = oa.grid(1)
        node.other.ask()  # uniform
        node.other.other.ask()  # uniform
        nodes[numbers[node.near[2]]].ask()  # uniform
        nodes[i].other.ask()  # divergent
        nodes[numbers[i]].ask()  # divergent
        nodes[node.near[i]].ask()  # divergent

    check(kernel)


def test_atomics_differ_even_at_one_address() -> None:
    def kernel(nodes: Nodes, numbers: oa.Array[i32]) -> None:
        nodes[oa.atomic_add(numbers, 0, 1)].ask()  # divergent
        nodes[oa.atomic_cas(numbers, 0, 0, 1)].ask()  # divergent

    check(kernel)


def test_mathematics() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        nodes[int(oa.f64(n) ** 0.5)].ask()  # uniform
        nodes[int(oa.f64(i) ** 0.5)].ask()  # divergent

    check(kernel)


# -------------------------------------------------------------------- branches


def test_a_variable_assigned_under_a_divergent_branch() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        touched, untouched, same, twice = n, n, 3, 0.0
        if i < n:
            touched = 5
            same = 3
            twice = -0.0
            nodes[touched].ask()  # uniform
        nodes[touched].ask()  # divergent
        nodes[untouched].ask()  # uniform
        nodes[same].ask()  # uniform
        nodes[int(1 / (1 + twice))].ask()  # divergent
        touched = n
        nodes[touched].ask()  # uniform

    check(kernel)


def test_a_variable_assigned_under_a_uniform_branch() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        touched = n
        if n < 9:
            touched = 5
        nodes[touched].ask()  # uniform

    check(kernel)


def test_a_choice_among_several() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k = n
        if i == 0:
            k = 1
            nodes[k].ask()  # uniform
        elif i == 1:
            k = 2
            nodes[k].ask()  # uniform
        nodes[k].ask()  # divergent

    check(kernel)


def test_a_test_of_two_parts() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k, m = 0, 0
        if n > 3 and nodes[n].value > 2:
            k = 1
        if n > 3 and nodes[i].value > 2:
            m = 1
        nodes[k].ask()  # uniform
        nodes[m].ask()  # divergent

    check(kernel)


def test_a_uniform_branch_within_a_divergent_one() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k = 0
        if i < n:
            if n < 7:
                k = 1
            nodes[k].ask()  # uniform
        nodes[k].ask()  # divergent

    check(kernel)


def test_code_behind_a_divergent_return() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k = n
        if i < n:
            k = 3
            return
        nodes[k].ask()  # uniform

    check(kernel)


def test_one_arm_alone_goes_on() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k = 0
        if i < n:
            if n < 7:
                k = 5
            else:
                k = 6
        else:
            return
        nodes[k].ask()  # uniform

    check(kernel)


# ----------------------------------------------------------------------- loops


def test_a_counter_and_a_divergent_break() -> None:
    """M-14: uniform over the threads that still run, not over those that left earlier."""

    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k, before = 0, n
        for k in range(n):
            nodes[k].ask()  # uniform
            if nodes[i + k].value < n:
                break
            nodes[k].ask()  # uniform
        nodes[k].ask()  # divergent
        nodes[before].ask()  # uniform

    check(kernel)


def test_a_counter_and_a_uniform_break() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        k = 0
        for k in range(n):
            if nodes[n].value < k:
                break
        nodes[k].ask()  # uniform

    check(kernel)


def test_a_loop_of_divergent_length() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k, other = 0, 0
        for k in range(i):
            nodes[k].ask()  # uniform
            other = n
        nodes[k].ask()  # divergent
        # A thread that never entered has not assigned it.
        nodes[other].ask()  # divergent

    check(kernel)


def test_a_counter_that_starts_or_steps_differently() -> None:
    def start(nodes: Nodes, n: i32) -> None:
        for k in range(oa.grid(1), n):
            nodes[k].ask()  # divergent

    def step(nodes: Nodes, n: i32) -> None:
        for k in range(0, n, oa.grid(1)):
            nodes[k].ask()  # divergent

    check(start)
    check(step)


def test_a_while_loop_that_threads_leave_at_different_rounds() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k, rounds = 0, 0
        while nodes[i + k].value < n:
            nodes[k].ask()  # uniform
            k += 2
            nodes[k].ask()  # uniform
        nodes[k].ask()  # divergent
        while rounds < n:
            rounds += 1
        nodes[rounds].ask()  # uniform

    check(kernel)


def test_a_carried_value_that_takes_a_divergent_one() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k, m = 0, i
        while k < n:
            nodes[k].ask()  # divergent
            nodes[m - m].ask()  # divergent
            k += nodes[i].value
            nodes[k].ask()  # divergent

    check(kernel)


def test_a_carried_value_that_begins_with_a_divergent_one() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        k, m = oa.grid(1), oa.grid(1)
        while k < n:
            nodes[k].ask()  # divergent
            k += 2
        for _ in range(n):
            nodes[m].ask()  # divergent
            m = 3
            nodes[m].ask()  # uniform
        nodes[m].ask()  # divergent

    check(kernel)


def test_divergence_comes_by_way_of_another_round() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        a, b, c = 0, 1, 2
        for _ in range(n):
            nodes[a].ask()  # divergent
            a = b
            b = c
            c = oa.grid(1)

    check(kernel)


def test_what_the_last_round_computed_differs_too() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        last = 0
        for k in range(n):
            last = k + n
            if i < last:
                break
        else:
            return
        nodes[last].ask()  # divergent
        nodes[last + n].ask()  # divergent

    check(kernel)


def test_a_divergent_continue_keeps_the_counter() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k, skipped = 0, 0
        for k in range(n):
            nodes[skipped].ask()  # divergent
            if i < k:
                continue
            skipped = k
            nodes[skipped].ask()  # uniform
        nodes[k].ask()  # uniform
        nodes[skipped].ask()  # divergent

    check(kernel)


def test_a_uniform_continue() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        skipped = 0
        for k in range(n):
            if n < k:
                continue
            skipped = k
        nodes[skipped].ask()  # uniform

    check(kernel)


def test_a_continue_within_a_divergent_branch() -> None:
    """The branch that diverges is not the one that goes on."""

    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        last = 0
        for k in range(n):
            nodes[last].ask()  # divergent
            if i < k:
                if n < 3:
                    continue
            last = k

    check(kernel)


def test_an_outer_loop_of_an_uneven_inner_loop() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        j, k = 0, 0
        for k in range(n):
            for j in range(n):
                nodes[j].ask()  # uniform
                if i < j:
                    break
            nodes[j].ask()  # divergent
            nodes[k].ask()  # uniform
        nodes[k].ask()  # uniform

    check(kernel)


def test_a_break_within_a_divergent_branch() -> None:
    """The branch that diverges is not the one that leaves."""

    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k = 0
        for k in range(n):
            if i < k:
                if n < k:
                    break
            nodes[k].ask()  # uniform
        nodes[k].ask()  # divergent

    check(kernel)


def test_an_even_loop_within_a_divergent_branch() -> None:
    """All threads that are in it leave it together."""

    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        if i < n:
            k = 0
            for k in range(n):
                if n < k:
                    break
            nodes[k].ask()  # uniform

    check(kernel)


def test_an_else_clause_after_a_divergent_break() -> None:
    """Threads that left by ``break`` are not there."""

    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        j, k, m = 0, 0, 0
        for k in range(n):
            nodes[k].ask()  # uniform
            for j in range(n):
                if i < j:
                    break
            else:
                m = 1
                nodes[m].ask()  # uniform
                break
        nodes[k].ask()  # divergent
        nodes[m].ask()  # divergent

    check(kernel)


def test_an_else_clause_after_a_loop_without_break() -> None:
    """All threads come to it, though they left the loop in different rounds."""

    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k, j, m = 0, 0, 0
        for k in range(n):
            nodes[k].ask()  # uniform
            for j in range(i):
                nodes[j].ask()  # uniform
                m += n
            else:
                nodes[j].ask()  # divergent
                break
        nodes[k].ask()  # uniform
        nodes[m].ask()  # divergent

    check(kernel)


def test_an_else_clause_that_goes_on_with_the_outer_loop() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        last = 0
        for k in range(n):
            nodes[last].ask()  # divergent
            for j in range(n):
                if i < j:
                    break
            else:
                continue
            last = k

    check(kernel)


def test_a_loop_that_never_ends() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        k = n
        while True:
            if i < n:
                k = 3
            nodes[k].ask()  # divergent
            nodes[n].ask()  # uniform

    check(kernel)


# ------------------------------------------------------------------- functions


def test_a_parameter_is_uniform_if_it_is_at_all_calls() -> None:
    @oa.func
    def often(node: Node, other: Node) -> None:
        node.ask()  # uniform
        other.ask()  # divergent

    @oa.func
    def now_and_then(node: Node) -> None:
        node.ask()  # uniform

    def kernel(nodes: Nodes, n: i32) -> None:
        i = oa.grid(1)
        often(nodes[n], nodes[3])
        often(nodes[4], nodes[i])
        if i < n:
            now_and_then(nodes[n])

    check(kernel)


def test_results_of_functions() -> None:
    @oa.func
    def total(a: i32, b: i32) -> i32:
        return a + b

    @oa.func
    def chosen(a: i32, b: i32) -> i32:
        if a < b:
            return 1
        return 2

    @oa.func
    def constant(a: i32, b: i32) -> i32:
        if a < b:
            return 5
        return 5

    @oa.func
    def evenly(a: i32, b: i32) -> i32:
        k = 0
        if a < b:
            k = 3
        if b < 7:
            return 1 + 0 * k
        return 2

    @oa.func
    def searched(a: i32, b: i32) -> i32:
        for k in range(b):
            if a < k:
                return i32(k)
        return b

    @oa.func
    def searched_for_equals(a: i32, b: i32) -> i32:
        for k in range(b):
            if a < k:
                return b
        return b

    @oa.func
    def counted(a: i32, b: i32) -> i32:
        for k in range(a):
            if b < k:
                return b
        return b + 1

    def kernel(nodes: Nodes, n: i32) -> None:
        i = i32(oa.grid(1))
        nodes[total(n, i)].ask()  # divergent
        nodes[chosen(n, i)].ask()  # divergent
        nodes[constant(n, i)].ask()  # uniform
        nodes[searched(i, n)].ask()  # divergent
        nodes[searched_for_equals(i, n)].ask()  # uniform
        nodes[counted(i, n)].ask()  # divergent

    check(kernel)

    def only_uniform(nodes: Nodes, n: i32) -> None:
        nodes[total(n, 3)].ask()  # uniform
        nodes[chosen(n, 3)].ask()  # uniform
        nodes[searched(4, n)].ask()  # uniform
        nodes[counted(n, n)].ask()  # uniform
        nodes[evenly(n, n)].ask()  # uniform

    check(only_uniform)


def test_a_return_out_of_an_inner_loop_makes_the_outer_one_uneven() -> None:
    @oa.func
    def searched(nodes: Nodes, a: i32, n: i32) -> i32:
        last = 0
        for k in range(n):
            last = k
            for j in range(a):
                if n < j:
                    return 0
        nodes[last].ask()  # divergent
        return i32(last)

    def kernel(nodes: Nodes, n: i32) -> None:
        nodes[searched(nodes, i32(oa.grid(1)), n)].ask()  # divergent

    check(kernel)


def test_recursion() -> None:
    @oa.func
    def down(nodes: Nodes, depth: i32, own: i32) -> i32:
        nodes[depth].ask()  # uniform
        nodes[own].ask()  # divergent
        if depth < 1:
            return 0
        return down(nodes, depth - 1, own)

    def kernel(nodes: Nodes, n: i32) -> None:
        nodes[down(nodes, n, i32(oa.grid(1)))].ask()  # uniform

    check(kernel)


def test_recursion_that_gives_what_differs() -> None:
    @oa.func
    def down(nodes: Nodes, depth: i32, own: i32) -> i32:
        if depth < 1:
            return own
        found = down(nodes, depth - 1, own)
        nodes[found].ask()  # divergent
        return found

    def kernel(nodes: Nodes, n: i32) -> None:
        nodes[down(nodes, n, i32(oa.grid(1)))].ask()  # divergent

    check(kernel)


class Asking(oa.Object):
    node: Node

    def visit(self, nodes: Nodes, by: i32, own: i32) -> i32: ...

    def answer(self, by: i32, own: i32) -> i32: ...


class Once(Asking):
    def visit(self, nodes: Nodes, by: i32, own: i32) -> i32:
        nodes[by].ask()  # uniform
        nodes[own].ask()  # divergent
        self.node.ask()  # divergent
        return 7

    def answer(self, by: i32, own: i32) -> i32:
        return by


class Twice(Asking):
    def visit(self, nodes: Nodes, by: i32, own: i32) -> i32:
        nodes[by].ask()  # uniform
        nodes[own].ask()  # divergent
        self.node.ask()  # divergent
        return 7

    def answer(self, by: i32, own: i32) -> i32:
        return own


def test_virtual_calls_reach_every_candidate() -> None:
    def kernel(nodes: Nodes, all: oa.Array[Asking], n: i32) -> None:
        i = i32(oa.grid(1))
        nodes[all[n].visit(nodes, n, i)].ask()  # uniform
        # Another object may have another method.
        k = all[i].visit(nodes, n, i)  # divergent
        nodes[k].ask()  # divergent
        # Of one of the methods the result is divergent.
        m = all[n].answer(n, i)  # uniform
        nodes[m].ask()  # divergent
        o = all[n].answer(n, n)  # uniform
        nodes[o].ask()  # divergent

    check(kernel)


def test_results_of_virtual_calls() -> None:
    def kernel(nodes: Nodes, all: oa.Array[Asking], n: i32) -> None:
        k = all[n].answer(n, 3)  # uniform
        nodes[k].ask()  # uniform

    check(kernel)


@pytest.mark.parametrize("debug", [False, True])
def test_the_only_candidate_answers_all_but_who_has_no_object(debug: bool) -> None:
    def kernel(nodes: Nodes, all: oa.Array[Asking], n: i32) -> None:
        nodes[all[oa.grid(1)].answer(n, 3)].ask()

    program = optimised(kernel)
    call, ask = [o for o in operations_in(program.kernel) if o.kind == "call_virtual"]
    call.attributes["candidates"] = call["candidates"][:1]
    assert uniform_receivers(program, debug) == (set() if debug else {ask})


def test_functions_that_the_kernel_does_not_reach() -> None:
    def kernel(nodes: Nodes, n: i32) -> None:
        nodes[n].ask()

    program = optimised(kernel)
    (ask,) = sites(program)
    assert uniform_receivers(program) == {ask}
    stranger = program_of(kernel).kernel
    program.functions["stranger"] = stranger
    assert uniform_receivers(program) == {ask}


def test_a_ray_tracer() -> None:
    """M-14: every thread tests its ray against one object after the other, so those calls are
    uniform, also in the shadow loop that ends early; the object hit is each thread's own."""

    def kernel(all: oa.Array[Asking], nodes: Nodes, n: i32) -> None:
        x = i32(oa.grid(1))
        closest, best = all[0], 1 << 20
        for k in range(n):
            candidate = all[k]
            distance = candidate.answer(x, x)  # uniform
            if distance < best:
                best = distance
                closest = candidate
        closest.answer(x, x)  # divergent
        last = 0
        for last in range(n):
            if all[last].answer(x, x) < 1:  # uniform
                break
        all[last].answer(x, x)  # divergent

    check(kernel)


# ------------------------------------------------------------- whole launches


def of_launch(function: ir.Function, also: Effects) -> list[bool]:
    """Of the tests of a function's branches, in order."""
    tests = [each.operands[0] for each in operations_in(function) if each.kind == "if"]
    return [is_of_launch(test, function, also) for test in tests]


def test_what_depends_on_arguments_of_the_launch_alone() -> None:
    @oa.func
    def other(n: i32, out: oa.Array[i32]) -> None:
        if n < 3:
            out[0] = 1

    def kernel(nodes: Nodes, out: oa.Array[i32], n: i32) -> None:
        i, k = oa.grid(1), 3
        if n * 2 - 1 < len(nodes):
            k = n
        if k < n:
            out[1] = 1
        if i < n:
            k = 4
        if k < n:
            out[3] = 1
        if out[4] < n:
            out[4] = 1
        for k in range(n):
            if k < 3:
                out[5] = 1
        other(n, out)

    program = optimised(kernel)
    assert of_launch(program.kernel, PURE) == [True, True, False, False, False, False]
    found = of_launch(program.kernel, Effects.ASKS_THREAD)
    assert found == [True, True, True, True, False, False]
    (helper,) = [f for f in program.functions.values() if f.name == "other"]
    assert of_launch(helper, PURE) == [False]


# ------------------------------------------------------------- random programs


@settings(max_examples=10 * EXAMPLES)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_uniform_is_one_object_for_all_threads_that_run_together(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    module = load_module(tmp_path_factory.mktemp("kernel"), Source(seed).text(), Marked=Marked)
    program = optimised(module.kernel)
    labels = {constant_of(call.operands[1]) for call in uniform_receivers(program)}
    for world in range(2):
        for label, ways in run_in_step(program, world).items():
            assert label not in labels or {len(found) for found in ways.values()} == {1}


# ----------------------------------------------------------- what is not known


def _asking(nodes: Nodes, n: i32) -> None:
    for k in range(n):
        if k < 3:
            nodes[k].ask()


def _with(kind: str, regions: int = 0, results: int = 0) -> ir.Program:
    """A program of which the loop's body begins with an operation; with results, its first is the
    index of the receiver."""
    program = optimised(_asking)
    (loop,) = [o for o in operations_in(program) if o.kind == "for"]
    body = loop.regions[0]
    holds = [Region([], [make("yield", [], NOWHERE)]) for _ in range(regions)]
    made = make(kind, [], NOWHERE, [weak_int] * results, holds)
    if results:
        replace_uses(body, {body.arguments[0]: made.results[0]})
    body.operations.insert(0, made)
    return program


def test_what_is_not_changed_is_uniform() -> None:
    program = optimised(_asking)
    assert uniform_receivers(program) == {*sites(program)} != set()


@pytest.mark.parametrize(("regions", "results"), [(0, 0), (0, 1), (1, 0)])
def test_with_an_operation_that_nobody_declared_nothing_is_uniform(
    regions: int, results: int
) -> None:
    assert uniform_receivers(_with("frobnicate", regions, results)) == frozenset()


def test_nor_with_one_in_a_function_that_only_it_may_call() -> None:
    program = optimised(_asking)
    method = next(f for f in program.functions.values() if f is not program.kernel)
    method.body.operations.insert(0, make("frobnicate", [], NOWHERE))
    assert uniform_receivers(program) == frozenset()


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> Callable[[Kind], None]:
    monkeypatch.setattr(operations, "_KINDS", dict(operations._KINDS))

    def declare(kind: Kind) -> None:
        operations.declare(kind)

    return declare


#: Effects of an operation without results that other operations do not feel.
_HARMLESS = Effects.READS | Effects.WRITES | Effects.ATOMIC | Effects.REPORTS | Effects.WAITS
_HARMLESS |= Effects.RAISES | Effects.LINGERS | Effects.ASKS_THREAD | Effects.LIVES


@pytest.mark.parametrize("effect", list(Effects), ids=lambda effect: effect.name)
def test_a_new_kind_that_may_move_control_makes_nothing_uniform(
    declared: Callable[[Kind], None], effect: Effects
) -> None:
    declared(Kind("nova", effect, results=None))
    assert bool(uniform_receivers(_with("nova"))) == (effect in _HARMLESS)


@pytest.mark.parametrize("effect", [PURE, *Effects], ids=lambda effect: effect.name)
def test_results_of_a_new_kind_are_uniform_only_if_it_computes_or_reads(
    declared: Callable[[Kind], None], effect: Effects
) -> None:
    declared(Kind("nova", effect, results=None))
    found = uniform_receivers(_with("nova", results=1))
    assert bool(found) == (effect in (PURE, Effects.READS))


def test_a_new_kind_with_regions_or_that_ends_them_makes_nothing_uniform(
    declared: Callable[[Kind], None],
) -> None:
    declared(Kind("nova", PURE, results=None, regions=1))
    assert uniform_receivers(_with("nova", regions=1)) == frozenset()
    declared(Kind("goto", PURE, results=0, is_terminator=True))
    program = optimised(_asking)
    method = next(f for f in program.functions.values() if f is not program.kernel)
    method.body.operations[-1].kind = "goto"
    assert uniform_receivers(program) == frozenset()


@pytest.mark.parametrize("name", sorted(app_kernels()))
def test_programs_of_the_applications(name: str) -> None:
    """What is uniform is there, and does not depend on the order of functions."""
    program = program_of(app_kernels()[name])
    found = uniform_receivers(program)
    assert found <= {*sites(program)}
    program.functions = dict(reversed(program.functions.items()))
    assert uniform_receivers(program) == found
