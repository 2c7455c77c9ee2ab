"""The graphs of the paper's size: known sums on the CPU, every mode on a GPU."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from apps.common.launches import Launches
from apps.graphs.object_graph import ObjectGraph
from apps.graphs.workload import Values
from dispatch.mode import MODES

from .running import (
    PAGERANKS,
    SWEEPS,
    WORKLOADS,
    assert_as_expected,
    expected_values,
    final_values,
    full_graph,
    ranks,
)

GRAPHS = ("stand-in", "coauthors_synth.graph.gz")


@functools.cache
def expected(name: str, graph: str, folder: Path) -> Values:
    return expected_values(name, full_graph(graph, folder))


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_mode_on_a_gpu(data: Path, name: str, graph: str, mode: str) -> None:
    values = final_values(name, full_graph(graph, data), mode, backend="cuda")
    assert_as_expected(name, values, expected(name.removesuffix("_ven"), graph, data))


@pytest.mark.gpu
@pytest.mark.parametrize("name", PAGERANKS)
def test_ranks_have_the_same_bits_on_a_gpu(name: str) -> None:
    graph = full_graph("stand-in", None)
    on_gpu = final_values(name, graph, "range+switch", backend="cuda")
    assert on_gpu.tobytes() == final_values(name, graph, "range+switch").tobytes()


@pytest.mark.slow
def test_objects_of_the_paper() -> None:
    """And labels: after one sweep those of neighbours, then on to the whole component."""
    graph = full_graph("stand-in", None)
    with oa.Heap(mode="range+switch", backend="cpu") as heap:
        objects = ObjectGraph(heap, graph, WORKLOADS["cc"], Launches(heap, timed=False))
        assert heap.stats().objects == 2_254_419
        objects.advance()
        assert objects.values().sum(dtype=np.int64) == 11_050_454_186
        for _ in range(SWEEPS - 1):
            objects.advance()
        assert not objects.values().any()
        assert objects.is_settled()


@pytest.mark.slow
def test_known_ranks_of_the_stand_in() -> None:
    graph = full_graph("stand-in", None)
    found = final_values("pagerank", graph, "range+switch").astype(np.float64)
    synchronous, fixed_point = ranks(graph, SWEEPS - 1), ranks(graph, 300)
    np.testing.assert_allclose(found, synchronous, rtol=1e-5)
    assert 285_429.71 - 0.01 <= found.sum() <= 299_067
    assert found.min() == pytest.approx(0.249956, abs=1e-6)
    assert found.argmax() == fixed_point.argmax() == 0
    assert found.max() == pytest.approx(36.41194, rel=1e-5)
    assert fixed_point.min() == pytest.approx(0.256930, abs=1e-6)
    assert fixed_point.max() == pytest.approx(38.53213, rel=1e-6)
    ratio = found / fixed_point
    assert (round(ratio.min(), 4), round(ratio.max(), 4)) == (0.9429, 0.9841)
