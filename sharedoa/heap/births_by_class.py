"""Objects that launches make and end where each class has regions of its own: free slots of these,
and one byte a slot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dispatch.births import BORN, ENDED, ENTRY_DTYPE, SEGMENT_DTYPE
from dispatch.dataclass import dataclass
from dispatch.range_table import encode_stride

from ..errors import HeapError
from ..model.classes import ClassType
from .births import ALIGNMENT, Births, Ended, Places, WithRoom, Words, laid_out, period_of
from .by_type import ByTypePlacement
from .extents import Extent, Extents
from .placement import Selection
from .regions import Loan, Region, SlotNumbers
from .slots import Listed, Slots, Table


@dataclass(eq=False)
class SlotPlaces(Places):
    """Slots that regions have lent a launch."""

    loans: Sequence[Loan] = ()
    #: Where in the birth table the slots are listed.
    listed_at: int = 0

    @property
    def room(self) -> int:
        return sum(loan.count for loan in self.loans)

    def at(self, number: int) -> int | None:
        for loan in self.loans:
            if number < loan.count:
                assert loan.slots is not None
                slot = int(loan.slots[number])
                return int(loan.region.addresses(slice(slot, slot + 1, 1))[0])
            number -= loan.count
        return None


class BirthsByClass(Births[SlotPlaces]):
    """Of one heap."""

    def __init__(
        self,
        extents: Extents,
        placement: ByTypePlacement,
        slots: Slots,
        with_room: WithRoom,
    ) -> None:
        super().__init__(extents, placement, with_room)
        self._slots = slots
        self.placement = placement
        self._reports = 0

    def show(self, ended: Iterable[ClassType]) -> None:
        """Let kernels see which objects live, and note which of exactly these classes go. Raises
        HeapError."""
        self.show_living()
        self._with_room("which objects go", lambda: self._slots.prepare(ended))

    def show_living(self) -> None:
        self._with_room("one byte an object, for kernels", self.placement.show_living)

    def _find_room(self, cls: ClassType, count: int) -> None:
        self.placement.make_room(cls, count)

    def _lend(self, cls: ClassType, step: int, count: int) -> SlotPlaces:
        return SlotPlaces(cls, step, loans=self._slots.lend(cls, count))

    def publish(
        self, places: Sequence[SlotPlaces], ended: Iterable[ClassType], threads: int
    ) -> None:
        ended = [*ended]
        self._with_room("which objects go", lambda: self._slots.prepare(ended))
        classes = {*ended, *(each.cls for each in places)}
        regions = sum(self.placement.region_count(cls) for cls in classes)
        made = self.lay_out(places, regions * self._slots.report_bytes, threads)
        if made is not None:
            extent, table, self._reports = made
            self._slots.publish(extent, table)

    def lay_out(
        self, places: Sequence[SlotPlaces], report_bytes: int, threads: int
    ) -> tuple[Extent, Table, int] | None:
        """The table of a launch, where it lies, and the address of so many bytes for reports; None
        if there is nothing in it. Raises HeapError without room for it."""
        segments = [_segments(each) for each in places]
        entries = np.zeros(len(places), ENTRY_DTYPE)
        numberings = [each.numbering() for each in places]
        ranks = [ranks for _, _, ranks in numberings]
        heads = [part.view(np.uint8) for part in (entries, *segments, *ranks)]
        heads = [*heads, np.zeros(-sum(map(len, heads)) % ALIGNMENT, np.uint8)]
        sizes = [sum(map(len, heads)), report_bytes]
        sizes += [4 * each.room for each in places]
        sizes += [0 if each.step else 8 * each.room for each in places]
        sizes += [4 * threads if each.step > 1 else 0 for each in places]
        starts = laid_out(sizes)
        if not starts[-1]:
            return None
        table = self._hold(starts[-1])
        base = table.address
        lists, makers, counts = (
            starts[2 + part * len(places) : 2 + (part + 1) * len(places)] for part in range(3)
        )
        entries["turns"] = period_of(places)
        listed: list[Listed] = []
        first = entries.nbytes
        ranked = first + sum(each.nbytes for each in segments)
        for place, each in enumerate(places):
            entry = entries[place]
            entry["step"], entry["period"], own = numberings[place]
            entry["ranks"], ranked = base + ranked, ranked + len(own)
            entry["room"] = each.room
            entry["segments"] = base + first
            entry["places"] = base + lists[place]
            entry["counts"] = base + counts[place] if each.step > 1 else 0
            entry["makers"] = 0 if each.step else base + makers[place]
            entry["stride"] = _stride(each)
            each.makers_at, each.listed_at = makers[place], lists[place]
            stops = range(
                base + first, base + first + segments[place].nbytes, SEGMENT_DTYPE.itemsize
            )
            listed.append(Listed(base + lists[place], each.loans, stops))
            first += segments[place].nbytes
        zeros = [(base + starts[1], starts[2] - starts[1])]
        zeros += [(base + counts[0], starts[-1] - counts[0])] if places else []
        head = np.concatenate(heads)
        found = Table(starts[-1], head, listed, [z for z in zeros if z[1]])
        return table, found, base + starts[1]

    # ------------------------------------------------------------------ after a launch

    def settle(self, lent: Sequence[SlotPlaces], ended: Iterable[ClassType]) -> Ended:
        loans = {places.cls: places.loans for places in lent}
        return self._slots.settle(loans, ended, self._reports)

    def free(self, gone: Selection, ended: Iterable[ClassType], where: str) -> None:
        # The next launch may make as many.
        self.placement.free(gone, where, keeps_room=True)
        for region in (region for cls in ended for region in self.placement.regions(cls)):
            region.list_again()

    def return_unused(self, lent: Iterable[SlotPlaces]) -> None:
        for loan in (loan for places in lent for loan in places.loans):
            loan.give_back()

    def _read(self, table: Extent, place: int, count: int) -> Words:
        return self._slots.read(table, place, count)

    def taken(self, places: SlotPlaces) -> list[tuple[Region, SlotNumbers]]:
        """After a launch whose threads counted together: the slots that they took, by region."""
        count = min(len(places.makers), places.room)
        found = []
        if any(loan.slots is None for loan in places.loans):
            assert self._table is not None
            words = self._read(self._table, places.listed_at, -(-count // 2))
            every = words.view(np.uint32)[:count].astype(np.int64)
        else:
            listed = [loan.slots for loan in places.loans if loan.slots is not None]
            every = np.concatenate(listed)[:count]
        for loan in places.loans:
            own, every = every[: loan.count], every[loan.count :]
            if len(own):
                found.append((loan.region, own))
        return found

    # ------------------------------------------------------------------ where CPython runs kernels

    def state(self, address: int) -> int:
        try:
            region, slot = self.placement.locate(address)
        except HeapError:
            return 0
        return int(region.live[slot])

    def end(self, address: int) -> None:
        region, slot = self.placement.locate(address)
        region.live[slot] |= ENDED

    def begin(self, cls: ClassType, address: int) -> None:
        region, slot = self.placement.locate(address)
        region.clear(slice(slot, slot + 1, 1))
        region.live[slot] = BORN


def _segments(places: SlotPlaces) -> np.ndarray[Any, Any]:
    found = np.zeros(len(places.loans), SEGMENT_DTYPE)
    stop = 0
    for segment, loan in zip(found, places.loans, strict=True):
        region = loan.region
        stop += loan.count
        assert region.live_extent is not None
        segment["stop"], segment["start"] = stop, region.start
        segment["live"] = region.live_extent.address
    return found


def _stride(places: SlotPlaces) -> int:
    if not places.loans:
        return 0
    arrangement = places.loans[0].region.arrangement
    return encode_stride(arrangement.record.size, arrangement.is_tiled)
