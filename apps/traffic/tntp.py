"""Real road networks: the TNTP format (see ``apps.common.tntp``) to a road graph.

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

from ..common.tntp import read_tntp
from .network import LIMITS, SLOWEST
from .road_graph import RoadGraph, slots_by_order
from .roundabouts import with_roundabouts

MEAN_STEPS = 10

Array = np.ndarray[Any, Any]


def read_road_graph(file: Path) -> RoadGraph:
    """The road graph of NAME_net.tntp or NAME_node.tntp. Raises ArgumentError as ``read_tntp``."""
    network = read_tntp(file)
    x, y, origin, target = network.x, network.y, network.origin, network.target
    distance = np.hypot(x[target] - x[origin], y[target] - y[origin])
    graph = RoadGraph(
        x=x,
        y=y,
        origin=origin,
        target=target,
        steps=_steps(network.length, distance),
        limit=_limits(network.speed),
        incoming_slot=slots_by_order(target, network.nodes),
        through=np.arange(network.nodes) >= network.first_through,
    )
    return with_roundabouts(graph)


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
