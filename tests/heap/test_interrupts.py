"""Ctrl-C at any moment of anything that a heap does leaves it whole."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.heap.field_view import FieldView
from sharedoa.heap.heap import current_heap
from sharedoa.heap.recording import recorder

from .invariants import check_invariants, interrupt_everywhere, interrupted_at

#: Python itself drops what arrives in the callback of a weak reference.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Node(oa.Object):
    number: i32
    next: Node
    edges: oa.Array[Node]

    def step(self, by: i32) -> None:
        self.number += by

    def twice(self) -> i32:
        return self.number * 2


class Leaf(Node):
    weight: f32

    def step(self, by: i32) -> None:
        self.number += by


class Mayfly(oa.Object):
    day: i32

    def live(self) -> None:
        if self.day % 3 == 0:
            oa.delete(self)
        elif self.day % 3 == 1:
            Mayfly(day=self.day + 1)


@oa.kernel
def hatch(days: oa.Array[i32]) -> None:
    made = Mayfly(day=days[oa.grid(1)])
    if made.day % 5 == 0:
        oa.delete(made)


@oa.kernel
def add(nodes: oa.Array[Node], by: i32) -> None:
    i = oa.grid(1)
    if i < len(nodes):
        nodes[i].step(by)


@oa.kernel
def link(nodes: oa.Array[Node], others: oa.Array[Node]) -> None:
    i = oa.grid(1)
    if i < len(nodes):
        others[i] = nodes[i]


@oa.kernel
def count(array: oa.Array[i32]) -> None:
    array[0] += 1


def one_more(leaf: Leaf) -> int:
    return int(leaf.number) + 1


class World:
    """A heap with objects that must not change, and what is done beside them."""

    def __init__(self, heap: oa.Heap, folder: Path) -> None:
        self.heap, self.file = heap, folder / "dump"
        self.kept = oa.new(Leaf, 40, number=np.arange(40, dtype=np.int32), weight=2.5)
        self.kept.next = [*[self.kept[i] for i in range(1, 40)], None]
        self.kept.edges = oa.split(oa.array(Leaf, [self.kept[0]] * 40), [1] * 40)
        self.others = oa.new(Node, 30)
        self.array = oa.array(i32, np.arange(100, dtype=np.int32))
        with oa.capture() as self.step:
            add[30](self.others, 1)
        self.names = itertools.count()

    def new(self) -> None:
        oa.new(Node, 25, number=np.arange(25, dtype=np.int32), next=self.kept[0])

    def new_one(self) -> None:
        one = oa.new(Leaf, number=7, weight=1.0, next=self.kept[1])
        one.number = one.number + 1
        oa.delete(one)
        oa.new(Leaf, number=one_more(self.kept[3]), next=self.kept[1])

    def many(self) -> None:
        oa.new(Leaf, 500, number=3)

    def arrays(self) -> None:
        oa.array(f32, [1.0, 2.0])
        oa.zeros(1000, i32)

    def concat(self) -> None:
        found = oa.concat(self.kept, self.others)
        assert len(found[2:10]) == 8

    def delete(self) -> None:
        spare = self._spare()
        if len(spare) < 30:
            made = oa.new(Node, 60)
            oa.delete(made[::2])
        else:
            oa.delete(spare)

    def _spare(self) -> Any:
        """All objects but ``kept`` and ``others``, which refer to none of them."""
        every = oa.all(Node)
        known = {*self.kept.references().tolist(), *self.others.references().tolist()}
        spare = [k for k, r in enumerate(every.references().tolist()) if r not in known]
        return every[np.array(spare, np.int64)]

    def pieces(self) -> None:
        self.others.edges = oa.split(self.others, [1] * 30)
        self.others.edges = oa.split(oa.array(Node, [self.others[0]] * 30), [1] * 30)

    def elements(self) -> None:
        mine = oa.concat(self.others)
        mine[3] = self.kept[0]
        mine[4:6] = [self.kept[1], None]
        self.array[5] = 5
        self.others.number[2:4] = 7

    def launch(self) -> None:
        add[30](self.others, 1)
        add[30](self.others, 2)
        link[30](self.others, oa.concat(self.others))
        self.heap.synchronize()

    def population(self) -> None:
        oa.all(Node).step(0)
        self.kept.twice().numpy()

    def births(self) -> None:
        if len(oa.all(Mayfly)) > 200:
            oa.delete(oa.all(Mayfly))
        hatch[30](self.array)
        oa.all(Mayfly).live()

    def run(self) -> None:
        self.step.run(3)

    def capture(self) -> None:
        with oa.capture() as step:
            add[30](self.others, 1)
        step.run(2)

    def load(self) -> None:
        self.heap.dump(self.file, kept=self.kept)
        found = self.heap.load(self.file)["kept"]
        assert len(found) == 40
        oa.delete(self._spare())

    def define(self) -> None:
        before = len(Node.__sharedoa__.subclasses)
        number = next(self.names)

        class Other(Node):
            def step(self, by: i32) -> None:
                self.number += by

        Other.step = Leaf.__dict__["step"].__wrapped__ if number < 0 else _replacement
        Other.__sharedoa__.withdraw()
        assert len(Node.__sharedoa__.subclasses) == before

    def check(self) -> None:
        check_invariants(self.heap)
        subclasses = Node.__sharedoa__.subclasses
        for cls in subclasses[1:]:
            assert cls.slots and cls.python_class.__sharedoa__ is cls
            cls.withdraw()
        assert self.kept.number.numpy().tolist() == list(range(40))
        assert (self.kept.weight.numpy() == 2.5).all()
        assert self.kept.next[38] is self.kept[39] and self.kept.next[39] is None
        assert self.kept[7].edges[0] is self.kept[0]
        assert self.array.numpy().tolist() == list(range(100))
        made = oa.new(Leaf, 3, number=4)
        assert made.number.numpy().tolist() == [4] * 3 and not made.weight.numpy().any()
        assert made.next.references().tolist() == [0] * 3
        oa.delete(made)


def _replacement(self: Any, by: i32) -> None:
    self.number += by


OPERATIONS: tuple[Callable[[World], None], ...] = (
    World.new, World.new_one, World.many, World.arrays, World.concat, World.delete, World.pieces,
    World.elements, World.launch, World.population, World.run, World.capture, World.load,
    World.define, World.births,
)  # fmt: skip


SCATTERED = ("concord", "aos")
BY_TYPE = (("auto", "aos"), ("auto", "tile"), ("coal", "aos"))


@pytest.fixture(params=[*BY_TYPE, SCATTERED], ids="-".join)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    mode, layout = request.param
    with oa.Heap(mode, "cpu", layout, "64MiB", 8, debug=False) as heap:
        yield World(heap, tmp_path)


def _worlds_and_operations() -> list[Any]:
    """Each operation where objects are placed one by one or in one of the other worlds, whose
    books are the same, and slowly in both; ``test_ctrl_c_at_many_moments`` has all."""
    return [
        pytest.param(
            world,
            operation,
            marks=[pytest.mark.slow] * ((world == SCATTERED) == bool(turn % 2)),
            id=f"{'-'.join(world)}-{operation.__name__}",
        )
        for turn, operation in enumerate(OPERATIONS)
        for world in (BY_TYPE[turn % len(BY_TYPE)], SCATTERED)
    ]


@pytest.mark.parametrize(("world", "operation"), _worlds_and_operations(), indirect=["world"])
def test_ctrl_c_at_some_moments(world: World, operation: Callable[[World], None]) -> None:
    operation(world)
    world.check()
    assert interrupt_everywhere(lambda: operation(world), world.check, 8) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.__name__)
def test_ctrl_c_at_many_moments(world: World, operation: Callable[[World], None]) -> None:
    operation(world)
    assert interrupt_everywhere(lambda: operation(world), world.check, 1000) >= 25


@pytest.mark.slow
def test_a_storm_of_signals(world: World) -> None:
    """A timer interrupts whatever runs."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for number in range(1500):
            operation = OPERATIONS[number % len(OPERATIONS)]
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + (number * 7919 % 1000) * 4e-6)
                operation(world)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            world.check()
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


@pytest.mark.parametrize("nested", [False, True])
def test_blocks_are_left_whenever_it_comes(nested: bool) -> None:
    with oa.Heap("auto", "cpu", "aos", "64MiB", 8) as heap, oa.Heap("auto", "cpu") as other:
        array = heap.zeros(1, i32)

        def of_heap() -> None:
            with heap:
                if nested:
                    with heap:
                        pass

        def of_capture() -> None:
            with heap, oa.capture() as step:
                pass
            steps.append(step)

        def of_tape() -> None:
            with heap, oa.tape():
                pass

        def of_fusion() -> None:
            with heap, oa.fuse():
                if nested:
                    with oa.tape():
                        pass

        steps: list[Any] = []
        for block in (of_heap, of_capture, of_tape, of_fusion):
            block()  # imports what it needs
        for moment in range(1, 240):
            kept: list[BaseException] = []  # the traceback holds all frames that it went through
            steps.clear()
            for block in (of_heap, of_capture, of_tape, of_fusion):
                with interrupted_at(moment) as found:
                    try:
                        block()
                    except KeyboardInterrupt as problem:
                        kept.append(problem)
                        assert current_heap() is other, moment
                        raise
                assert current_heap() is other, moment
                assert recorder() is None, moment
            count[1](array)
            assert array[0] == moment
            for step in steps:
                step.run()
        assert not found.came


def test_a_step_whose_block_was_left_by_a_signal() -> None:
    with oa.Heap("auto", "cpu", "aos", "64MiB", 8):
        step = oa.capture()
        leave = step.__exit__
        step.__enter__()
        with pytest.raises(oa.HeapError, match="its block has not ended"):
            step.run()
        del leave
        assert recorder() is None
        with pytest.raises(oa.HeapError, match="its block ended with an error"):
            step.run()


def test_blocks_without_a_with_statement() -> None:
    with oa.Heap("auto", "cpu") as first, oa.Heap("auto", "cpu") as second:
        with contextlib.ExitStack() as stack:
            stack.enter_context(first)
            assert current_heap() is first
            stack.enter_context(second)
            with first:
                second.__enter__()
                assert current_heap() is second
                second.__exit__(None, None, None)
                assert current_heap() is first
            assert current_heap() is second
            context = contextvars.copy_context()
            with first:
                inner = contextvars.copy_context()
        assert current_heap() is second
        assert context.run(current_heap) is second
        assert inner.run(current_heap) is first


def test_blocks_that_are_not_entered() -> None:
    with oa.Heap("auto", "cpu", "aos", "64MiB", 8) as heap, oa.Heap("auto", "cpu") as other:
        for moment in range(1, 60):
            entered: list[bool] = []
            with interrupted_at(moment) as found:
                heap.__enter__()
                entered.append(True)
            if entered:
                heap.__exit__(ValueError, None, None)
            assert current_heap() is other, moment
            entered.clear()
            with interrupted_at(moment) as found:
                step = oa.capture()
                step.__enter__()
                entered.append(True)
            if entered:
                step.__exit__(ValueError, None, None)
            assert recorder() is None, moment
        assert not found.came


def test_a_view_that_was_never_made_goes_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    FieldView.__new__(FieldView)
    assert not said
