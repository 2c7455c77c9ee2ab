"""The heap's memory as sampled threads read it: many places at once, wherever the pages are."""

from __future__ import annotations

from dataclasses import dataclass, replace
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


class HeapMemory:
    """What interpreted threads ask of one heap."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self.layout = heap.layout
        ranges = sorted((start, end, cls.type_index) for start, end, cls in heap.placement.ranges())
        self._starts, self._ends, self._types = (
            np.array([each[part] for each in ranges], np.uint64) for part in range(3)
        )

    def type_indices(self, objects: Scalars) -> Numbers:
        """Of the class of each object; 0 where there is none, or nobody knows."""
        if len(self._starts) == 0:
            return np.zeros(len(objects.values), np.int64)
        place = np.searchsorted(self._starts, objects.values, side="right") - 1
        inside = (place >= 0) & (objects.values < self._ends[place]) & objects.known
        return np.where(inside, self._types[place], 0).astype(np.int64)

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
            return Arrays(address, length, wanted)
        return None

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
