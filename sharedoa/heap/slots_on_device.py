"""Free slots for launches, listed and settled by the device that runs them: the host knows how many
there are, and sees the bytes that say which only where somebody asks for objects one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from ..model.classes import ClassType
from .by_type import ByTypePlacement
from .extents import Extent
from .regions import Loan, Region
from .slot_lists import SLOT_NUMBERS, Numbering, SlotLists
from .slots import Ended, Table

_REPORT_WORDS = 4


def count_living(placement: ByTypePlacement, region: Region, lists: SlotLists) -> None:
    """``SlotLists.count``, unless nothing has changed since it was done, or settled, last."""
    version = placement.class_version(region.cls)
    if region.summed != version:
        lists.count(region.slot_bytes)
        region.summed = version


class SlotsOnDevice:
    """``slots.Slots``."""

    report_bytes = 4 * _REPORT_WORDS

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
        lists = self._lists
        lists.store(extent.address, table.head.view(np.uint64).tolist())
        for start, size in table.zeros:
            lists.clear(start, size)
        for listed in table.lists:
            address = listed.address
            for loan in listed.loans:
                slots = loan.region.slot_bytes
                count_living(self._placement, loan.region, lists)
                lists.list(slots, False, loan.count, SLOT_NUMBERS, address, 4)
                self._write_headers(loan, address)
                address += 4 * loan.count

    def _write_headers(self, loan: Loan, slots: int) -> None:
        region = loan.region
        header = self._placement.header(region.cls)
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
        value = int.from_bytes(header, "little")
        self._lists.write_headers(slots, loan.count, where, value, size)

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
        deletion = placement.deletions + 1
        for number, region in enumerate(regions):
            freed = 0
            if region.cls in ends:
                assert region.freed_extent is not None
                freed = region.freed_extent.address
            report = reports + number * self.report_bytes
            lists.settle(region.slot_bytes, freed, deletion, region.unused_from, report)
        found = lists.read(reports, len(regions) * _REPORT_WORDS).reshape(-1, _REPORT_WORDS)
        before = {cls: placement.count(cls) for cls in classes}
        gone = []
        for region, (has_gone, last, used, _) in zip(regions, found.tolist(), strict=True):
            mine = [loan for loan in loans.get(region.cls, ()) if loan.region is region]
            region.settle(mine, used, last)
            gone += [region] * has_gone
        if gone:
            placement.note_ended(gone)
        for cls in classes:
            placement.note_population(cls, before[cls])
        for region in regions:
            region.summed = placement.class_version(region.cls)
        return Ended(are_freed=bool(gone))
