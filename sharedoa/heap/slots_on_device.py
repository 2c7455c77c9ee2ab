"""Free slots for launches, listed and settled by the device that runs them: the host knows how many
there are, and sees the bytes that say which only where somebody asks for objects one by one."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np

from ..model.classes import ClassType
from .by_type import ByTypePlacement
from .extents import Extent
from .regions import Loan, Region
from .slot_lists import REPORT_BYTES, SLOT_NUMBERS, Numbering, SlotBytes, SlotLists
from .slots import Ended, Table


def count_living(placement: ByTypePlacement, region: Region, lists: SlotLists) -> SlotBytes:
    """``SlotLists.count``, unless nothing has changed since it was done, or settled, last."""
    version = placement.class_version(region.cls)
    if region.summed != version:
        lists.count(region.slot_bytes)
        region.summed = version
    return region.slot_bytes


class SlotsOnDevice:
    """``slots.Slots``."""

    report_bytes = REPORT_BYTES

    def __init__(self, placement: ByTypePlacement, lists: Callable[[], SlotLists]) -> None:
        self._placement, self._new_lists = placement, lists

    @cached_property
    def _lists(self) -> SlotLists:
        return self._new_lists()

    def lend(self, cls: ClassType, count: int) -> list[Loan]:
        """See ``slots.Slots``."""
        loans = []
        for region in self._placement.regions(cls):
            loans.append(region.lend_unlisted(count))
            count -= loans[-1].count
        return [loan for loan in loans if loan.count]

    def prepare(self, ended: Iterable[ClassType]) -> None:
        """See ``slots.Slots``."""
        self._placement.show_freed(ended)

    def publish(self, extent: Extent, table: Table) -> None:
        """See ``slots.Slots``."""
        placement, lists = self._placement, self._lists
        write_table(
            placement, lists, extent, table, lambda region: count_living(placement, region, lists)
        )

    def asked_for(self, extent: Extent, places: Sequence[int]) -> list[int]:
        """See ``slots.Slots``."""
        found = (self._lists.read(extent.address + place, 2) for place in places)
        return [int(words.view(np.uint64)[0]) for words in found]

    def settle(
        self,
        loans: Mapping[ClassType, Sequence[Loan]],
        ended: Iterable[ClassType],
        reports: int,
    ) -> Ended:
        """See ``slots.Slots``."""
        placement, lists = self._placement, self._lists
        ends = set(ended)
        classes = sorted(ends | loans.keys(), key=lambda cls: cls.type_index)
        regions = [region for cls in classes for region in placement.regions(cls)]
        if not regions:
            return Ended()
        begin_reports(lists, reports, regions, placement.deletions + 1)
        for number, region in enumerate(regions):
            report = reports + number * REPORT_BYTES
            settle_region(lists, region, region.slot_bytes, ends, report)
        gone = note_reports(placement, lists, classes, regions, reports, loans)
        for region in regions:
            region.summed = placement.class_version(region.cls)
        return Ended(are_freed=gone)


def write_table(
    placement: ByTypePlacement,
    lists: SlotLists,
    extent: Extent,
    table: Table,
    counted: Callable[[Region], SlotBytes],
    limits: Mapping[int, tuple[int, int]] = MappingProxyType({}),
) -> None:
    """A birth table, with the slots that it lists and the headers that objects in them have.
    ``counted`` gives the slots of a region to list, which were counted; ``limits`` are those of
    lists (``SlotLists.list_slots``), by their address."""
    lists.store(extent.address, table.head.view(np.uint64).tolist())
    for start, size in table.zeros:
        lists.clear(start, size)
    for listed in table.lists:
        before = 0
        for loan, after in zip(listed.loans, listed.stops, strict=True):
            slots, limit = counted(loan.region), limits.get(listed.address, (0, 0))
            where = listed.address, 4, before, after, limit
            lists.list_slots(slots, False, listed.room, SLOT_NUMBERS, *where)
            header = placement.header(loan.region.cls)
            if header:
                headers = _header_places(loan.region, len(header))
                lists.write_headers(listed.room, headers, header, listed.address, before, after)
            before = after


def _header_places(region: Region, size: int) -> Numbering:
    """Where the headers of objects begin, of so many bytes."""
    arrangement = region.arrangement
    addressing, shift = arrangement.addressing(0), arrangement.lanes.bit_length() - 1
    first = region.start + addressing.start(0)
    return Numbering(first, shift, arrangement.block_bytes, addressing.lane_bytes(size))


def begin_reports(lists: SlotLists, reports: int, regions: Iterable[Region], deletion: int) -> None:
    """Reports that say what the books say; what is ended goes with this deletion."""
    words = [(0, region.used | deletion << 32) for region in regions]
    lists.store(reports, [word for pair in words for word in pair])


def settle_region(
    lists: SlotLists, region: Region, slots: SlotBytes, ends: Container[ClassType], report: int
) -> None:
    """Of ``ends`` objects that had lived before may have been ended."""
    freed = 0
    if region.cls in ends:
        assert region.freed_extent is not None
        freed = region.freed_extent.address
    lists.settle(slots, freed, region.unused_from, report)


def note_reports(
    placement: ByTypePlacement,
    lists: SlotLists,
    classes: Iterable[ClassType],
    regions: Sequence[Region],
    reports: int,
    loans: Mapping[ClassType, Sequence[Loan]],
) -> bool:
    """Take what ``settle_region`` has reported, since ``begin_reports``, into the heap's books.
    Whether any objects are gone."""
    if not regions:
        return False
    found = lists.read(reports, len(regions) * REPORT_BYTES // 4).reshape(len(regions), -1)
    before = {cls: placement.count(cls) for cls in classes}
    gone = []
    for region, (has_gone, last, used, _) in zip(regions, found.tolist(), strict=True):
        mine = [loan for loan in loans.get(region.cls, ()) if loan.region is region]
        region.settle(mine, used, last)
        gone += [region] * has_gone
    if gone:
        placement.note_ended(gone)
    for cls, count in before.items():
        placement.note_population(cls, count)
    return bool(gone)
