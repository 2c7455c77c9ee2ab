"""The bodies and their tree, and a step of both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import sharedoa as oa

from ..common.counter_random import draws
from ..common.launches import Launches
from ..common.references import IndexOf
from .classes import HALVINGS, Body, Node, Space, TreeNode

Array = np.ndarray[Any, Any]

#: What random numbers are drawn for.
START_X, START_Y, START_VELOCITY_X, START_VELOCITY_Y, MASS = range(5)
#: After so many steps bodies and nodes are put into the order of their places again.
SORTED_EVERY = 100
#: Of the level of a node.
LEVEL_BITS = 8
#: Levels that the tree may grow by before the host looks whether that was enough.
ROUNDS = 4


class Bodies(NamedTuple):
    """By id: vectors of shape (bodies, 2), and where each is in the tree: the index of a node in
    ``Tree``, and the quadrant."""

    positions: Array
    velocities: Array
    accelerations: Array
    masses: Array
    parents: Array
    quadrants: Array


class Tree(NamedTuple):
    """Of each node, in no particular order: the index of the node that it is in (-1 for the root)
    and the quadrant, its level, corners of shape (nodes, 2), how many bodies it has, their mass and
    their centre, of shape (nodes, 2)."""

    parents: Array
    quadrants: Array
    levels: Array
    lows: Array
    highs: Array
    bodies: Array
    masses: Array
    centres: Array


class Simulation:
    """``count`` bodies of which each has a mass from half of ``mass`` to ``mass``."""

    def __init__(self, heap: Any, count: int, mass: float, seed: int, launches: Launches) -> None:
        self._heap, self._launch = heap, launches
        self._step = 0
        numbers = np.arange(count, dtype=np.uint64)

        def shares(purpose: int) -> Array:
            """Of each body, from 0 to less than 1."""
            found: Array = draws(seed, 0, numbers, purpose) * 2.0**-32
            return found

        root = heap.new(Node, 1)
        for axis in "xy":
            root.low[axis], root.high[axis] = -1.0, 1.0
        self.space = heap.new(Space, root=root[0], is_crowded=True)
        bodies = heap.new(Body, count, parent=root[0], is_waiting=True)
        bodies.id, bodies.bodies = numbers + 1, 1
        bodies.mass = (shares(MASS) / 2 + 0.5) * mass
        bodies.pos["x"] = 1.98 * shares(START_X) - 0.99
        bodies.pos["y"] = 1.98 * shares(START_Y) - 0.99
        bodies.velocity["x"] = (shares(START_VELOCITY_X) - 0.5) / 1000
        bodies.velocity["y"] = (shares(START_VELOCITY_Y) - 0.5) / 1000
        # Enough to tell all ids apart, of two bits a level.
        self._levels = HALVINGS + (count.bit_length() + 1) // 2
        self.rebuild()
        self.sort()

    def advance(self) -> None:
        """One step: bodies attract each other and move, and the tree follows."""
        self._launch.repeat("fall", self._fall)
        self.rebuild()
        self._step += 1
        if self._step % SORTED_EVERY == 0:
            self.sort()

    def _fall(self) -> None:
        self._launch.for_all(Body, "feel", self.space)
        self._launch.for_all(Body, "move", self.space)

    def rebuild(self) -> None:
        """Bodies without a place get one, and nodes that nobody needs go."""
        while self.space.is_crowded:
            self._launch.repeat("settle", self._settle)
        self._launch.repeat("sum up", self._sum_up)

    def _settle(self) -> None:
        for _ in range(ROUNDS):
            self._launch.for_all(Body, "seek")
            self._launch.for_all(Space, "relax")
            self._launch.for_all(Body, "settle", self.space)

    def _sum_up(self) -> None:
        for level in reversed(range(self._levels)):
            self._launch.for_all(Node, "sum_up", level)
        self._launch.for_all(Body, "rise")
        self._launch.for_all(Node, "end")
        self._launch.for_all(TreeNode, "tie")

    def sort(self) -> None:
        """Put what is near one another in the square near one another in memory: neighbours walk
        through the same parts of the tree. It changes nothing else. Objects that the platform's
        allocator has placed stay where they are."""
        if self._heap.mode.placement == "scattered":
            return
        bodies, nodes = self._heap.all(Body), self._heap.all(Node)
        oa.sort(bodies, morton(_columns(bodies.pos)))
        levels = nodes.level.numpy().astype(np.uint64)
        oa.sort(nodes, morton(_columns(nodes.low)) << np.uint64(LEVEL_BITS) | levels)

    def counts(self) -> dict[str, int]:
        """``spread`` is the root of the mean square of distances from the middle."""
        positions = self.bodies().positions
        spread = float(np.sqrt((positions**2).sum(axis=1).mean()))
        nodes = self._heap.all(Node)
        return {
            "bodies": len(positions),
            "nodes": len(nodes),
            "levels": int(nodes.level.numpy().max()) + 1,
            "spread in millionths": round(spread * 10**6),
        }

    def bodies(self) -> Bodies:
        found = self._heap.all(Body)
        order = np.argsort(found.id.numpy())
        each = (
            _columns(found.pos),
            _columns(found.velocity),
            _columns(found.acceleration),
            found.mass.numpy(),
            IndexOf(self._heap.all(Node)[:])(found.parent.numpy()),
            found.quadrant.numpy(),
        )
        return Bodies(*(values[order] for values in each))

    def tree(self) -> Tree:
        found = self._heap.all(Node)
        each = (
            IndexOf(found[:])(found.parent.numpy()),
            found.quadrant.numpy(),
            found.level.numpy(),
            _columns(found.low),
            _columns(found.high),
            found.bodies.numpy(),
            found.mass.numpy(),
            _columns(found.pos),
        )
        return Tree(*(np.array(values) for values in each))


def morton(positions: Array) -> Array:
    """Numbers whose order is that of a walk through the quadrants of the square, of 16 levels."""
    found = np.zeros(len(positions), np.uint64)
    for axis in range(2):
        cells = ((positions[:, axis] + 1.0) * 2.0**15).astype(np.uint64)
        for bit in range(16):
            found |= (cells >> np.uint64(bit) & np.uint64(1)) << np.uint64(2 * bit + axis)
    return found


def _columns(vectors: Any) -> Array:
    return np.stack([vectors["x"].numpy(), vectors["y"].numpy()], axis=1)
