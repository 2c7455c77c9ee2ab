"""Random histories of captured steps that make and end objects, and of what the host does between
them, as which objects stand in which order after each turn."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f64, i32, i64

from .small_steps import small_steps

TURNS = 12
_MOST = 400
"""Objects that there may be when a step is run."""
_IDS = 100_003


class Cell(oa.Object):
    id: i64
    age: i32
    parent: Cell | None

    def live(self, turn: i32) -> None: ...


class Seed(Cell):
    def live(self, turn: i32) -> None:
        self.age += 1
        if (self.id + turn) % 4 == 0:
            oa.new(Plant, id=(self.id * 3 + turn) % _IDS, parent=self)
        if (self.id + self.age) % 3 == 0:
            oa.delete(self)


class Plant(Cell):
    """Larger than the others, so that their memory is no place for it."""

    weight: f64
    marks: oa.inline[i32, 5]

    def live(self, turn: i32) -> None:
        self.age += 1
        if (self.id + turn) % 5 == 0:
            for k in range(2):
                oa.new(Seed, id=(self.id * 5 + turn + k) % _IDS, parent=self)
        if (self.id * 7 + self.age) % 6 < 2:
            oa.delete(self)


class Weed(Plant):
    """Most end at once, now and then."""

    def live(self, turn: i32) -> None:
        if turn % 4 == 3 and self.id % 8:
            oa.delete(self)
        elif (self.id + turn) % 3 == 0:
            oa.new(Weed, id=(self.id + 1000 * turn) % _IDS, parent=self)


CLASSES = (Seed, Plant, Weed)


@oa.kernel
def thin(cells: oa.Array[Cell], turn: i32) -> None:
    i = oa.grid(1)
    if i < len(cells):
        if (cells[i].id + turn) % 3 == 0:
            oa.delete(cells[i])


def played(heap: oa.Heap, seed: int) -> list[list[int]]:
    """The objects after each turn of the history of a seed."""
    with small_steps(seed):
        return _History(heap, Random(seed)).play()


class _History:
    def __init__(self, heap: oa.Heap, random: Random) -> None:
        self._heap, self._random, self._made = heap, random, 0
        self._steps: dict[Sequence[type[Cell]], Any] = {}

    def play(self) -> list[list[int]]:
        random, found = self._random, []
        for _ in range(random.randint(1, 3)):
            self._make()
        for turn in range(TURNS):
            count = len(self._heap.all(Cell))
            if random.random() < 0.7 and count < _MOST:
                self._step(turn).run(random.randint(1, 3 if count < _MOST / 4 else 1))
            for _ in range(random.randint(0, 4)):
                random.choice([self._make, self._delete, self._delete, self._launch, self._move])()
            found.append(self._heap.all(Cell).id.numpy().tolist())
        return found

    def _step(self, turn: int) -> Any:
        """One that is known, or a new one."""
        called = self._random.choice([(Cell,), (Plant, Seed), (Weed,)])
        if called not in self._steps or self._random.random() < 0.3:
            with oa.Capture(self._heap) as self._steps[called]:
                for cls in called:
                    self._heap.all(cls).live(i32(turn))
        return self._steps[called]

    def _make(self) -> None:
        cls, count = self._random.choice(CLASSES), self._random.choice((1, 2, 9, 70))
        self._heap.new(cls, count, id=np.arange(self._made, self._made + count))
        self._made += count

    def _delete(self) -> None:
        """Some, one by one; of a class all, the first or the last ones at once."""
        random, everybody = self._random, self._heap.all(self._random.choice((Cell, *CLASSES)))
        count, how = len(everybody), self._random.randrange(4)
        stop = random.randint(0, count)
        if how == 0:
            gone = random.sample(range(count), min(stop, random.choice((1, 3, 20))))
            for each in [everybody[number] for number in gone]:
                self._heap.delete(each)
        elif how == 1:
            self._heap.delete(everybody)
        else:
            self._heap.delete(everybody[:stop] if how == 2 else everybody[stop:])

    def _launch(self) -> None:
        count, turn = len(self._heap.all(Cell)), i32(self._random.randrange(100))
        if count < _MOST and self._random.random() < 0.5:
            self._heap.all(Cell).live(turn)
        elif count:
            thin[count](self._heap.array(Cell, [*self._heap.all(Cell)]), turn)

    def _move(self) -> None:
        cls, how = self._random.choice(CLASSES), self._random.randrange(4)
        if self._heap.mode.placement != "by_type":
            return
        with self._heap:
            if how == 0:
                oa.compact(cls)
            elif how == 1 and len(self._heap.all(cls)):
                oa.sort(self._heap.all(cls), "age")
            elif how == 2:
                oa.reserve(cls, 100)
