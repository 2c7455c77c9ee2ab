"""A generated town: streets in a crooked grid, and zones beside them."""

from __future__ import annotations

import math

import numpy as np

from ..common.graph_generators import grid, split_mix
from ..common.tntp import TntpNetwork
from .parameters import DEFAULT_B

#: One node of so many is a zone.
_NODES_PER_ZONE = 20
#: How far junctions lie from their place in the grid, and zones from their junction, relative to
#: the grid's spacing.
_CROOKEDNESS, _ZONE_DISTANCE = 0.35, 0.4
#: Streets are up to so much faster or slower than the mean one.
_SPEED_SPREAD = 0.5


def generate(nodes: int, seed: int) -> TntpNetwork:
    """A network of so many nodes, zones first."""
    zones = nodes // _NODES_PER_ZONE
    junctions = nodes - zones
    side = max(1, math.isqrt(max(junctions - 1, 0)) + 1)
    place = np.arange(junctions)
    shift = _CROOKEDNESS * (2 * split_mix(np.arange(2 * nodes), seed).reshape(-1, 2) - 1)
    x = place % side + shift[:junctions, 0]
    y = place // side + shift[:junctions, 1]
    streets = grid(side, -(-junctions // side))
    inside = (streets.source < junctions) & (streets.target < junctions)
    home = (split_mix(2 * nodes + np.arange(zones), seed) * junctions).astype(np.int64)
    direction = 2 * np.pi * split_mix(3 * nodes + np.arange(zones), seed)
    x = np.concatenate([x[home] + _ZONE_DISTANCE * np.cos(direction), x])
    y = np.concatenate([y[home] + _ZONE_DISTANCE * np.sin(direction), y])
    zone, door = np.arange(zones), home + zones
    origin = np.concatenate([zone, door, streets.source[inside] + zones])
    target = np.concatenate([door, zone, streets.target[inside] + zones])
    length = np.hypot(x[origin] - x[target], y[origin] - y[target])
    speed = 1 + _SPEED_SPREAD * (2 * split_mix(4 * nodes + np.arange(len(origin)), seed) - 1)
    low = np.array([x.min(initial=np.inf), y.min(initial=np.inf)]) if nodes else np.zeros(2)
    extent = max(np.ptp(x), np.ptp(y), 1.0) if nodes else 1.0
    return TntpNetwork(
        x=((x - low[0]) / extent).astype(np.float32),
        y=((y - low[1]) / extent).astype(np.float32),
        origin=origin.astype(np.int32),
        target=target.astype(np.int32),
        length=length,
        free_flow_time=np.where(origin < zones, 0.0, length / speed),
        b=np.full(len(origin), DEFAULT_B),
        speed=speed,
        first_through=zones,
    )
