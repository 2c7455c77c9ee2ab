"""Clusters that a device's clock compares, which is pretended here: objects keep the quicker ones,
and what was found is known in later runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.heap.heap import Heap
from sharedoa.model.clusters import Clusters, Groups
from sharedoa.model.layout import Layout
from sharedoa.runtime import (
    background,
    clustering,
    compared_clusters,
    knobs,
    planned_clusters,
    remembered_looks,
)
from tests.codegen.interpreted import InterpretedGpu
from tests.interleaving import place, switching

from .evolution import EagerDevice

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


class Mark(oa.Object):
    left: f32
    right: f32

    def split(self) -> None:
        if self.left > f32(0):
            self.left -= f32(1)
            Mark(left=f32(0), right=self.right + f32(1))


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


class Clock(InterpretedGpu):
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


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[None]:
    """Few objects are enough, and few launches. Nothing is known of earlier tests."""
    monkeypatch.setattr(clustering, "FEWEST_OBJECTS", 64)
    monkeypatch.setattr(clustering, "FEWEST_THREADS", 64)
    monkeypatch.setattr(clustering, "PATIENCE", 0.0)
    monkeypatch.setattr(clustering, "_wanted_since", WeakKeyDictionary())
    monkeypatch.setattr(compared_clusters, "_SAMPLES", 3)
    monkeypatch.setattr(compared_clusters, "_WARM_UP", 1)
    monkeypatch.setattr(compared_clusters, "_LEAST", 2)
    clock.timed_launches.clear()
    clock.seconds = lambda groups, number: 1.0
    with knobs.scope(fuse="0", specialise=False):
        yield
    assert background.wait()


@pytest.fixture
def rearranged(monkeypatch: pytest.MonkeyPatch) -> list[Groups]:
    """The clusters that cells got, one after another."""
    found: list[Groups] = []
    rearrange = Heap.rearrange

    def noting(heap: Heap, clusters: Clusters) -> None:
        rearrange(heap, clusters)
        found.append(heap.layout.clusters.of(CELL))

    monkeypatch.setattr(Heap, "rearrange", noting)
    return found


@pytest.fixture
def heap(clock: Clock) -> Iterator[oa.Heap]:
    with new_heap(clock) as made:
        yield made
        assert background.wait()


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


@pytest.mark.parametrize("is_captured", [False, True])
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_quicker_ones_stay(
    factor: float, is_captured: bool, heap: oa.Heap, clock: Clock, rearranged: list[Groups]
) -> None:
    clock.seconds = slower_by(factor)
    run(heap, is_captured)
    # Nothing is timed, nor tried again, once that is known. Of a step with another kernel two
    # fields are too little.
    others = [] if factor < 1.0 else [PAIRS] if is_captured else [PAIRS, PAIRS[:1]]
    tried = [(FOUR,), *others]
    kept = [] if others else [(FOUR,)]
    assert rearranged == [groups for each in tried for groups in by_turns(each)[1:]] + kept
    assert heap.layout.clusters.of(CELL) == rearranged[-1]
    turns = [groups for each in tried for groups in by_turns(each)]
    assert clock.timed_launches == [groups for groups in turns for _ in range(3)]


def test_others_are_tried_without_a_cluster_that_was_slower(
    heap: oa.Heap, clock: Clock, rearranged: list[Groups]
) -> None:
    """Threads say that all four had better lie together; nothing that they are made of says that
    two of them are quicker."""
    clock.seconds = lambda groups, number: {(): 1.0, PAIRS: 0.8}.get(groups, 1.2)
    run(heap)
    assert rearranged == [*by_turns((FOUR,))[1:], *by_turns(PAIRS)[1:], PAIRS]


def test_what_is_as_good_by_what_threads_touch_is_tried(
    heap: oa.Heap, clock: Clock, rearranged: list[Groups], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clusters that turned out to be quicker than rows may be slower than others."""
    monkeypatch.setattr(clustering, "_ALIKE", 10.0)
    clock.seconds = lambda groups, number: {(): 1.0, (FOUR,): 0.9}.get(groups, 0.8)
    run(heap, launches=2 * ENOUGH)
    others = [PAIRS, (FOUR,), PAIRS]
    assert rearranged[:6] == [*by_turns((FOUR,))[1:], (FOUR,), *others]
    assert compared_clusters.quickest(heap, CELL, ()) == rearranged[-1] != (FOUR,)


def test_short_runs_try_nothing(
    heap: oa.Heap, clock: Clock, rearranged: list[Groups], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is anything compiled for it. In one that goes on, nothing else is tried until many times
    as long has passed as the first ones took."""
    now = 0.0
    monkeypatch.setattr(clustering, "_AT_FIRST", 0.0)  # so nothing is for certain
    monkeypatch.setattr(clustering, "PATIENCE", 4.0)
    for module in (clustering, planned_clusters):
        monkeypatch.setattr(module, "perf_counter", lambda: now)
    clock.seconds = slower_by(1.1)
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    some = cells[SOME]

    def launches() -> None:
        for _ in range(ENOUGH):
            gather[COUNT](some, out)
            assert background.wait()

    launches()
    assert rearranged == [] and clock.timed_launches == []
    now = 4 * clustering._TRIAL
    gather[COUNT](some, out)
    gather[COUNT](some, out)
    now += 1.0  # for compiling
    launches()
    assert rearranged == by_turns((FOUR,))[1:]
    now += 4 * clustering._TRIAL + 3.9
    launches()
    assert len(rearranged) == 2
    now += 0.2
    launches()
    assert rearranged == [*by_turns((FOUR,))[1:], *by_turns(PAIRS)[1:]]


def test_short_runs_of_a_process_add_up(
    clock: Clock, rearranged: list[Groups], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heap for each: what one wanted but had no time to try is tried in a later one."""
    monkeypatch.setattr(clustering, "_AT_FIRST", 0.0)
    monkeypatch.setattr(clustering, "PATIENCE", 4.0)
    clock.seconds = slower_by(1.1)
    for parts in 0.0, 3.9, 4.1:
        assert rearranged == []
        for module in (clustering, planned_clusters):
            monkeypatch.setattr(module, "perf_counter", partial(float, parts * clustering._TRIAL))
        with new_heap(clock) as heap:
            cells, out = fill(heap)
            age[COUNT](cells, 1.0)
            for _ in range(ENOUGH):
                gather[COUNT](cells[SOME], out)
                assert background.wait()
    assert rearranged[:1] == by_turns((FOUR,))[1:2]


def test_what_an_earlier_run_found_quicker_comes_first(
    heap: oa.Heap, clock: Clock, rearranged: list[Groups], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever threads touch now: it would have others, which may not be tried yet."""
    monkeypatch.setattr(clustering, "PATIENCE", 1e9)
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    found = compared_clusters.Slower
    with heap.lock:
        faster = PAIRS[:1]
        slower = [found(faster, PAIRS, COUNT), found((), faster, COUNT)]
        compared_clusters.note(heap, CELL, slower)
    for _ in range(3):
        gather[COUNT](cells[SOME], out)
        assert background.wait()
    assert rearranged == [PAIRS] and clock.timed_launches == []
    assert out.numpy().tolist() == (3 * (SOME + 6.0)).tolist()


def test_what_objects_cannot_have_comes_never(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(heap)
    found, faster = compared_clusters.Slower, PAIRS[:1]
    slower = [found(faster, PAIRS, COUNT), found((), faster, COUNT)]
    compared_clusters.note(heap, CELL, slower)
    assert compared_clusters.quickest(heap, CELL, ()) == PAIRS
    cannot = lambda heap, clusters: clusters.of(CELL) != PAIRS
    monkeypatch.setattr(compared_clusters, "are_possible", cannot)
    assert compared_clusters.quickest(heap, CELL, ()) == faster
    assert compared_clusters.quickest(heap, CELL, faster) == faster


def test_what_spares_much_for_certain_is_not_compared(
    heap: oa.Heap, clock: Clock, rearranged: list[Groups], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of a program that is no preparation touched what had better lie together."""
    monkeypatch.setattr(clustering, "_AT_FIRST", 0.0)
    monkeypatch.setattr(clustering, "_TRIAL", math.inf)
    monkeypatch.setattr(clustering, "PATIENCE", 1e-9)
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    some = cells[SOME]
    for number in range(2 * clustering.LAUNCHES):
        if number == clustering.LAUNCHES - 1:
            assert rearranged == []
            monkeypatch.setattr(clustering, "_AT_FIRST", 0.7)
        gather[COUNT](some, out)
        assert background.wait()
    assert rearranged == [(FOUR,)] and clock.timed_launches == []


def test_what_was_certain_is_so_in_later_runs(
    clock: Clock, rearranged: list[Groups], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered_looks, "KEEPS", True)
    monkeypatch.setattr(clustering, "_TRIAL", math.inf)
    monkeypatch.setattr(clustering, "PATIENCE", 1e-9)
    for launches in 2 * clustering.LAUNCHES, 2:
        with new_heap(clock) as heap:
            cells, out = fill(heap)
            age[COUNT](cells, 1.0)
            for _ in range(launches):
                gather[COUNT](cells[SOME], out)
                assert background.wait()
    assert rearranged == [(FOUR,), (FOUR,)] and clock.timed_launches == []
    for each in (gather, age):
        each.program.uses().derived.clear()


def test_objects_change_without_waiting_for_turns_to_end(
    heap: oa.Heap, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host is many launches ahead of a device: only of the last turn it waits until it knows
    what they took."""
    is_behind = True

    def timed(start: Callable[[], None]) -> Callable[[], float | None]:
        start()
        groups = heap.layout.clusters.of(CELL)
        took = 0.9 if groups else 1.0
        # To change objects waits for what is under way.
        has_ended = lambda: not is_behind or heap.layout.clusters.of(CELL) != groups
        return lambda: took if has_ended() else None

    monkeypatch.setattr(clock, "timed", timed)
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    some, of_turns = cells[SOME], list[Groups]()
    for _ in range(30):
        gather[COUNT](some, out)
        of_turns.append(heap.layout.clusters.of(CELL))
        assert background.wait()
    # Four launches of a turn, and one during which code is made ready for the next one.
    assert of_turns.index((FOUR,)) < 10 and of_turns.count((FOUR,)) <= 5
    is_behind = False
    for _ in range(3):
        gather[COUNT](some, out)
        assert background.wait()
    assert compared_clusters.is_slower(heap, CELL, (), (FOUR,))


class Other(oa.Object):
    a: f32
    b: f32
    c: f32
    d: f32
    e: f32


@oa.kernel
def gather_both(cells: oa.Array[Cell], others: oa.Array[Other], out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(cells):
        out[i] += cells[i].a + cells[i].b + cells[i].c + cells[i].d
        out[i] += others[i].a + others[i].b + others[i].c + others[i].d


@oa.kernel
def fill_both(cells: oa.Array[Cell], others: oa.Array[Other]):
    i = oa.grid(1)
    cells[i].e = f32(1)
    others[i].e = f32(1)


def test_one_class_after_another(heap: oa.Heap, clock: Clock, rearranged: list[Groups]) -> None:
    """One gains what the other one loses."""
    cells, out = fill(heap)
    others = heap.new(Other, COUNT, a=1, b=1, c=2, d=3)
    fill_both[COUNT](cells, others)
    other = Other.__sharedoa__
    clock.seconds = lambda groups, number: (
        1.0 - 0.2 * bool(groups) + 0.2 * bool(heap.layout.clusters.of(other))
    )
    for _ in range(2 * ENOUGH):
        gather_both[COUNT](cells[SOME], others[SOME], out)
        assert background.wait()
    assert heap.layout.clusters.of(CELL) == (FOUR,) and heap.layout.clusters.of(other) == ()
    assert out.numpy().tolist() == (2 * ENOUGH * (SOME + 13.0)).tolist()


def test_the_next_best_is_tried(
    heap: oa.Heap, clock: Clock, monkeypatch: pytest.MonkeyPatch, rearranged: list[Groups]
) -> None:
    """What was slower is passed over at the next look, or when that is known."""
    some = (("a", "b"),)
    monkeypatch.setattr(clustering.Choice, "ways", lambda self, _=(): [(FOUR,), some, ()])
    clock.seconds = lambda groups, number: {(): 1.0, some: 0.8}.get(groups, 1.2)
    run(heap, launches=2 * ENOUGH)
    # Of the first ones it is known by then, too, that they are slower than the last ones.
    assert rearranged == [*by_turns((FOUR,))[1:], *by_turns(some)[1:], some]


@pytest.mark.parametrize("grows", [0.8, 1.25])
def test_populations_that_change_mislead_nobody(
    grows: float, heap: oa.Heap, clock: Clock, rearranged: list[Groups],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Each launch takes a quarter more, or less, than the one before; with clusters a tenth more.
    In the end that is all that changes."""
    monkeypatch.setattr(clustering.Choice, "ways", lambda self, _=(): [(FOUR,), ()])
    clock.seconds = lambda groups, number: grows ** min(number, 9) * (1.1 if groups else 1.0)
    run(heap)
    assert heap.layout.clusters == NONE and rearranged == 2 * by_turns((FOUR,))[1:]


@pytest.mark.parametrize("of_rows", [math.nan, 0.0])
def test_what_cannot_be_timed_is_as_threads_say(
    of_rows: float, heap: oa.Heap, clock: Clock
) -> None:
    clock.seconds = lambda groups, number: 1.0 if groups else of_rows
    run(heap)
    assert heap.layout.clusters.of(CELL) == (FOUR,)


def test_launches_that_fail_are_not_waited_for(
    heap: oa.Heap, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as are timed in a turn raise what an earlier launch did wrong."""
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    some, timed, failing = cells[SOME], clock.timed, [3]
    clock.seconds = slower_by(0.9)

    def fail_first(start: Callable[[], None]) -> Callable[[], float | None]:
        if failing[0]:
            failing[0] -= 1
            raise oa.DeviceError("an assertion failed", "")
        return timed(start)

    monkeypatch.setattr(clock, "timed", fail_first)
    for _ in range(ENOUGH):
        with suppress(oa.DeviceError):
            gather[COUNT](some, out)
        assert background.wait()
    assert failing == [0] and heap.layout.clusters.of(CELL) == (FOUR,)
    assert compared_clusters.of(heap) is None


def test_launches_that_are_all_different_are_compared_no_longer(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is of another number of threads, so that there are never enough of one kind."""
    monkeypatch.setattr(compared_clusters, "_MOST_LAUNCHES", 3)
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    some = cells[SOME]
    was_compared = False
    for number in range(150):  # wanted, and then whether none are quicker
        gather[COUNT + number](some, out)
        was_compared |= compared_clusters.of(heap) is not None
        assert background.wait()
    assert was_compared
    assert compared_clusters.of(heap) is None
    assert heap.layout.clusters.of(CELL) == (FOUR,)


def test_a_launch_during_which_another_attempt_begins(heap: oa.Heap) -> None:
    """Another thread's launches may end an attempt while one of this thread is under way."""
    started = []

    def submit(layout: Layout) -> background.Task:
        raise AssertionError("no turn has ended")

    comparison = compared_clusters.Comparison(heap, NONE, True, submit, 0.0)

    def start() -> None:
        started.append(1)
        comparison._begin()

    assert not comparison.run(0, "form", start)
    assert started == [1]


def test_another_thread_launches_while_what_was_found_is_kept(heap: oa.Heap) -> None:
    """What it launches is noted among what was launched before."""
    cells, out = fill(heap)
    gather[COUNT](cells[SOME], out)
    with heap.lock:
        compared_clusters.note(heap, CELL, [compared_clusters.Slower((FOUR,), (), COUNT)])
        compared_clusters.choose_again(heap)

    def launch() -> None:
        with heap:
            age[COUNT](cells, 1.0)

    with switching(place(clustering._keep_compared, "own ="), launch):
        gather_both[COUNT](cells, heap.new(Other, COUNT), out)
    assert cells.e.numpy().tolist() == [1.0] * COUNT


def test_launches_of_other_threads_are_not_compared(heap: oa.Heap, clock: Clock) -> None:
    """With clusters there are others, which take longer for that: nobody knows which is slower."""
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    some = cells[SOME]
    clock.seconds = slower_by(10.0)
    for _ in range(ENOUGH):
        gather[COUNT - (heap.layout.clusters != NONE)](some, out)
        assert background.wait()
    with heap.lock:
        assert not compared_clusters.is_slower(heap, CELL, (FOUR,), ())
    assert out.numpy()[: COUNT - 1].tolist() == (ENOUGH * (SOME[:-1] + 6.0)).tolist()


def test_what_objects_got_before_there_was_code_is_compared_later(
    heap: oa.Heap, clock: Clock, rearranged: list[Groups], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, out = fill(heap)
    some = cells[SOME]
    monkeypatch.setattr(clustering.Choice, "ways", lambda self, _=(): [(FOUR,), ()])
    clock.seconds = slower_by(1.1)
    for number in range(1, ENOUGH + clustering.LAUNCHES):
        gather[COUNT](some, out)
        assert out.numpy().tolist() == (number * (SOME + 6.0)).tolist()
        assert background.wait()
        if number < clustering.LAUNCHES:
            assert rearranged == [(FOUR,)] and not clock.timed_launches
    assert rearranged == [*by_turns((FOUR,))[1:], (FOUR,), ()] and heap.layout.clusters == NONE


def test_many_times_as_many_objects_are_another_case(heap: oa.Heap) -> None:
    cells, _ = fill(heap)
    found = compared_clusters.Slower((FOUR,), (), COUNT)
    with heap.lock:
        compared_clusters.note(heap, CELL, [found])
        assert compared_clusters.is_slower(heap, CELL, (FOUR,), ())
        assert not compared_clusters.is_slower(heap, CELL, (), (FOUR,))
    more = heap.new(Cell, 3 * COUNT)
    with heap.lock:
        assert not compared_clusters.is_slower(heap, CELL, (FOUR,), ())
    assert len(cells) + len(more) == 4 * COUNT


@pytest.mark.parametrize("is_new_process", [False, True])
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_later_runs_know(
    factor: float, is_new_process: bool, clock: Clock, rearranged: list[Groups],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    """In this process, and by what is kept in a folder."""
    monkeypatch.setattr(remembered_looks, "KEEPS", True)
    clock.seconds = slower_by(factor)
    with knobs.scope(cache_dir=tmp_path):
        for time in range(2):
            with new_heap(clock) as heap:
                run(heap)
                assert background.wait()
            if time == 0:
                clock.timed_launches.clear()
                rearranged.clear()
                if is_new_process:
                    for each in (gather, age):
                        each.program.uses().derived.clear()
    assert clock.timed_launches == [] and rearranged == ([(FOUR,)] if factor < 1.0 else [])
    for each in (gather, age):
        each.program.uses().derived.clear()


def test_objects_that_steps_have_made_change_too() -> None:
    """While nobody has asked yet which they are."""
    with oa.Heap(backend=EagerDevice(), capacity="64MiB", initial_region=32) as heap:
        heap.new(Mark, 40, left=2, right=range(40))
        with oa.capture() as step:
            oa.all(Mark).split()
        step.run()
        step.run()
        assert heap.memory.unsettled is not None
        heap.rearrange(NONE.replace(Mark.__sharedoa__, [("left", "right")]))
        marks = oa.all(Mark)
        assert sorted(marks.right) == sorted([*range(40), *range(1, 41), *range(1, 41)])
        assert sorted(marks.left) == [0.0] * 120


def test_another_processor_is_another_case(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is slower there may be quicker here."""
    here = remembered_looks.Circumstances.of((), heap, 1, 1)
    monkeypatch.setattr(type(heap.backend.target), "fingerprint", "another one")
    there = remembered_looks.Circumstances.of((), heap, 1, 1)
    assert here != there
    assert here.in_general != there.in_general
