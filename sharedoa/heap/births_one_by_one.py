"""Objects that launches make and end where the platform's allocator places each: before a launch
the host allocates as many as its threads may make, and afterwards looks which of them there are.

These modes are baselines, so the host does all of it, with work that grows with the objects there
are. What kernels look at is a list of all places (``shown_registry``) and not memory beside the
objects: these lie as they would if no kernel made any, and a reference to freed memory may be asked
about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dispatch.births import BORN, ENDED, ENTRY_DTYPE, PLACE_DTYPE
from dispatch.dataclass import dataclass, field

from ..model.classes import ClassType
from .births import Births, Ended, Places, WithRoom, Words, laid_out, period_of
from .extents import Extent, Extents, NoRoom
from .placement import References, Selection
from .residency import Residency
from .scattered import ScatteredPlacement


@dataclass(eq=False)
class AddressPlaces(Places):
    """Places lent to a launch."""

    addresses: References = field(default_factory=lambda: np.zeros(0, np.uint64))

    @property
    def room(self) -> int:
        return len(self.addresses)

    def at(self, number: int) -> int | None:
        return int(self.addresses[number]) if number < len(self.addresses) else None


class BirthsOneByOne(Births[AddressPlaces]):
    """Of one heap."""

    def __init__(
        self,
        extents: Extents,
        placement: ScatteredPlacement,
        residency: Residency,
        with_room: WithRoom,
    ) -> None:
        super().__init__(extents, placement, with_room)
        self._residency = residency
        self.placement = placement

    def show_living(self) -> None:
        shown = self.placement.shown
        if self._with_room("the list of objects, for kernels", shown.write):
            self.placement.change_layout()

    def _find_room(self, cls: ClassType, count: int) -> None:
        self.placement.make_room(cls, count)

    def _lend(self, cls: ClassType, step: int, count: int) -> AddressPlaces:
        lacking = count - self.placement.room(cls)
        while lacking > 1:
            lacking //= 2
            try:
                self.placement.make_room(cls, self.placement.room(cls) + lacking)
            except NoRoom:
                continue
        return AddressPlaces(cls, step, addresses=self.placement.lend(cls, count))

    def publish(
        self, places: Sequence[AddressPlaces], ended: Iterable[ClassType], threads: int
    ) -> None:
        # First: making room for the table may free places, which the list has then no more.
        table, starts = self._room_for_table(places, threads)
        self.show_living()
        shown = self.placement.shown
        shown.lend()
        if table is None:
            return
        self._residency.host_uses(table.address, table.address, table.address + starts[-1])
        memory, base = table.memory, table.address
        memory[: starts[-1]] = 0
        ranked = len(places) * ENTRY_DTYPE.itemsize
        entries = memory[: len(places) * ENTRY_DTYPE.itemsize].view(ENTRY_DTYPE)
        lists, makers, counts = (
            starts[1 + part * len(places) : 1 + (part + 1) * len(places)] for part in range(3)
        )
        entries["turns"] = period_of(places)
        for number, each in enumerate(places):
            entry, start = entries[number], lists[number]
            entry["step"], entry["period"], ranks = each.numbering()
            memory[ranked : ranked + len(ranks)] = ranks
            entry["ranks"], ranked = base + ranked, ranked + len(ranks)
            entry["room"] = each.room
            entry["places"] = base + start
            entry["counts"] = base + counts[number] if each.step > 1 else 0
            entry["makers"] = 0 if each.step else base + makers[number]
            each.makers_at = makers[number]
            listed = memory[start : start + each.room * PLACE_DTYPE.itemsize].view(PLACE_DTYPE)
            listed["address"] = each.addresses
            listed["live"] = shown.byte_addresses(each.addresses)

    def _room_for_table(
        self, places: Sequence[AddressPlaces], threads: int
    ) -> tuple[Extent | None, list[int]]:
        """A table, and where its entries, with ranks behind them, the list of places of each, who
        takes them, and the counters of each begin; no table without places."""
        ranks = sum(len(each.numbering()[2]) for each in places)
        sizes = [len(places) * ENTRY_DTYPE.itemsize + ranks]
        sizes += [each.room * PLACE_DTYPE.itemsize for each in places]
        sizes += [0 if each.step else 8 * each.room for each in places]
        sizes += [4 * threads if each.step > 1 else 0 for each in places]
        starts = laid_out(sizes)
        return (self._hold(starts[-1]) if places else None), starts

    # ------------------------------------------------------------------ after a launch

    def settle(self, lent: Sequence[AddressPlaces], ended: Iterable[ClassType]) -> Ended:
        self.placement.shown.fetch()
        self.return_unused(lent)
        return Ended(to_free=self.placement.ended())

    def free(self, gone: Selection, ended: Iterable[ClassType], where: str) -> None:
        # The next launch may make as many.
        self.placement.free(gone, where, keeps_room=True)

    def return_unused(self, lent: Iterable[AddressPlaces]) -> None:
        self.placement.shown.give_back()
        for places in lent:
            addresses, order = places.addresses, places.thread_order()
            if order is not None:
                # They are numbered in that order, and lie where they are.
                addresses = np.concatenate([addresses[order], addresses[len(order) :]])
            self.placement.end_loan(places.cls, addresses)

    def _read(self, table: Extent, place: int, count: int) -> Words:
        stop = place + 8 * count
        self._residency.host_uses(table.address, table.address + place, table.address + stop)
        return table.memory[place:stop].view(np.uint64).copy()

    # ------------------------------------------------------------------ where CPython runs kernels

    def state(self, address: int) -> int:
        return self.placement.state(address)

    def end(self, address: int) -> None:
        self.placement.set_state(address, self.placement.state(address) | ENDED)

    def begin(self, cls: ClassType, address: int) -> None:
        self.placement.clear(cls, np.array([address], np.uint64))
        self.placement.set_state(address, BORN)
