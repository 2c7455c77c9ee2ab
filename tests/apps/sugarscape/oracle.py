"""Sugarscape on NumPy arrays, written from the rules alone; it shares nothing with the program.

An agent is what the arrays have at its cell. Every phase treats all cells, or all agents, at once:
those of the eight or 24 neighbours that lie in one direction together, direction by direction.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from ..wator.oracle import Array, Generators

F = np.float32
NOBODY, MALE, FEMALE = 0, 1, 2
NOWHERE = -1
LAND_SEED = 42
REACH = 2
CAPACITY, MOST_DIFFUSING, RIPE_AGE = 3500, 60, 22


class Land:
    """All cells in rows: that in column x and row y has the number y * width + x.

    ``wish`` is the cell that an agent requests, ``bride`` the cell of the female that a male asks.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        count = width * height
        self.cell_generators = Generators.sequences(LAND_SEED, count)
        self.agent_generators = Generators(np.zeros((5, count), np.uint32), np.zeros(count, "u4"))
        self.sugar, self.diffusing = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.kind = np.zeros(count, np.int8)
        for name in self.TRAITS:
            setattr(self, name, np.zeros(count, np.int32))
        self.wish, self.bride = np.full(count, NOWHERE), np.full(count, NOWHERE)
        self.permitted, self.accepted = np.zeros(count, bool), np.zeros(count, bool)
        everywhere = np.arange(count)
        luck = self._uniform(self.cell_generators, everywhere)
        limits = [F(0.02), F(0.04), F(0.08)]
        self.growth = np.select([luck <= limit for limit in limits], [50, 25, 12], 0)
        luck = self._uniform(self.cell_generators, everywhere)
        drawn = {
            name: low + self._below(everywhere, high - low)
            for name, low, high in [
                ("vision", 1, 2),
                ("max_age", 66, 99),
                ("endowment", 50, 200),
                ("metabolism", 26, 79),
                ("max_children", 2, 8),
            ]
        }
        male = luck < F(0.12)
        female = ~male & (luck < F(0.12) + F(0.15))
        for kind, chosen in ((MALE, male), (FEMALE, female)):
            cells = np.flatnonzero(chosen)
            self._make(kind, cells, **{name: values[cells] for name, values in drawn.items()})

    #: Numbers that an agent has; all are 0 where nobody is.
    TRAITS = (
        "vision", "max_age", "endowment", "metabolism", "age", "own_sugar", "children",
        "max_children",
    )  # fmt: skip
    vision: Array
    max_age: Array
    endowment: Array
    metabolism: Array
    age: Array
    own_sugar: Array
    children: Array
    max_children: Array

    @property
    def males(self) -> int:
        return int(np.count_nonzero(self.kind == MALE))

    @property
    def females(self) -> int:
        return int(np.count_nonzero(self.kind == FEMALE))

    @property
    def total_sugar(self) -> int:
        return int(self.sugar.sum(dtype=np.int64))

    @property
    def checksum(self) -> int:
        """CRC-32 of sugar, kinds and all numbers of agents."""
        value = 0
        for part in (self.sugar, self.kind, *(getattr(self, name) for name in self.TRAITS)):
            value = zlib.crc32(part.tobytes(), value)
        return value

    def step(self) -> None:
        self._grow()
        self._diffuse()
        self._age()
        self._seek()
        self._permit()
        self._move()
        self._ask()
        self._accept()
        self._look_for_a_place()
        self._permit()
        self._bear()

    def _grow(self) -> None:
        self.sugar += np.minimum(CAPACITY - self.sugar, self.growth).astype(np.int32)

    def _diffuse(self) -> None:
        part = (self.sugar * F(0.125)).astype(np.int32)
        self.diffusing = np.minimum(part, MOST_DIFFUSING)
        self.sugar -= self.diffusing
        # Windows of a grid with a border of nothing: what lies in one direction of every cell.
        shape = self.height, self.width
        bordered = np.pad(self.diffusing.reshape(shape), REACH)
        added = np.zeros(shape, np.int32)
        for dx in range(2 * REACH + 1):
            for dy in range(2 * REACH + 1):
                if (dx, dy) != (REACH, REACH):
                    window = bordered[dy : dy + self.height, dx : dx + self.width]
                    added = (added.astype(F) + F(0.125) * window.astype(F)).astype(np.int32)
        self.sugar += added.ravel()

    def _age(self) -> None:
        agents = np.flatnonzero(self.kind)
        self.age[agents] += 1
        self.own_sugar[agents] -= self.metabolism[agents]
        dead = (self.age[agents] > self.max_age[agents]) | (self.own_sugar[agents] <= 0)
        self._clear(agents[dead])

    def _seek(self) -> None:
        agents = np.flatnonzero(self.kind)
        best, turn = np.zeros(agents.size, np.int32), np.zeros(agents.size, np.int32)
        for who, near in self._around(agents, self.vision[agents], own=False):
            free = self.kind[near] == NOBODY
            who, near = who[free], near[free]
            more, equal = self.sugar[near] > best[who], self.sugar[near] == best[who]
            self.wish[agents[who[more]]] = near[more]
            best[who[more]], turn[who[more]] = self.sugar[near[more]], 1
            who, near = who[equal], near[equal]
            turn[who] += 1
            taken = self._taken(self.agent_generators, agents[who], turn[who])
            self.wish[agents[who[taken]]] = near[taken]

    def _permit(self) -> None:
        wishes = self.wish[self.kind != NOBODY]
        cells = np.unique(wishes[wishes != NOWHERE])
        turn, chosen = np.zeros(cells.size, np.int32), np.full(cells.size, NOWHERE)
        for who, near in self._around(cells, np.full(cells.size, REACH), own=True):
            wanted = (self.kind[near] != NOBODY) & (self.wish[near] == cells[who])
            who, near = who[wanted], near[wanted]
            turn[who] += 1
            taken = self._taken(self.cell_generators, cells[who], turn[who])
            chosen[who[taken]] = near[taken]
        assert (chosen != NOWHERE).all()
        self.permitted[chosen] = True

    def _move(self) -> None:
        sources = np.flatnonzero(self.permitted)
        goals = self.wish[sources]
        assert not self.kind[goals].any()
        for name in ("kind", *self.TRAITS):
            values = getattr(self, name)
            values[goals] = values[sources]
        self.agent_generators.put(goals, self.agent_generators, sources)
        self._clear(sources)
        agents = np.flatnonzero(self.kind)
        self.own_sugar[agents] += self.sugar[agents]
        self.sugar[agents] = 0
        self.wish[:], self.permitted[:] = NOWHERE, False

    def _ask(self) -> None:
        ready = (self.own_sugar >= self.endowment * 2 // 3) & (self.age >= RIPE_AGE)
        males = np.flatnonzero(ready & (self.kind == MALE))
        most = np.full(males.size, -1)
        for who, near in self._around(males, self.vision[males], own=True):
            better = ready[near] & (self.kind[near] == FEMALE) & (self.own_sugar[near] > most[who])
            who, near = who[better], near[better]
            self.bride[males[who]], most[who] = near, self.own_sugar[near]

    def _accept(self) -> None:
        females = np.flatnonzero((self.kind == FEMALE) & (self.children < self.max_children))
        most, chosen = np.full(females.size, -1), np.full(females.size, NOWHERE)
        for who, near in self._around(females, np.full(females.size, REACH), own=True):
            better = (self.bride[near] == females[who]) & (self.own_sugar[near] > most[who])
            who, near = who[better], near[better]
            chosen[who], most[who] = near, self.own_sugar[near]
        self.accepted[chosen[chosen != NOWHERE]] = True

    def _look_for_a_place(self) -> None:
        males = np.flatnonzero(self.accepted)
        turn = np.zeros(males.size, np.int32)
        for who, near in self._around(males, self.vision[males], own=False):
            free = self.kind[near] == NOBODY
            who, near = who[free], near[free]
            turn[who] += 1
            taken = self._taken(self.agent_generators, males[who], turn[who])
            self.wish[males[who[taken]]] = near[taken]

    def _bear(self) -> None:
        fathers = np.flatnonzero(self.accepted & self.permitted)
        mothers, cells = self.bride[fathers], self.wish[fathers]
        self.children[mothers] += 1
        for parents in (fathers, mothers):
            self.own_sugar[parents] -= self.endowment[parents] // 2
        inherited = {
            name: (getattr(self, name)[fathers] + getattr(self, name)[mothers]) // 2
            for name in ("vision", "max_age", "endowment", "metabolism")
        }
        inherited["max_children"] = self.max_children[mothers]
        male = self._uniform(self.agent_generators, fathers) <= F(0.5)
        for kind, chosen in ((MALE, male), (FEMALE, ~male)):
            traits = {name: values[chosen] for name, values in inherited.items()}
            self._make(kind, cells[chosen], **traits)
        for values in (self.wish, self.bride):
            values[:] = NOWHERE
        self.permitted[:] = self.accepted[:] = False

    def _around(self, cells: Array, reach: Array, own: bool) -> Iterator[tuple[Array, Array]]:
        """For each direction: the positions in ``cells`` of those that reach so far and have a
        neighbour there, and that neighbour's cell."""
        x, y = cells % self.width, cells // self.width
        for dx in range(-REACH, REACH + 1):
            for dy in range(-REACH, REACH + 1):
                if not own and dx == dy == 0:
                    continue
                inside = (x + dx >= 0) & (x + dx < self.width)
                inside &= (y + dy >= 0) & (y + dy < self.height)
                inside &= reach >= max(abs(dx), abs(dy))
                yield np.flatnonzero(inside), (cells + dy * self.width + dx)[inside]

    @staticmethod
    def _uniform(generators: Generators, which: Array) -> Array:
        """Above 0 and at most 1: a draw is the middle of one of 2^32 parts, rounded to a float."""
        drawn = generators.draw(which).astype(F)
        return np.asarray(drawn * F(2**-32) + F(2**-33))

    def _below(self, cells: Array, limit: int) -> Array:
        return (self.cell_generators.draw(cells) % np.uint32(limit)).astype(np.int32)

    def _taken(self, generators: Generators, which: Array, turn: Array) -> Array:
        """Whether each takes its candidate, which is the ``turn``-th."""
        return np.asarray(self._uniform(generators, which) <= F(1) / turn.astype(F))

    def _clear(self, cells: Array) -> None:
        for name in ("kind", *self.TRAITS):
            getattr(self, name)[cells] = 0

    def _make(self, kind: int, cells: Array, **traits: Array) -> None:
        self.kind[cells] = kind
        if kind == MALE:
            traits["max_children"] = np.zeros(cells.size, np.int32)
        for name, values in traits.items():
            getattr(self, name)[cells] = values
        self.own_sugar[cells] = traits["endowment"]
        seeds = self._below(cells, self.kind.size).view(np.uint32)
        self.agent_generators.put(cells, Generators.seeded(seeds))
