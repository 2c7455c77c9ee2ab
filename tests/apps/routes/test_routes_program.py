"""Running routes as the command line does: real networks, pictures, bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sharedoa as oa
from apps.common.launches import Launches
from apps.interface import RunOptions, RunResult
from apps.routes.program import make_network, start_nodes
from apps.routes.routing import Routing
from dispatch.mode import MODES
from sharedoa import ArgumentError

from .running import ROUTES, dijkstra


def run(**options: object) -> RunResult:
    return ROUTES.run(RunOptions(**{"size": 500, "steps": 3, "backend": "cpu", **options}))  # type: ignore[arg-type]


def test_counts_are_equal_in_every_mode() -> None:
    results = [run(mode=mode) for mode in MODES]
    assert all(result.counts == results[0].counts for result in results)
    counts = results[0].counts
    kinds = counts["roads"] + counts["ferries"] + counts["walks"]
    assert {result.objects for result in results} == {500 + kinds}
    assert {"network", "objects", "first step", "run"} == set(results[0].timings)


def test_both_flavours_are_the_same() -> None:
    assert run(natural=True).counts == run().counts


@pytest.mark.parametrize("size", [0, 1, 2, 3, 19, 20, 21, 41])
def test_small_sizes(size: int) -> None:
    result = run(size=size, check=True)
    assert result.counts["nodes"] == size
    assert result.counts["reached"] == 3 * size
    assert result.checks == ({"earliest arrivals": 3} if size else {})


CITIES = {"berlin-center_net.tntp": 12_981, "ChicagoRegional_net.tntp": 12_982}


@pytest.mark.parametrize("name", CITIES)
@pytest.mark.parametrize("mode", ["cuda", "coal", "range+switch"])
def test_real_networks(data: Path, name: str, mode: str) -> None:
    _check_real_network(data / name, mode, "cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("name", CITIES)
@pytest.mark.parametrize("mode", MODES)
def test_real_networks_on_a_gpu(data: Path, name: str, mode: str) -> None:
    _check_real_network(data / name, mode, "cuda")


def _check_real_network(file: Path, mode: str, backend: str) -> None:
    network = make_network(RunOptions(input=file, size=0, seed=1))
    assert network.nodes == CITIES[file.name]
    with oa.Heap(mode=mode, backend=backend) as heap:
        routing = Routing(heap, network, Launches(heap, timed=False))
        for start in start_nodes(network, 3, seed=1).tolist():
            np.testing.assert_array_equal(routing.answer(start).time, dijkstra(network, start))


def test_real_network_with_all_kinds(data: Path) -> None:
    counts = run(input=data / "berlin-center_net.tntp", check=True).counts
    assert (counts["roads"], counts["walks"], counts["ferries"]) == (19_724, 8_646, 64)
    assert counts["ferries_on_fastest_routes"] > 0


def test_seed_changes_the_run() -> None:
    assert run(seed=7).counts != run(seed=8).counts


def test_progress_and_kernel_times() -> None:
    seen: list[tuple[int, int]] = []
    result = run(progress=lambda done, total: seen.append((done, total)), time_kernels=True)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert {"kernel start_at", "kernel relax_edges"} <= set(result.timings)


def test_pictures(tmp_path: Path) -> None:
    file = tmp_path / "map.png"
    assert run(out=file).picture == file
    with Image.open(file) as image:
        assert image.width == 1600
        colours = image.convert("RGB").getcolors(1 << 20)
    assert colours is not None
    assert len(colours) > 50
    film = tmp_path / "film.gif"
    run(out=film)
    with Image.open(film) as image:
        assert getattr(image, "n_frames", 1) == 3
    for size in (0, 1, 2):
        run(size=size, out=file)


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"town_net.tntp: cannot be read: No such file"):
        run(input=tmp_path / "town_net.tntp")
    with pytest.raises(ArgumentError, match="is too large"):
        run(size=10**12)
    with pytest.raises(ArgumentError, match=r"no picture format has the ending \.bmp"):
        run(out=tmp_path / "map.bmp")


@pytest.mark.parametrize("row", ["1 2 1 1 1e12", "1 2 1 1 1 1e12"])
def test_times_that_differ_too_much(tmp_path: Path, row: str) -> None:
    links = f"{row}\n2 1 1 1 1\n1 3 1 1 1\n3 1 1 1 1\n"
    width = len(row.split())
    rows = "".join(" ".join([*line.split(), "0"][:width]) + "\n" for line in links.splitlines())
    (tmp_path / "town_net.tntp").write_text(
        "<NUMBER OF NODES> 3\n<NUMBER OF LINKS> 4\n<END OF METADATA>\n" + rows
    )
    (tmp_path / "town_node.tntp").write_text("1 0 0\n2 0 1\n3 1 1\n")
    with pytest.raises(ArgumentError, match="a million times as long as the median one"):
        run(input=tmp_path / "town_net.tntp")
