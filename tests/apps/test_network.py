"""The generated network: the facts of the artifact's, and that its links fit together."""

from __future__ import annotations

import numpy as np
import pytest

from apps.common.references import NOTHING
from apps.traffic.generated import generate
from apps.traffic.network import build
from apps.traffic.road_graph import MAX_DEGREE
from sharedoa import ArgumentError

from .running import generated_network


@pytest.mark.parametrize(
    ("size", "roads", "cells", "producers", "targets"),
    [(20, 48, 5_276, 123, 21), (50, 129, 13_084, 259, 34), (850, 2_140, 224_243, 4_411, 646)],
)
def test_facts(size: int, roads: int, cells: int, producers: int, targets: int) -> None:
    network = generated_network(size)
    assert len(network.graph.origin) == roads
    assert network.cells == cells
    assert network.is_producer.sum() == producers
    assert network.is_target.sum() == targets
    assert network.lights == size


def test_paper_size_has_no_sink_and_no_empty_road() -> None:
    network = generated_network(850)
    assert (network.light_sizes == 0).sum() == 36
    assert network.graph.steps.min() > 0
    assert network.num_outgoing.min() == 1


def test_links_have_two_ends() -> None:
    network = generated_network(50)
    forward = _pairs(network.outgoing)
    backward = {(source, target) for target, source in _pairs(network.incoming)}
    assert forward == backward
    assert len(forward) == network.num_outgoing.sum() == network.num_incoming.sum()


def _pairs(neighbours: np.ndarray) -> set[tuple[int, int]]:
    cells, slots = np.nonzero(neighbours != NOTHING)
    return set(zip(cells.tolist(), neighbours[cells, slots].tolist(), strict=True))


def test_stop_cells_are_the_cells_of_lights() -> None:
    network = generated_network(50)
    lit = network.light_cells[network.light_cells != NOTHING]
    assert sorted(lit) == np.flatnonzero(network.is_stop).tolist()
    assert np.array_equal((network.light_cells != NOTHING).sum(axis=1), network.light_sizes)


def test_roads_run_from_origin_to_target_at_one_limit() -> None:
    network = generated_network(20)
    graph = network.graph
    starts, ends = network.first_cell, network.last_cell
    assert np.allclose(network.x[starts], graph.x[graph.origin])
    gap = np.hypot(network.x[ends] - graph.x[graph.target], network.y[ends] - graph.y[graph.target])
    assert gap.max() < 0.011  # two cells
    assert set(network.max_velocity) <= set(range(5, 10))
    for start, end in zip(starts, ends, strict=True):
        assert len(set(network.max_velocity[start : end + 1])) == 1


def test_degrees_are_within_the_four_places_of_a_cell() -> None:
    graph = generate(850, 42)
    assert graph.in_degree().max() <= MAX_DEGREE
    assert 1 <= graph.out_degree().min() <= graph.out_degree().max() <= MAX_DEGREE


@pytest.mark.parametrize("seed", range(10))
def test_tiny_networks_end_where_nothing_is_left_to_draw(seed: int) -> None:
    graph = generate(2, seed)
    assert (graph.origin != graph.target).all()
    assert graph.in_degree().max() <= MAX_DEGREE
    assert build(graph).cells == (graph.steps + 1).sum()


def test_seeds_give_different_networks() -> None:
    assert build(generate(20, 43)).cells != generated_network(20).cells


def test_one_intersection_is_refused() -> None:
    with pytest.raises(ArgumentError, match="1 intersections make no network"):
        generate(1, 42)
