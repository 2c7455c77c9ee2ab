"""TNTP files: what a small one means, what is refused and how, and the real ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from apps.interface import RunOptions
from apps.registry import APPS
from apps.traffic.mix import Mix
from apps.traffic.natural.simulation import bus_stops
from apps.traffic.network import build
from apps.traffic.program import NATURAL_MIX, make_network
from apps.traffic.reference import Reference
from apps.traffic.road_graph import MAX_DEGREE
from apps.traffic.tntp import read_road_graph
from sharedoa import ArgumentError

from .running import advance_to, simulation

METADATA = """<NUMBER OF ZONES> 1
<NUMBER OF NODES> 4
<FIRST THRU NODE> 2
<NUMBER OF LINKS> {links}
<END OF METADATA>

"""
HEADING = (
    "~\tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\tb\tpower\tspeed\ttoll\ttype\t;\n"
)
NODES = "Node\tX\tY\t;\n1\t0\t0\t;\n2 0 10 ;\n3\t20 10\n\n 4 20 0 ;\n"


def row(origin: object, target: object, length: object = 1, speed: object = 0) -> str:
    return f"\t{origin}\t{target}\t100\t{length}\t0\t0.15\t4\t{speed}\t0\t1\t;\n"


def write(folder: Path, rows: str, nodes: str = NODES, links: int | None = None) -> Path:
    count = rows.count("\n") if links is None else links
    file = folder / "town_net.tntp"
    file.write_text(METADATA.format(links=count) + HEADING + rows)
    (folder / "town_node.tntp").write_text(nodes)
    return file


def test_small_network(tmp_path: Path) -> None:
    rows = row(2, 3, 2.0, 30) + row(3, 4, 1.0, 50) + row(4, 2, 0, 0) + row(2, 1, 1.0, 40)
    graph = read_road_graph(write(tmp_path, rows))
    assert graph.origin.tolist() == [1, 1, 2, 3]
    assert graph.target.tolist() == [2, 0, 3, 1]
    assert graph.x.tolist() == [0, 0, 1, 1]
    assert graph.y.tolist() == [0, 0.5, 0.5, 0]
    assert graph.limit.tolist() == [5, 7, 9, 0]
    # Lengths 2, 1, 1 and sqrt(500) times the median of length by distance, 0.1; the mean is 1.559.
    assert graph.steps.tolist() == [12, 6, 6, 14]
    assert graph.through.tolist() == [False, True, True, True]


def test_either_file_names_the_network(tmp_path: Path) -> None:
    write(tmp_path, row(2, 3) + row(3, 2))
    names = ("town_net.tntp", "town_node.tntp")
    one, two = (read_road_graph(tmp_path / name) for name in names)
    for field in dataclasses.fields(one):
        assert np.array_equal(getattr(one, field.name), getattr(two, field.name))


def test_first_of_duplicates_counts_and_self_loops_go(tmp_path: Path) -> None:
    rows = row(2, 3, 5.0, 20) + row(3, 3, 9.0) + row(3, 2, 5.0, 60) + row(2, 3, 1.0, 90)
    graph = read_road_graph(write(tmp_path, rows))
    assert list(zip(graph.origin.tolist(), graph.target.tolist(), strict=True)) == [(1, 2), (2, 1)]
    assert graph.limit.tolist() == [5, 9]
    assert graph.steps.tolist() == [10, 10]


def test_comments_blank_lines_and_tabs(tmp_path: Path) -> None:
    rows = "~ nothing\n\n   \t \n" + row(2, 3).rstrip() + "  ~ a remark\n" + row(3, 2)
    assert len(read_road_graph(write(tmp_path, rows, links=2)).origin) == 2


def test_roads_to_a_zone_end_there(tmp_path: Path) -> None:
    network = build(read_road_graph(write(tmp_path, row(2, 1) + row(1, 2) + row(2, 3) + row(3, 2))))
    into_zone = network.graph.target == 0
    ends = network.last_cell[into_zone]
    assert (network.num_outgoing[ends] == 0).all()
    assert not network.is_stop[ends].any()
    assert network.light_sizes[0] == 0
    others = network.last_cell[~into_zone]
    assert (network.num_outgoing[others] > 0).all()


def test_all_lengths_zero_and_nodes_at_one_place(tmp_path: Path) -> None:
    nodes = "".join(f"{node} 5 5 ;\n" for node in range(1, 5))
    network = build(read_road_graph(write(tmp_path, row(2, 3, 0) + row(3, 2, 0), nodes)))
    assert network.cells == 2


def test_large_intersections_become_roundabouts(tmp_path: Path) -> None:
    spokes = 8
    nodes = "1 50 50\n" + "".join(f"{n} {n * n % 7} {n}\n" for n in range(2, spokes + 2))
    rows = "".join(row(1, n) + row(n, 1) for n in range(2, spokes + 2))
    file = tmp_path / "star_net.tntp"
    file.write_text(
        f"<NUMBER OF NODES> {spokes + 1}\n<NUMBER OF LINKS> {2 * spokes}\n<END OF METADATA>\n"
        + rows
    )
    (tmp_path / "star_node.tntp").write_text(nodes)
    graph = read_road_graph(file)
    parts = 3  # of at most three roads each
    assert graph.intersections == spokes + parts
    assert len(graph.origin) == 2 * spokes + parts
    assert graph.in_degree().max() <= MAX_DEGREE
    assert graph.out_degree().max() <= MAX_DEGREE
    assert _reachable(graph.origin, graph.target, graph.intersections) == graph.intersections


def _reachable(origin: np.ndarray, target: np.ndarray, count: int) -> int:
    seen = np.zeros(count, bool)
    seen[1] = True
    for _ in range(count):
        seen[target[seen[origin]]] = True
    return int(seen.sum())


GOOD = row(2, 3) + row(3, 2)


@pytest.mark.parametrize(
    ("rows", "links", "message"),
    [
        (GOOD, 3, r"town_net.tntp:9: the file is truncated: it has 2 of 3 links"),
        (row(2, 3) + "\t3\t2\t100\n", 2, r"town_net.tntp:9: the row has 3 fields instead of 10"),
        (row(2, "x"), 1, r"town_net.tntp:8: the node is 'x', not a whole number"),
        (row(2, 5), 1, r"town_net.tntp:8: the node is 5, which is not between 1 and 4"),
        (row(2, 3, "long"), 1, r"town_net.tntp:8: the length is 'long', not a number"),
        (row(2, 3, -1), 1, r"town_net.tntp:8: the length is -1.0"),
        (row(2, 3, "nan"), 1, r"town_net.tntp:8: the length is 'nan', not a number up to 1e\+30"),
        (row(2, 3, "1e31"), 1, r"town_net.tntp:8: the length is '1e31', not a number up to 1e\+30"),
        (row(2, "9" * 9000), 1, r"the node is '9{37}...', not a whole number"),
        (row(2, 3, "9" * 9000), 1, r"the length is '9{37}...', not a number up to"),
        (row(2, 2), 1, r"town_net.tntp: no link connects two different nodes"),
        ("", 0, r"town_net.tntp: the file holds no rows"),
    ],
)
def test_bad_links(tmp_path: Path, rows: str, links: int, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        read_road_graph(write(tmp_path, rows, links=links))


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("1 0 0\n2 0 1\n3 1 1\n", r"town_node.tntp:3: the file is truncated: node 4 "),
        ("1 0 0\n2 0\n", r"town_node.tntp:2: the row has 2 fields instead of 3"),
        ("1 0 zero\n", r"town_node.tntp:1: y is 'zero', not a number"),
        ("", r"town_node.tntp: the file is empty"),
    ],
)
def test_bad_nodes(tmp_path: Path, nodes: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        read_road_graph(write(tmp_path, GOOD, nodes))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"the file is empty"),
        (b"\x1f\x8b\x08\x00\x00", r"this is not a text file"),
        (b"2 3 100 1\n", r"the file lacks <END OF METADATA>"),
        (b"<END OF METADATA>\n2 3 100 1\n", r"the metadata lack <NUMBER OF NODES>"),
        (b"<NUMBER OF NODES> many\n<END OF METADATA>\n2 3 100 1\n", r"is 'many', not a number"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    file = write(tmp_path, GOOD)
    file.write_bytes(content)
    with pytest.raises(ArgumentError, match=rf"town_net.tntp: .*{message}"):
        read_road_graph(file)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"town_net.tntp: cannot be read: No such file"):
        read_road_graph(tmp_path / "town_net.tntp")
    file = write(tmp_path, GOOD)
    (tmp_path / "town_node.tntp").unlink()
    with pytest.raises(ArgumentError, match=r"town_node.tntp: cannot be read: No such file"):
        read_road_graph(file)


def test_other_names(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"ends neither in _net.tntp nor in _node.tntp"):
        read_road_graph(tmp_path / "town.txt")


CITIES = {"berlin-center_net.tntp": (12_981, 28_370), "ChicagoRegional_net.tntp": (12_982, 39_018)}


@pytest.mark.parametrize("name", CITIES)
def test_real_networks_have_all_their_links(data: Path, name: str) -> None:
    nodes, links = CITIES[name]
    graph = read_road_graph(data / name)
    parts = graph.intersections - nodes  # added by roundabouts, each with a ring of its parts
    rings = len(graph.origin) - links
    assert rings > parts > 0
    assert graph.in_degree()[graph.through].max() <= MAX_DEGREE
    assert graph.out_degree()[graph.through].max() <= MAX_DEGREE


@pytest.mark.parametrize("name", CITIES)
@pytest.mark.parametrize("natural", [False, True])
def test_vehicles_in_real_networks_are_conserved(data: Path, name: str, natural: bool) -> None:
    options = RunOptions(
        input=data / name, steps=20, seed=42, natural=natural, backend="cpu", check=True
    )
    result = APPS["traffic"].run(options)
    network = make_network(dataclasses.replace(options, size=0))
    mix = NATURAL_MIX if natural else Mix()
    reference = Reference(network, natural=natural, mix=mix, bus_stops=bus_stops(network))
    assert reference.run(20).items() <= result.counts.items()
    assert result.checks["conservation"] == 20


@pytest.mark.gpu
@pytest.mark.parametrize("name", CITIES)
@pytest.mark.parametrize("natural", [False, True])
def test_real_networks_on_a_gpu(data: Path, name: str, natural: bool) -> None:
    network = make_network(RunOptions(input=data / name, size=0, seed=42))
    mix = NATURAL_MIX if natural else Mix()
    reference = Reference(network, natural=natural, mix=mix, bus_stops=bus_stops(network))
    with simulation(network, backend="cuda", natural=natural, mix=mix) as running:
        assert reference.run(200).items() <= advance_to(running, 200).items()
