"""Graphs from files of every format, whole and damaged in every way."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import mmread, mmwrite
from scipy.sparse import csgraph

from apps.common import graph_files, text_file
from apps.common.graph import Graph
from apps.common.graph_files import read_graph
from sharedoa import ArgumentError

from .running import hop_counts, matrix

#: A triangle 0 1 2 with a tail to 3; vertex 4 is isolated.
METIS = "% a comment\n5 4\n2 3\n1 3\n1 2 4\n% in between\n3\n\n"
EDGES = "# Undirected graph: triangle\n0 1\n0\t2\n1 2\n\n2 3\n"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    file = folder / name
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return file


def pairs(graph: Graph) -> list[tuple[int, int]]:
    return list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))


TRIANGLE = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 3), (3, 2)]


@given(st.integers(1, 1 << 31), st.data())
def test_edges_by_target(vertices: int, data: st.DataObject) -> None:
    """As a stable sort of their positions, also for the largest vertex numbers."""
    ends = st.lists(st.integers(0, vertices - 1), max_size=30)
    source, target = np.array([(v, v) for v in data.draw(ends)], np.int64).reshape(-1, 2).T
    target = data.draw(st.permutations(target.tolist()))
    graph = Graph.from_edges(vertices, source, target)
    order = np.argsort(source, kind="stable")
    assert pairs(graph) == [(source[k], target[k]) for k in order]
    assert (graph.by_target() == np.argsort(graph.target, kind="stable")).all()


def test_line_numbers_after_many_comments(tmp_path: Path) -> None:
    text = "% first\n2 1\n" + "% between, 1 2\n" * 1000 + "2\n% between\n7\n"
    with pytest.raises(ArgumentError, match=r"a\.graph:1005: the neighbour is 7"):
        read_graph(write(tmp_path, "a.graph", text))
    assert read_graph(write(tmp_path, "a.graph", text.replace("7", "1"))).edges == 2


@pytest.mark.parametrize("name", ["a.graph", "a.metis", "a.graph.gz", "A.GRAPH.GZ"])
def test_metis(tmp_path: Path, name: str) -> None:
    if name.endswith(".GZ"):
        file = tmp_path / name
        file.write_bytes(gzip.compress(METIS.encode()))
    else:
        file = write(tmp_path, name, METIS)
    graph = read_graph(file)
    assert (graph.vertices, pairs(graph)) == (5, TRIANGLE)


@pytest.mark.parametrize(
    "text",
    [
        "5 4 1\n2 9 3 8\n1 9 3 7\n1 8 2 7 4 6\n3 6\n\n",  # edges have weights
        "5 4 011 2\n5 5 2 9 3 8\n5 5 1 9 3 7\n5 5 1 8 2 7 4 6\n5 5 3 6\n5 5\n",  # vertices, too
        "5 4 10\n7 2 3\n7 1 3\n7 1 2 4\n7 3\n7\n",
        "5 4 100\n7 2 3\n7 1 3\n7 1 2 4\n7 3\n7\n",  # sizes
        "5 4 0\r\n2 3\r\n1 3\r\n1 2 4\r\n3\r\n\r\n",
        "5 4\n2 3\n1 3\n1 2 4\n3",  # an editor dropped the last, empty line
        "\n\n5 4\n2 3\n1 3\n1 2 4\n3\n\n\n\n",
    ],
)
def test_metis_dialects(tmp_path: Path, text: str) -> None:
    graph = read_graph(write(tmp_path, "a.graph", text))
    assert (graph.vertices, pairs(graph)) == (5, TRIANGLE)


def test_metis_without_edges(tmp_path: Path) -> None:
    assert read_graph(write(tmp_path, "a.graph", "0 0\n")).vertices == 0
    graph = read_graph(write(tmp_path, "a.graph", "2 0\n\n\n"))
    assert (graph.vertices, graph.edges) == (2, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.graph: the file is empty"),
        ("% nothing\n", "a.graph: the file holds only comments"),
        ("3 2\n2\n1 x\n", r"a.graph:3: 'x' is not a whole number"),
        ("3 2\n2\n1 2.5\n", r"a.graph:3: '2.5' is not a whole number"),
        ("3 2\n2\n1 -3\n2\n", r"a.graph:3: '-3' is not a whole number|is -3, which is not between"),
        ("3\n", "a.graph:1: the first line has 1 numbers instead of 2 to 4"),
        ("2 1 7\n2\n1\n", "a.graph:1: the format is 007"),
        ("3 2\n2\n1 3\n", "the file is truncated: 2 edges are announced, which is 4 neighbours"),
        ("3 3\n2\n1 3\n2\n", "3 edges are announced, which is 6 neighbours, and 4 are listed"),
        ("3 1\n2\n1 3\n2\n", "1 edges are announced, which is 2 neighbours, and 4 are listed"),
        ("2 1\n2\n1\n1 2\n", "a.graph:4: there are more lines than the 2 vertices"),
        ("% c\n2 1\n3\n1\n", "a.graph:3: the neighbour is 3, which is not between 1 and 2"),
        ("2 1\n0\n1\n", "a.graph:2: the neighbour is 0, which is not between 1 and 2"),
        ("3 2\n2 3\n1\n2\n", "vertex 1 lists 3 as a neighbour, not the other way round"),
        ("99999999999 1\n2\n1\n", "the file is truncated: 99999999999 vertices are announced"),
        ("9" * 30 + " 1\n2\n1\n", "a.graph:1: '9+' is not a whole number that fits"),
        ("2 1\n" + "0" * 30 + "2\n1\n", "a.graph:2: '0+2' is not a whole number that fits"),
        ("2 1 1\n" + "9" * 5000 + " 2\n1 1\n", "a.graph:2: '9.*' is not a whole number"),
        ("2 1 10 999999999999999999\n2\n1\n", "1 edges are announced"),
        ("-2 1\n2\n1\n", "a.graph:1: .* -2"),
        ("2 -1\n2\n1\n", "a.graph:1: .* -1"),
    ],
)
def test_bad_metis(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        read_graph(write(tmp_path, "a.graph", text))


@pytest.mark.parametrize("name", ["a.txt", "a.el", "a.edges", "a.txt.gz"])
def test_edge_list(tmp_path: Path, name: str) -> None:
    graph = read_graph(write(tmp_path, name, EDGES))
    assert (graph.vertices, sorted(pairs(graph))) == (4, TRIANGLE)


@pytest.mark.parametrize(
    "text",
    [
        "5 4\n0 1\n0 2\n1 2\n2 3\n",  # with a heading
        "5 4\n1 2\n1 3\n2 3\n3 5\n",  # ids from 1, as one of them shows
        "0 1 0.5\n0 2 0.25\n1 2 7\n2 4 8\n",  # weights are ignored
        "% konect\n0 1 1 1082040961\n0 2 1 1082155839\n1 2 1 1082414391\n2 4 1 1082414391\n",
    ],
)
def test_edge_list_dialects(tmp_path: Path, text: str) -> None:
    graph = read_graph(write(tmp_path, "a.txt", text))
    assert (graph.vertices, graph.edges) == (5, 8)
    assert sorted(pairs(graph))[:2] == TRIANGLE[:2]


def test_directed_edge_list(tmp_path: Path) -> None:
    text = "# Directed graph (each unordered pair of nodes is saved once): wiki.txt\n0 1\n2 1\n"
    assert pairs(read_graph(write(tmp_path, "a.txt", text))) == [(0, 1), (2, 1)]


def test_loops_and_repeated_edges(tmp_path: Path) -> None:
    graph = read_graph(write(tmp_path, "a.txt", "0 0\n0 1\n0 1\n"))
    assert pairs(graph) == [(0, 0), (0, 1), (0, 1), (1, 0), (1, 0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.txt: the file is empty"),
        ("# only\n", "a.txt: the file holds no edges"),
        ("0 1\n2\n", "a.txt:2: the line has one field instead of two"),
        ("0 1\n# c\n2 three\n", "a.txt:3: 'three' is not the id of a vertex"),
        ("0,1\n", "a.txt:1: the line has one field instead of two"),
        ("0 1.5\n", "a.txt:1: '1.5' is not the id of a vertex"),
        ("0 -1\n", "a.txt: the id -1 is negative"),
        ("0 1\n5 3000000000\n", "has 3,000,000,001 vertices, more than 100,000,000"),
        ("0 1\n5 90000000\n", "has 90,000,001 vertices in 15 bytes"),
        ("0 " + "9" * 40 + "\n", "a.txt:1: '9+' is not the id of a vertex"),
    ],
)
def test_bad_edge_list(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        read_graph(write(tmp_path, "a.txt", text))


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_matrix_market(tmp_path: Path, name: str, symmetric: bool) -> None:
    plain = tmp_path / "plain.mtx"
    ends = np.array([(0, 1), (0, 2), (1, 2), (2, 3)]).T
    entries = sparse.coo_array((np.ones(4), (ends[0], ends[1])), shape=(5, 5))
    matrix = entries + entries.T if symmetric else entries
    mmwrite(plain, matrix, symmetry="symmetric" if symmetric else "general")
    graph = read_graph(write(tmp_path, name, plain.read_bytes()))
    expected = TRIANGLE if symmetric else [(0, 1), (0, 2), (1, 2), (2, 3)]
    assert (graph.vertices, sorted(pairs(graph))) == (5, expected)


@pytest.mark.parametrize("field", ["real", "integer", "complex", "pattern"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric", "hermitian"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_matrix_market_is_read_as_scipy_reads_it(
    tmp_path: Path, field: str, symmetry: str, end: str
) -> None:
    value = {"real": " 2.5", "integer": " 3", "complex": " 1 -2", "pattern": ""}[field]
    places = [(3, 1), (2, 1), (4, 2), (3, 1), (4, 3)]
    if symmetry != "skew-symmetric":
        places += [(2, 2)]
    rows = "\n".join(f"{i} {j}{value}" for i, j in places)
    heading = f"%%MatrixMarket  Matrix coordinate {field} {symmetry}\n% by hand\n"
    text = f"{heading}4 4 {len(places)}\n{rows}{end}"
    graph = read_graph(write(tmp_path, "a.mtx", text))
    matrix = mmread(io.BytesIO((text + "\n").encode()))
    expected = Graph.from_edges(4, matrix.row, matrix.col)
    assert pairs(graph) == pairs(expected)


REAL = "%%MatrixMarket matrix coordinate real general\n"
HEADER = "%%MatrixMarket matrix coordinate pattern general\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no matrix\n", "this is no Matrix Market file"),
        (HEADER.replace("pattern", "text") + "3 3 1\n1 2\n", "this is no Matrix Market file"),
        (HEADER, "the file is truncated: it lacks the size"),
        (HEADER + "3 3\n1 2\n", "'3 3' is not the numbers of rows, columns and entries"),
        (HEADER + "-3 -3 1\n1 2\n", "'-3 -3 1' is not the numbers of rows"),
        (HEADER + "3 3 2\n1 2\n", "the file is truncated: it has 1 of 2 entries"),
        (HEADER + "3 3 1\n1 2\n2 3\n", "there are 2 entries, and 1 are announced"),
        (HEADER + "3 3 1000000000000\n1 2\n", "it has 1 of 1000000000000 entries"),
        (HEADER + "3 3 1\n1 4\n", "an entry is in row 1 and column 4 of 3"),
        (HEADER + "3 3 1\n0 1\n", "an entry is in row 0 and column 1 of 3"),
        (HEADER + "3 4 1\n1 2\n", "the matrix is not square: 3 by 4"),
        (HEADER + "% c\n3 3 1\n\n1 x\n", "mtx:5: 'x' is not the id of a vertex"),
        (HEADER + "3 3 1\n1 " + "9" * 5000, "mtx:3: '9.*' is not the id of a vertex"),
        (REAL + "3 3 2\n1 2 0.5\n2 3", "mtx:4: the line has 2 fields instead of 3"),
        (REAL + "3 3 1\n1 2 x\n", "a row is not made of numbers"),
        (HEADER + "300000000 300000000 1\n1 2\n", "has 300,000,000 vertices"),
        (HEADER + "90000000 90000000 1\n1 2\n", "has 90,000,000 vertices in .* bytes"),
        ("%%MatrixMarket matrix array real general\n1 1\n5\n", "the matrix is dense"),
    ],
)
def test_bad_matrix_market(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=rf"a.mtx(:\d+)?: .*{message}|a.{message}"):
        read_graph(write(tmp_path, "a.mtx", text))


def test_tntp(tmp_path: Path) -> None:
    text = "<NUMBER OF NODES> 3\n<NUMBER OF LINKS> 2\n<END OF METADATA>\n3 1 9 1 ;\n1 2 9 1 ;\n"
    for name in ("town_net.tntp", "town_net.tntp.gz"):
        graph = read_graph(write(tmp_path, name, text))
        assert (graph.vertices, pairs(graph)) == (3, [(0, 1), (2, 0)])
    with pytest.raises(ArgumentError, match="the file is truncated: it has 2 of 3 links"):
        read_graph(write(tmp_path, "town_net.tntp", text.replace("LINKS> 2", "LINKS> 3")))


@pytest.mark.parametrize("name", ["a.graph", "a.txt", "a.mtx", "a_net.tntp"])
def test_files_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArgumentError, match="cannot be read: No such file"):
        read_graph(tmp_path / name)
    with pytest.raises(ArgumentError, match="this is not a text file"):
        read_graph(write(tmp_path, name, b"\x7fELF\x00\x01"))
    compressed = gzip.compress(b"1 2\n" * 1000)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(compressed[:-12])
    with pytest.raises(ArgumentError, match="the compressed file is truncated"):
        read_graph(packed)
    packed.write_bytes(compressed[:20] + b"\xff\xff" + compressed[22:])
    with pytest.raises(ArgumentError, match="the compressed file is damaged"):
        read_graph(packed)
    packed.write_bytes(b"1 2\n")
    with pytest.raises(ArgumentError, match="the compressed file is damaged"):
        read_graph(packed)
    packed.unlink()
    packed.mkdir()
    with pytest.raises(ArgumentError, match="cannot be read: it is not a regular file"):
        read_graph(packed)


def test_enormous_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_file, "MOST_BYTES", 1 << 20)
    file = write(tmp_path, "a.txt.gz", b"0 1\n" * 1_000_000)
    assert file.stat().st_size < 10_000
    with pytest.raises(ArgumentError, match="there are more than 1 MiB of text"):
        read_graph(file)


def test_a_short_file_that_unpacks_to_much(tmp_path: Path) -> None:
    file = write(tmp_path, "a.txt.gz", b"0 1\n" * (17 << 20))
    with pytest.raises(ArgumentError, match="there are more than 64 MiB of text"):
        read_graph(file)


def test_a_fifo_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(ArgumentError, match="cannot be read: it is not a regular file"):
        read_graph(tmp_path / "a.txt")


def test_other_endings(tmp_path: Path) -> None:
    for name, ending in (("a.csv", ".csv"), ("a.gz", r"\(none\)"), ("a.png.gz", ".png")):
        with pytest.raises(ArgumentError, match=f"no graph format has the ending {ending}"):
            read_graph(tmp_path / name)
    assert ".metis" in graph_files.ADVICE


def test_real_metis_file(data: Path) -> None:
    graph = read_graph(data / "coauthors_synth.graph.gz")
    assert (graph.vertices, graph.edges) == (299_067, 2 * 977_676)
    assert graph.out_degree().max() == 336
    assert csgraph.connected_components(matrix(graph))[0] == 1
    assert hop_counts(graph).max() == 10


def test_real_edge_list(data: Path) -> None:
    graph = read_graph(data / "facebook_combined.txt.gz")
    assert (graph.vertices, graph.edges) == (4_039, 2 * 88_234)
