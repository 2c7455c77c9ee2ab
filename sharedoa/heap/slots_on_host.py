"""Free slots for launches, listed and settled by the host: where CPython runs kernels, on a CPU,
and in debug mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dispatch.births import BORN, ENDED, LIVED

from ..model.classes import ClassType
from .births import Ended, Words
from .by_type import ByTypePlacement
from .extents import Extent
from .region_selection import Part
from .regions import Loan
from .residency import Residency
from .slots import Table


class SlotsOnHost:
    """``slots.Slots``."""

    report_bytes = 0

    def __init__(self, placement: ByTypePlacement, residency: Residency) -> None:
        self._placement, self._residency = placement, residency

    def lend(self, cls: ClassType, count: int) -> list[Loan]:
        """See ``slots.Slots``."""
        header = self._placement.header(cls)
        loans: list[Loan] = []
        try:
            for region in self._placement.regions(cls):
                loan = region.lend(count)
                count -= loan.count
                if loan.count:
                    loans.append(loan)
                    if header:
                        assert loan.slots is not None
                        Part.at(region, 0, loan.slots).host_uses(self._residency)
                        region.set_header(loan.slots, header)
        except BaseException:
            for loan in loans:
                loan.give_back()
            raise
        return loans

    def prepare(self, ended: Iterable[ClassType]) -> None:
        """See ``slots.Slots``."""

    def publish(self, extent: Extent, table: Table) -> None:
        """See ``slots.Slots``."""
        self._residency.host_uses(extent.address, extent.address, extent.address + table.size)
        memory = extent.memory
        memory[: table.size] = 0
        memory[: table.head.nbytes] = table.head
        for listed in table.lists:
            start = listed.address - extent.address
            for loan in listed.loans:
                assert loan.slots is not None
                memory[start : start + 4 * loan.count].view(np.uint32)[:] = loan.slots
                start += 4 * loan.count

    def read(self, extent: Extent, place: int, count: int) -> Words:
        """See ``slots.Slots``."""
        stop = place + 8 * count
        self._residency.host_uses(extent.address, extent.address + place, extent.address + stop)
        return extent.memory[place:stop].view(np.uint64).copy()

    def settle(
        self,
        loans: Mapping[ClassType, Sequence[Loan]],
        ended: Iterable[ClassType],
        reports: int,
    ) -> Ended:
        """See ``slots.Slots``."""
        placement = self._placement
        for cls, lent in loans.items():
            before = placement.count(cls)
            for loan in lent:
                assert loan.slots is not None
                region, states = loan.region, loan.region.live[loan.slots]
                born = loan.slots[states & (BORN | ENDED) == BORN]
                region.end_loan(loan, born, loan.slots[states & BORN != 0])
                region.list_again()
                if len(born):
                    placement.note_population(cls, before)
        parts: list[Part] = []
        position = 0
        for region in (region for cls in ended for region in placement.regions(cls)):
            slots = np.flatnonzero(region.live[: region.unused_from] & ENDED != 0)
            if len(slots):
                region.live[slots] = LIVED
                parts.append(Part.at(region, position, slots))
                position += len(slots)
        return Ended(to_free=placement.selection(parts))
