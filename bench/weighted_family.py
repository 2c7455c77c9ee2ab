"""Class hierarchies with bodies of three weights, for the grid of dispatch measurements.

A family has one abstract class ``Item`` with f32 fields and T subclasses, each with three methods:
*light* is one addition, *medium* 32 multiplications and additions one after another, *heavy* a loop
of 256 of them. Each updates a field of its own, so the same objects serve all three.

Neighbours differ in the operations as well as in the constants: of bodies that differ in constants
alone, LLVM makes one body and a table, and the branch that is to be measured is gone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from bench.class_family import load

#: Weights of bodies, and how often each multiplies and adds; a light one only adds.
STEPS = {"light": 1, "medium": 32, "heavy": 256}
BODIES = tuple(STEPS)
FIELD_BYTES = 4

_FAMILY = """\
import sharedoa as oa
from sharedoa import f32, i64


class Item(oa.Object):
{fields}

    def light(self) -> None: ...

    def medium(self) -> None: ...

    def heavy(self) -> None: ...

{classes}

@oa.kernel
def light(items: oa.Array[Item]):
    items[oa.grid(1)].light()


@oa.kernel
def medium(items: oa.Array[Item]):
    items[oa.grid(1)].medium()


@oa.kernel
def heavy(items: oa.Array[Item]):
    items[oa.grid(1)].heavy()


@oa.kernel
def results(
    items: oa.Array[Item], light: oa.Array[f32], medium: oa.Array[f32], heavy: oa.Array[f32]
):
    i = oa.grid(1)
    light[i] = items[i].of_light
    medium[i] = items[i].of_medium
    heavy[i] = items[i].of_heavy


@oa.kernel
def arrange(
    sorted: oa.Array[Item],
    mixed: oa.Array[Item],
    shuffled: oa.Array[Item],
    types: i64,
    objects: i64,
):
    i = oa.grid(1)
    mixed[i] = sorted[(i % types) * (objects // types) + i // types]
    # Each step is a permutation of the numbers below a power of two.
    mask = objects - 1
    place = (i * 668265261 + 374761393) & mask
    place = place ^ (place >> 7)
    place = (place * 974634777) & mask
    place = place ^ (place >> 9)
    place = (place * 668265263) & mask
    shuffled[i] = sorted[place ^ (place >> 8)]
"""
_CLASS = """
class Item{k}(Item):
    def light(self) -> None:
        self.of_light = {light}

    def medium(self) -> None:
        x = self.of_medium
{medium}
        self.of_medium = x

    def heavy(self) -> None:
        x = self.of_heavy
        for _ in range({steps}):
            x = {heavy}
        self.of_heavy = x

"""


@dataclass(frozen=True)
class WeightedFamily:
    """A generated hierarchy: its module, and its concrete classes in the order of their kinds."""

    module: ModuleType
    classes: tuple[type, ...]

    @property
    def base(self) -> type:
        found: type = self.module.Item
        return found


@cache
def weighted_family(types: int, field_bytes: int) -> WeightedFamily:
    """The hierarchy of ``types`` classes with ``field_bytes`` bytes of fields, at least 12."""
    names = [f"of_{body}" for body in BODIES]
    names += [f"padding_{number}" for number in range(field_bytes // FIELD_BYTES - len(names))]
    text = _FAMILY.format(
        fields="\n".join(f"    {name}: f32" for name in names),
        classes="".join(_class(kind) for kind in range(types)),
    )
    module = load(f"bench_weighted_family_{types}_{field_bytes}", text)
    return WeightedFamily(module, tuple(getattr(module, f"Item{k}") for k in range(types)))


def _class(kind: int) -> str:
    factor, constant = float(_factor(kind)), float(_constant(kind))
    # The factor rounds each product, so that neither LLVM nor a fused operation may shorten it.
    step = f"x * {factor!r} + {constant}" if kind % 2 == 0 else f"(x + {constant}) * {factor!r}"
    light = f"self.of_light + {constant}" if kind % 2 == 0 else f"{constant} - self.of_light"
    medium = "\n".join(f"        x = {step}" for _ in range(STEPS["medium"]))
    return _CLASS.format(k=kind, light=light, medium=medium, heavy=step, steps=STEPS["heavy"])


def _factor(kind: Any) -> Any:
    return 1 - (kind + 1) / 2**20


def _constant(kind: Any) -> Any:
    return kind + 1


@cache
def expected(types: int, body: str, launches: int) -> np.ndarray[Any, Any]:
    """What the field of ``body`` of an object of each class holds after so many launches, from 0:
    f32 of shape (types,), rounded as kernels round."""
    kinds = np.arange(types)
    factor, constant = (f(kinds).astype(np.float32) for f in (_factor, _constant))
    even, value = kinds % 2 == 0, np.zeros(types, np.float32)
    for _ in range(launches * STEPS[body]):
        if body == "light":
            value = np.where(even, value + constant, constant - value)
        else:
            value = np.where(even, value * factor + constant, (value + constant) * factor)
    return value


def distinct_bodies(ptx: str, types: int, body: str) -> bool:
    """Whether LLVM has left every class a body of its own."""
    additions = len(re.findall(r"\b(?:add|sub)\.rn\.f32", ptx))
    return additions >= types * (STEPS[body] if body == "medium" else 1)
