"""The same program with NumPy's scalars and Python's objects alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import sharedoa as oa

I16, I32, I64, U8, F32 = np.int16, np.int32, np.int64, np.uint8, np.float32
_16, _32, _64, _8, _ZERO, _Y, _HEIGHT = I16(0), I32(0), I64(0), U8(0), F32(0), F32(1.5), I64(3)


def narrow(value: Any, dtype: Any) -> Any:
    """What a conversion of an integer makes: its lowest bits."""
    return np.int64(value).astype(dtype)


def mix64(parent: int, turn: int, number: int) -> int:
    wide = parent * 6364136223846793005 + turn * 1442695040888963407 + number
    return (wide + 2**63) % 2**64 - 2**63


@dataclass(eq=False)
class Plain:
    """One object."""

    kind: str
    id: int
    energy: Any = _32
    small: Any = _8
    x: float = 0.0
    pull: float = 0.0
    y: Any = _Y
    pos: tuple[Any, Any] = (_ZERO, _ZERO)
    friend: Plain | None = None
    tag: tuple[Any, Any, Plain | None, tuple[Any, Any, Any]] = (_16, _ZERO, None, (_8,) * 3)
    marks: list[Any] = field(default_factory=lambda: [_32] * 3)
    links: list[Plain | None] = field(default_factory=lambda: [None, None])
    log: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0, I32))
    height: Any = _HEIGHT
    speed: Any = _ZERO
    hunger: Any = _16
    seen: Any = _64
    met: Any = _64

    @property
    def is_fox(self) -> bool:
        return self.kind in ("Fox", "Late")

    @property
    def weight(self) -> int:
        return {"Plant": 1, "Animal": 2, "Fox": 3, "Late": 4}[self.kind]


@dataclass
class Scenery:
    factor: int
    table: list[int]
    shift: tuple[float, float]


class PlainWorld:
    def __init__(self) -> None:
        self.beings: dict[int, Plain] = {}
        self.clock = np.zeros(1, I64)
        self.counts = np.zeros(6, I64)
        self.rate, self.table = 3, [5, -2, 7, 1]
        #: Which of the definitions of ``Plant.grow`` and ``Animal.worth`` is there.
        self.grows, self.worths = 0, 0

    def follow(self, other: PlainWorld) -> None:
        """Have the constants and methods that another world has."""
        self.rate, self.table = other.rate, other.table
        self.grows, self.worths = other.grows, other.worths

    # ---------------------------------------------------------------- methods

    def worth(self, b: Plain) -> Any:
        if b.kind == "Plant":
            return narrow(b.height & 1023, I32)
        if b.kind == "Late":
            return I32(99)
        return I32(b.hunger) * I32(b.weight) + I32(self.worths)

    def grow(self, b: Plain, k: int) -> Any:
        if b.kind == "Plant":
            b.small = narrow(I32(b.small * U8(3)) + I32(k), U8)
            b.height = b.height * I64(3 + self.grows) + I64(k)
            return narrow(b.height & I64(0xFFFF), I32)
        b.energy = b.energy + I32(k) * I32(b.weight)
        b.speed = b.speed * F32(0.5) + F32(k)
        b.hunger = narrow(I32(b.hunger) ^ I32(k), I16)
        got = I32(b.hunger)
        if not b.is_fox:
            return got
        if b.friend is not None:
            b.seen += I64(b.friend.id & 0xFF)
        return got * I32(2)

    def look(self, b: Plain) -> None:
        b.marks[1] = I32(-7) if b.friend is None else b.friend.energy
        other = b.links[1]
        b.marks[2] = I32(0) if other is None else self.worth(other)
        a, _, _, w = b.tag
        b.tag = (narrow(I32(a) + 1, I16), b.y * F32(0.5), b.friend, (w[1], w[2], w[0]))

    def swap(self, b: Plain) -> None:
        old = b.links[0]
        b.links[0] = b.friend
        b.friend = b.links[1]
        b.links[1] = b.tag[2]
        b.tag = (b.tag[0], b.tag[1], old, b.tag[3])

    def breed(self, b: Plain, seed: int, born: list[Plain]) -> None:
        turn = int(self.clock[0])
        draw = int(oa.randint(0, 7, seed, b.id, turn))
        if draw == 0:
            made = Plain("Plant", mix64(b.id, turn, 0), energy=b.energy // I32(2), friend=b)
            b.friend = made
            born.append(made)
        elif draw == 1:
            fox = make_fox(mix64(b.id, turn, 1), int(b.energy))
            fox.links[0] = b
            fox.pos = (b.pos[0] + F32(0.5), b.pos[1] + F32(-0.25))
            born.append(fox)
        elif draw == 2:
            last = b.friend
            for k in range(2):
                made = Plain("Plant", mix64(b.id, turn, 2 + k), friend=last, small=b.small)
                made.marks[k] = I32(k + 5)
                born.append(made)
                last = made
            b.links[1] = last

    def forget(self, b: Plain) -> None:
        there = lambda each: each if each is not None and each.id in self.beings else None
        b.friend = there(b.friend)
        b.links = [there(each) for each in b.links]
        b.tag = (b.tag[0], b.tag[1], there(b.tag[2]), b.tag[3])

    def tell(self, b: Plain, words: Any) -> Any:
        total = I32(0)
        for word in [] if words is None else words:
            total = total + I32(word)
        for word in b.log:
            total = total * I32(2) + I32(word)
        b.marks[0] = total
        return total

    def walk(self, b: Plain, scene: Scenery) -> None:
        x, y = b.pos
        b.pos = (
            (x + F32(scene.shift[0])) * F32(0.75), (y + F32(scene.shift[1])) * F32(0.75)
        )  # fmt: skip
        b.energy = b.energy ^ (I32(scene.table[int(b.small) % 4]) * I32(scene.factor))

    def lean(self, b: Plain, c: float) -> None:
        b.pull = b.x * 0.5 if b.friend is None else b.friend.x * c

    def flow(self, b: Plain, dt: float) -> None:
        if b.kind == "Plant":
            b.x = b.x * (1.0 - dt) + b.pull * 0.25
        else:
            b.x = b.x + b.pull * dt * b.x

    def bump(self, b: Plain, k: int) -> None:
        if b.is_fox:
            b.seen = b.seen + I64(k)
        elif b.friend is not None:
            b.friend.energy = b.friend.energy + I32(k)
            b.friend.x = b.friend.x + 0.5

    # ---------------------------------------------------------------- all at once

    def each(self, method: str, *given: Any, kinds: Any = None) -> dict[int, Any]:
        """Call a method on all objects, or on those of some kinds; results by number."""
        return {
            b.id: getattr(self, method)(b, *given)
            for b in list(self.beings.values())
            if kinds is None or b.kind in kinds
        }

    def breed_all(self, seed: int, kinds: Any) -> None:
        born: list[Plain] = []
        self.each("breed", seed, born, kinds=kinds)
        self.beings.update((b.id, b) for b in born)

    def die_all(self, limit: int, of: int, kinds: Any) -> None:
        # // and % of NumPy's integers are those of Python.
        self.remove(
            b.id for b in list(self.beings.values())
            if b.kind in kinds and int(b.energy) % of == limit
        )  # fmt: skip

    def hunt_all(self, kinds: Any) -> None:
        gone = {
            b.friend.id for b in self.beings.values()
            if b.kind in kinds and b.energy % 2 == 0 and b.friend is not None
            and b.friend.id in self.beings
        }  # fmt: skip
        self.counts[0] += len(gone)
        self.remove(gone)

    def fade_all(self, limit: int, kinds: Any) -> None:
        """Whose energy has the remainder goes if it is called, linked by one that is, or follows
        one that stays."""
        fits = lambda b: b is not None and b.energy % 3 == limit
        gone = set()
        for b in self.beings.values():
            if b.kind in kinds:
                gone |= {each.id for each in (b, *b.links) if fits(each)}
        for b in self.beings.values():
            if b.kind in kinds and b.id not in gone:
                friends = [b.friend, b.friend and b.friend.friend]
                gone |= {each.id for each in friends if fits(each) and fits(b.friend)}
        self.counts[5] += len(gone)
        self.remove(gone)

    def remove(self, numbers: Any) -> None:
        for number in list(numbers):
            del self.beings[number]

    def census(self, kinds: Any) -> None:
        for b in self.beings.values():
            if b.kind in kinds:
                self.counts[int(b.small) % 3] += I64(b.energy)
                self.counts[3] = max(self.counts[3], b.id)
                self.counts[4] = min(self.counts[4], self.worth(b))

    def feed(self, b: Plain) -> None:
        b.energy = b.energy + I32(self.table[int(b.small) % 4]) * I32(self.rate)

    def write(self, b: Plain, k: int) -> None:
        for j in range(len(b.log)):
            b.log[j] = b.log[j] * I32(k) + I32(b.small)


def make_fox(number: int, energy: int) -> Plain:
    fox = Plain("Fox", number, energy=I32(energy ^ 1), hunger=narrow(energy % 100, I16))
    fox.marks[1] = I32(4)
    return fox
