"""Few objects, and a clock that says what a test wants."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharedoa as oa
from sharedoa.heap.heap import Heap
from sharedoa.model.clusters import Clusters, Groups
from sharedoa.runtime import background, clustering, compared_clusters, knobs, trial_accounts

from .cells import CELL, Clock, new_heap


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[None]:
    """Few objects are enough, and few launches. Nothing is known of earlier tests."""
    monkeypatch.setattr(clustering, "FEWEST_OBJECTS", 64)
    monkeypatch.setattr(clustering, "FEWEST_THREADS", 64)
    monkeypatch.setattr(clustering, "PATIENCE", 0.0)
    monkeypatch.setattr(trial_accounts, "_idle_from", 0.0)
    trial_accounts._accounts.clear()
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
