"""Which receivers are the same for every thread of a warp, where functions and methods are called,
and where a program has operations that are not known. Comments in the kernels say it
(``uniform_lines``)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.ir import operations
from sharedoa.ir.core import Region, operations_in
from sharedoa.ir.operations import PURE, Effects, Kind
from sharedoa.ir.rewrite import make, replace_uses
from sharedoa.ir.text import NOWHERE
from sharedoa.ir.uniformity import uniform_receivers
from sharedoa.model.scalars import weak_int

from .programs import program_of
from .uniform_lines import Node, Nodes, as_comments_say, check, optimised, sites

# -------------------------------------------------------------------- functions


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


# ---------------------------------------------------------------- virtual calls


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


@as_comments_say
def test_virtual_calls_reach_every_candidate(nodes: Nodes, all: oa.Array[Asking], n: i32) -> None:
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


@as_comments_say
def test_results_of_virtual_calls(nodes: Nodes, all: oa.Array[Asking], n: i32) -> None:
    k = all[n].answer(n, 3)  # uniform
    nodes[k].ask()  # uniform


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


@as_comments_say
def test_a_ray_tracer(all: oa.Array[Asking], nodes: Nodes, n: i32) -> None:
    """M-14: every thread tests its ray against one object after the other, so those calls are
    uniform, also in the shadow loop that ends early; the object hit is each thread's own."""
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


# ------------------------------------------------------------ what is not known


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
_HARMLESS |= Effects.RAISES | Effects.LINGERS | Effects.ASKS_THREAD | Effects.LIVES | Effects.OWNS


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
