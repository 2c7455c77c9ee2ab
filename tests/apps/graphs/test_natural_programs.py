"""The natural graph programs against their oracles: in every mode and layout, on every backend, on
graphs of every shape."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from apps.common import graph_generators
from apps.common.graph import Graph, undirected
from apps.common.graph_generators import grid, r_mat
from apps.common.launches import Launches
from apps.graphs.natural import sssp
from apps.graphs.natural.label_propagation import most_frequent, sort
from apps.graphs.natural.triangles import Corner
from apps.graphs.workload import Values
from apps.interface import CheckFailed, RunOptions, RunResult
from apps.registry import APPS
from dispatch.mode import MODES, parse_mode
from sharedoa.errors import ArgumentError
from tests.differential.effort import examples
from tests.modes import half_of

from ...codegen.interpreted import InterpretedGpu
from .natural_oracles import EXPECTED, PROGRAMS, SWEEPS, distances, labels
from .test_workloads import SMALL, graphs

coauthors = functools.cache(graph_generators.coauthors)


def arranged(name: str, graph: Graph) -> Graph:
    return graph.simple() if PROGRAMS[name].is_simple else graph


def final_values(name: str, graph: Graph, **options: Any) -> Values:
    """The values when they are final, or else after ``SWEEPS``."""
    with oa.Heap(**options) as heap:
        objects = PROGRAMS[name].objects(heap, arranged(name, graph), Launches(heap, False))
        while True:
            for _ in range(SWEEPS):
                objects.advance()
            if objects.is_settled():
                return objects.values()


def require_as_expected(name: str, graph: Graph, **options: Any) -> None:
    values = final_values(name, graph, **options)
    np.testing.assert_array_equal(values, EXPECTED[name](graph))
    assert values.dtype == np.int32


def run(name: str, **options: Any) -> RunResult:
    return APPS[name].run(RunOptions(**{"size": 300, "backend": "cpu", **options}))


def is_by_type(mode: str) -> bool:
    return parse_mode(mode).placement == "by_type"


def modes_and_layouts() -> list[Any]:
    """Every program in every mode and layout. Every fourth pair of these is quick with one program,
    the others are slow."""
    pairs = [
        (mode, layout)
        for mode in MODES
        for layout in ("aos", "tile")
        if layout == "aos" or is_by_type(mode)
    ]
    return [
        pytest.param(
            name,
            *pair,
            marks=() if turn % 4 == 0 and turn // 4 % len(PROGRAMS) == number else pytest.mark.slow,
            id="-".join((name, *pair)),
        )
        for number, name in enumerate(PROGRAMS)
        for turn, pair in enumerate(pairs)
    ]


@pytest.mark.parametrize(("name", "mode", "layout"), modes_and_layouts())
def test_every_mode_and_layout(name: str, mode: str, layout: str) -> None:
    require_as_expected(name, coauthors(80), backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize("name", half_of([*PROGRAMS], 0))
def test_cpython(name: str) -> None:
    require_as_expected(name, coauthors(20), backend="python")


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(mode, marks=() if mode == "auto" else pytest.mark.slow)
        for mode in MODES
        if is_by_type(mode)  # what one kernel allocates the interpreter does not let others free
    ],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_warps(name: str, mode: str) -> None:
    require_as_expected(name, coauthors(20), backend=InterpretedGpu(), mode=mode)


@pytest.mark.gpu
@pytest.mark.parametrize("name", PROGRAMS)
def test_on_a_gpu(name: str) -> None:
    for mode in MODES:
        require_as_expected(name, coauthors(20_000), backend="cuda", mode=mode)


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_of_all_kinds(name: str) -> None:
    """Uneven degrees, isolated vertices, long paths, two components, one vertex, none."""
    nobody = np.empty(0, np.int32)
    complete = undirected(9, *np.triu_indices(9))
    for graph in (r_mat(6), grid(40, 1), grid(7, 9), SMALL, complete):
        require_as_expected(name, graph, backend="cpu")
    for vertices in (0, 1, 2):
        graph = Graph.from_edges(vertices, nobody, nobody)
        require_as_expected(name, graph, backend="cpu")


@settings(max_examples=examples(10))
@given(graph=graphs())
def test_any_graph(graph: Graph) -> None:
    for name in PROGRAMS:
        require_as_expected(name, graph, backend="cpu")


@settings(max_examples=examples(10))
@given(graph=graphs())
def test_our_own_reference(graph: Graph) -> None:
    for name, program in PROGRAMS.items():
        reference = program.reference(arranged(name, graph))
        values = EXPECTED[name](graph)
        reference.check_result(values) if program.ends else reference.check(SWEEPS, values)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_wrong_value_is_noticed(name: str) -> None:
    graph = coauthors(50)
    reference = PROGRAMS[name].reference(arranged(name, graph))
    values = EXPECTED[name](graph)
    reference.check(SWEEPS, values)
    for place, wrong in ((0, 1), (31, -1)):
        changed = values.copy()
        changed[place] += wrong
        for judge in (reference.check_result, lambda values: reference.check(SWEEPS, values)):
            with pytest.raises(CheckFailed, match=f"vertex {place} and 0 more"):
                judge(changed)


@pytest.mark.parametrize("name", half_of([*PROGRAMS], 1))
def test_the_program(name: str, tmp_path: Path) -> None:
    """Checks, pictures and text, of graphs with and without vertices."""
    text = tmp_path / "values.txt"
    checks = run(name, check=True, out=text, steps=3).checks
    assert len(checks) == 2 and max(checks.values()) >= 3
    assert len(text.read_text().split()) == 300
    for size in (0, 300):
        file = tmp_path / f"{size}.png"
        assert run(name, size=size, out=file).picture == file
        assert file.stat().st_size > 1000


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("sssp", {"reached": 4_039, "longest_distance": 436, "distance_sum": 405_442}),
        ("kcore", {"highest_core": 115, "in_highest_core": 158, "core_sum": 108_567}),
        # As SNAP says.
        ("triangles", {"triangles": 1_612_010, "in_triangles": 3_963, "most_of_a_vertex": 30_025}),
        ("label_propagation", {"communities": 16, "largest_community": 1_023}),
    ],
)
def test_a_real_network(data: Path, name: str, counts: dict[str, int]) -> None:
    result = run(name, input=data / "facebook_combined.txt.gz", check=name != "triangles")
    assert counts.items() <= result.counts.items()


# ---------------------------------------------------------------------- shortest paths


def test_lengths_of_edges() -> None:
    graph = r_mat(9)
    lengths = sssp.lengths(graph, 3, 10)
    assert np.unique(lengths).tolist() == list(range(1, 11))
    back = Graph.from_edges(graph.vertices, graph.target, graph.source)
    there = dict(zip(zip(graph.source, graph.target, strict=True), lengths, strict=True))
    for source, target, length in zip(
        back.source, back.target, sssp.lengths(back, 3, 10), strict=True
    ):
        assert there[target, source] == length
    assert (sssp.lengths(graph, 4, 10) != lengths).mean() > 0.8


def test_distances_depend_on_the_seed_and_the_longest_edge() -> None:
    for seed, longest in ((0, 1), (2, 1000)):
        expected = distances(coauthors(300, seed), seed, longest)
        counts = run("sssp", seed=seed, settings={"longest": longest}).counts
        assert counts["distance_sum"] == expected.sum()
        assert counts["longest_distance"] == expected.max()


@pytest.mark.parametrize("longest", [0, -3, 2**31 // 300 + 1])
def test_lengths_that_cannot_be(longest: int) -> None:
    with pytest.raises(ArgumentError, match="cannot be added up in 32 bits"):
        run("sssp", settings={"longest": longest})


# ---------------------------------------------------------------------- core numbers


def test_a_clique_with_tails() -> None:
    """Five who all know each other, a triangle beside one of them, and a path that leads away."""
    one, other = np.triu_indices(5, 1)
    graph = undirected(11, [*one, 4, 4, 5, 6, 7, 8], [*other, 5, 6, 6, 7, 8, 9])
    assert final_values("kcore", graph, backend="cpu").tolist() == [4] * 5 + [2] * 2 + [1] * 3 + [0]


def test_nobody_is_removed_before_those_with_fewer_neighbours() -> None:
    """Along a path from both ends, two a sweep."""
    with oa.Heap(backend="cpu") as heap:
        objects = PROGRAMS["kcore"].objects(heap, grid(7, 1), Launches(heap, False))
        for expected in ([1, -1, -1, -1, -1, -1, 1], [1, 1, -1, -1, -1, 1, 1]):
            objects.advance()
            assert objects.values().tolist() == expected


# ---------------------------------------------------------------------- triangles


def test_many_neighbours_make_few_sides() -> None:
    """All know vertex 0, which has no side: nobody ranks above it."""
    graph = undirected(200, [0] * 199, range(1, 200))
    with oa.Heap(backend="cpu") as heap:
        PROGRAMS["triangles"].objects(heap, graph, Launches(heap, False))
        lengths = [len(corner.sides) for corner in oa.all(Corner)]
    assert lengths == [0] + [1] * 199


def test_every_sweep_finds_the_same_triangles() -> None:
    counts = [run("triangles", steps=steps).counts for steps in (1, 3)]
    assert counts[0] == counts[1] and counts[0]["triangles"] == 66


# ---------------------------------------------------------------------- label propagation


def test_labels_after_every_sweep() -> None:
    graph = r_mat(7)
    with oa.Heap(backend="cpu") as heap:
        objects = PROGRAMS["label_propagation"].objects(heap, graph.simple(), Launches(heap, False))
        for sweep in range(9):
            np.testing.assert_array_equal(objects.values(), labels(graph, sweep))
            objects.advance()


def test_two_cliques_are_two_communities() -> None:
    one, other = np.triu_indices(5, 1)
    graph = undirected(10, [*one, *(one + 5), 4], [*other, *(other + 5), 5])
    values = final_values("label_propagation", graph, backend="cpu")
    assert values.tolist() == [0] * 5 + [5] * 5


@settings(max_examples=30)
@given(values=st.lists(st.integers(-3, 9), min_size=1, max_size=40))
def test_sorting_and_counting(values: list[int]) -> None:
    with oa.Heap(backend="python"):
        votes = oa.array(oa.i32, values)
        sort(votes)
        assert votes.numpy().tolist() == sorted(values)
        assert most_frequent(votes) == min(values, key=lambda label: (-values.count(label), label))
