"""From a road graph to cells, the producers and targets among them, and traffic lights.

Everything is NumPy arrays of indices: both flavours make their objects from it, and the reference
simulation runs on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.references import NOTHING
from ..common.xorwow_streams import replay, uniform
from .road_graph import MAX_DEGREE, Bools, Floats, Ints, RoadGraph

PRODUCER_PROBABILITY = np.float32(0.02)
TARGET_PROBABILITY = np.float32(0.003)
#: Limits are drawn from SLOWEST to SLOWEST + LIMITS - 1 cells a step.
SLOWEST, LIMITS = 5, 5
#: Steps between two changes of a light.
PHASE_TIME = 5


@dataclass(frozen=True)
class Network:
    """n cells in R roads between N intersections. Cells refer to each other by index."""

    graph: RoadGraph
    #: Positions in the unit square and speed limits, of shape (n,).
    x: Floats
    y: Floats
    max_velocity: Ints
    #: The last cell of a road to an intersection that cars pass: red until its light turns.
    is_stop: Bools
    is_target: Bools
    is_producer: Bools
    #: Seeds of the producers' generators, 0 for other cells, of shape (n,), signed.
    seed: Ints
    #: Neighbours, of shape (n, MAX_DEGREE), padded with NOTHING, and their numbers.
    incoming: Ints
    outgoing: Ints
    num_incoming: Ints
    num_outgoing: Ints
    #: Stop cells of each intersection in the order of its phases, of shape (N, MAX_DEGREE).
    light_cells: Ints
    light_sizes: Ints
    #: First and last cell of each road, whose cells are consecutive, of shape (R,).
    first_cell: Ints
    last_cell: Ints

    @property
    def cells(self) -> int:
        return len(self.x)

    @property
    def lights(self) -> int:
        return len(self.light_sizes)


def build(graph: RoadGraph, seed_offset: int = 0) -> Network:
    """Cut each road into cells, as the artifact does on the device.

    Intersection i draws from the XORWOW stream of seed ``seed_offset + i``: first the limits of its
    roads; then, from the start of the same stream again, which cells are producers and targets.
    """
    first = np.concatenate([[0], np.cumsum(graph.steps + 1)]).astype(np.int32)
    first_cell, last_cell = first[:-1], first[1:] - 1
    road = np.repeat(np.arange(len(graph.origin), dtype=np.int32), graph.steps + 1)
    step = np.arange(first[-1], dtype=np.int32) - first_cell[road] - 1
    seeds = np.arange(graph.intersections, dtype=np.int64) + seed_offset
    x, y = _positions(graph, road, step)
    is_producer, is_target, seed = _special_cells(graph, seeds, road, step)
    is_stop = np.zeros(len(road), np.bool_)
    is_stop[last_cell[graph.through[graph.target]]] = True
    return Network(
        graph=graph,
        x=x,
        y=y,
        max_velocity=_limits(graph, seeds)[road],
        is_stop=is_stop,
        is_target=is_target,
        is_producer=is_producer,
        seed=seed,
        **_links(graph, first_cell, last_cell, len(road)),
        first_cell=first_cell,
        last_cell=last_cell,
    )


def _positions(graph: RoadGraph, road: Ints, step: Ints) -> tuple[Floats, Floats]:
    """Cell ``step`` of a road lies at start + step * (delta / steps); -1 is the intersection's."""
    pieces = np.maximum(graph.steps, 1).astype(np.float32)
    along = np.maximum(step, 0).astype(np.float32)

    def place(nodes: Floats) -> Floats:
        start = nodes[graph.origin]
        delta = (nodes[graph.target] - start) / pieces
        return start[road] + along * delta[road]

    return place(graph.x), place(graph.y)


def _limits(graph: RoadGraph, seeds: np.ndarray[Any, Any]) -> Ints:
    """The limit of each road: its own, or drawn."""
    degrees = graph.out_degree()
    draws = replay(seeds, int(degrees.max(initial=0)))
    slot = np.arange(len(graph.origin)) - (np.cumsum(degrees) - degrees)[graph.origin]
    drawn = (draws[graph.origin, slot] % np.uint32(LIMITS)).astype(np.int32) + SLOWEST
    return np.where(graph.limit > 0, graph.limit, drawn).astype(np.int32)


#: Streams that are replayed together: those with the most cells first, so that few draws are idle.
_STREAMS_AT_ONCE = 1024


def _special_cells(
    graph: RoadGraph, seeds: np.ndarray[Any, Any], road: Ints, step: Ints
) -> tuple[Bools, Bools, Ints]:
    """Which cells are producers, which are targets, and the producers' seeds."""
    is_producer, is_target = (np.zeros(len(road), np.bool_) for _ in range(2))
    seed = np.zeros(len(road), np.int32)
    drawing = np.flatnonzero(step >= 0)  # cells at intersections draw nothing
    counts = np.bincount(graph.origin[road[drawing]], minlength=graph.intersections)
    begin = np.cumsum(counts) - counts
    by_count = np.argsort(-counts, kind="stable")
    by_count = by_count[: np.count_nonzero(counts)]
    for start in range(0, len(by_count), _STREAMS_AT_ONCE):
        group = by_count[start : start + _STREAMS_AT_ONCE]
        draws = replay(seeds[group], 3 * int(counts[group[0]]))
        uniforms = uniform(draws)
        place = np.zeros(len(group), np.int64)
        for k in range(int(counts[group[0]])):
            live = np.searchsorted(-counts[group], -k)  # streams with more than k cells
            rows, at = np.arange(live), place[:live]
            cell = drawing[begin[group[:live]] + k]
            produces = uniforms[rows, at] < PRODUCER_PROBABILITY
            is_producer[cell] = produces
            makers = rows[produces]
            seed[cell[produces]] = draws[makers, at[produces] + 1].view(np.int32)
            at += 1 + produces
            is_target[cell] = uniforms[rows, at] < TARGET_PROBABILITY
            at += 1
    return is_producer, is_target, seed


def _links(graph: RoadGraph, first_cell: Ints, last_cell: Ints, cells: int) -> dict[str, Ints]:
    """Neighbours of every cell, and the stop cells of every light."""
    incoming, outgoing = (np.full((cells, MAX_DEGREE), NOTHING, np.int32) for _ in range(2))
    num_incoming, num_outgoing = (np.ones(cells, np.int32) for _ in range(2))
    everywhere = np.arange(cells, dtype=np.int32)
    incoming[:, 0], outgoing[:, 0] = everywhere - 1, everywhere + 1

    lights = np.full((graph.intersections, MAX_DEGREE), NOTHING, np.int32)
    passing = graph.through[graph.target]
    lights[graph.target[passing], graph.incoming_slot[passing]] = last_cell[passing]
    light_sizes = np.where(graph.through, graph.in_degree(), 0).astype(np.int32)

    degrees = graph.out_degree()
    leaving = np.full((graph.intersections, MAX_DEGREE), NOTHING, np.int32)
    slot = np.arange(len(graph.origin)) - (np.cumsum(degrees) - degrees)[graph.origin]
    reached = graph.through[graph.origin]
    leaving[graph.origin[reached], slot[reached]] = first_cell[reached]

    outgoing[last_cell] = np.where(passing[:, None], leaving[graph.target], NOTHING)
    num_outgoing[last_cell] = np.where(passing, degrees[graph.target], 0)
    incoming[first_cell] = lights[graph.origin]
    num_incoming[first_cell] = light_sizes[graph.origin]
    return {
        "incoming": incoming,
        "outgoing": outgoing,
        "num_incoming": num_incoming,
        "num_outgoing": num_outgoing,
        "light_cells": lights,
        "light_sizes": light_sizes,
    }
