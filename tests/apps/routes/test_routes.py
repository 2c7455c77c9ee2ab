"""Fastest routes against SciPy's Dijkstra: in every mode, in CPython, in any network."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from apps.common.launches import Launches
from apps.common.tntp import TntpNetwork
from apps.interface import CheckFailed
from apps.routes import kernels
from apps.routes.classes import Ferry, Road, Walk
from apps.routes.generated import generate
from apps.routes.network import Network, build
from apps.routes.parameters import NEVER
from apps.routes.reference import all_edges, check_times
from apps.routes.routing import Answer, Routing
from dispatch.mode import MODES
from tests.differential.effort import examples

from ...modes import few_modes, quick_modes
from ..gpu_code import EVERY_MODE, check_gpu_code, kernels_of
from .running import dijkstra

TOWN = build(generate(3_000, 1), 1)


def answers(
    network: Network, starts: list[int], mode: str = "sharedoa", backend: str = "cpu"
) -> list[Answer]:
    with oa.Heap(mode=mode, backend=backend) as heap:
        routing = Routing(heap, network, Launches(heap, timed=False))
        return [routing.answer(start) for start in starts]


def assert_fastest(network: Network, answer: Answer) -> None:
    expected = dijkstra(network, answer.start)
    np.testing.assert_array_equal(answer.time, expected)
    check_times(network, answer.start, answer.time)
    origin, target, time = all_edges(network)
    possible = np.where(expected[origin] == NEVER, NEVER, expected[origin] + time)
    possible[network.is_zone[origin] & (origin != answer.start)] = NEVER
    on_route = (expected[target] != NEVER) & (expected[target] == possible)
    np.testing.assert_array_equal(answer.used, on_route)


@pytest.mark.parametrize("mode", few_modes(2))
def test_results_in_every_mode(mode: str) -> None:
    for answer in answers(TOWN, [0, 700, 1_499], mode):
        assert_fastest(TOWN, answer)


def test_every_kind_of_edge_is_used() -> None:
    used = np.any([answer.used for answer in answers(TOWN, [0, 50, 100])], axis=0)
    roads, ferries = len(TOWN.roads.origin), len(TOWN.ferries.origin)
    for part in np.split(used, [roads, roads + ferries]):
        assert part.any()


@pytest.mark.parametrize("mode", quick_modes("coal"))
def test_cpython_runs_the_same_program(mode: str) -> None:
    network = build(generate(30, 3), 3)
    for answer in answers(network, [0, 17], mode, backend="python"):
        assert_fastest(network, answer)


@st.composite
def networks(draw: st.DrawFn) -> TntpNetwork:
    """Any network: loops, repeated links, zones, unconnected nodes, all nodes at one place."""
    nodes = draw(st.integers(1, 10))
    ids = st.integers(0, nodes - 1)
    links = draw(st.lists(st.tuples(ids, ids, st.integers(0, 9)), max_size=30))
    columns = np.array(links, np.int32).reshape(-1, 3)
    places = draw(st.lists(st.integers(0, 3), min_size=2 * nodes, max_size=2 * nodes))
    x, y = np.array(places, np.float32).reshape(2, -1) / np.float32(3)
    return TntpNetwork(
        x=x,
        y=y,
        origin=columns[:, 0],
        target=columns[:, 1],
        length=columns[:, 2].astype(float),
        free_flow_time=columns[:, 2].astype(float),
        b=(columns[:, 2] % 3).astype(float),
        speed=np.zeros(len(columns)),
        first_through=draw(st.integers(0, nodes)),
    )


@settings(max_examples=examples(30))
@given(network=networks(), mode=st.sampled_from(["cuda", "coal", "range+switch"]))
def test_any_network(network: TntpNetwork, mode: str) -> None:
    built = build(network, 1)
    for answer in answers(built, list(range(built.nodes)), mode):
        assert_fastest(built, answer)


def test_ferries_lie_within_their_bounds() -> None:
    town = build(generate(4_000, 2), 2)
    ferries = town.ferries
    assert len(ferries.origin) == 2 * (4_000 // 400)
    assert not town.is_zone[ferries.origin].any()
    distance = np.hypot(
        town.x[ferries.origin] - town.x[ferries.target],
        town.y[ferries.origin] - town.y[ferries.target],
    )
    assert distance.min() >= 0.05 - 1e-6
    assert distance.max() <= 0.3 + 1e-6


def test_travel_times_of_single_edges() -> None:
    with oa.Heap(mode="sharedoa", backend="cpu") as heap:
        road = heap.new(Road, free_flow_time=1000, load=1.0, b=0.5)
        assert road.travel_time() == 1500
        assert heap.new(Ferry, headway=301, crossing=50).travel_time() == 200
        assert heap.new(Walk, driving_time=7).travel_time() == 56


def test_calls_have_several_classes_to_choose_from() -> None:
    answers(TOWN, [0], "coal")
    with oa.Heap(mode="coal", backend="cpu"):
        text = kernels.relax_edges.explain()
    for name in ("Road", "Ferry", "Walk", "Junction", "Zone"):
        assert name in text


@pytest.mark.parametrize(("mode", "everything"), EVERY_MODE)
def test_every_kernel_in_every_mode(mode: str, everything: bool) -> None:
    found = kernels_of(kernels)
    assert len(found) == 3
    check_gpu_code(found, mode, everything)


def test_wrong_times_are_noticed() -> None:
    (answer,) = answers(TOWN, [3])
    for change, message in ((1, "can be reached earlier"), (-1, "no edge leads to node")):
        wrong = answer.time.copy()
        wrong[10] += change  # a zone, from which nothing goes on
        with pytest.raises(CheckFailed, match=message):
            check_times(TOWN, 3, wrong)
    with pytest.raises(CheckFailed, match="the time at the start"):
        check_times(TOWN, 4, answer.time)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_results_on_a_gpu(mode: str) -> None:
    network = build(generate(100_000, 1), 1)
    for answer in answers(network, [0, 50_000], mode, backend="cuda"):
        assert_fastest(network, answer)


def test_starts_do_not_disturb_each_other() -> None:
    first, *_, last = answers(TOWN, [5, 900, 5])
    for one, other in itertools.pairwise([first, last]):
        np.testing.assert_array_equal(one.time, other.time)
