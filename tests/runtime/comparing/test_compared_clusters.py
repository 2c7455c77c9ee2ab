"""Clusters that a device's clock compares, which is pretended here: objects keep the quicker."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress

import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.model.clusters import Groups
from sharedoa.model.layout import Layout
from sharedoa.runtime import background, clustering, compared_clusters
from tests.interleaving import place, switching

from ..evolution import EagerDevice
from .cells import (
    CELL,
    COUNT,
    ENOUGH,
    FOUR,
    NONE,
    PAIRS,
    SOME,
    Cell,
    Clock,
    age,
    by_turns,
    fill,
    gather,
    run,
    slower_by,
)


class Mark(oa.Object):
    left: f32
    right: f32

    def split(self) -> None:
        if self.left > f32(0):
            self.left -= f32(1)
            Mark(left=f32(0), right=self.right + f32(1))


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

    comparison = compared_clusters.Comparison(heap, NONE, True, submit)

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
