"""Running the graph programs as the command line does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from apps.common.graph_generators import coauthors
from apps.interface import CheckFailed, RunOptions, RunResult
from sharedoa import ArgumentError

from ...modes import FEW, half_of, rotated
from .running import SWEEPS, WORKLOADS, app, final_values


def run(name: str, **options: object) -> RunResult:
    return app(name).run(RunOptions(**{"size": 300, "backend": "cpu", **options}))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", half_of([*WORKLOADS], 0))
def test_counts_are_equal_in_other_modes(name: str) -> None:
    results = [run(name, mode=mode) for mode in FEW[1]]
    assert all(result.counts == results[0].counts for result in results)
    counts = results[0].counts
    assert counts["vertices"] == 300
    assert {result.objects for result in results} == {300 + counts["edges"]}
    assert {"graph", "objects", "first step", "run"} == set(results[0].timings)


@pytest.mark.parametrize("name", ["bfs", "cc", "pagerank"])
def test_both_suites_count_the_same(name: str) -> None:
    assert run(name).counts == run(f"{name}_ven").counts


def test_counts() -> None:
    assert run("bfs", size=20_000).counts == {
        "vertices": 20_000,
        "edges": 130_764,
        "reached": 20_000,
        "last_level": 6,
        "level_sum": 72_211,
    }
    assert run("pagerank", size=20_000).counts["rank_bits"] == 21_269_543_373_235


@pytest.mark.parametrize(("size", "name"), rotated([0, 1, 2], [*WORKLOADS], each=2))
def test_tiny_sizes(name: str, size: int) -> None:
    result = run(name, size=size, check=True)
    assert result.objects == size + result.counts["edges"]
    assert result.counts["edges"] == {0: 0, 1: 0, 2: 2}[size]


@pytest.mark.parametrize("name", half_of([*WORKLOADS], 1))
def test_checks(name: str) -> None:
    result = run(name, check=True, mode="coal")
    assert sorted(result.checks.values()) == [1, SWEEPS]


@pytest.mark.parametrize("name", ["bfs", "cc", "pagerank"])
def test_a_wrong_value_is_noticed(name: str) -> None:
    graph = coauthors(50)
    reference = WORKLOADS[name].reference(graph)
    values = final_values(name, graph)
    reference.check(SWEEPS, values)
    for wrong in (values + values.dtype.type(1), values - values.dtype.type(1)):
        with pytest.raises(CheckFailed, match="vertex"):
            reference.check_result(np.asarray(wrong))


def test_seed_changes_the_graph() -> None:
    assert run("pagerank", seed=1).counts != run("pagerank", seed=2).counts


def test_progress_and_kernel_times() -> None:
    seen: list[tuple[int, int]] = []
    result = run(
        "pagerank",
        steps=45,
        progress=lambda done, total: seen.append((done, total)),
        time_kernels=True,
    )
    assert seen == [(sweep, 45) for sweep in (1, 20, 40, 45)]
    assert {"kernel kernel_PR_gather", "kernel kernel_PR_scatter"} <= set(result.timings)


@pytest.mark.parametrize("name", half_of([*WORKLOADS], 0))
def test_picture(tmp_path: Path, name: str) -> None:
    file = tmp_path / "bars.png"
    assert run(name, out=file).picture == file
    with Image.open(file) as image:
        assert image.size == (1200, 700)
        colours = image.convert("RGB").getcolors(1 << 20)
    assert colours is not None
    assert len(colours) > 3


def test_picture_of_nothing(tmp_path: Path) -> None:
    for name in WORKLOADS:
        run(name, size=0, out=tmp_path / "nothing.png")


def test_values_as_text(tmp_path: Path) -> None:
    file = tmp_path / "levels.txt"
    edges = tmp_path / "path.txt"
    edges.write_text("0 1\n1 2\n3 4\n")
    run("bfs", input=edges, out=file)
    assert file.read_text().split() == ["0", "1", "2", "2147483647", "2147483647"]
    run("pagerank", input=edges, out=file)
    assert file.read_text().splitlines()[3:] == ["0.954401", "0.954401"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/bars.png", "cannot be written: No such file or directory"),
        ("bars.gif", "no picture format has the ending .gif"),
        ("folder.png", "cannot be written: Is a directory"),
    ],
)
def test_output_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.png").mkdir()

    def fail(done: int, total: int) -> None:
        raise AssertionError("the run had started")

    with pytest.raises(ArgumentError, match=message):
        run("bfs", out=tmp_path / name, progress=fail)


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"missing.graph: cannot be read: No such file"):
        run("bfs", input=tmp_path / "missing.graph")
    with pytest.raises(ArgumentError, match="is too large"):
        run("bfs", size=10**12)


def test_there_is_no_natural_flavour() -> None:
    with pytest.raises(ArgumentError, match="run it without --natural, or `routes`"):
        run("bfs", natural=True)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("mode", ["cuda", "range+switch"])
def test_a_real_network(data: Path, name: str, mode: str) -> None:
    result = run(name, input=data / "facebook_combined.txt.gz", mode=mode, check=True)
    assert result.objects == 4_039 + 2 * 88_234
    expected = {"bfs": ("level_sum", 11_428), "cc": ("components", 1)}
    expected["pagerank"] = ("highest_vertex", 3_437)
    key, value = expected[name.removesuffix("_ven")]
    assert result.counts[key] == value


def test_roads_as_a_directed_graph(data: Path) -> None:
    """More levels than sweeps at a time."""
    result = run("bfs", input=data / "berlin-center_net.tntp", check=True)
    assert (result.counts["reached"], result.counts["last_level"]) == (12_902, 86)
    assert result.checks["levels"] % SWEEPS == 0
