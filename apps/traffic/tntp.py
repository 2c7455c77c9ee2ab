"""Real road networks: the TNTP format (see ``tntp_text``) to a road graph.

What the format leaves open is decided here:

* Units differ between files. Cells are so long that a road of mean length has ``MEAN_STEPS``.
* A link of length 0 has the distance of its nodes, in the unit that the other links have.
* Speeds become limits of 5 to 9 cells a step, from the slowest to the fastest; where the speed is
  0 the limit is drawn as in the generated network.
* Nodes before <FIRST THRU NODE> are zones, which cars do not pass: a road to one ends there.
* An intersection with more than four roads in or out becomes a roundabout (``roundabouts``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .network import LIMITS, SLOWEST
from .road_graph import RoadGraph, slots_by_order
from .roundabouts import with_roundabouts
from .tntp_text import Row, Table, file_error, read_table

MEAN_STEPS = 10

Array = np.ndarray[Any, Any]


def read_road_graph(file: Path) -> RoadGraph:
    """Read NAME_net.tntp, or NAME_node.tntp, and the other one beside it.

    Of duplicate links the first counts; links from a node to itself are dropped.
    Raises ArgumentError, naming file and line, for what is missing, truncated or malformed.
    """
    net_file, node_file = _both_files(file)
    net = read_table(net_file, 4)
    if not net.end_of_metadata:
        raise file_error(net_file, "the file lacks <END OF METADATA>")
    nodes = net.count("NUMBER OF NODES")
    if len(net.rows) < net.count("NUMBER OF LINKS"):
        raise file_error(
            net_file,
            f"the file is truncated: it has {len(net.rows)} of "
            f"{net.count('NUMBER OF LINKS')} links",
            net.rows[-1].line,
        )
    x, y = _coordinates(read_table(node_file, 3), nodes)
    origin, target, length, speed = _links(net, nodes)
    if len(origin) == 0:
        raise file_error(net_file, "no link connects two different nodes")
    through = np.arange(1, nodes + 1) >= net.count("FIRST THRU NODE", default=1)
    graph = RoadGraph(
        x=x,
        y=y,
        origin=origin,
        target=target,
        steps=_steps(length, np.hypot(x[target] - x[origin], y[target] - y[origin])),
        limit=_limits(speed),
        incoming_slot=slots_by_order(target, nodes),
        through=through,
    )
    return with_roundabouts(graph)


def _both_files(file: Path) -> tuple[Path, Path]:
    for ending, other in (("_net", "_node"), ("_node", "_net")):
        if file.stem.endswith(ending):
            partner = file.with_name(file.stem.removesuffix(ending) + other + file.suffix)
            return (file, partner) if ending == "_net" else (partner, file)
    raise file_error(file, "the name ends neither in _net.tntp nor in _node.tntp")


def _coordinates(table: Table, nodes: int) -> tuple[Array, Array]:
    """Positions in the unit square; both axes have one scale."""
    places = np.full((nodes, 2), np.nan)
    for row in table.rows:
        node = row.integer(0, 1, nodes, "the node")
        places[node - 1] = row.number(1, "x"), row.number(2, "y")
    missing = np.flatnonzero(np.isnan(places[:, 0]))
    if len(missing):
        raise file_error(
            table.file,
            f"the file is truncated: node {missing[0] + 1} and {len(missing) - 1} more of {nodes} "
            "nodes have no coordinates",
            table.rows[-1].line,
        )
    low = places.min(axis=0)
    extent = (places - low).max() or 1.0
    unit = ((places - low) / extent).astype(np.float32)
    return unit[:, 0], unit[:, 1]


def _links(table: Table, nodes: int) -> tuple[Array, Array, Array, Array]:
    """Origin, target, length and speed of each link, sorted by origin."""
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for row in table.rows:
        ends = row.integer(0, 1, nodes, "the node"), row.integer(1, 1, nodes, "the node")
        if ends[0] != ends[1]:
            found.setdefault(ends, (_length(row), _speed(row)))
    pairs = sorted(found, key=lambda ends: ends[0])
    nodes_of = np.array(pairs, np.int32).reshape(-1, 2) - 1
    values = np.array([found[pair] for pair in pairs]).reshape(-1, 2)
    return nodes_of[:, 0], nodes_of[:, 1], values[:, 0], values[:, 1]


def _length(row: Row) -> float:
    length = row.number(3, "the length")
    if length < 0:
        raise row.error(f"the length is {length}")
    return length


def _speed(row: Row) -> float:
    return row.number(7, "the speed") if len(row.fields) > 7 else 0.0


def _steps(length: Array, distance: Array) -> Array:
    """Cells of each road after the first, which every road has."""
    known = (length > 0) & (distance > 0)
    unit = np.median(length[known] / distance[known]) if known.any() else 1.0
    length = np.where(length > 0, length, distance * unit)
    mean = length.mean()
    if mean == 0:
        return np.zeros(len(length), np.int32)
    return (length / mean * MEAN_STEPS).astype(np.int32)


def _limits(speed: Array) -> Array:
    posted = speed > 0
    if not posted.any():
        return np.zeros(len(speed), np.int32)
    slowest, fastest = speed[posted].min(), speed[posted].max()
    share = (speed - slowest) / ((fastest - slowest) or 1.0)
    limits = SLOWEST + np.rint(share * (LIMITS - 1))
    return np.where(posted, limits, 0).astype(np.int32)
