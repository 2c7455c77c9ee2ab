"""Random populations of a program's objects, and what happens to them between launches, as data.

An object is a ``Specimen``: a class and plain Python values. Every run of a program, with sharedoa
or without, starts from the same specimens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from .programs import Program
from .signatures import DTYPES, FLOATS, Class, inline_parts

_SPECIAL = (0.0, -0.0, 1.0, -1.5, 0.1, 1e-40, 3e38, 1e300, math.inf, -math.inf, math.nan, 2.0**31)


@dataclass(frozen=True)
class Specimen:
    """One object: ``links`` are references, by the number of the object that they refer to."""

    number: int
    cls: str
    values: dict[str, Any]
    links: dict[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """Delete, create, then launch on ``workers`` in that order."""

    delete: list[int]
    create: list[Specimen]
    workers: list[int]
    data: list[int]
    #: Rows of an array that all threads read.
    cells: list[list[float]]


def make_history(program: Program, seed: int, steps: int, objects: int) -> list[Step]:
    """``steps`` launches of about ``objects`` threads each, over a changing population."""
    return _Maker(program, Random(seed)).history(steps, objects)


class _Maker:
    def __init__(self, program: Program, random: Random) -> None:
        self.program, self.random = program, random
        self.structs = {struct.name: struct for struct in program.structs}
        #: Fields that have defaults, and get no other values.
        defaults = {name for cls in program.classes for name in cls.defaults}
        self.left_out = {name for name in sorted(defaults) if random.random() < 0.7}
        self.made = 0
        self.shared: list[int] = []
        self.others: list[int] = []
        #: each worker with the chain of children that only it may reach
        self.workers: dict[int, list[int]] = {}

    def history(self, steps: int, objects: int) -> list[Step]:
        return [self._step(objects, first=number == 0) for number in range(steps)]

    def _step(self, objects: int, *, first: bool) -> Step:
        create: list[Specimen] = self._shared_objects() if first else []
        delete: list[int] = []
        for worker in self.random.sample(sorted(self.workers), len(self.workers) // 2):
            delete += [worker, *self.workers.pop(worker)]
        while len(self.workers) < objects:
            create += self._worker()
        self.random.shuffle(delete)
        order = list(self.workers)
        self.random.shuffle(order)
        data = [self.random.randint(-(2**31), 2**31 - 1) for _ in order]
        columns = self.random.randint(1, 4)
        cells = [
            [self._value("f32") for _ in range(columns)] for _ in range(self.random.randint(1, 4))
        ]
        return Step(delete, create, order, data, cells)

    def _number(self) -> int:
        self.made += 1
        return self.made - 1

    def _shared_objects(self) -> list[Specimen]:
        """What workers read and nobody writes: some of the second family, and peers of
        each other or themselves."""
        made = []
        for _ in range(3):
            number = self._number()
            weight = self._value("f32")
            made.append(Specimen(number, f"Other{self.random.randint(0, 1)}", {"weight": weight}))
            self.others.append(number)
        self.shared = [self._number() for _ in range(5)]
        made += [self._object(n, self.random.choice(self.shared), None) for n in self.shared]
        return made

    def _worker(self) -> list[Specimen]:
        chain = [self._number() for _ in range(self.random.choice((1, 1, 2, 3)))]
        self.workers[chain[0]] = chain[1:]
        nexts = [*chain[1:], None]
        return [
            self._object(number, self.random.choice(self.shared), child)
            for number, child in zip(chain, nexts, strict=True)
        ]

    def _object(self, number: int, peer: int, child: int | None) -> Specimen:
        cls = self.random.choice(self.program.concrete)
        values = self._values(cls)
        values["id"] = number
        links = {"peer": peer, "child": child, "other": self.random.choice(self.others)}
        return Specimen(number, cls.name, values, links)

    def _values(self, cls: Class) -> dict[str, Any]:
        return {
            f.text: self._value(f.type)
            for f in cls.all_fields
            if f.type not in ("Root", "Other") and f.text not in self.left_out
        }

    def _values_of(self, element: str, lengths: list[int]) -> list[Any]:
        count, *inner = lengths
        return [
            self._values_of(element, inner) if inner else self._value(element) for _ in range(count)
        ]

    def _value(self, type: str) -> Any:
        """A number, a tuple for a struct, or a list for an inline array."""
        if type in self.structs:
            return tuple(self._value(part.type) for part in self.structs[type].fields)
        if inside := inline_parts(type):
            element, *lengths = inside
            return self._values_of(element, [int(length) for length in lengths])
        if type == "bool":
            return self.random.random() < 0.5
        if type in FLOATS:
            value = self.random.choice((*_SPECIAL, self.random.uniform(-100, 100)))
            with np.errstate(over="ignore"):
                return float(DTYPES[type](value))
        limits = np.iinfo(DTYPES[type])
        low, high = int(limits.min), int(limits.max)
        return self.random.choice((0, 1, 2, 7, low, high, self.random.randint(low, high)))
