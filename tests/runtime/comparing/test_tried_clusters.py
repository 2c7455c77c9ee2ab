"""Which clusters are compared with what objects have, when, and what later runs know of it."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa.model.clusters import Groups
from sharedoa.runtime import (
    background,
    clustering,
    compared_clusters,
    knobs,
    remembered_looks,
    trial_accounts,
)

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
    new_heap,
    run,
    slower_by,
)


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
    for module in (clustering, trial_accounts):
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
        for module in (clustering, trial_accounts):
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


def test_another_processor_is_another_case(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is slower there may be quicker here."""
    here = remembered_looks.Circumstances.of((), heap, 1, 1)
    monkeypatch.setattr(type(heap.backend.target), "fingerprint", "another one")
    there = remembered_looks.Circumstances.of((), heap, 1, 1)
    assert here != there
    assert here.in_general != there.in_general
