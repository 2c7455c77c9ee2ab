"""The paper's generated network: random intersections, each with one to four roads to others."""

from __future__ import annotations

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.glibc_random import RAND_MAX, GlibcRandom
from .road_graph import MAX_DEGREE, RoadGraph

CELL_LENGTH = np.float32(0.005)
#: With some 260 cells each; at eight times as many, places of cells would leave int32.
MOST_INTERSECTIONS = 1_000_000


def generate(intersections: int, seed: int) -> RoadGraph:
    """Draw a network from the stream of ``rand()`` that ``seed`` starts.

    Lengths are computed in float32, as the artifact does, because they decide how many cells a road
    has. Raises ArgumentError for fewer than two intersections, and more than MOST_INTERSECTIONS.
    """
    if intersections < 2:
        raise ArgumentError(
            f"{intersections} intersections make no network", "give a size of at least 2"
        )
    if intersections > MOST_INTERSECTIONS:
        raise ArgumentError(
            f"a network of {intersections:,} intersections is too large",
            f"give a size of at most {MOST_INTERSECTIONS:,}",
        )
    stream = GlibcRandom(seed)
    degrees, x, y = [], [], []
    for _ in range(intersections):
        degrees.append(stream.rand() % MAX_DEGREE + 1)
        x.append(np.float32(stream.rand()) / np.float32(RAND_MAX))
        y.append(np.float32(stream.rand()) / np.float32(RAND_MAX))
    origin, target, slot = _connect(stream, degrees)
    xs, ys = np.array(x, np.float32), np.array(y, np.float32)
    dx, dy = xs[target] - xs[origin], ys[target] - ys[origin]
    distance = np.sqrt(dx * dx + dy * dy)
    return RoadGraph(
        x=xs,
        y=ys,
        origin=origin,
        target=target,
        steps=(distance / CELL_LENGTH).astype(np.int32),
        limit=np.zeros(len(origin), np.int32),
        incoming_slot=slot,
        through=np.ones(intersections, np.bool_),
    )


def _connect(stream: GlibcRandom, degrees: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Origin, target and incoming slot of each road."""
    count = len(degrees)
    entering = [0] * count
    roads = []
    room = MAX_DEGREE * count
    for origin, degree in enumerate(degrees):
        for _ in range(degree):
            if room == MAX_DEGREE - entering[origin]:
                break  # only the intersection itself has room left: there is nothing to draw
            target = origin
            while target == origin or entering[target] == MAX_DEGREE:
                target = stream.rand() % count
            roads.append((origin, target, entering[target]))
            entering[target] += 1
            room -= 1
    columns = np.array(roads, np.int32).T
    return columns[0], columns[1], columns[2]
