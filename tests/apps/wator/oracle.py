"""Wa-tor on NumPy arrays, written from the rules alone; it shares nothing with the program.

An agent is what the arrays have at its cell, so the order in which agents are kept does not exist
here. Every phase treats all cells at once.
"""

from __future__ import annotations

import zlib
from typing import Any, Self

import numpy as np

Array = np.ndarray[Any, Any]

U = np.uint32
EMPTY, FISH, SHARK = 0, 1, 2
OCEAN_SEED = 42
SPAWN_AGE = 4
FIRST_ENERGY = 2
ENERGY_OF_A_FISH = 4
#: Steps in x and y to the left, up, right and down; the opposite of a direction is two further on.
STEP_X, STEP_Y = np.array([-1, 0, 1, 0]), np.array([0, -1, 0, 1])


def next_words(words: Array) -> Array:
    """The linear part of XORWOW: five words of each generator, one step later."""
    first = words[0] ^ (words[0] >> U(2))
    last = words[4] ^ (words[4] << U(4)) ^ first ^ (first << U(1))
    return np.stack([words[1], words[2], words[3], words[4], last])


def apply(matrix: Array, words: Array) -> Array:
    """Multiply a matrix over bits by many vectors of 160 bits.

    A column of the matrix is what becomes of one bit, as five words. Eight columns at a time are
    looked up by the byte that says which of them are to be added.
    """
    result = np.zeros_like(words)
    for byte in range(20):
        sums = np.zeros((5, 1), U)
        for column in matrix[:, 8 * byte : 8 * byte + 8].T:
            sums = np.concatenate([sums, sums ^ column[:, None]], axis=1)
        result ^= sums[:, (words[byte // 4] >> U(byte % 4 * 8)) & U(255)]
    return result


def one_step() -> Array:
    """The matrix of one step of the generator: each of the 160 bits, moved on."""
    bits = np.arange(160)
    units = np.zeros((5, 160), U)
    units[bits // 32, bits] = U(1) << (bits % 32).astype(U)
    return next_words(units)


def next_sequence() -> Array:
    """The matrix of 2^67 steps, which lead from a sequence to the next."""
    matrix = one_step()
    for _ in range(67):
        matrix = apply(matrix, matrix)
    return matrix


class Generators:
    """XORWOW as cuRAND has it: a column of five words, and a counter, for each generator."""

    def __init__(self, words: Array, counter: Array) -> None:
        self.words, self.counter = words, counter

    @classmethod
    def seeded(cls, seeds: Array) -> Self:
        """Each from a seed of 32 bits, sequence 0.

        The seed is a C int that becomes an unsigned number of 64 bits: the upper word of a negative
        seed is all ones.
        """
        seeds = np.asarray(seeds, U)
        upper = (seeds.view(np.int32) >> 31).view(U)
        t0 = U(1099087573) * (seeds ^ U(0xAAD26B49))
        t1 = U(2591861531) * (upper ^ U(0xF7DCEFDD))
        words = np.stack([
            U(123456789) + t0, U(362436069) ^ t0, U(521288629) + t1, U(88675123) ^ t1,
            U(5783321) + t0,
        ])  # fmt: skip
        return cls(words, U(6615241) + t1 + t0)

    @classmethod
    def sequences(cls, seed: int, count: int) -> Self:
        """Of one seed, the sequences 0 to count - 1, found by doubling what is known."""
        first = cls.seeded(np.array([seed]))
        words, jump = first.words, next_sequence()
        while words.shape[1] < count:
            new = apply(jump, words[:, : count - words.shape[1]])
            words = np.concatenate([words, new], axis=1)
            jump = apply(jump, jump)
        # 2^67 steps add a multiple of 2^32 to the counter, so that all sequences begin with one.
        return cls(words, np.repeat(first.counter, count))

    def draw(self, which: Array) -> Array:
        """One number from each of some generators, which are different ones."""
        words = next_words(self.words[:, which])
        counter = self.counter[which] + U(362437)
        self.words[:, which], self.counter[which] = words, counter
        return np.asarray(words[4] + counter)

    def put(self, which: Array, others: Generators, sources: Array | slice = slice(None)) -> None:
        """Replace some generators by others, in this order."""
        self.words[:, which] = others.words[:, sources]
        self.counter[which] = others.counter[sources]


class Ocean:
    """All cells in rows: that in column x and row y has the number y * width + x."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        count = width * height
        self.kind = np.zeros(count, np.int8)
        self.egg = np.zeros(count, U)
        self.energy = np.zeros(count, U)
        self.cell_generators = Generators.sequences(OCEAN_SEED, count)
        self.agent_generators = Generators(np.zeros((5, count), U), np.zeros(count, U))
        drawn = self.cell_generators.draw(np.arange(count)) % U(4)
        for kind, number in ((FISH, 0), (SHARK, 1)):
            cells = np.flatnonzero(drawn == number)
            self._make(kind, cells, self.cell_generators.draw(cells))

    @property
    def fish(self) -> int:
        return int(np.count_nonzero(self.kind == FISH))

    @property
    def sharks(self) -> int:
        return int(np.count_nonzero(self.kind == SHARK))

    @property
    def checksum(self) -> int:
        """CRC-32 of kinds, eggs and energies of all cells; fish and empty cells have no energy."""
        value = 0
        for part in (self.kind, self.egg, self.energy):
            value = zlib.crc32(part.tobytes(), value)
        return value

    def step(self) -> None:
        self._move_fish()
        self._move_sharks()

    def _move_fish(self) -> None:
        fish = np.flatnonzero(self.kind == FISH)
        self.egg[fish] += U(1)
        seekers, directions = self._choose(fish, self._around(fish, EMPTY), self.agent_generators)
        self._move(FISH, *self._decide(seekers, directions))

    def _move_sharks(self) -> None:
        sharks = np.flatnonzero(self.kind == SHARK)
        self.egg[sharks] += U(1)
        self.energy[sharks] -= U(1)
        starved = self.energy[sharks] == 0
        dead, sharks = sharks[starved], sharks[~starved]
        food = self._around(sharks, FISH)
        wanted = np.where(food.any(axis=0), food, self._around(sharks, EMPTY))
        seekers, directions = self._choose(sharks, wanted, self.agent_generators)
        sources, goals = self._decide(seekers, directions)
        self._clear(dead)
        self.energy[sources] += U(ENERGY_OF_A_FISH) * (self.kind[goals] == FISH)
        self._move(SHARK, sources, goals)

    def _neighbours(self, cells: Array, directions: Array | int) -> Array:
        x = (cells % self.width + STEP_X[directions]) % self.width
        y = (cells // self.width + STEP_Y[directions]) % self.height
        return np.asarray(y * self.width + x)

    def _around(self, cells: Array, kind: int) -> Array:
        """Of each cell, in which of the four directions there is such a neighbour."""
        return np.stack([self.kind[self._neighbours(cells, way)] == kind for way in range(4)])

    def _choose(self, cells: Array, ways: Array, generators: Generators) -> tuple[Array, Array]:
        """Cells that have a way to choose, and the one that each draws; the others draw nothing."""
        able = ways.any(axis=0)
        cells, ways = cells[able], ways[:, able]
        number = generators.draw(cells) % ways.sum(axis=0, dtype=U)
        # Number n is the first way of which n + 1 ways are there up to it.
        return cells, np.argmax(ways.cumsum(axis=0, dtype=U) > number, axis=0)

    def _decide(self, seekers: Array, directions: Array) -> tuple[Array, Array]:
        """Who may go, and where to: each cell that is asked for takes one of those who ask.

        Nobody asks for a cell on which an agent stays, so the flag for staying is not needed.
        """
        flags = np.zeros((4, self.kind.size), bool)
        flags[(directions + 2) % 4, self._neighbours(seekers, directions)] = True
        asked = np.flatnonzero(flags.any(axis=0))
        goals, towards = self._choose(asked, flags[:, asked], self.cell_generators)
        return self._neighbours(goals, towards), goals

    def _move(self, kind: int, sources: Array, goals: Array) -> None:
        """Move agents, whose old and new cells are all different, and let those of age spawn."""
        for values in (self.kind, self.egg, self.energy):
            values[goals] = values[sources]
        self.agent_generators.put(goals, self.agent_generators, sources)
        self._clear(sources)
        spawn = self.egg[goals] > SPAWN_AGE
        parents, places = goals[spawn], sources[spawn]
        self.egg[parents] = 0
        self._make(kind, places, self.agent_generators.draw(parents))

    def _clear(self, cells: Array) -> None:
        for values in (self.kind, self.egg, self.energy):
            values[cells] = 0

    def _make(self, kind: int, cells: Array, seeds: Array) -> None:
        self.kind[cells] = kind
        # As in C: the remainder has the sign of the seed, and is then read as an unsigned number.
        self.egg[cells] = np.fmod(seeds.view(np.int32), SPAWN_AGE).view(U)
        self.energy[cells] = FIRST_ENERGY if kind == SHARK else 0
        self.agent_generators.put(cells, Generators.seeded(seeds))
