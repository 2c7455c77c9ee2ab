"""Flocking in plain Python, every bird compared with every other one; it shares nothing with the
program. Numbers are added in the order that the program promises, so that all are equal to the last
bit: by the cell of the bird that is seen, from low to high y and then x, and then by number."""

from __future__ import annotations

import math

from ..philox import philox

Pair = tuple[float, float]


class Flock:
    def __init__(self, count: int, side: float, sight: float, seed: int) -> None:
        self.side, self.sight = side, sight
        self.cells = max(1, int(side / sight))

        def share(bird: int, purpose: int) -> float:
            words = philox([bird, 0, 0, purpose], [seed & (1 << 32) - 1, seed >> 32])
            return words[0] / 2**32

        self.places: list[Pair] = [(share(k, 0) * side, share(k, 1) * side) for k in range(count)]
        self.velocities: list[Pair] = [
            (share(k, 2) * 2 - 1, share(k, 3) * 2 - 1) for k in range(count)
        ]
        self.in_sight = 0

    def step(self) -> None:
        order = sorted(range(len(self.places)), key=self.cell)
        self.in_sight = 0
        self.velocities = [self.turned(bird, order) for bird in range(len(self.places))]
        self.places = [
            (self.around(x + dx), self.around(y + dy))
            for (x, y), (dx, dy) in zip(self.places, self.velocities, strict=True)
        ]

    def cell(self, bird: int) -> tuple[int, int]:
        x, y = (
            min(int(each * (self.cells / self.side)), self.cells - 1) for each in self.places[bird]
        )
        return y, x

    def turned(self, bird: int, order: list[int]) -> Pair:
        x, y = self.places[bird]
        seen = 0
        sums = [0.0] * 6
        for other in order:
            if other == bird or not self.sees(bird, other):
                continue
            seen += 1
            offset = self.offset(self.places[other][0], x), self.offset(self.places[other][1], y)
            near = offset[0] * offset[0] + offset[1] * offset[1] < 1
            for axis in range(2):
                sums[axis] += offset[axis]
                sums[2 + axis] += offset[axis] if near else 0.0
                sums[4 + axis] += self.velocities[other][axis]
        self.in_sight += seen
        wished = list(self.velocities[bird])
        for axis in range(2 if seen else 0):
            wish = sums[axis] * 0.03 - sums[2 + axis] * 0.015 + sums[4 + axis] * 0.05
            wished[axis] += wish / seen
        halved = [each / 2 for each in wished]
        length = math.sqrt(halved[0] * halved[0] + halved[1] * halved[1])
        return halved[0] / length, halved[1] / length

    def sees(self, bird: int, other: int) -> bool:
        square = 0.0
        for one, two in zip(self.places[bird], self.places[other], strict=True):
            apart = abs(two - one)
            apart = min(apart, self.side - apart)
            square += apart * apart
        return square <= self.sight * self.sight

    def offset(self, to: float, start: float) -> float:
        found = to - start
        if abs(found) > self.side / 2:
            found -= math.copysign(self.side, found)
        return found

    def around(self, x: float) -> float:
        x = x + self.side if x < 0 else x
        return x - self.side if x >= self.side else x
