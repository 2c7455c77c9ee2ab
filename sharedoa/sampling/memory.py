"""The heap's memory as sampled threads read it: many places at once, wherever the pages are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..heap.heap import Heap
from ..model.classes import ClassType
from ..model.scalars import ScalarType
from ..model.types import ArrayType, ReferenceType, Type, ValueType
from .lanes import Arrays, Flags, Numbers, Scalars, Value


@dataclass(frozen=True)
class Place:
    """A place of ``type`` a lane: ``offset`` bytes (i64) into the record of the object at ``base``,
    as part of its field ``name``; or from address ``base`` on where there is no ``owner``."""

    type: Type
    base: Numbers
    offset: Numbers
    known: Flags
    owner: ClassType | None = None
    name: str = ""

    def part(self, type: Type, distance: Any, known: Flags | None = None) -> Place:
        """What lies ``distance`` bytes further."""
        both = self.known if known is None else self.known & known
        return replace(self, type=type, offset=self.offset + distance, known=both)

    def only_in(self, lanes: Flags) -> Place:
        return replace(self, known=self.known & lanes)

    def is_like(self, other: Place) -> bool:
        return (self.type, self.owner, self.name) == (other.type, other.owner, other.name)

    def merged(self, new: Place, lanes: Flags) -> Place:
        """``new``, which is like this one, in ``lanes``."""
        base, offset, known = (
            np.where(lanes, theirs, mine)
            for mine, theirs in (
                (self.base, new.base), (self.offset, new.offset), (self.known, new.known)
            )
        )  # fmt: skip
        return replace(self, base=base, offset=offset, known=known)


class HeapMemory:
    """What interpreted threads ask of one heap, whose lock somebody holds.

    They may follow references and arrays that no thread of the launch does: those of deleted
    objects, or where a test is not known. So it reads nothing but what objects and arrays lie in.
    """

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self.layout = heap.layout
        ranges = sorted(heap.placement.ranges(), key=lambda each: each[0])
        self._starts, self._ends = (
            np.array([each[part] for each in ranges], np.uint64) for part in range(2)
        )
        self._classes = [cls for _, _, cls in ranges]
        #: By region; the last entry stands for none.
        self._types = np.array([*(cls.type_index for cls in self._classes), 0])
        self._are_of: dict[ClassType, Flags] = {}

    @cached_property
    def _arrays(self) -> tuple[Numbers, Numbers]:
        """Where each array begins and ends."""
        ranges = np.array(self._heap.memory.array_ranges(), np.uint64).reshape(-1, 2)
        return ranges[:, 0], ranges[:, 1]

    def type_indices(self, objects: Scalars) -> Numbers:
        """Of the class of each object; 0 where there is none, or nobody knows."""
        found: Numbers = self._types[self._regions(objects)]
        return found

    def are_of(self, objects: Scalars, cls: ClassType) -> Flags:
        """Which are known to be objects of the class or a subclass."""
        regions = self._are_of.get(cls)
        if regions is None:
            regions = np.array([*(each.is_subclass_of(cls) for each in self._classes), False])
            self._are_of[cls] = regions
        found: Flags = regions[self._regions(objects)]
        return found

    def _regions(self, objects: Scalars) -> Numbers:
        """The region that each object lies in; -1 where none has an object there."""
        place = np.searchsorted(self._starts, objects.values, side="right") - 1
        for number in np.unique(place[objects.known & (place >= 0)]):
            arrangement = self.layout.arrangement(self._classes[number])
            lanes = np.flatnonzero(place == number)
            addresses = objects.values[lanes]
            _, nowhere = arrangement.slots(addresses - self._starts[number])
            place[lanes[nowhere | (addresses >= self._ends[number])]] = -1
        return np.where(objects.known, place, -1)

    def load(self, place: Place, lanes: Flags) -> Value:
        """The scalar, reference or array at ``place``; None for what has no such value."""
        type, wanted = place.type, place.known & lanes
        if isinstance(type, (ScalarType, ReferenceType)):
            return self._scalar(place, wanted)
        if isinstance(type, ArrayType):
            parts = self.layout.dtype(type).fields
            assert parts is not None
            address, length = (
                self._numbers(place.part(type, parts[name][1]), parts[name][0], wanted)
                for name in ("address", "length")
            )
            return Arrays(address, length, wanted & self._is_array(type, address, length))
        return None

    def _is_array(self, type: ArrayType, address: Numbers, length: Numbers) -> Flags:
        starts, ends = self._arrays
        place = np.searchsorted(starts, address, side="right") - 1
        room = np.zeros(len(address), np.uint64)
        inside = place >= 0
        end = ends[place[inside]]
        room[inside] = np.where(address[inside] < end, end - address[inside], 0)
        fits = length.astype(np.uint64) <= room // np.uint64(
            self.layout.dtype(type.element).itemsize
        )
        found: Flags = (length == 0) | (length > 0) & fits
        return found

    def _scalar(self, place: Place, wanted: Flags) -> Scalars:
        values = self._numbers(place, self.layout.dtype(place.type), wanted)
        if isinstance(place.type, ReferenceType):
            values = self._heap.encoding.address(values.astype(np.uint64))
        return Scalars(values, wanted)

    def _numbers(self, place: Place, dtype: np.dtype[Any], wanted: Flags) -> Numbers:
        found = np.zeros(len(wanted), dtype)
        chosen = np.flatnonzero(wanted)
        if len(chosen):
            addresses = self.addresses(place, dtype.itemsize)[chosen]
            data = self._heap.backend.gather(addresses, 0, dtype.itemsize)
            found[chosen] = np.ascontiguousarray(data).view(dtype).reshape(-1)
        return found

    def addresses(self, place: Place, size: int) -> Numbers:
        """Where the scalar of ``size`` bytes at ``place`` lies."""
        offset = place.offset.astype(np.uint64)
        if place.owner is None:
            return place.base + offset
        return self.layout.scalar_addresses(place.base, place.owner, place.name, offset, size)

    def scalars(self, type: Type) -> list[tuple[int, int]]:
        """Distance and size of each scalar that a value of ``type`` consists of."""
        if isinstance(type, ValueType):
            fields = self.layout.dtype(type).fields
            assert fields is not None
            return [
                (fields[name][1] + distance, size)
                for name, inner in type.fields.items()
                for distance, size in self.scalars(inner)
            ]
        if isinstance(type, ArrayType):
            return [(0, 8), (8, 8)]
        return [(0, self.layout.dtype(type).itemsize)]
