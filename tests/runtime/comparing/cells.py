"""Objects whose clusters a device's clock compares, which is pretended here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32
from sharedoa.model.clusters import Clusters, Groups
from sharedoa.runtime import background
from tests.backends.pretend_device import PromptDevice

COUNT = 192
SOME = np.random.default_rng(7).permutation(COUNT)
NONE = Clusters()
#: Launches after which all comparisons have ended.
ENOUGH = 80


class Cell(oa.Object):
    a: f32
    b: f32
    c: f32
    d: f32
    e: f32


CELL = Cell.__sharedoa__
FOUR = ("a", "b", "c", "d")
PAIRS = (("a", "b"), ("c", "d"))
"""The best without ``FOUR``, made of the first one of them."""


@oa.kernel
def gather(cells: oa.Array[Cell], out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(cells):
        out[i] += cells[i].a + cells[i].b + cells[i].c + cells[i].d


@oa.kernel
def age(cells: oa.Array[Cell], by: f32):
    i = oa.grid(1)
    if i < len(cells):
        cells[i].e += by


class Clock(PromptDevice):
    """Says what a launch takes, by the clusters of cells and the number of those timed before."""

    def __init__(self) -> None:
        super().__init__()
        self.heap: oa.Heap | None = None
        self.seconds: Callable[[Groups, int], float] = lambda groups, number: 1.0
        self.timed_launches: list[Groups] = []

    def timed(self, start: Callable[[], None]) -> Callable[[], float | None]:
        start()
        assert self.heap is not None
        groups = self.heap.layout.clusters.of(CELL)
        told = self.seconds(groups, len(self.timed_launches))
        self.timed_launches.append(groups)
        return lambda: told


def new_heap(clock: Clock) -> oa.Heap:
    clock.heap = oa.Heap(backend=clock, capacity="64MiB", initial_region=32)
    return clock.heap


def fill(heap: oa.Heap) -> tuple[Any, Any]:
    return heap.new(Cell, COUNT, a=range(COUNT), b=1, c=2, d=3), heap.zeros(COUNT, f32)


def run(heap: oa.Heap, is_captured: bool = False, launches: int = ENOUGH) -> None:
    """Launches on objects for which there is code, in rows, when they turn out to be met in
    disorder; whose results are right."""
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    some = cells[SOME]
    launch: Callable[[], Any] = lambda: gather[COUNT](some, out)
    if is_captured:
        with oa.capture() as step:
            gather[COUNT](some, out)
            age[COUNT](cells, 0.0)
        launch = step.run
    for number in range(1, launches + 1):
        launch()
        assert out.numpy().tolist() == (number * (SOME + 6.0)).tolist()
        assert background.wait()
    assert cells.e.numpy().tolist() == [1.0] * COUNT


def by_turns(groups: Groups) -> list[Groups]:
    """What cells have while these are compared with rows."""
    return [(), groups, ()]


def slower_by(factor: float) -> Callable[[Groups, int], float]:
    return lambda groups, number: factor if groups else 1.0
