"""The state of a simulation as arrays, and the invariants that hold after every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.references import NOTHING, IndexOf
from ..interface import CheckFailed
from .parameters import DT
from .structure import ANCHOR, PULLED, Floats, Ints, Structure


@dataclass(frozen=True)
class State:
    """Live nodes and active springs, by their index among these, as the heap holds them."""

    #: Of each node: its index in the structure, NOTHING for one that was added since.
    origin: Ints
    kind: Ints
    x: Floats
    y: Floats
    num_springs: Ints
    #: The spring in each slot, of shape (nodes, SLOTS), NOTHING in free ones.
    springs: Ints
    #: Of each spring.
    first: Ints
    second: Ints
    force: Floats
    max_force: Floats


class StrictIndexOf:
    """IndexOf that does not believe that every reference is one of its objects."""

    def __init__(self, objects: Any, what: str) -> None:
        self._references = objects.numpy()
        self._find = IndexOf(objects)
        self._what = what

    def __call__(self, references: Any) -> Ints:
        wanted = np.asarray(references)
        indices = self._find(wanted)
        found = np.append(self._references, np.uint64(0))[indices]
        _require(found == wanted, f"a reference leads to no {self._what}")
        return indices


def check(state: State, structure: Structure, step: int) -> Iterator[str]:
    """Verify every invariant after ``step`` steps and yield its name. Raises CheckFailed."""
    for name, verify in (("slots", _slots), ("reach", _reach), ("force", _force)):
        verify(state)
        yield name
    _anchors(state, structure)
    yield "anchors stay"
    _pulled(state, structure, step)
    yield "pulled nodes follow their velocity"


def _require(holds: Any, message: str) -> None:
    if not np.all(holds):
        raise CheckFailed(message)


def _slots(state: State) -> None:
    taken = state.springs != NOTHING
    _require(
        state.num_springs == taken.sum(axis=1), "a node counts other springs than its slots hold"
    )
    count = len(state.first)
    _require(
        state.num_springs.sum() == 2 * count,
        f"nodes count {state.num_springs.sum()} ends of {count} springs",
    )
    node, slot = np.nonzero(taken)
    spring = state.springs[node, slot]
    order = np.lexsort((node, spring))
    ends = np.sort(np.stack([state.first, state.second]), axis=0)
    holds = np.array_equal(spring[order], np.repeat(np.arange(count), 2)) and np.array_equal(
        node[order].reshape(-1, 2), ends.T
    )
    _require(holds, "a spring is not in exactly one slot of each of its ends")


def reached(state: State) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which nodes springs connect to an anchor."""
    found = state.kind == ANCHOR
    while True:
        grown = found.copy()
        grown[state.second[found[state.first]]] = True
        grown[state.first[found[state.second]]] = True
        if np.array_equal(grown, found):
            return found
        found = grown


def _reach(state: State) -> None:
    _require(
        reached(state) | (state.num_springs == 0), "a node with springs is connected to no anchor"
    )


def _force(state: State) -> None:
    _require(state.force >= 0, "a spring pushes")
    _require(state.force <= state.max_force, "a spring under too much force has not broken")


def _anchors(state: State, structure: Structure) -> None:
    anchors = state.kind == ANCHOR
    origin = state.origin[anchors]
    _require(structure.kind[origin] == ANCHOR, "a node has become an anchor")
    _require(
        (state.x[anchors] == structure.x[origin]) & (state.y[anchors] == structure.y[origin]),
        "an anchor has moved",
    )


def _pulled(state: State, structure: Structure, step: int) -> None:
    pulled = state.kind == PULLED
    origin = state.origin[pulled]
    x, y = structure.x[origin], structure.y[origin]
    for _ in range(step):
        x = x + structure.velocity_x[origin] * np.float32(DT)
        y = y + structure.velocity_y[origin] * np.float32(DT)
    _require(
        (state.x[pulled] == x) & (state.y[pulled] == y),
        "a pulled node is not where its velocity brings it",
    )
