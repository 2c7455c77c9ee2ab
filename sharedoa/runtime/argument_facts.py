"""What follows from the arguments of a launch about its way back: which arrays overlap, and whose
elements are one thread's own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..heap.arrays import Array
from ..ir.adjoint.again import Again
from ..ir.adjoint.races import RaceFacts, is_harmless
from .geometry import Geometry


def is_free_of_races(races: RaceFacts, arguments: tuple[Any, ...], geometry: Geometry) -> bool:
    """Whether no thread of a launch can touch a float that another one writes."""
    if math.prod(geometry.threads) <= 1:
        return True
    if races.raced:
        return False
    for group in races.arrays:
        for number in group:
            same = [n for n in group if _overlap(arguments[number], arguments[n])]
            if is_harmless({how for each in same for how in races.ways[each]}):
                continue
            places = {(arguments[n]._address, arguments[n].shape) for n in same}
            ways = {races.index.get(n) for n in same}
            way = ways.pop()
            if len(places) > 1 or ways or way is None:
                return False
            if not way.is_own(geometry.threads, arguments):
                return False
    return True


def own_arrays(races: RaceFacts, geometry: Geometry, arguments: Sequence[Any]) -> frozenset[int]:
    """The parameters of whose elements each is touched by one thread of a launch alone."""
    own: set[int] = set()
    for named in races.named:
        for number, way in named.items():
            array = arguments[number]
            others = [n for n in named if n != number and _overlap(array, arguments[n])]
            is_same = all(
                named[n] == way
                and (arguments[n]._address, arguments[n].shape) == (array._address, array.shape)
                for n in others
            )
            if is_same and way.is_own(geometry.threads, arguments):
                own.add(number)
    return frozenset(own)


def are_apart(again: Again, arguments: Sequence[Any]) -> bool:
    """Whether what a launch loads again is no part of what it stores to."""
    return not any(_overlap(arguments[one], arguments[other]) for one, other in again.apart)


def _overlap(one: Array, other: Array) -> bool:
    return one._address < _end(other) and other._address < _end(one)


def _end(array: Array) -> int:
    return array._address + max(array.size * array._dtype.base.itemsize, 1)
