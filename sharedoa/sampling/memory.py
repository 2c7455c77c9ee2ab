"""The heap's memory as sampled threads read it: many lanes at once, wherever the pages are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..heap.heap import Heap
from ..model.classes import ClassType
from ..model.layout import ARRAY_DTYPE
from ..model.record import part_of
from ..model.scalars import ScalarType
from ..model.types import ArrayType, ReferenceType, Type
from .lanes import Arrays, Flags, Numbers, Scalars, Value


@dataclass(frozen=True)
class Lvalue:
    """An lvalue of ``type`` a lane: ``offset`` bytes (i64) into the record of the object at
    ``base``, as part of its field ``name``; or from address ``base`` on where there is no
    ``owner``."""

    type: Type
    base: Numbers
    offset: Numbers
    known: Flags
    owner: ClassType | None = None
    name: str = ""

    def part(self, type: Type, distance: Any, known: Flags | None = None) -> Lvalue:
        """What lies ``distance`` bytes further."""
        both = self.known if known is None else self.known & known
        return replace(self, type=type, offset=self.offset + distance, known=both)

    def only_in(self, lanes: Flags) -> Lvalue:
        return replace(self, known=self.known & lanes)

    def is_like(self, other: Lvalue) -> bool:
        return (self.type, self.owner, self.name) == (other.type, other.owner, other.name)

    def merged(self, new: Lvalue, lanes: Flags) -> Lvalue:
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
        region = np.searchsorted(self._starts, objects.values, side="right") - 1
        for number in np.flatnonzero(np.bincount(region[objects.known & (region >= 0)])):
            arrangement = self.layout.arrangement(self._classes[number])
            lanes = np.flatnonzero(region == number)
            addresses = objects.values[lanes]
            _, nowhere = arrangement.slots(addresses - self._starts[number])
            region[lanes[nowhere | (addresses >= self._ends[number])]] = -1
        return np.where(objects.known, region, -1)

    def load(self, lvalue: Lvalue, lanes: Flags) -> Value:
        """The scalar, reference or array at ``lvalue``; None for what has no such value."""
        type, wanted = lvalue.type, lvalue.known & lanes
        if isinstance(type, (ScalarType, ReferenceType)):
            return self._scalar(lvalue, wanted)
        if isinstance(type, ArrayType):
            parts = (part_of(ARRAY_DTYPE, name) for name in ("address", "length"))
            address, length = (
                self._numbers(lvalue.part(type, inside), dtype, wanted) for inside, dtype in parts
            )
            return Arrays(address, length, wanted & self._is_array(type, address, length))
        return None

    def _is_array(self, type: ArrayType, address: Numbers, length: Numbers) -> Flags:
        starts, ends = self._arrays
        before = np.searchsorted(starts, address, side="right") - 1
        room = np.zeros(len(address), np.uint64)
        inside = before >= 0
        end = ends[before[inside]]
        room[inside] = np.where(address[inside] < end, end - address[inside], 0)
        fits = length.astype(np.uint64) <= room // np.uint64(
            self.layout.dtype(type.element).itemsize
        )
        found: Flags = (length == 0) | (length > 0) & fits
        return found

    def _scalar(self, lvalue: Lvalue, wanted: Flags) -> Scalars:
        values = self._numbers(lvalue, self.layout.dtype(lvalue.type), wanted)
        if isinstance(lvalue.type, ReferenceType):
            values = self._heap.encoding.address(values.astype(np.uint64))
        return Scalars(values, wanted)

    def _numbers(self, lvalue: Lvalue, dtype: np.dtype[Any], wanted: Flags) -> Numbers:
        found = np.zeros(len(wanted), dtype)
        chosen = np.flatnonzero(wanted)
        if len(chosen):
            addresses = self.addresses(lvalue, dtype.itemsize)[chosen]
            data = self._heap.backend.gather(addresses, 0, dtype.itemsize)
            found[chosen] = np.ascontiguousarray(data).view(dtype).reshape(-1)
        return found

    def addresses(self, lvalue: Lvalue, size: int) -> Numbers:
        """Where the scalar of ``size`` bytes at ``lvalue`` lies."""
        offset = lvalue.offset.astype(np.uint64)
        if lvalue.owner is None:
            return lvalue.base + offset
        addressing = self.layout.addressing(lvalue.owner, lvalue.name)
        return addressing.address(lvalue.base, offset, size)
