"""Intersections and the roads between them: what a network is built from, generated or read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int32]]
Floats = np.ndarray[Any, np.dtype[np.float32]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]

#: Roads that leave, and roads that enter, an intersection through which cars pass.
MAX_DEGREE = 4


@dataclass(frozen=True)
class RoadGraph:
    """N intersections and R directed roads.

    Roads are sorted by origin; the roads of one origin lie in the order of its out-slots.
    """

    #: Positions in the unit square, of shape (N,).
    x: Floats
    y: Floats
    #: Intersections by index, of shape (R,).
    origin: Ints
    target: Ints
    #: Cells that follow the one at the intersection, of shape (R,).
    steps: Ints
    #: Speed limit in cells a step; 0 where it is to be drawn.
    limit: Ints
    #: The place of the road among those that enter its target, of shape (R,).
    incoming_slot: Ints
    #: Whether cars pass the intersection; a road to one that they do not pass ends there.
    through: Bools

    @property
    def intersections(self) -> int:
        return len(self.x)

    def out_degree(self) -> Ints:
        return np.bincount(self.origin, minlength=self.intersections).astype(np.int32)

    def in_degree(self) -> Ints:
        return np.bincount(self.target, minlength=self.intersections).astype(np.int32)


def slots_by_order(keys: Ints, count: int) -> Ints:
    """For each element the number of earlier ones with the same key."""
    order = np.argsort(keys, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=count))])[:-1]
    slots = np.empty(len(keys), np.int32)
    slots[order] = np.arange(len(keys)) - first[keys[order]]
    return slots
