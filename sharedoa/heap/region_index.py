"""Regions by address and by class: which object an address is, and which objects of a class there
are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from ..errors import HeapError
from ..model.classes import ClassType
from ..model.reference import ReferenceEncoding
from .placement import References, foreign_reference, freed_reference, null_reference
from .region_selection import Part
from .regions import Region
from .run import Run


class RegionIndex:
    """The regions of one heap."""

    def __init__(self, encoding: ReferenceEncoding) -> None:
        self._encoding = encoding
        #: Starts of the regions, and the regions, by address: another pair after every change, as
        #: other threads look without the heap's lock.
        self._index: tuple[list[int], list[Region]] = [], []
        self._of_class: dict[ClassType, list[Region]] = {}
        self.layout_epoch = self.code_epoch = 0
        #: With which deletion an object of each class went last.
        self._last_deletion: dict[ClassType, int] = {}

    def replace(self, gone: Sequence[Region], come: Sequence[Region]) -> None:
        """Regions of one class instead of others: in their place, else behind all."""
        cls = (*gone, *come)[0].cls
        every = sorted([*(each for each in self._index[1] if each not in gone), *come], key=_start)
        before = self.regions(cls)
        place = next((n for n, each in enumerate(before) if each in gone), len(before))
        own = [*before[:place], *(each for each in come if not each.is_grave)]
        own += [each for each in before[place:] if each not in gone]
        index = [region.start for region in every], every
        self._index, self._of_class[cls] = index, own
        self.layout_epoch += 1

    def regions(self, cls: ClassType) -> list[Region]:
        """The regions of exactly this class, as they were made: where each lies depends on how
        large they and others are, which is not the same in every mode or on every backend."""
        return self._of_class.get(cls, [])

    def all_regions(self) -> Iterator[Region]:
        yield from self._index[1]

    def locate(self, address: int, where: str = "") -> tuple[Region, int]:
        """The region and slot of the object that starts at ``address``, live or not. Raises
        HeapError if none can."""
        if address == 0:
            raise null_reference(where)
        starts, regions = self._index
        index = bisect_right(starts, address) - 1
        if index < 0:
            raise foreign_reference(address, where)
        region = regions[index]
        slot = region.slot(address)
        if slot is None:
            raise foreign_reference(address, where)
        return region, slot

    def locate_live(self, address: int) -> tuple[Region, int]:
        """The same of an object that lives. Raises HeapError."""
        region, slot = self.locate(address)
        if not region.live[slot]:
            raise freed_reference(address, region.cls)
        return region, slot

    def lives(self, address: int) -> bool:
        try:
            region, slot = self.locate(address)
        except HeapError:
            return False
        return bool(region.live[slot])

    def is_same(self, address: int, deletions: int) -> bool:
        """Whether what starts at ``address`` lives, and is what was there after so many
        deletions."""
        try:
            region, slot = self.locate(address)
        except HeapError:
            return False
        return bool(region.live[slot]) and not region.is_freed_after(slot, deletions)

    def class_of(self, address: int) -> ClassType:
        return self.locate_live(address)[0].cls

    def scattered_parts(self, addresses: References) -> list[Part]:
        """The parts of addresses in no particular order: one a region that holds any of them."""
        starts, regions = self._index
        numbers = np.searchsorted(np.array(starts, np.uint64), addresses, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        bounds = np.searchsorted(numbers[order], np.arange(-1, len(regions) + 1))
        outside = order[: bounds[1]]
        if len(outside):
            self.locate(int(addresses[outside[0]]), f"element {outside[0]}: ")
        parts = []
        for number, region in enumerate(regions):
            where = order[bounds[number + 1] : bounds[number + 2]]
            if len(where) == 0:
                continue
            offsets = addresses[where] - np.uint64(region.start)
            slots, nowhere = region.arrangement.slots(offsets)
            wrong = where[nowhere | (slots >= region.capacity)]
            if len(wrong):
                self.locate(int(addresses[wrong[0]]), f"element {wrong[0]}: ")
            parts.append(Part(region, where, slots, len(where)))
        return parts

    # ------------------------------------------------------------------ deleted objects

    def refuse_replaced(self, references: References, deletions: int) -> None:
        if len(references) == 1:  # which is asked for most, and needs no arrays
            self._refuse_replaced_one(self._encoding.address(int(references[0])), deletions)
            return
        addresses: References = self._encoding.address(references)
        used = np.flatnonzero(addresses)
        for part in self.scattered_parts(addresses[used]):
            replaced = part.region.freed_after(part.slots, deletions)
            if replaced.any():
                place = int(used[part.where][np.argmax(replaced)])
                address = int(addresses[place])
                raise freed_reference(address, part.region.cls, f"element {place}: ")

    def _refuse_replaced_one(self, address: int, deletions: int) -> None:
        where = "element 0: "
        if address:
            region, slot = self.locate(address, where)
            if region.is_freed_after(slot, deletions):
                raise freed_reference(address, region.cls, where)

    def has_deleted(self, cls: ClassType, deletions: int) -> bool:
        known = list(self._last_deletion.items())
        return any(last > deletions and each.is_subclass_of(cls) for each, last in known)

    def refuse_deleted_run(self, run: Run, count: int, deletions: int) -> None:
        place = run.place
        first = slice(run.slot, run.slot + 1, 1)
        address = int(place.arrangement.addresses(place.start, first)[0])
        region, slot = self.locate(address)
        if region.cls is not place.cls or slot + count > region.capacity:
            raise freed_reference(address, place.cls, "element 0: ")
        slots = slice(slot, slot + count, 1)
        gone = region.freed_after(slots, deletions) | (region.live[slots] == 0)
        if gone.any():
            number = int(np.argmax(gone))
            dead = slice(slot + number, slot + number + 1, 1)
            address = int(region.addresses(dead)[0])
            raise freed_reference(address, place.cls, f"element {number}: ")

    # ------------------------------------------------------------------ counting

    def classes(self) -> list[ClassType]:
        found = [cls for cls in list(self._of_class) if self.count(cls)]
        return sorted(found, key=_number)

    def holders(self) -> list[ClassType]:
        """The classes that have memory."""
        return sorted({region.cls for region in self.all_regions()}, key=_number)

    def count(self, cls: ClassType) -> int:
        used = 0
        for region in self._of_class.get(cls, ()):
            used += region.used
        return used

    def reserved(self, cls: ClassType) -> int:
        return sum(region.memory.nbytes for region in self.regions(cls))

    def region_count(self, cls: ClassType) -> int:
        return len(self.regions(cls))

    def ranges(self) -> list[tuple[int, int, ClassType]]:
        return [(region.start, region.end, region.cls) for region in self._index[1]]


def _number(cls: ClassType) -> int:
    return cls.type_index


def _start(region: Region) -> int:
    return region.start
