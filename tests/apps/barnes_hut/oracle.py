"""Barnes-Hut in plain Python, one body after another; it shares nothing with the program.

Numbers are added in the order that the program promises, by quadrants, so that all are equal to the
last bit. ``direct_sum`` and ``opening_errors`` (NumPy) say what forces are, and how far those of
the tree are from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..philox import philox

Pair = tuple[float, float]
Array = np.ndarray[Any, Any]

G, DT, SOFT = 6.673e-11, 0.0075, 0.05
EDGE = 0.99999999


@dataclass
class Square:
    """``parts``: for each quadrant None, the number of a body, or a square."""

    level: int
    low: Pair
    high: Pair
    parts: list[Any] = field(default_factory=lambda: [None] * 4)
    count: int = 0
    mass: float = 0.0
    centre: Pair = (0.0, 0.0)

    def holds(self, place: Pair) -> bool:
        return all(low < x <= high for low, x, high in zip(self.low, place, self.high, strict=True))

    def quadrant(self, place: Pair, id: int) -> int:
        if self.level >= 24:
            return id >> 2 * (self.level - 24) & 3
        middle = [(low + high) / 2 for low, high in zip(self.low, self.high, strict=True)]
        return (place[0] > middle[0]) + 2 * (place[1] > middle[1])

    def part(self, quadrant: int) -> Square:
        if self.level >= 24:
            return Square(self.level + 1, self.low, self.high)
        x, y = ((low + high) / 2 for low, high in zip(self.low, self.high, strict=True))
        left, right = [(self.low[0], x), (x, self.high[0])][quadrant & 1]
        bottom, top = [(self.low[1], y), (y, self.high[1])][quadrant >> 1]
        return Square(self.level + 1, (left, bottom), (right, top))


def build(places: list[Pair], masses: list[float]) -> Square:
    """The tree: each body goes down from the root to where no other one is; ids are from 1 on."""
    root = Square(0, (-1.0, -1.0), (1.0, 1.0))
    for body, place in enumerate(places):
        square = root
        while True:
            quadrant = square.quadrant(place, body + 1)
            found = square.parts[quadrant]
            if found is None:
                square.parts[quadrant] = body
                break
            if isinstance(found, int):
                square.parts[quadrant] = made = square.part(quadrant)
                made.parts[made.quadrant(places[found], found + 1)] = found
            square = square.parts[quadrant]
    _weigh(root, places, masses)
    return root


def _weigh(square: Square, places: list[Pair], masses: list[float]) -> None:
    found = []
    for part in square.parts:
        if isinstance(part, Square):
            _weigh(part, places, masses)
            found.append((part.count, part.mass, part.centre))
        elif part is not None:
            found.append((1, masses[part], places[part]))
    x = y = 0.0
    for count, mass, centre in found:  # sum() of floats is rounded otherwise since Python 3.12
        square.count += count
        square.mass += mass
        x += mass * centre[0]
        y += mass * centre[1]
    single = len(found) == 1
    square.centre = found[0][2] if single else (x / square.mass, y / square.mass)


class Sky:
    """``count`` bodies, their tree, and steps."""

    def __init__(self, count: int, mass: float, seed: int) -> None:
        def share(body: int, purpose: int) -> float:
            words = philox([body, 0, 0, purpose], [seed & (1 << 32) - 1, seed >> 32])
            return words[0] / 2**32

        every = range(count)
        self.places = [(1.98 * share(k, 0) - 0.99, 1.98 * share(k, 1) - 0.99) for k in every]
        self.velocities = [((share(k, 2) - 0.5) / 1000, (share(k, 3) - 0.5) / 1000) for k in every]
        self.masses = [(share(k, 4) / 2 + 0.5) * mass for k in every]
        self.accelerations = [(0.0, 0.0)] * count
        self.tree = build(self.places, self.masses)

    def step(self) -> None:
        self.accelerations = [self.acceleration(body) for body in range(len(self.places))]
        for body, pull in enumerate(self.accelerations):
            place, velocity = [0.0, 0.0], [0.0, 0.0]
            for axis in range(2):
                velocity[axis] = self.velocities[body][axis] + pull[axis] * DT
                place[axis] = self.places[body][axis] + velocity[axis] * DT
                if abs(place[axis]) > EDGE:
                    place[axis] = math.copysign(EDGE, place[axis])
                    velocity[axis] = -velocity[axis]
            self.places[body], self.velocities[body] = (*place,), (*velocity,)  # type: ignore[assignment]
        self.tree = build(self.places, self.masses)

    def acceleration(self, body: int) -> Pair:
        x, y = self.places[body]
        total = [0.0, 0.0]

        def meet(part: Any) -> None:
            if part is None:
                return
            is_square = isinstance(part, Square)
            place = part.centre if is_square else self.places[part]
            mass = part.mass if is_square else self.masses[part]
            dx, dy = place[0] - x, place[1] - y
            square = dx * dx + dy * dy
            if is_square and (square <= 0.25 * 0.25 or part.holds((x, y))):
                for each in part.parts:
                    meet(each)
            elif square > 0:
                share = mass / ((square + SOFT) * math.sqrt(square))
                total[0] += dx * share
                total[1] += dy * share

        meet(self.tree)
        return total[0] * G, total[1] * G


def nodes_of(root: Square) -> dict[tuple[int, ...], tuple[Any, ...]]:
    """By the quadrants that lead to it: level, corners, bodies, mass and centre of each square."""
    found = {}

    def note(square: Square, path: tuple[int, ...]) -> None:
        found[path] = (
            square.level, square.low, square.high, square.count, square.mass, square.centre,
        )  # fmt: skip
        for quadrant, part in enumerate(square.parts):
            if isinstance(part, Square):
                note(part, (*path, quadrant))

    note(root, ())
    return found


def paths_of(root: Square) -> dict[int, tuple[int, ...]]:
    """The quadrants that lead to each body."""
    found = {}

    def note(square: Square, path: tuple[int, ...]) -> None:
        for quadrant, part in enumerate(square.parts):
            if isinstance(part, Square):
                note(part, (*path, quadrant))
            elif part is not None:
                found[part] = (*path, quadrant)

    note(root, ())
    return found


def pulls(visitors: Array, places: Array, masses: Array) -> Array:
    """The accelerations of what is at ``visitors`` by each of some masses, added up; of shape
    (visitors, 2)."""
    found = np.zeros(visitors.shape)
    for first in range(0, len(visitors), 100):  # as much as stays in a processor's cache
        some = slice(first, first + 100)
        dx = places[:, 0] - visitors[some, 0, None]
        dy = places[:, 1] - visitors[some, 1, None]
        squares = dx * dx + dy * dy
        squares[squares == 0] = np.inf
        shares = masses / ((squares + SOFT) * np.sqrt(squares))
        found[some, 0], found[some, 1] = (dx * shares).sum(axis=1), (dy * shares).sum(axis=1)
    return G * found


def direct_sum(places: Array, masses: Array) -> Array:
    """The accelerations if all attract all; of shape (bodies, 2)."""
    return pulls(places, places, masses)


def opening_errors(root: Square, places: Array, masses: Array) -> Array:
    """By how much the accelerations differ from the direct sum, by the opening rule alone: for each
    node that a body does not open, what its mass at its centre does, less what its bodies do."""
    errors = np.zeros(places.shape)

    def bodies_in(part: Any) -> list[int]:
        if isinstance(part, Square):
            return [body for each in part.parts for body in bodies_in(each)]
        return [] if part is None else [part]

    def visit(square: Square, visitors: Array) -> None:
        at, centre = places[visitors], np.array([square.centre])
        near = ((at - centre) ** 2).sum(axis=1) <= 0.25**2
        opens = near | ((square.low < at) & (at <= square.high)).all(axis=1)
        others, members = at[~opens], bodies_in(square)
        errors[visitors[~opens]] += pulls(others, centre, np.array([square.mass]))
        errors[visitors[~opens]] -= pulls(others, places[members], masses[members])
        for part in square.parts if opens.any() else ():
            if isinstance(part, Square):
                visit(part, visitors[opens])

    visit(root, np.arange(len(places)))
    return errors
