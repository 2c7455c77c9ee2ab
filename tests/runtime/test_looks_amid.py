"""Launches of a captured step are looked at amid a run: what objects ask of each other in it is
gone when it ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.model.clusters import Clusters
from sharedoa.runtime import background, clustering, compared_clusters, knobs
from sharedoa.runtime.population_sequence import PopulationSequence

from .evolution import EagerDevice

COUNT = 256
FOUR = ("a", "b", "c", "d")
RUNS = 2 * clustering.LAUNCHES


class Cell(oa.Object):
    a: f32
    b: f32
    c: f32
    d: f32
    asked: i32
    next: Cell
    sum: f32

    def ask(self) -> None:
        self.next.asked = i32(1)

    def answer(self) -> None:
        if self.asked == 1:
            other = self.next
            self.sum += other.a + other.b + other.c + other.d
            self.asked = i32(0)


class Mark(oa.Object):
    left: i32

    def split(self) -> None:
        if self.left > 0:
            self.left -= 1
            Mark(left=0)


CELL = Cell.__sharedoa__


@pytest.fixture
def heap(monkeypatch: pytest.MonkeyPatch) -> Iterator[oa.Heap]:
    monkeypatch.setattr(clustering, "FEWEST_OBJECTS", 64)
    monkeypatch.setattr(clustering, "FEWEST_THREADS", 64)
    monkeypatch.setattr(clustering, "PATIENCE", 0.0)
    # Nothing is timed.
    monkeypatch.setattr(compared_clusters, "are_quicker", lambda *_: True)
    monkeypatch.setattr(clustering, "_not_compared", lambda *_: [])
    with (
        knobs.scope(fuse="0"),
        oa.Heap(backend=EagerDevice(), capacity="64MiB", initial_region=32) as made,
    ):
        yield made
    assert background.wait()


def test_what_objects_ask_of_each_other(heap: oa.Heap) -> None:
    order = np.random.default_rng(3).permutation(COUNT)
    cells = heap.new(Cell, COUNT, a=range(COUNT), b=1, c=2, d=3)
    cells.next = cells[order]
    heap.new(Mark, 40, left=3)
    with oa.capture() as step:
        oa.all(Mark).split()
        oa.all(Cell).ask()
        oa.all(Cell).answer()
    for number in range(1, RUNS + 1):
        step.run()
        if number < clustering.LAUNCHES:
            # Nobody asks anything before a step.
            assert heap.layout.clusters == Clusters()
        assert background.wait()
    assert heap.layout.clusters.of(CELL) == (FOUR,)
    assert cells.sum.numpy().tolist() == (RUNS * (order + 6.0)).tolist()
    assert len(oa.all(Mark)) == 40 * 4


def test_populations_that_change_in_such_a_run(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that live are known after it, and each of the next runs sees who lives."""
    looking: list[int] = []
    replay = PopulationSequence._replay_looking

    def noting(self: PopulationSequence) -> None:
        looking.append(number)
        replay(self)

    monkeypatch.setattr(PopulationSequence, "_replay_looking", noting)
    heap.new(Mark, 80, left=RUNS)
    with oa.capture() as step:
        oa.all(Mark).split()
    number = 0
    for number in range(1, RUNS + 1):
        step.run()
        if number % 3 == 0 or looking == [number]:
            assert len(oa.all(Mark)) == 80 * (number + 1)
    left = np.sort(np.array(oa.all(Mark).left))
    assert left.tolist() == [0] * (80 * (RUNS + 1)) and looking


class Other(oa.Object):
    a: f32
    b: f32


@oa.kernel
def add(others: oa.Array[Other]) -> None:
    i = oa.grid(1)
    others[i].a += others[i].b


def test_a_program_that_is_gone_when_clusters_are_chosen(heap: oa.Heap) -> None:
    """It was seen amid the last run of its step."""

    @oa.kernel
    def gather(cells: oa.Array[Cell]) -> None:
        cell = cells[oa.grid(1)]
        cell.sum += cell.a + cell.b + cell.c + cell.d

    cells = heap.new(Cell, COUNT, a=1)
    heap.new(Mark, 40, left=3)
    with oa.capture() as step:
        oa.all(Mark).split()
        gather[COUNT](cells)
    seen = clustering._known[heap].seen
    while not any(CELL in each.costs for each in seen):
        step.run()
        assert background.wait()
    del step, gather
    gc.collect()
    others = heap.new(Other, COUNT, a=1, b=2)
    add[COUNT](others)
    assert others.a.numpy().tolist() == [3.0] * COUNT
