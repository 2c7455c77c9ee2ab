"""Free slots for launches, listed and settled by the device that runs them: the host knows how many
there are, and sees the bytes that say which only where somebody asks for objects one by one."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np

from ..model.classes import ClassType
from .births import Ended, Words
from .by_type import ByTypePlacement
from .extents import Extent
from .regions import Loan, Region
from .slot_lists import (
    REPORT_BYTES,
    REPORT_USED,
    SLOT_NUMBERS,
    Also,
    Listing,
    Numbering,
    Settling,
    SlotBytes,
    SlotLists,
)
from .slots import Table


def count_living(placement: ByTypePlacement, regions: Iterable[Region], lists: SlotLists) -> None:
    """Let the sums of these regions be right."""
    stale = [each for each in regions if not _are_summed(placement, each)]
    lists.count([region.slot_bytes for region in stale])
    for region in stale:
        region.summed = placement.class_version(region.cls)


def _are_summed(placement: ByTypePlacement, region: Region) -> bool:
    """Whether its sums are right."""
    return region.summed == placement.class_version(region.cls)


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
        regions = [loan.region for listed in table.lists for loan in listed.loans]
        count_living(placement, regions, lists)
        write_table(placement, lists, extent, table, {each: each.slot_bytes for each in regions})

    def read(self, extent: Extent, place: int, count: int) -> Words:
        """See ``slots.Slots``."""
        return self._lists.read(extent.address + place, 2 * count).view(np.uint64)

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
        looks = {region: region.slot_bytes for region in regions}
        uncounted = {each for each in regions if not _are_summed(placement, each)}
        settle_regions(lists, looks, loans, ends, reports, uncounted=uncounted)
        return Ended(are_freed=note_reports(placement, lists, classes, looks, reports, loans))


def write_table(
    placement: ByTypePlacement,
    lists: SlotLists,
    extent: Extent,
    table: Table,
    looks: Mapping[Region, SlotBytes],
    limits: Mapping[int, tuple[int, int]] = MappingProxyType({}),
    others: Sequence[Listing] = (),
) -> None:
    """A birth table, with the slots that it lists and the headers that objects in them have.
    ``looks``: the slots of each region to list, which were counted; ``limits`` are those of lists
    (``slot_lists.Listing``), by their address; ``others`` are to be written before."""
    listings = [*others]
    for listed in table.lists:
        before, limit = 0, limits.get(listed.address, (0, 0))
        for loan, after in zip(listed.loans, listed.stops, strict=True):
            where = listed.address, 4, before, after, limit
            slots = looks[loan.region]
            listings.append(Listing(slots, False, listed.room, SLOT_NUMBERS, *where))
            before = after
    also = Also(extent.address, table.head.view(np.uint64).tolist(), table.zeros)
    lists.list_slots(listings, also)
    for listed in table.lists:
        before = 0
        for loan, after in zip(listed.loans, listed.stops, strict=True):
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


def settle_regions(
    lists: SlotLists,
    looks: Mapping[Region, SlotBytes],
    makes: Container[ClassType],
    ends: Container[ClassType],
    reports: int,
    settled: Container[Region] | None = None,
    uncounted: Container[Region] = frozenset(),
) -> None:
    """There is a report for each of ``looks``, and launches may have changed those that are
    ``settled``, or all; the sums of those that are ``uncounted`` were not right before. Of
    ``makes`` objects may have been made, of ``ends`` such as had lived before have been ended."""
    regions = []
    for number, (region, slots) in enumerate(looks.items()):
        if settled is None or region in settled:
            freed = 0
            if region.cls in ends:
                assert region.freed_extent is not None
                freed = region.freed_extent.address
            report = reports + number * REPORT_BYTES
            is_new = region in uncounted
            is_made = region.cls in makes
            regions.append(Settling(slots, freed, region.unused_from, report, is_new, is_made))
    lists.settle(regions)


def report_totals(lists: SlotLists, looks: Mapping[Region, SlotBytes], reports: int) -> None:
    """Let the reports say how many live."""
    places = range(reports + REPORT_USED, reports + len(looks) * REPORT_BYTES, REPORT_BYTES)
    lists.total([*looks.values()], places)


def note_reports(
    placement: ByTypePlacement,
    lists: SlotLists,
    classes: Iterable[ClassType],
    looks: Mapping[Region, SlotBytes],
    reports: int,
    loans: Mapping[ClassType, Sequence[Loan]],
) -> bool:
    """Take what ``settle_regions`` has reported, since ``begin_reports``, into the heap's books.
    Whether any objects are gone."""
    if not looks:
        return False
    report_totals(lists, looks, reports)
    found = lists.read(reports, len(looks) * REPORT_BYTES // 4).reshape(len(looks), -1)
    before = {cls: placement.count(cls) for cls in classes}
    gone = []
    for region, (has_gone, last, used, _) in zip(looks, found.tolist(), strict=True):
        mine = [loan for loan in loans.get(region.cls, ()) if loan.region is region]
        region.settle(mine, used, last)
        gone += [region] * has_gone
    if gone:
        placement.note_ended(gone)
    fewer = {region.cls for region in gone}
    for cls, count in before.items():
        # Objects whose class is only called on are still the same ones.
        if cls in fewer or placement.count(cls) != count:
            placement.note_population(cls, count)
    for region in looks:
        region.summed = placement.class_version(region.cls)
    return bool(gone)
