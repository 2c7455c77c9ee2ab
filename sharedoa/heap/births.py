"""Objects that launches make and end: places for new ones before, the heap's books afterwards.

The table that kernels read (``dispatch.births``), and the lists that it leads to, lie in one piece
of heap memory, which every launch fills anew. From ``lend`` to ``settle`` free slots are lent to
the launch, and nobody else takes or frees them; the caller holds the lock on the heap's books.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakMethod

import numpy as np

from dispatch.births import ENTRY_DTYPE, SEGMENT_DTYPE
from dispatch.range_table import encode_stride

from ..errors import HeapError
from ..model.classes import ClassType
from .by_type import ByTypePlacement
from .extents import Extent, Extents
from .regions import Loan, Region
from .slots import Ended, Listed, Slots, Table

_ALIGNMENT = 64
WithRoom = Callable[[str, Callable[[], Any]], Any]
"""Calls something that may raise NoRoom, collects what is free if it does, and tries again; then
raises HeapError, which names what room is for."""


@dataclass(eq=False)
class Places:
    """Where a launch may make objects of one class: slots that regions have lent it. ``step``: how
    many are each thread's own, 0 where all threads take from the same; ``wanted``: how many were
    asked for, if that was more than there are."""

    cls: ClassType
    step: int
    loans: list[Loan]
    wanted: int = 0

    @property
    def room(self) -> int:
        return sum(loan.count for loan in self.loans)

    @property
    def shortage(self) -> str:
        """In words, when more were asked for."""
        return (
            f"there is room for {self.room:,} new objects of {self.cls}, and {self.wanted:,} were "
            "to be made; the others are None to the program"
        )

    def at(self, number: int) -> tuple[Region, int] | None:
        """The place of that number."""
        for loan in self.loans:
            if number < loan.count:
                assert loan.slots is not None
                return loan.region, int(loan.slots[number])
            number -= loan.count
        return None


class Births:
    """Of one heap."""

    def __init__(
        self,
        extents: Extents,
        placement: ByTypePlacement,
        slots: Slots,
        with_room: WithRoom,
    ) -> None:
        self._extents, self._slots = extents, slots
        self.placement = placement
        # What holds this would else be held by it.
        self._weak_with_room = WeakMethod(with_room)
        self._table: Extent | None = None
        self._reports = 0
        self._reserved: dict[ClassType, int] = {}
        #: What the last launch had no room for, in words.
        self.shortages: dict[ClassType, str] = {}

    @property
    def table(self) -> int:
        """The address of the birth table; 0 before the first launch that needs it."""
        return 0 if self._table is None else self._table.address

    def show(self, ended: Iterable[ClassType]) -> None:
        """Let kernels see which objects live, and note which of exactly these classes go. Raises
        HeapError."""
        self.show_living()
        self._with_room("which objects go", lambda: self._slots.prepare(ended))

    def _with_room(self, what: str, attempt: Callable[[], Any]) -> Any:
        with_room = self._weak_with_room()
        assert with_room is not None
        return with_room(what, attempt)

    def reserve(self, cls: ClassType, count: int) -> None:
        """Room for ``count`` more objects, now and for each launch of which nobody knows how many
        it makes. Raises HeapError, having changed nothing."""
        self._make_room(cls, count)
        self._reserved[cls] = count

    def show_living(self) -> None:
        """Let kernels see which objects live. Raises HeapError."""
        self._with_room("one byte an object, for kernels", self.placement.show_living)

    # ------------------------------------------------------------------ before a launch

    def lend(self, made: Mapping[ClassType, int | None], threads: int) -> list[Places]:
        """Room for what ``threads`` threads may make, each so many objects of a class, None for any
        number. Where there is no room for what all may make, there is what fits."""
        lent: list[Places] = []
        try:
            for cls, each in made.items():
                lent.append(self._lend(cls, each, threads))
        except BaseException:
            self.return_unused(lent)
            raise
        return lent

    def _lend(self, cls: ClassType, each: int | None, threads: int) -> Places:
        wanted = threads * each if each is not None else self._reserved.get(cls, threads)
        try:
            self._make_room(cls, wanted)
        except HeapError:
            each = None  # as many as there is room for
        return Places(cls, each or 0, self._slots.lend(cls, wanted))

    def _make_room(self, cls: ClassType, count: int) -> None:
        what = f"{count:,} more objects of {cls.name}"
        self._with_room(what, lambda: self.placement.make_room(cls, count))

    def publish(self, places: Sequence[Places], ended: Iterable[ClassType], threads: int) -> None:
        """Write the table for a launch that makes objects in ``places`` and ends some of exactly
        the classes ``ended``. Raises HeapError without room for it."""
        ended = [*ended]
        self._with_room("which objects go", lambda: self._slots.prepare(ended))
        classes = {*ended, *(each.cls for each in places)}
        regions = sum(self.placement.region_count(cls) for cls in classes)
        laid_out = self.lay_out(places, regions * self._slots.report_bytes, threads)
        if laid_out is not None:
            extent, table, self._reports = laid_out
            self._slots.publish(extent, table)

    def lay_out(
        self, places: Sequence[Places], report_bytes: int, threads: int
    ) -> tuple[Extent, Table, int] | None:
        """The table of a launch, where it lies, and the address of so many bytes for reports; None
        if there is nothing in it. Raises HeapError without room for it."""
        segments = [_segments(each) for each in places]
        entries = np.zeros(len(places), ENTRY_DTYPE)
        heads = [part.view(np.uint8) for part in (entries, *segments)]
        heads = [*heads, np.zeros(-sum(map(len, heads)) % _ALIGNMENT, np.uint8)]
        sizes = [sum(map(len, heads)), report_bytes]
        sizes += [4 * each.room for each in places]
        sizes += [4 * threads if each.step > 1 else 0 for each in places]
        starts = np.cumsum([0, *(-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes)]).tolist()
        if not starts[-1]:
            return None
        self._hold(starts[-1])
        table = self._table
        assert table is not None
        base = table.address
        lists, counts = starts[2 : 2 + len(places)], starts[2 + len(places) : -1]
        listed: list[Listed] = []
        first = entries.nbytes
        for place, each in enumerate(places):
            entry = entries[place]
            entry["step"], entry["room"] = each.step, each.room
            entry["segments"] = base + first
            entry["places"] = base + lists[place]
            entry["counts"] = base + counts[place] if each.step > 1 else 0
            entry["stride"] = _stride(each)
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

    def _hold(self, size: int) -> None:
        """Memory for a table of ``size`` bytes; kernels are told of another address."""
        if self._table is not None and self._table.size >= size:
            return
        made: Extent = self._with_room(
            "the list of places for new objects",
            lambda: self._extents.allocate(2 * size, from_top=True),
        )
        if self._table is not None:
            self._extents.free(self._table)
        self._table = made
        self.placement.change_layout()

    # ------------------------------------------------------------------ after a launch

    def settle(self, lent: Iterable[Places], ended: Iterable[ClassType]) -> Ended:
        """Note the objects that were made, and those that were ended, of exactly the classes
        ``ended``."""
        loans = {places.cls: places.loans for places in lent}
        return self._slots.settle(loans, ended, self._reports)

    def return_unused(self, lent: Iterable[Places]) -> None:
        """There was no launch."""
        for loan in (loan for places in lent for loan in places.loans):
            loan.give_back()

    def note_shortages(self, lent: Sequence[Places]) -> None:
        """After a launch: of which classes its threads asked for more than there was room for."""
        self.shortages = {}
        common = [number for number, places in enumerate(lent) if not places.step]
        if not common:
            return
        assert self._table is not None and ENTRY_DTYPE.fields is not None
        at = ENTRY_DTYPE.fields["next"][1]
        words = [number * ENTRY_DTYPE.itemsize + at for number in common]
        asked = self._slots.asked_for(self._table, words)
        for number, wanted in zip(common, asked, strict=True):
            places = lent[number]
            places.wanted = wanted
            if places.wanted > places.room:
                self.shortages[places.cls] = places.shortage


def _segments(places: Places) -> np.ndarray[Any, Any]:
    found = np.zeros(len(places.loans), SEGMENT_DTYPE)
    stop = 0
    for segment, loan in zip(found, places.loans, strict=True):
        region = loan.region
        stop += loan.count
        assert region.live_extent is not None
        segment["stop"], segment["start"] = stop, region.start
        segment["live"] = region.live_extent.address
    return found


def _stride(places: Places) -> int:
    if not places.loans:
        return 0
    arrangement = places.loans[0].region.arrangement
    return encode_stride(arrangement.record.size, arrangement.is_tiled)
