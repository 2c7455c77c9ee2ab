"""Travel times of all edges by NumPy, and what tells earliest arrivals from others."""

from __future__ import annotations

import numpy as np

from ..interface import CheckFailed
from .network import Array, Network
from .parameters import NEVER


def all_edges(network: Network) -> tuple[Array, Array, Array]:
    """Origin, target and travel time of every edge: roads, ferries, walks."""
    roads, ferries, walks = network.kinds
    one = np.float32(1)
    square = roads.load * roads.load
    slowed = roads.free_flow_time.astype(np.float32) * (one + roads.b * (square * square))
    times = slowed.astype(np.int64), ferries.crossing + ferries.headway // 2, walks.driving_time * 8
    return (
        np.concatenate([kind.origin for kind in network.kinds]),
        np.concatenate([kind.target for kind in network.kinds]),
        np.concatenate(times).astype(np.int64),
    )


def usable_edges(network: Network, start: int) -> tuple[Array, Array, Array]:
    """Those of ``all_edges`` that a journey from ``start`` may take: no zone is passed."""
    origin, target, time = all_edges(network)
    usable = ~network.is_zone[origin] | (origin == start)
    return origin[usable], target[usable], time[usable]


def check_times(network: Network, start: int, arrival: Array) -> None:
    """Raise CheckFailed unless ``arrival`` are the earliest arrivals.

    They are when no edge could improve one, and an edge explains each: as edges take time, the
    edges that explain a node lead back to the start.
    """
    origin, target, time = usable_edges(network, start)
    origin, target, time = (column[arrival[origin] != NEVER] for column in (origin, target, time))
    possible = arrival[origin] + time
    if arrival[start] != 0:
        raise CheckFailed(f"the time at the start, node {start}, is {arrival[start]}")
    late = np.flatnonzero(arrival[target] > possible)
    if len(late):
        raise CheckFailed(f"node {target[late[0]]} can be reached earlier")
    explained = np.zeros(network.nodes, np.bool_)
    explained[target[arrival[target] == possible]] = True
    explained[start] = True
    early = np.flatnonzero(~explained & (arrival != NEVER))
    if len(early):
        raise CheckFailed(f"no edge leads to node {early[0]} as early as that")
