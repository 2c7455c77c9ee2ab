"""Intersections of more than four roads, as rings of smaller ones.

A cell has at most four neighbours each way, as in the paper. An intersection with more roads in or
out becomes a roundabout: a ring of intersections with at most three roads of the outside in and out
each, and one road of a single cell to the next of the ring. Everything that holds for intersections
(one green light, no overlapping paths) then holds for roundabouts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .road_graph import MAX_DEGREE, RoadGraph, slots_by_order

#: Roads of the outside at one part of a roundabout; the fourth place is the ring's own.
_OUTSIDE = MAX_DEGREE - 1

Array = np.ndarray[Any, Any]


def with_roundabouts(graph: RoadGraph) -> RoadGraph:
    """The graph with every intersection that cars pass limited to four roads in and four out."""
    busiest = np.maximum(graph.in_degree(), graph.out_degree())
    large = np.flatnonzero(graph.through & (busiest > MAX_DEGREE))
    if len(large) == 0:
        return graph
    parts = -(-busiest[large] // _OUTSIDE)
    nodes = graph.intersections + int((parts - 1).sum())
    # The first part of a ring keeps the intersection's index, the others are appended.
    members = _ring_members(graph.intersections, large, parts)
    origin = _spread(graph, graph.origin, graph.target, large, members)
    target = _spread(graph, graph.target, graph.origin, large, members)
    ring_origin = np.concatenate(members)
    ring_target = np.concatenate([np.roll(ring, -1) for ring in members])
    centre = np.arange(nodes)
    for node, ring in zip(large, members, strict=True):
        centre[ring] = node
    return _sorted_graph(
        graph,
        centre,
        np.concatenate([origin, ring_origin]).astype(np.int32),
        np.concatenate([target, ring_target]).astype(np.int32),
    )


def _ring_members(nodes: int, large: Array, parts: Array) -> list[Array]:
    ends = nodes + np.cumsum(parts - 1)
    return [
        np.concatenate([[node], np.arange(end - (count - 1), end)])
        for node, count, end in zip(large, parts, ends, strict=True)
    ]


def _spread(
    graph: RoadGraph, ends: Array, others: Array, large: Array, members: list[Array]
) -> Array:
    """Give each road end at a large intersection to a part of its ring, by compass direction, so
    that the two directions of one street meet the ring at about the same place."""
    direction = np.arctan2(graph.y[others] - graph.y[ends], graph.x[others] - graph.x[ends])
    order = np.argsort(direction, kind="stable")
    slot = np.empty(len(ends), np.int32)
    slot[order] = slots_by_order(ends[order], graph.intersections)
    spread = ends.copy()
    for node, ring in zip(large, members, strict=True):
        here = np.flatnonzero(ends == node)
        spread[here] = ring[slot[here] // _OUTSIDE]
    return spread


def _sorted_graph(graph: RoadGraph, centre: Array, origin: Array, target: Array) -> RoadGraph:
    order = np.argsort(origin, kind="stable")
    rings = len(origin) - len(graph.origin)
    return RoadGraph(
        x=graph.x[centre],
        y=graph.y[centre],
        origin=origin[order],
        target=target[order],
        steps=np.append(graph.steps, np.zeros(rings, np.int32))[order],
        limit=np.append(graph.limit, np.zeros(rings, np.int32))[order],
        incoming_slot=slots_by_order(target[order], len(centre)),
        through=graph.through[centre],
    )
