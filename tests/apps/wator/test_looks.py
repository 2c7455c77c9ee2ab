"""Wator while its objects get other clusters again and again, and its steps are looked at amid a
run: the same fish and sharks."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from apps.common.launches import Launches
from apps.wator.simulation import Simulation
from sharedoa.heap.heap import Heap
from sharedoa.model.clusters import Clusters
from sharedoa.runtime import background, clustering, compared_clusters, remembered_looks
from sharedoa.runtime.population_sequence import PopulationSequence
from tests.runtime.evolution import EagerDevice

STEPS = 90


def after_steps() -> list[Any]:
    with oa.Heap(backend=EagerDevice(), capacity="64MiB") as heap:
        ocean = Simulation(heap, 32, 24, 42, Launches(heap, timed=False))
        counts = []
        for step in range(STEPS):
            ocean.advance()
            if step % 3 == 0:
                assert background.wait()
            if step % 20 == 19:
                counts.append(ocean.counts())
        assert ocean.misplaced() == 0
        return [counts, *(np.array(each).tobytes() for each in ocean.states())]


def test_other_clusters_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered_looks, "KEEPS", False)
    expected = after_steps()
    changes, looks = [0], [0]
    rearrange, look = Heap.rearrange, PopulationSequence._replay_looking
    random = Random(5)

    def noting(heap: Heap, clusters: Clusters) -> None:
        changes[0] += clusters != heap.layout.clusters
        rearrange(heap, clusters)

    def looking(sequence: PopulationSequence) -> None:
        looks[0] += 1
        look(sequence)

    monkeypatch.setattr(Heap, "rearrange", noting)
    monkeypatch.setattr(PopulationSequence, "_replay_looking", looking)
    for name in ("FEWEST_OBJECTS", "FEWEST_THREADS"):
        monkeypatch.setattr(clustering, name, 64)
    monkeypatch.setattr(clustering, "PATIENCE", 0.0)
    for name, number in (("_SAMPLES", 3), ("_WARM_UP", 1), ("_LEAST", 2)):
        monkeypatch.setattr(compared_clusters, name, number)

    # Which are quicker is anybody's guess.
    def guess(_: object) -> tuple[float, float, float]:
        return 1.0, random.choice([0.5, 1.0, 2.0]), 1.0

    monkeypatch.setattr(compared_clusters.Comparison, "_taken", guess)
    assert after_steps() == expected
    assert changes[0] >= 3 and looks[0]
