"""What is said of functions: which memory they touch, through what, and what else they do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.ir import Operation, Program, Region, Value, operations
from sharedoa.ir.core import Lane
from sharedoa.ir.operations import Effects
from sharedoa.ir.origins import ANYTHING, Via, origins_in, own
from sharedoa.ir.passes.candidates import narrow_candidates
from sharedoa.ir.roles import ANY, EVERYTHING, Role, stored_roles
from sharedoa.ir.summary import ANY_EFFECT, Access, How, Summary, summarize
from sharedoa.ir.text import NOWHERE
from sharedoa.model.types import ReferenceType

from ..differential.effort import examples
from ..differential.programs import Size
from ..modes import half_of
from .programs import app_kernels, job, program_of, random_program

ADDS: tuple[How, ...] = ("add", "min", "max")


@oa.value
class Point:
    x: f32
    y: f32


class Node(oa.Object):
    value: f32
    count: i32
    next: Node
    near: oa.inline[Node, 2]
    place: Point
    marks: oa.inline[f32, 3]

    def update(self, by: f32) -> f32:
        return self.value

    def scale(self, by: f32) -> None:
        self.value = self.value * by

    def neighbour(self) -> f32:
        return self.next.value

    def last(self) -> Node:
        node = self
        for _ in range(3):
            if node.next is not None:
                node = node.next
        return node

    def give(self, other: Node, amount: f32) -> None:
        other.value = amount

    def take(self, other: Node) -> None:
        other.give(self, other.value)

    def itself(self) -> Node:
        return self

    def parts(self, k: i32) -> f32:
        self.marks[k] = self.marks[1]
        return self.place.x

    def collect(self) -> None:
        oa.atomic_add(self.next, "value", self.value)

    def either(self, other: Node, first: bool) -> Node:
        return self if first else other

    def circle(self, depth: i32) -> f32:
        if depth <= 0:
            return self.value
        return self.next.circle(depth - 1)


@oa.value
class Pair:
    first: Node
    second: Node


@oa.func
def change(pair: Pair) -> None:
    pair.second.value = f32(1)


class Loud(Node):
    def update(self, by: f32) -> f32:
        print(by)
        self.count = 1
        return by


class Writing(Node):
    def update(self, by: f32) -> f32:
        self.next.value = by
        return by


def _field(name: str, *path: Any) -> Role:
    return ("field", Node.__sharedoa__.type_index, name, *path)


_FLOATS: Role = ("element", f32)
_NODES: Role = ("reference",)


def _summaries(
    kernel: Callable[..., Any], populated: Collection[int] | None = None
) -> tuple[Program, dict[str, Summary]]:
    """``populated``: type indices of the classes that have objects, all if None."""
    program = program_of(kernel)
    narrow_candidates(program, job(populated=populated))
    return program, summarize(program)


def _of_kernel(kernel: Callable[..., Any], **options: Any) -> Summary:
    program, found = _summaries(kernel, **options)
    return found[program.kernel.symbol]


def _of_method(kernel: Callable[..., Any], name: str) -> Summary:
    program, found = _summaries(kernel)
    (symbol,) = (s for s, f in program.functions.items() if f.name == name)
    return found[symbol]


def _plain(accesses: Iterable[Access]) -> set[tuple[Role, Via]]:
    return {(role, via) for _, role, via in accesses}


# ---------------------------------------------------- memory, and through what


def test_own_fields() -> None:
    def kernel(node: Node) -> None:
        node.scale(f32(2))

    summary = _of_method(kernel, "Node.scale")
    assert _plain(summary.of("read")) == _plain(summary.of("write")) == {(_field("value"), own(0))}
    assert summary.of(*ADDS) == frozenset() and summary.effects == Effects.NOTHING


def test_objects_that_are_reached() -> None:
    def kernel(node: Node, out: oa.Array[f32]) -> None:
        out[0] = node.neighbour()

    summary = _of_method(kernel, "Node.neighbour")
    assert _plain(summary.of("read")) == {(_field("next"), own(0)), (_field("value"), Via(0))}
    whole = _of_kernel(kernel)
    assert whole.of("read") == summary.of("read")
    assert _plain(whole.of("write")) == {(_FLOATS, own(1))}


def test_what_loops_carry_is_reached() -> None:
    def kernel(node: Node) -> None:
        node.last().value = f32(1)

    assert _of_method(kernel, "Node.last").returns == {own(0), Via(0)}
    assert _plain(_of_kernel(kernel).of("write")) == {(_field("value"), Via(0))}


def test_leaving_a_loop_in_a_branch_carries_a_reference() -> None:
    def kernel(a: Node, b: Node, n: i32) -> None:
        node = a
        for k in range(n):
            if k == 3:
                node = b
                break
        node.value = f32(1)

    written = {(_field("value"), own(0)), (_field("value"), own(1))}
    assert _plain(_of_kernel(kernel).of("write")) == written


def test_references_in_value_structs_are_reached() -> None:
    def kernel(a: Node, b: Node) -> None:
        change(Pair(a, b))

    assert _plain(_of_method(kernel, "change").of("write")) == {(_field("value"), Via(0))}
    written = {(_field("value"), Via(0)), (_field("value"), Via(1))}
    assert _plain(_of_kernel(kernel).of("write")) == written


def test_elements_and_objects_of_arrays() -> None:
    def kernel(nodes: oa.Array[Node], values: oa.Array[f32]) -> None:
        i = oa.grid(1)
        nodes[i].value = values[i]

    summary = _of_kernel(kernel)
    assert _plain(summary.of("read")) == {(_NODES, own(0)), (_FLOATS, own(1))}
    assert _plain(summary.of("write")) == {(_field("value"), Via(0))}


def test_members_and_constant_indices() -> None:
    def kernel(node: Node, out: oa.Array[f32]) -> None:
        out[0] = node.parts(2)

    summary = _of_method(kernel, "Node.parts")
    assert _plain(summary.of("write")) == {(_field("marks", ANY), own(0))}
    assert _plain(summary.of("read")) == {
        (_field("marks", 1), own(0)),
        (_field("place", "x"), own(0)),
    }


def test_parameters_of_callees_are_those_of_the_call() -> None:
    def kernel(a: Node, b: Node) -> None:
        b.take(a)

    assert _plain(_of_method(kernel, "Node.give").of("write")) == {(_field("value"), own(1))}
    take = _of_method(kernel, "Node.take")
    assert _plain(take.of("write")) == {(_field("value"), own(0))}
    assert _plain(take.of("read")) == {(_field("value"), own(1))}
    whole = _of_kernel(kernel)
    assert _plain(whole.of("write")) == {(_field("value"), own(1))}
    assert _plain(whole.of("read")) == {(_field("value"), own(0))}


def test_references_that_callees_return() -> None:
    def kernel(a: Node, b: Node) -> None:
        a.itself().count = 1
        a.either(b, True).value = f32(2)

    assert _plain(_of_kernel(kernel).of("write")) == {
        (_field("count"), own(0)), (_field("value"), own(0)), (_field("value"), own(1)),
    }  # fmt: skip


def test_null_is_nobodys() -> None:
    def kernel(a: Node, b: Node, which: i32) -> None:
        node = None
        if which > 0:
            node = a
        node.value = f32(1)  # type: ignore[union-attr]

    assert _plain(_of_kernel(kernel).of("write")) == {(_field("value"), own(0))}


def test_a_lane_is_another_object_than_the_one_that_is_passed() -> None:
    def kernel(node: Node) -> None:
        node.scale(f32(2))

    program = program_of(kernel)
    (method,) = (f for f in program.functions.values() if f.kind == "method")
    method.known = {0: Lane(2)}
    assert _plain(summarize(program)[program.kernel.symbol].of("write")) == {
        (_field("value"), ANYTHING)
    }


# -------------------------------------------------------------------- atomics


def test_atomics_whose_result_is_not_used() -> None:
    def kernel(nodes: oa.Array[Node], values: oa.Array[f32]) -> None:
        oa.atomic_add(values, 0, f32(1))
        oa.atomic_sub(values, 1, f32(1))
        oa.atomic_max(values, 2, f32(1))
        oa.atomic_min(values, 3, f32(1))

    summary = _of_kernel(kernel)
    assert {access.how for access in summary.of(*ADDS)} == {"add", "max", "min"}
    assert _plain(summary.of(*ADDS)) == {(_FLOATS, own(1))}
    assert summary.of("read") == summary.of("write") == frozenset()


@pytest.mark.parametrize("way", ["used", "exch", "cas"])
def test_other_atomics_read_and_write(way: str) -> None:
    def used(values: oa.Array[f32], out: oa.Array[i32]) -> None:
        out[0] = i32(oa.atomic_add(values, 0, f32(1)))

    def exch(values: oa.Array[f32], out: oa.Array[i32]) -> None:
        oa.atomic_exch(values, 0, f32(1))

    def cas(values: oa.Array[f32], out: oa.Array[i32]) -> None:
        oa.atomic_cas(out, 0, 1, 2)

    summary = _of_kernel({"used": used, "exch": exch, "cas": cas}[way])
    place = (("element", i32), own(1)) if way == "cas" else (_FLOATS, own(0))
    assert _plain(summary.of("read")) == {place}
    assert place in _plain(summary.of("write")) and not summary.of(*ADDS)


# --------------------------------------------------------------- other effects


def test_asking_the_thread() -> None:
    def kernel(out: oa.Array[i32]) -> None:
        out[0] = i32(oa.grid(1))

    assert _of_kernel(kernel).effects == Effects.ASKS_THREAD


def test_reporting() -> None:
    def printing(n: i32) -> None:
        print(n)

    def asserting(n: i32) -> None:
        assert n > 0

    assert _of_kernel(printing).effects == _of_kernel(asserting).effects == Effects.REPORTS


def test_waiting() -> None:
    def kernel(n: i32) -> None:
        oa.syncthreads()

    assert _of_kernel(kernel).effects == Effects.WAITS


def test_loops_that_may_not_end() -> None:
    def counting(out: oa.Array[i32]) -> None:
        for k in range(out[0]):
            out[k] = 1

    def waiting(out: oa.Array[i32]) -> None:
        while out[0] > 0:
            out[1] = 1

    assert _of_kernel(counting).effects == Effects.NOTHING
    assert _of_kernel(waiting).effects == Effects.LINGERS


def test_circles_of_calls() -> None:
    def kernel(node: Node, out: oa.Array[f32]) -> None:
        out[0] = node.circle(4)

    summary = _of_method(kernel, "Node.circle")
    assert summary.effects == Effects.LINGERS
    # Of the object itself by the first call, else of others.
    assert _plain(summary.of("read")) == {(_field("value"), Via(0)), (_field("next"), Via(0))}
    assert _of_kernel(kernel).effects == Effects.LINGERS


# ------------------------------------------------------------- virtual calls


def _updating(node: Node, by: f32) -> None:
    node.update(by)


def test_virtual_calls_do_what_any_candidate_does() -> None:
    summary = _of_kernel(_updating)
    assert _plain(summary.of("read")) == {(_field("value"), own(0)), (_field("next"), own(0))}
    assert _plain(summary.of("write")) == {(_field("count"), own(0)), (_field("value"), Via(0))}
    assert summary.effects == Effects.REPORTS


def test_candidates_that_have_no_objects_do_nothing() -> None:
    classes = [cls.__sharedoa__.type_index for cls in (Node, Loud)]
    summary = _of_kernel(_updating, populated=classes)
    assert _plain(summary.of("read")) == {(_field("value"), own(0))}
    assert _plain(summary.of("write")) == {(_field("count"), own(0))}
    assert _of_kernel(_updating, populated=[]) == Summary()


def test_tests_of_classes_read_no_fields() -> None:
    def kernel(node: Node, out: oa.Array[i32]) -> None:
        out[0] = i32(isinstance(node, Loud))

    assert _of_kernel(kernel).of("read") == frozenset()


# -------------------------------------------------------------- whole programs


def _assert_complete(program: Program) -> None:
    """What is stored to anywhere is in the summary of the kernel, as it reaches everything."""
    summary = summarize(program)[program.kernel.symbol]
    assert {access.role for access in summary.of("write") | summary.of(*ADDS)} == stored_roles(
        program
    )


@settings(max_examples=examples(20))
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.builds(Size, st.integers(0, 12), st.integers(1, 5), st.integers(1, 10)),
)
def test_random_programs(tmp_path_factory: pytest.TempPathFactory, seed: int, size: Size) -> None:
    _assert_complete(random_program(tmp_path_factory.mktemp("program"), seed, size))


@pytest.mark.parametrize("name", half_of(sorted(app_kernels()), 1))
def test_programs_of_the_applications(name: str) -> None:
    _assert_complete(program_of(app_kernels()[name]))


# -------------------------------------------------------------- unknown things


def _insert(program: Program, name: str, operation: Operation) -> None:
    (function,) = (f for f in program.functions.values() if f.name == name)
    function.body.operations.insert(0, operation)


@pytest.mark.parametrize("name", ["_updating", "Node.update", "Loud.update", "Writing.update"])
@pytest.mark.parametrize("is_inside", [False, True])
def test_an_operation_that_nobody_declared_does_everything(name: str, is_inside: bool) -> None:
    program = program_of(_updating)
    operation = Operation("new_object", [], NOWHERE)
    if is_inside:
        test = program.kernel.parameters[1]
        ends = [Region([], [Operation("yield", [], NOWHERE)]) for _ in range(2)]
        ends[0].operations.insert(0, operation)
        operation = Operation("if", [test], NOWHERE, regions=ends)
    _insert(program, name, operation)
    summary = summarize(program)[program.kernel.symbol]
    assert {Access("read", EVERYTHING, ANYTHING), Access("write", EVERYTHING, ANYTHING)} <= (
        summary.accesses
    )
    assert summary.effects == ANY_EFFECT.effects
    for each in (Effects.ASKS_THREAD, Effects.LINGERS, Effects.REPORTS, Effects.WAITS):
        assert each in summary.effects


def test_what_an_undeclared_operation_gives_may_be_anything() -> None:
    program = program_of(_updating)
    made = Value(program.kernel.parameters[0].type)
    operation = Operation("find_object", [], NOWHERE, {}, [made])
    made.source = operation
    _insert(program, "_updating", operation)
    assert summarize(program)[program.kernel.symbol].returns == {ANYTHING}


# ------------------------------------------------------------------- arrays


@oa.func
def put(source: oa.Array[f32], target: oa.Array[f32]) -> None:
    target[0] = source[1]


def test_one_array_passed_twice() -> None:
    def kernel(values: oa.Array[f32]) -> None:
        put(values, values)

    summary = _of_kernel(kernel)
    assert _plain(summary.of("read")) == _plain(summary.of("write")) == {(_FLOATS, own(0))}


# ------------------------------------------------- kinds that are declared later


def _declared(
    monkeypatch: pytest.MonkeyPatch, program: Program, effects: Effects, *operands: Value
) -> Operation:
    """A new kind of operation, which gives a node that the kernel returns; one of it is put at the
    kernel's beginning."""
    monkeypatch.setitem(operations._KINDS, "later", operations.Kind("later", effects))
    made = Operation("later", [*operands], NOWHERE, {}, [Value(program.kernel.parameters[0].type)])
    made.result.source = made
    program.kernel.body.operations = [made, Operation("return", [made.result], NOWHERE)]
    return made


@pytest.mark.parametrize("effects", [Effects.UNKNOWN, Effects.CALLS, operations.EVERYTHING])
def test_kinds_that_may_do_anything(monkeypatch: pytest.MonkeyPatch, effects: Effects) -> None:
    program = program_of(_updating)
    _declared(monkeypatch, program, effects)
    assert summarize(program)[program.kernel.symbol] == ANY_EFFECT


def test_kinds_that_touch_memory_and_do_not_say_where(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(_updating)
    _declared(monkeypatch, program, Effects.READS | Effects.WRITES, program.kernel.parameters[0])
    summary = summarize(program)[program.kernel.symbol]
    assert summary == Summary(ANY_EFFECT.accesses, Effects.NOTHING, frozenset([ANYTHING]))


def test_kinds_that_make_references_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(_updating)
    _declared(monkeypatch, program, operations.PURE, program.kernel.parameters[1])
    assert summarize(program)[program.kernel.symbol].returns == {ANYTHING}
    program.kernel.body.operations[0].operands = [program.kernel.parameters[0]]
    assert summarize(program)[program.kernel.symbol].returns == {own(0)}


def test_kinds_that_compute_the_reference_of_an_element(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(nodes: oa.Array[Node]) -> None:
        pass

    program = program_of(kernel)
    made = _declared(monkeypatch, program, operations.PURE, program.kernel.parameters[0])
    made.result.type = ReferenceType(Node.__sharedoa__)
    assert summarize(program)[program.kernel.symbol].returns == {Via(0)}


def test_arguments_of_regions_that_are_no_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(_updating)
    made = _declared(monkeypatch, program, operations.PURE, program.kernel.parameters[0])
    argument = Value(made.result.type)
    made.regions = [Region([argument], [Operation("yield", [argument], NOWHERE)])]
    assert summarize(program)[program.kernel.symbol].returns == {ANYTHING}


def test_origins_with_an_operation_that_nobody_declared() -> None:
    program = program_of(_updating)
    operation = Operation("find", [], NOWHERE, {}, [Value(program.kernel.parameters[0].type)])
    program.kernel.body.operations.insert(0, operation)
    found = origins_in(program.kernel, lambda operation, origins: frozenset())
    assert found[operation.result] == {ANYTHING}
