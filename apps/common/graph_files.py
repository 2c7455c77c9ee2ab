"""Graphs from files: METIS, edge lists, Matrix Market and TNTP, each also compressed by gzip."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sharedoa.errors import ArgumentError

from .graph import Graph, undirected
from .matrix_market import parse_matrix_market
from .metis import parse_metis
from .number_table import read_ids
from .text_file import file_error, read_text_file, uncompressed_name
from .tntp import read_tntp_links

ADVICE = (
    "give a METIS file (.graph, .metis), an edge list (.txt, .el, .edges), a Matrix Market file "
    "(.mtx) or NAME_net.tntp, each also with .gz after it"
)
#: A vertex is an object, so that a file with one id far too large would take all memory.
MOST_VERTICES = 100_000_000
#: What any file may ask for; beyond it, so many vertices for each byte.
_FEW_VERTICES, _VERTICES_A_BYTE = 1 << 20, 16

_COMMENT = re.compile(rb"^[ \t]*[#%].*$", re.MULTILINE)
_DIRECTED = re.compile(rb"^[ \t]*[#%].*(?<!un)directed graph", re.MULTILINE | re.IGNORECASE)


def read_graph(file: Path) -> Graph:
    """The graph in a file; the ending of its name tells the format.

    Raises ArgumentError, naming file and line where there is one, for a file that cannot be read,
    is damaged or truncated, or holds no graph.
    """
    name = uncompressed_name(file)
    read = _FORMATS.get(Path(name).suffix.lower())
    if read is None:
        ending = Path(name).suffix or "(none)"
        raise file_error(file, ADVICE, f"no graph format has the ending {ending}")
    graph = read(file)
    _require_few_vertices(file, graph.vertices)
    size = file.stat().st_size
    if graph.vertices > max(_FEW_VERTICES, _VERTICES_A_BYTE * size):
        raise _too_many_vertices(file, f"{graph.vertices:,} vertices in {size:,} bytes")
    return graph


def _require_few_vertices(file: Path, vertices: int) -> None:
    if vertices > MOST_VERTICES:
        raise _too_many_vertices(file, f"{vertices:,} vertices, more than {MOST_VERTICES:,}")


def _too_many_vertices(file: Path, how_many: str) -> ArgumentError:
    return file_error(file, "number the vertices from 0 without gaps", f"the graph has {how_many}")


def _read_metis(file: Path) -> Graph:
    return parse_metis(file, read_text_file(file, ADVICE), ADVICE)


def _read_edge_list(file: Path) -> Graph:
    """Two ids a line, from 0, of an undirected edge each; what follows them is ignored.

    ``#`` and ``%`` start comments; one that says "Directed graph", as SNAP's do, makes the edges
    directed. The first line may be a heading, the numbers of vertices and of the lines that
    follow; then ids may also count from 1.
    """
    data = read_text_file(file, ADVICE)
    text = _COMMENT.sub(b"", data)  # leaves the line, so that line numbers stay
    if not text.strip():
        raise file_error(file, ADVICE, "the file holds no edges")
    rows = read_ids(file, text, ADVICE)
    vertices, edges = _without_heading(rows)
    if edges.size and edges.min() < 0:
        raise file_error(file, ADVICE, f"the id {edges.min()} is negative")
    if edges.size and edges.max() >= vertices:
        raise file_error(
            file, ADVICE, f"the id {edges.max()} is not below the number of vertices, {vertices}"
        )
    _require_few_vertices(file, vertices)
    make = Graph.from_edges if _DIRECTED.search(data) else undirected
    return make(vertices, edges[:, 0], edges[:, 1])


def _without_heading(rows: Any) -> tuple[int, Any]:
    """The number of vertices, and the edges with ids from 0."""
    (vertices, count), edges = rows[0], rows[1:]
    if count != len(edges) or (edges.size and edges.max() > vertices):
        return int(rows.max()) + 1, rows
    from_one = edges.size and edges.max() == vertices and edges.min() >= 1
    return int(vertices), edges - 1 if from_one else edges


def _read_matrix_market(file: Path) -> Graph:
    vertices, edges = parse_matrix_market(file, read_text_file(file, ADVICE), ADVICE)
    _require_few_vertices(file, vertices)
    return Graph.from_edges(vertices, edges[:, 0], edges[:, 1])


def _read_tntp(file: Path) -> Graph:
    """A directed edge for each link."""
    nodes, links = read_tntp_links(file)
    return Graph.from_edges(nodes, links[:, 0], links[:, 1])


_FORMATS: dict[str, Callable[[Path], Graph]] = {
    **dict.fromkeys((".graph", ".metis"), _read_metis),
    **dict.fromkeys((".txt", ".el", ".edges"), _read_edge_list),
    ".mtx": _read_matrix_market,
    ".tntp": _read_tntp,
}
