"""The paper's generated structure: nodes at random places in a square, springs between any two."""

from __future__ import annotations

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.glibc_random import RAND_MAX, GlibcRandom
from .parameters import MASS, MAX_FORCE, SLOTS
from .structure import ANCHOR, FREE, PULLED, Floats, Ints, Structure

#: Of twenty nodes; one in the rest is held.
FREE_SHARE, PULLED_SHARE, SHARES = 13, 5, 20
#: So many are drawn one by one within a minute, and the draws take a few GiB.
MOST_NODES = 10_000_000
LOW, HIGH = 0.35, 0.65
PULLED_SPEED = 0.05
SOFTEST, STIFFEST = 3.0, 5.0


def generate(nodes: int, seed: int) -> Structure:
    """Draw a structure from the stream of ``rand()`` that ``seed`` starts.

    65 % of the nodes are free, 25 % pulled, 10 % anchors, and there are 7 springs for 4 nodes.
    Raises ArgumentError unless ``nodes`` is a positive multiple of 20, which gives whole numbers,
    and at most MOST_NODES.
    """
    if nodes < SHARES or nodes % SHARES:
        raise ArgumentError(
            f"{nodes} nodes cannot be 65 % free, 25 % pulled and 10 % anchors",
            f"give a size that is a multiple of {SHARES}: {max(SHARES, nodes // SHARES * SHARES)}",
        )
    if nodes > MOST_NODES:
        raise ArgumentError(
            f"a structure of {nodes:,} nodes is too large", f"give a size of at most {MOST_NODES:,}"
        )
    stream = GlibcRandom(seed)
    free, pulled = nodes * FREE_SHARE // SHARES, nodes * PULLED_SHARE // SHARES
    anchors = nodes - free - pulled
    # Each node draws all that its kind has before the next one does; the mass takes a draw too.
    of_free, of_pulled, of_anchors = (
        np.array([stream.rand() for _ in range(count * draws)]).reshape(count, draws)
        for count, draws in ((free, 3), (pulled, 4), (anchors, 2))
    )
    places = np.concatenate([of_free[:, 1:], of_pulled[:, :2], of_anchors])
    velocity = np.zeros((nodes, 2), np.float32)
    velocity[free : free + pulled] = _uniform(of_pulled[:, 2:], -PULLED_SPEED, PULLED_SPEED)
    first, second, factor = _join(stream, nodes)
    return Structure(
        kind=np.repeat(np.array([FREE, PULLED, ANCHOR], np.int32), [free, pulled, anchors]),
        x=_uniform(places[:, 0], LOW, HIGH),
        y=_uniform(places[:, 1], LOW, HIGH),
        velocity_x=velocity[:, 0].copy(),
        velocity_y=velocity[:, 1].copy(),
        mass=np.full(nodes, MASS, np.float32),
        first=first,
        second=second,
        factor=factor,
        max_force=np.full(len(first), MAX_FORCE, np.float32),
    )


def _uniform(draws: Ints, low: float, high: float) -> Floats:
    """Draws between two bounds, in the float32 arithmetic of the artifact."""
    width = np.float32(high) - np.float32(low)
    scaled = draws.astype(np.float32) / (np.float32(RAND_MAX) / width)
    return np.asarray(np.float32(low) + scaled, np.float32)


def _join(stream: GlibcRandom, nodes: int) -> tuple[Ints, Ints, Floats]:
    """The ends of each spring, drawn until both have room, and its factor."""
    degree = [0] * nodes
    rand = stream.rand
    ends, factors = [], []
    for _ in range(7 * nodes // 4):
        first = rand() % nodes
        while degree[first] == SLOTS:
            first = rand() % nodes
        second = rand() % nodes
        while degree[second] == SLOTS or second == first:
            second = rand() % nodes
        degree[first] += 1
        degree[second] += 1
        ends.append((first, second))
        factors.append(rand())
    columns = np.array(ends, np.int32).T
    return columns[0].copy(), columns[1].copy(), _uniform(np.array(factors), SOFTEST, STIFFEST)
