"""From a TNTP network to roads, walks and ferries, as arrays of indices and numbers.

What the files lack is made up, with ``seed``: the traffic on the roads, and ferry lines. A link of
a zone is a walk: the files connect zones to the nearest junctions by links without a road.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.graph_generators import split_mix
from ..common.tntp import TntpNetwork
from .parameters import (
    DEFAULT_B,
    FERRY_FACTOR,
    HEADWAYS,
    HIGHEST_LOAD,
    LONGEST_CROSSING,
    MEDIAN_TICKS,
    NODES_PER_FERRY,
    SHORTEST_CROSSING,
    WALKING_FACTOR,
)

Array = np.ndarray[Any, Any]

#: Pairs of junctions that are looked at for each ferry line.
_CANDIDATES = 100
#: No edge may take longer, so that its time fits i32 with room to spare.
_MOST_TICKS = 1 << 30


@dataclass(frozen=True)
class Roads:
    origin: Array
    target: Array
    free_flow_time: Array
    load: Array
    b: Array


@dataclass(frozen=True)
class Ferries:
    origin: Array
    target: Array
    headway: Array
    crossing: Array


@dataclass(frozen=True)
class Walks:
    origin: Array
    target: Array
    driving_time: Array


@dataclass(frozen=True)
class Network:
    """N nodes; edges refer to them by index."""

    #: Positions in the unit square, and whether a node is a zone, of shape (N,).
    x: Array
    y: Array
    is_zone: Array
    roads: Roads
    ferries: Ferries
    walks: Walks

    @property
    def nodes(self) -> int:
        return len(self.x)

    @property
    def kinds(self) -> tuple[Roads, Ferries, Walks]:
        """In the order in which edges are numbered."""
        return self.roads, self.ferries, self.walks


def build(network: TntpNetwork, seed: int) -> Network:
    """Raises ArgumentError when times differ so much that ticks cannot hold them."""
    is_zone = np.arange(network.nodes) < network.first_through
    walked = is_zone[network.origin] | is_zone[network.target]
    distance = _distances(network, network.origin, network.target)
    free_flow = network.free_flow_time
    known = ~walked & (free_flow > 0)
    time = free_flow / _median(free_flow[known]) * MEDIAN_TICKS
    pace = _pace(distance[known], time[known])
    roads = _roads(network, ~walked, np.where(known, time, distance * pace), seed)
    walks = Walks(network.origin[walked], network.target[walked], _ticks(distance[walked] * pace))
    if len(walks.driving_time) and walks.driving_time.max() > _MOST_TICKS // WALKING_FACTOR:
        raise _too_long()
    ferries = _ferries(network, np.flatnonzero(~is_zone), pace, seed)
    return Network(network.x, network.y, is_zone, roads, ferries, walks)


def _too_long() -> ArgumentError:
    return ArgumentError(
        "a link takes a million times as long as the median one",
        "correct its free-flow time or its b in the file",
    )


def _median(values: Array) -> float:
    return float(np.median(values)) if len(values) else 1.0


def _pace(distance: Array, ticks: Array) -> float:
    """Ticks for the longer side of the map at the speed of the median road."""
    apart = distance > 0
    return _median(ticks[apart] / distance[apart]) if apart.any() else float(MEDIAN_TICKS)


def _distances(network: TntpNetwork, one: Array, other: Array) -> Array:
    dx = network.x[one].astype(np.float64) - network.x[other]
    dy = network.y[one].astype(np.float64) - network.y[other]
    return np.hypot(dx, dy)


def _ticks(time: Array) -> Array:
    """At least one, so that no route goes in circles at no cost."""
    if len(time) and time.max() > _MOST_TICKS:
        raise _too_long()
    return np.maximum(np.rint(time), 1).astype(np.int32)


def _roads(network: TntpNetwork, driven: Array, time: Array, seed: int) -> Roads:
    load = split_mix(np.arange(len(driven)), seed) * HIGHEST_LOAD
    b = np.where(network.b > 0, network.b, DEFAULT_B)
    if (time * (1 + b * HIGHEST_LOAD**4))[driven].max(initial=0) > _MOST_TICKS:
        raise _too_long()
    return Roads(
        origin=network.origin[driven],
        target=network.target[driven],
        free_flow_time=_ticks(time[driven]),
        load=load[driven].astype(np.float32),
        b=b[driven].astype(np.float32),
    )


def _ferries(network: TntpNetwork, junctions: Array, pace: float, seed: int) -> Ferries:
    """Lines between junctions that lie far enough apart."""
    lines = network.nodes // NODES_PER_FERRY if len(junctions) else 0
    # The roads' loads take the numbers before 2^32.
    draws = split_mix((1 << 32) + np.arange(3 * lines * _CANDIDATES), seed).reshape(-1, 3)
    ends = junctions[(draws[:, :2] * len(junctions)).astype(np.int64)]
    distance = _distances(network, ends[:, 0], ends[:, 1])
    fit = (distance >= SHORTEST_CROSSING) & (distance <= LONGEST_CROSSING)
    chosen = np.flatnonzero(fit)[:lines]
    headway = np.array(HEADWAYS)[(draws[chosen, 2] * len(HEADWAYS)).astype(np.int64)]
    crossing = _ticks(distance[chosen] * pace * FERRY_FACTOR)
    return Ferries(
        origin=np.concatenate([ends[chosen, 0], ends[chosen, 1]]).astype(np.int32),
        target=np.concatenate([ends[chosen, 1], ends[chosen, 0]]).astype(np.int32),
        headway=np.tile(headway * MEDIAN_TICKS, 2).astype(np.int32),
        crossing=np.tile(crossing, 2),
    )
