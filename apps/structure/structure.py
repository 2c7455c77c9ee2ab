"""A structure as arrays: what a simulation starts from, whatever made it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.references import NOTHING
from .parameters import SLOTS

Floats = np.ndarray[Any, np.dtype[np.float32]]
Ints = np.ndarray[Any, np.dtype[np.int32]]

#: Kinds of nodes, with the artifact's numbers: held in place, pulled along, free to move.
ANCHOR, PULLED, FREE = 2, 3, 4


@dataclass(frozen=True)
class Structure:
    """Nodes, and springs between them, which start without force.

    Raises ArgumentError for springs that do not join two nodes of the structure, for nodes with
    more than SLOTS springs, and for what is not finite or has no mass.
    """

    #: Of each node. Only pulled nodes have a velocity at first.
    kind: Ints
    x: Floats
    y: Floats
    velocity_x: Floats
    velocity_y: Floats
    mass: Floats
    #: Of each spring: the indices of its ends, force for a unit of extension, greatest force.
    first: Ints
    second: Ints
    factor: Floats
    max_force: Floats

    def __post_init__(self) -> None:
        ends = np.concatenate([self.first, self.second])
        if len(ends) and not (ends.min() >= 0 and ends.max() < self.nodes):
            raise ArgumentError(
                f"a spring ends at node {ends.min() if ends.min() < 0 else ends.max()} of "
                f"{self.nodes} nodes",
                "count nodes from 0",
            )
        if (self.first == self.second).any():
            spring = int(np.flatnonzero(self.first == self.second)[0])
            raise ArgumentError(f"both ends of spring {spring} are one node", "join two nodes")
        degrees = np.bincount(ends, minlength=self.nodes)
        if len(degrees) and degrees.max() > SLOTS:
            raise ArgumentError(
                f"node {degrees.argmax()} has {degrees.max()} springs",
                f"a node has room for {SLOTS}",
            )
        floats = (self.x, self.y, self.velocity_x, self.velocity_y, self.factor, self.max_force)
        if not all(np.isfinite(values).all() for values in floats) or not (self.mass > 0).all():
            raise ArgumentError("a number of the structure is not finite", "masses above 0, no NaN")

    @property
    def nodes(self) -> int:
        return len(self.kind)

    @property
    def springs(self) -> int:
        return len(self.first)

    @property
    def initial_length(self) -> Floats:
        """Of each spring, in float32 as everything else."""
        dx = self.x[self.first] - self.x[self.second]
        dy = self.y[self.first] - self.y[self.second]
        return np.sqrt(dx * dx + dy * dy)

    @cached_property
    def spring_slots(self) -> Ints:
        """The slot that each spring takes at its first and its second end, of shape (springs, 2):
        the springs of a node take its slots in their order."""
        ends = np.stack([self.first, self.second], axis=1).reshape(-1)
        order = np.argsort(ends, kind="stable")
        degrees = self.degrees()
        slots = np.empty(len(ends), np.int32)
        slots[order] = np.arange(len(ends)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
        return slots.reshape(-1, 2)

    def node_springs(self) -> Ints:
        """The spring in each slot of each node, of shape (nodes, SLOTS); NOTHING in free slots."""
        slots = self.spring_slots
        table = np.full((self.nodes, SLOTS), NOTHING, np.int32)
        table[self.first, slots[:, 0]] = np.arange(self.springs)
        table[self.second, slots[:, 1]] = np.arange(self.springs)
        return table

    def springs_by_node(self) -> Ints:
        """The springs in the order of the first node that each moves: a node finds most of its own
        beside those of its neighbours in memory."""
        ends = np.stack([self.first, self.second])
        first = np.where(self.kind[ends] == FREE, ends, self.nodes).min(axis=0)
        return np.asarray(np.argsort(first, kind="stable"), np.int32)

    def degrees(self) -> Ints:
        """How many springs each node has."""
        ends = np.concatenate([self.first, self.second])
        return np.bincount(ends, minlength=self.nodes).astype(np.int32)
