"""The heap's memory as sampled threads read it: many lanes at once, wherever the pages are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from ..heap.heap import Heap
from ..model.classes import ClassType
from ..model.field_address import WORD
from ..model.layout import ARRAY_DTYPE
from ..model.record import part_of
from ..model.scalars import ScalarType
from ..model.types import ArrayType, ReferenceType, Type, ValueType
from .lanes import ALL, Arrays, Flags, Lvalue, Numbers, Scalars, Value

_NOWHERE = (1 << 64) - 1
#: Offsets of an array's address and length.
_WORDS = [np.uint64(part_of(ARRAY_DTYPE, name)[0]) for name in ("address", "length")]


class HeapMemory:
    """What interpreted threads ask of one heap, whose lock somebody holds, so that every answer
    stays what it is.

    Threads may follow references and arrays that no thread of the launch does: those of deleted
    objects, or where a test is not known; and what lanes hold that do not run is anything. So
    nothing is read but what objects and arrays lie in.
    """

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._layout = heap.layout
        #: How values of a type lie in memory.
        self.dtype: Callable[[Type], np.dtype[Any]] = cache(heap.layout.dtype)
        ranges = sorted(heap.placement.ranges(), key=lambda each: each[0])
        self._classes = [cls for _, _, cls in ranges]
        arrangements = [heap.layout.arrangement(cls) for cls in self._classes]
        # By region; the last one is none, where no object begins.
        self._starts, self._ends, self._blocks, self._begins = (
            np.array(each, np.uint64)
            for each in (
                [*(start for start, _, _ in ranges), _NOWHERE],
                [*(end for _, end, _ in ranges), 0],
                [*(each.block_bytes for each in arrangements), 1],
                [*(each.lanes * WORD for each in arrangements), 0],
            )
        )
        self._tables: dict[Hashable, Numbers] = {}
        #: What was found, by the arrays that it was found for, which keep their identity as long as
        #: they are here, and what else was asked.
        self._found: dict[tuple[Hashable, ...], tuple[Any, Any]] = {}

    def _once(self, find: Callable[[], Any], arrays: Sequence[Numbers], *question: Any) -> Any:
        key = *map(id, arrays), *question
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = arrays, find()
        return known[1]

    # ---------------------------------------------------------------- objects

    def by_class(
        self, objects: Scalars, key: Hashable, answer: Callable[[ClassType], int]
    ) -> Numbers:
        """What ``answer`` says of the class of each object; 0 or false where there is no object, or
        nobody knows which. ``key``: what tells one answer from others."""
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = np.array([*map(answer, self._classes), False])
        values = objects.values
        found = table[self._once(lambda: self._regions(values), [values])]
        return found if objects.known is ALL else found * objects.known

    def _regions(self, addresses: Numbers) -> Numbers:
        """The region that each object lies in; -1 where no object begins."""
        region = np.searchsorted(self._starts, addresses, side="right") - 1
        inside = (addresses - self._starts[region]) % self._blocks[region]
        begins = (inside < self._begins[region]) & (inside & np.uint64(WORD - 1) == 0)
        return np.where(begins & (addresses < self._ends[region]), region, -1)

    def field(self, objects: Scalars, cls: ClassType, name: str) -> Lvalue:
        """The field of each object that has one."""
        owner = cls.field_owner(name)
        assert owner is not None

        def find() -> Lvalue:
            known = self.by_class(objects, owner, lambda each: each.is_subclass_of(owner))
            offset = np.uint64(self._layout.record(owner).offsets[name])
            type = owner.own_fields[name]
            return Lvalue(type, objects.values, offset, simplest(known), owner, name)

        found: Lvalue = self._once(find, objects, owner, name)
        return found

    # ---------------------------------------------------------------- values

    def load(self, lvalue: Lvalue) -> Value:
        """What lies at ``lvalue``; None for what has no such value."""
        if lvalue.reference is not None:
            return lvalue.reference
        if isinstance(lvalue.type, ValueType):
            return lvalue
        arrays = lvalue.base, lvalue.offset, lvalue.known
        found: Value = self._once(lambda: self._load(lvalue), arrays, lvalue.type, lvalue.owner)
        return found

    def _load(self, lvalue: Lvalue) -> Value:
        type, known = lvalue.type, lvalue.known
        if isinstance(type, (ScalarType, ReferenceType)):
            (values,) = self._numbers([lvalue], self.dtype(type))
            if isinstance(type, ReferenceType):
                values = self._heap.encoding.address(np.asarray(values, np.uint64))
            return Scalars(values, known)
        if not isinstance(type, ArrayType):
            return None
        words = [lvalue.part(type, inside) for inside in _WORDS]
        address, length = self._numbers(words, np.dtype(np.uint64))
        return Arrays(
            address,
            length.astype(np.int64),
            simplest(known & self._is_array(type, address, length)),
        )

    def _is_array(self, type: ArrayType, address: Numbers, length: Numbers) -> Flags:
        starts, ends = self._arrays
        end = ends[np.searchsorted(starts, address, side="right") - 1]
        room = np.where(address < end, end - address, np.uint64(0))
        # Negative lengths are large ones here.
        return length <= room // np.uint64(self.dtype(type.element).itemsize)

    @cached_property
    def _arrays(self) -> tuple[Numbers, Numbers]:
        """Where each array begins and ends; the first one is none."""
        both = np.array([(0, 0), *self._heap.memory.arrays.ranges()], np.uint64)
        return both[:, 0], both[:, 1]

    def _numbers(self, lvalues: Sequence[Lvalue], dtype: np.dtype[Any]) -> Numbers:
        """The scalars of ``dtype`` at lvalues that are known in the same lanes, a row each;
        anything in other lanes."""
        known, size = lvalues[0].known, dtype.itemsize
        addresses = np.array([self.address(each, size) for each in lvalues])
        if known is not ALL:
            if not known.any():
                return np.zeros((len(lvalues), *known.shape), dtype)
            # Lanes that are not known read what another one does.
            other = addresses.reshape(len(lvalues), -1)[:, known.argmax() % addresses[0].size]
            addresses = np.where(known, addresses, other.reshape(-1, *[1] * known.ndim))
        data = self._heap.backend.gather(addresses.reshape(-1), 0, size)
        return np.ascontiguousarray(data).view(dtype).reshape(addresses.shape)

    def address(self, lvalue: Lvalue, size: int) -> Numbers:
        """Where the scalar of ``size`` bytes at ``lvalue`` lies."""
        if lvalue.owner is None:
            return lvalue.base + lvalue.offset
        addressing = self._layout.addressing(lvalue.owner, lvalue.name)
        return addressing.address(lvalue.base, lvalue.offset, size)


def simplest(known: Flags) -> Flags:
    return ALL if known.all() else known
