"""Free slots for launches, listed and settled by the device that runs them: the host knows how many
there are, and sees the bytes that say which only where somebody asks for objects one by one."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from ..model.classes import ClassType
from .by_type import ByTypePlacement
from .extents import Extent
from .regions import Loan, Region
from .slot_lists import REPORT_BYTES, SLOT_NUMBERS, Numbering, SlotLists
from .slots import Ended, Table


def count_living(placement: ByTypePlacement, region: Region, lists: SlotLists) -> None:
    """``SlotLists.count``, unless nothing has changed since it was done, or settled, last."""
    version = placement.class_version(region.cls)
    if region.summed != version:
        lists.count(region.slot_bytes)
        region.summed = version


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
        settle_regions(lists, regions, ends, reports)
        gone = note_reports(placement, lists, classes, regions, reports, loans)
        return Ended(are_freed=gone)


def write_table(
    placement: ByTypePlacement,
    lists: SlotLists,
    extent: Extent,
    table: Table,
    count: Callable[[Region], None],
) -> None:
    """A birth table, with the slots that it lists and the headers that objects in them have, after
    ``count`` of each region."""
    lists.store(extent.address, table.head.view(np.uint64).tolist())
    for start, size in table.zeros:
        lists.clear(start, size)
    for listed in table.lists:
        before = 0
        for loan, after in zip(listed.loans, listed.stops, strict=True):
            count(loan.region)
            slots, most = loan.region.slot_bytes, listed.room
            lists.list_slots(slots, False, most, SLOT_NUMBERS, listed.address, 4, before, after)
            before = after
        for loan, first in zip(listed.loans, listed.firsts, strict=True):
            _write_headers(placement, lists, loan, listed.address + 4 * first)


def _write_headers(placement: ByTypePlacement, lists: SlotLists, loan: Loan, slots: int) -> None:
    region = loan.region
    header = placement.header(region.cls)
    if not header:
        return
    size = len(header)
    addressing = region.arrangement.addressing(0)
    where = Numbering(
        region.start + addressing.start(0),
        region.arrangement.lanes.bit_length() - 1,
        region.arrangement.block_bytes,
        addressing.lane_bytes(size),
    )
    lists.write_headers(slots, loan.count, where, int.from_bytes(header, "little"), size)


def begin_reports(lists: SlotLists, reports: int, regions: Iterable[Region], deletion: int) -> None:
    """Reports that say what the books say; what is ended goes with this deletion."""
    words = [(0, region.used | deletion << 32) for region in regions]
    lists.store(reports, [word for pair in words for word in pair])


def settle_regions(
    lists: SlotLists, regions: Iterable[Region], ends: Container[ClassType], reports: int
) -> None:
    """Of ``ends`` objects that had lived before may have been ended."""
    for number, region in enumerate(regions):
        freed = 0
        if region.cls in ends:
            assert region.freed_extent is not None
            freed = region.freed_extent.address
        report = reports + number * REPORT_BYTES
        lists.settle(region.slot_bytes, freed, region.unused_from, report)


def note_reports(
    placement: ByTypePlacement,
    lists: SlotLists,
    classes: Iterable[ClassType],
    regions: Sequence[Region],
    reports: int,
    loans: Mapping[ClassType, Sequence[Loan]],
) -> bool:
    """Take what ``settle_regions`` has reported, since ``begin_reports``, into the heap's books.
    Whether any objects are gone."""
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
    for region in regions:
        region.summed = placement.class_version(region.cls)
    return bool(gone)
