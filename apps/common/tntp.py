"""Road networks of the TNTP format (see ``tntp_text``): nodes with coordinates, and links."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .text_file import uncompressed_name
from .tntp_text import Row, Table, file_error, read_table

Array = np.ndarray[Any, Any]

#: Columns of a link after its two nodes and its capacity; files may end their rows before any but
#: the first.
_LENGTH, _FREE_FLOW_TIME, _B, _SPEED = 3, 4, 5, 7


@dataclass(frozen=True)
class TntpNetwork:
    """N nodes and R directed links, sorted by origin, in the file's own units.

    Nodes before ``first_through`` are zones: journeys begin and end there, none goes through.
    """

    #: Positions in the unit square, both axes with one scale, of shape (N,).
    x: Array
    y: Array
    #: Nodes by index from 0, of shape (R,).
    origin: Array
    target: Array
    #: 0 where the file says nothing, of shape (R,).
    length: Array
    free_flow_time: Array
    #: The coefficient of the file's cost function: how much a link slows down at capacity.
    b: Array
    speed: Array
    first_through: int

    @property
    def nodes(self) -> int:
        return len(self.x)


def read_tntp(file: Path) -> TntpNetwork:
    """Read NAME_net.tntp, or NAME_node.tntp, and the other one beside it, both also with ``.gz``.

    Of duplicate links the first counts; links from a node to itself are dropped.
    Raises ArgumentError, naming file and line, for what is missing, truncated or malformed.
    """
    net_file, node_file = _both_files(file)
    net = _read_net(net_file)
    nodes = net.count("NUMBER OF NODES")
    x, y = _coordinates(read_table(node_file, 3), nodes)
    pairs, values = _links(net, nodes)
    if len(pairs) == 0:
        raise file_error(net_file, "no link connects two different nodes")
    return TntpNetwork(
        x=x,
        y=y,
        origin=pairs[:, 0],
        target=pairs[:, 1],
        length=values[:, 0],
        free_flow_time=values[:, 1],
        b=values[:, 2],
        speed=values[:, 3],
        first_through=net.count("FIRST THRU NODE", default=1) - 1,
    )


def read_tntp_links(file: Path) -> tuple[int, Array]:
    """The number of nodes of NAME_net.tntp, and the two nodes of each link, of shape (R, 2). The
    coordinates are not needed. Raises ArgumentError as ``read_tntp``."""
    net = _read_net(_both_files(file)[0])
    nodes = net.count("NUMBER OF NODES")
    return nodes, _links(net, nodes)[0]


def _read_net(file: Path) -> Table:
    net = read_table(file, 4)
    if not net.end_of_metadata:
        raise file_error(file, "the file lacks <END OF METADATA>")
    net.count("NUMBER OF NODES")
    links = net.count("NUMBER OF LINKS")
    if len(net.rows) < links:
        raise file_error(
            file,
            f"the file is truncated: it has {len(net.rows)} of {links} links",
            net.rows[-1].line,
        )
    return net


def _both_files(file: Path) -> tuple[Path, Path]:
    name = uncompressed_name(file)
    stem, suffix = Path(name).stem, Path(name).suffix + file.name[len(name) :]
    for ending, other in (("_net", "_node"), ("_node", "_net")):
        if stem.endswith(ending):
            partner = file.with_name(stem.removesuffix(ending) + other + suffix)
            return (file, partner) if ending == "_net" else (partner, file)
    raise file_error(file, "the name ends neither in _net.tntp nor in _node.tntp")


def _coordinates(table: Table, nodes: int) -> tuple[Array, Array]:
    """Positions in the unit square; both axes have one scale."""
    known: dict[int, tuple[float, float]] = {}
    for row in table.rows:
        known[row.integer(0, 1, nodes, "the node")] = row.number(1, "x"), row.number(2, "y")
    if len(known) < nodes:
        first = next(node for node in range(1, nodes + 1) if node not in known)
        raise file_error(
            table.file,
            f"the file is truncated: node {first} and {nodes - len(known) - 1} more of {nodes} "
            "nodes have no coordinates",
            table.rows[-1].line,
        )
    places = np.array([known[node] for node in range(1, nodes + 1)])
    low = places.min(axis=0)
    extent = (places - low).max() or 1.0
    unit = ((places - low) / extent).astype(np.float32)
    return unit[:, 0], unit[:, 1]


def _links(table: Table, nodes: int) -> tuple[Array, Array]:
    """Both nodes of each link, and its length, free-flow time, b and speed; sorted by origin."""
    found: dict[tuple[int, int], tuple[float, ...]] = {}
    for row in table.rows:
        ends = row.integer(0, 1, nodes, "the node"), row.integer(1, 1, nodes, "the node")
        if ends[0] != ends[1]:
            found.setdefault(
                ends,
                (
                    _measure(row, _LENGTH, "the length"),
                    _measure(row, _FREE_FLOW_TIME, "the free-flow time"),
                    _measure(row, _B, "b"),
                    _measure(row, _SPEED, "the speed"),
                ),
            )
    pairs = sorted(found, key=lambda ends: ends[0])
    values = np.array([found[pair] for pair in pairs]).reshape(-1, 4)
    return np.array(pairs, np.int32).reshape(-1, 2) - 1, values


def _measure(row: Row, column: int, what: str) -> float:
    """A number that is not negative; 0 where the row is too short."""
    if column >= len(row.fields):
        return 0.0
    value = row.number(column, what)
    if value < 0:
        raise row.error(f"{what} is {value}")
    return value
