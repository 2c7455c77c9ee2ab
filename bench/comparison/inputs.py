"""What the objects of each case hold, and by NumPy what they must hold after some steps.

Whole numbers below 2**24 wherever a method adds, so that single precision is exact; a product is
computed in one order everywhere. Needs NumPy only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from bench.class_family import updated

from .cases import INTERLEAVED, RANDOM, SORTED, Case

Array = np.ndarray[Any, Any]

_VALUES = 1024
_SEED = 42
PI = np.float32(3.1415927)
PERCENT_ALIVE = 30


class WrongResult(AssertionError):
    """A tool computed something else than NumPy."""


def require_equal(found: Array, expected: Array, tolerance: float = 1e-6) -> None:
    """Raise WrongResult unless all elements agree to within ``tolerance`` of their size."""
    found = np.asarray(found)
    if found.shape != expected.shape:
        raise WrongResult(f"the result has shape {found.shape}, not {expected.shape}")
    wrong = ~np.isclose(found, expected, rtol=tolerance, atol=0)
    if wrong.any():
        first = int(np.flatnonzero(wrong.ravel())[0])
        raise WrongResult(
            f"{int(wrong.sum()):,} of {found.size:,} elements are wrong; element {first} is "
            f"{found.ravel()[first]}, not {expected.ravel()[first]}"
        )


@dataclass(frozen=True)
class FewObjects:
    """``kinds``, ``p``, ``q``: of each object, class 0 a circle of radius p, class 1 a rectangle
    with sides p and q, class 2 a triangle with base p and height q. ``which`` object thread i asks
    for its area, which it multiplies by ``scales[i]``."""

    kinds: Array
    p: Array
    q: Array
    which: Array
    scales: Array

    def expected(self) -> Array:
        half = np.float32(0.5)
        factors = np.choose(
            self.kinds, [PI * self.p * self.p, self.p * self.q, half * self.p * self.q]
        )
        return np.asarray(factors[self.which] * self.scales, np.float32)


def few_objects(case: Case) -> FewObjects:
    generator = np.random.default_rng(_SEED)
    numbers = np.arange(case.objects)
    calls = np.arange(case.calls)
    which = calls * case.objects // case.calls
    if case.order == RANDOM:
        which = generator.integers(0, case.objects, case.calls)
    return FewObjects(
        (numbers % case.types).astype(np.int32),
        generator.random(case.objects, np.float32) + np.float32(0.5),
        generator.random(case.objects, np.float32) + np.float32(0.5),
        which.astype(np.int32),
        ((calls % _VALUES) / np.float32(_VALUES)).astype(np.float32),
    )


@dataclass(frozen=True)
class Objects:
    """N objects, those of class 0 first. ``a`` is the field that a method changes, ``b`` one that
    it reads, ``partners`` the object that each refers to. ``slots[i]`` is the object that thread i
    calls, ``tags[i]`` its class; ``classes`` that of each object."""

    types: int
    each: int
    a: Array
    b: Array
    slots: Array

    @cached_property
    def partners(self) -> Array:
        places = np.arange(len(self.a), dtype=np.int32)
        return np.random.default_rng(_SEED + 1).permutation(places)

    @cached_property
    def classes(self) -> Array:
        return np.repeat(np.arange(self.types, dtype=np.uint8), self.each)

    @cached_property
    def tags(self) -> Array:
        return (self.slots // self.each).astype(np.uint8)

    def rows(self, kind: int) -> slice:
        """The objects of a class."""
        return slice(kind * self.each, (kind + 1) * self.each)

    def after_calls(self, times: int) -> Array:
        """Field ``a`` when each object was called so often: class k adds k + 1, or if k is odd
        subtracts from k + 1."""
        return np.concatenate(
            [updated(kind, self.a[self.rows(kind)], times) for kind in range(self.types)]
        )

    def after_nested_calls(self, times: int) -> Array:
        """Field ``a`` when each object was called so often with its partner's value: that is b plus
        k + 1, or if k is odd k + 1 minus b; classes add it, or if odd subtract from it."""
        classes = self.classes.astype(np.int32)
        constant = (classes + 1).astype(np.float32)
        values = np.where(classes % 2 == 0, self.b + constant, constant - self.b)[self.partners]
        odd = self.a if times % 2 == 0 else values - self.a
        return np.where(classes % 2 == 0, self.a + values * np.float32(times), odd)


@lru_cache(maxsize=2)
def objects(count: int, types: int, order: str) -> Objects:
    """The objects of workloads that call each once."""
    each = count // types
    generator = np.random.default_rng(_SEED)
    places = np.arange(count, dtype=np.int32)
    slots = places
    if order == INTERLEAVED:
        slots = (places % types) * each + places // types
    elif order == RANDOM:
        slots = generator.permutation(places)
    values = np.tile(np.arange(each) % _VALUES, types).astype(np.float32)
    other = np.tile(np.arange(each) * 7 % (_VALUES // 2), types).astype(np.float32)
    return Objects(types, each, values, other, slots.astype(np.int32))


def objects_of(case: Case) -> Objects:
    order = case.order if case.order in (INTERLEAVED, RANDOM) else SORTED
    return objects(case.objects, case.types, order)


def side(case: Case) -> int:
    """Cells or pixels along a side of a square."""
    return round(case.calls**0.5)


def board(case: Case) -> Array:
    """Whether each cell lives, of shape (rows, columns)."""
    length = side(case)
    return np.random.default_rng(_SEED).integers(0, 100, (length, length)) < PERCENT_ALIVE


@lru_cache(maxsize=4)
def board_after(case: Case, generations: int) -> Array:
    alive = board(case)
    for _ in range(generations):
        padded = np.pad(alive, 1).astype(np.uint8)
        rows = padded[:-2] + padded[1:-1] + padded[2:]
        neighbours = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - alive
        alive = (neighbours == 3) | (alive & (neighbours == 2))
    return alive
