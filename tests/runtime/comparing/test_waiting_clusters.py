"""Clusters that are wanted of one class while those of another one are given for certain."""

from __future__ import annotations

import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.model.classes import ClassType
from sharedoa.model.clusters import Clusters
from sharedoa.runtime import background, clustering, planned_clusters, trial_accounts

from .cells import CELL, COUNT, ENOUGH, FOUR, NONE, SOME, Clock, age, fill, gather, new_heap


class Link(oa.Object):
    p: f32
    q: f32


LINK = Link.__sharedoa__
CERTAIN = NONE.replace(CELL, [FOUR])
BOTH = CERTAIN.replace(LINK, [("p", "q")])


@oa.kernel
def follow(links: oa.Array[Link], out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(links):
        out[i] += links[i].p + links[i].q


def test_what_waited_for_what_is_certain_is_tried_next(
    heap: oa.Heap, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are wanted at the same look. That of links spares less, and may be tried when a second
    has passed since then, not since cells have theirs."""
    now, at_first = 0.0, clustering._AT_FIRST
    monkeypatch.setattr(clustering, "PATIENCE", 4.0)
    monkeypatch.setattr(clustering, "_AT_FIRST", 0.0)  # so nothing is wanted before
    for module in (clustering, trial_accounts):
        monkeypatch.setattr(module, "perf_counter", lambda: now)
    clock.seconds = lambda groups, number: 0.9 if heap.layout.clusters == BOTH else 1.0
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    some, links, more = cells[SOME], heap.new(Link, COUNT, p=1, q=2)[SOME], heap.zeros(COUNT, f32)
    with oa.capture() as step:
        gather[COUNT](some, out)
        follow[COUNT](links, more)
    seen: list[Clusters] = []
    for number in range(ENOUGH):
        if number == clustering.LAUNCHES // 2:
            monkeypatch.setattr(clustering, "_AT_FIRST", at_first)
        step.run()
        assert background.wait()
        if planned_clusters.coming(heap) == CERTAIN != heap.layout.clusters:
            now = 4 * clustering._TRIAL
        seen += [heap.layout.clusters] if heap.layout.clusters not in seen[-1:] else []
    assert seen == [NONE, CERTAIN, BOTH, CERTAIN, BOTH]
    assert more.numpy().tolist() == [3.0 * ENOUGH] * COUNT


def test_what_nobody_wants_is_not_tried_while_others_are_waited_for(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells got theirs at once, which are only to be compared with rows. Links want theirs since a
    later run than these could be, and each run takes less than a second."""
    now, tried = 0.0, list[ClassType]()
    monkeypatch.setattr(clustering, "PATIENCE", 4.0)
    for module in (clustering, trial_accounts):
        monkeypatch.setattr(module, "perf_counter", lambda: now)
    begin = trial_accounts.begin

    def noting(heap: oa.Heap, cls: ClassType, price: float, rate: float) -> None:
        tried.append(cls)
        begin(heap, cls, price, rate)

    monkeypatch.setattr(trial_accounts, "begin", noting)
    for run in range(8):
        with new_heap(clock) as heap:
            cells, out = fill(heap)
            some, more = cells[SOME], heap.zeros(COUNT, f32)
            links = heap.new(Link, COUNT, p=1, q=2)[SOME]
            for _ in range(24):
                gather[COUNT](some, out)
                if run > 0:
                    follow[COUNT](links, more)
                assert background.wait()
                now += 0.02
    assert {*tried} == {LINK}


def test_what_is_wanted_is_chosen_when_it_may_be_tried(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if what is only to be compared, and waits for longer, was chosen since."""
    now = 0.0
    monkeypatch.setattr(clustering, "PATIENCE", 4.0)
    for module in (clustering, trial_accounts):
        monkeypatch.setattr(module, "perf_counter", lambda: now)
    looks = clustering._Looks()
    assert not looks.may_try(heap, True, LINK)
    assert not looks.may_try(heap, False, CELL)
    now = 4 * clustering._TRIAL
    assert looks.is_to_choose
    assert not looks.may_try(heap, False, CELL)
    assert looks.may_try(heap, True, LINK)
