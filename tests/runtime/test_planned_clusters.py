"""Clusters that are wanted while code for others is being compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.runtime import background, planned_clusters

from ..backends.pretend_device import PretendDevice


class Plot(oa.Object):
    a: i32
    b: i32
    c: i32


class _Program:
    def code_to_change(self, *given: Any) -> Sequence[int]:
        return [1]


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs have code, of which nothing is made anew as long as the test runs."""

    def submit(work: Callable[[background.Task], None], urgency: Any) -> background.Task:
        return background.Task(work, urgency)

    monkeypatch.setattr(background, "is_on", lambda: True)
    monkeypatch.setattr(background, "submit", submit)
    monkeypatch.setattr(planned_clusters, "_all", lambda heap: [_Program()])


@pytest.mark.usefixtures("compiling")
def test_what_is_certain_stays_planned_where_others_may_not_be_tried() -> None:
    cls = Plot.__sharedoa__  # type: ignore[attr-defined]
    with oa.Heap(backend=PretendDevice(1 << 16)) as heap, heap.lock:
        now = heap.layout.clusters
        certain, other = (now.replace(cls, [pair]) for pair in (("a", "b"), ("b", "c")))
        planned_clusters.rearrange(heap, certain, cls, sure=[cls], may_try=lambda cls: False)
        planned_clusters.rearrange(heap, other, cls, may_try=lambda cls: False)
        assert planned_clusters.coming(heap) == certain
        planned_clusters.rearrange(heap, other, cls, may_try=lambda cls: True)
        assert planned_clusters.coming(heap) == other
        planned_clusters.rearrange(heap, now, None, may_try=lambda cls: False)
        assert planned_clusters.coming(heap) == now


@pytest.mark.usefixtures("compiling")
def test_what_is_only_to_be_compared_stays_planned_where_nothing_else_is_wanted() -> None:
    """As other programs come, each of which has objects stay as they are."""
    cls = Plot.__sharedoa__  # type: ignore[attr-defined]
    with oa.Heap(backend=PretendDevice(1 << 16)) as heap, heap.lock:
        now = heap.layout.clusters
        compared, wanted = (now.replace(cls, [pair]) for pair in (("a", "b"), ("b", "c")))
        planned_clusters.rearrange(heap, compared, cls, is_wanted=False)
        planned_clusters.rearrange(heap, now, None)
        assert planned_clusters.coming(heap) == compared
        planned_clusters.rearrange(heap, wanted, cls)
        assert planned_clusters.coming(heap) == wanted
