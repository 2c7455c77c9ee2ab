"""What the device does around the launches of a captured step: it lists who lives and free slots
before them, and notes what lives now after them (``population_sequence``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dispatch.dataclass import replace

from ..backends.base import KernelLaunch
from ..heap.births_by_class import SlotPlaces
from ..heap.heap import Heap
from ..heap.living import births_by_class
from ..heap.object_moves import numbers_of
from ..heap.regions import Loan, Region
from ..heap.slot_lists import Listing, SlotBytes, SlotLists
from ..heap.slots_on_device import settle_regions, write_table
from ..model.classes import ClassType
from ..model.scalars import i64
from ..model.types import ArrayType, ReferenceType
from .population_plan import CannotPlanError, Planned
from .populations import classes_below

if TYPE_CHECKING:
    from .launch_sequence import RecordedLaunch


class Surroundings:
    """What the device does around the launches of a run: the launches for it, one after another."""

    def __init__(self, heap: Heap, looks: Mapping[Region, SlotBytes], reports: int) -> None:
        """``looks``: which slots of each region to look at; ``reports``: the address of what the
        device says of them."""
        self._heap, self.looks, self._reports = heap, looks, reports
        self._births = births_by_class(heap)
        self._slot_lists: SlotLists = heap.backend.slot_lists
        self._lists: dict[tuple[ClassType, ...], tuple[Any, Any]] = {}
        self.forget()

    def forget(self) -> None:
        """Begin again with the first launch."""
        self._listed: set[tuple[ClassType, ...]] = set()
        #: Launches around which the device does nothing, by what they are: each is bound once.
        self.alone: dict[tuple[Any, ...], RecordedLaunch] = {}

    def list_living(self, planned: Planned, most: int) -> tuple[tuple[Any, Any], list[Listing]]:
        """A list of the receivers and how many they are, as arguments, and what is to be listed for
        that, if an earlier launch of the run has not."""
        listings: list[Listing] = []
        receivers, placement = planned.receivers, self._births.placement
        regions = [region for cls in receivers for region in placement.regions(cls)]
        type = planned.program.source.signature.types[0]
        assert isinstance(type, ArrayType) and isinstance(type.element, ReferenceType)
        key = *receivers, type.element.cls
        if key not in self._lists:
            made = self._heap.blank(type.element, most), self._heap.zeros(len(regions), i64)
            self._lists[key] = made
        objects, counts = self._lists[key]
        if key not in self._listed:
            before, item = 0, self._heap.encoding.dtype.itemsize
            for number, region in enumerate(regions):
                after = counts._address + 8 * number
                numbers = numbers_of(region, self._heap.encoding)
                slots, where = self.looks[region], (objects._address, item, before, after)
                listings.append(Listing(slots, True, most, numbers, *where))
                before = after
            self._listed.add(key)
        return (objects, counts[len(regions) - 1 :]), listings

    def write_lists(
        self, planned: Planned, threads: int, living: Sequence[Listing], count: int | None
    ) -> list[KernelLaunch]:
        """The launches that write lists of who lives, and the birth table; ``count`` is the address
        of a word that says how many of the threads have an object, if not all do."""
        placement = self._births.placement
        lists, launches = self._slot_lists.recorder()
        places = []
        for cls, step in planned.made.items():
            loans: list[Loan] = []
            most = planned.most_made(cls, threads)
            if most:
                loans += (Loan(each, 0, each.unused_from) for each in placement.regions(cls))
                if not loans:
                    raise CannotPlanError  # an empty region had to go for what is recorded
                loans[0] = replace(loans[0], count=most)
            places.append(SlotPlaces(cls, step, planned.turns.get(cls), loans=loans))
        laid_out = self._births.lay_out(places, 0, threads)
        if laid_out is not None:
            extent, table, _ = laid_out
            limits = {
                listed.address: (count, place.step)
                for listed, place in zip(table.lists, places, strict=True)
                if count is not None
            }
            looks = self.looks
            write_table(placement, lists, extent, table, looks, limits, living)
        elif living:
            lists.list_slots(living)
        return launches

    def settle(self, planned: Planned) -> list[KernelLaunch]:
        """The launches that note what lives now."""
        births = planned.births
        if not births.changes:
            return []
        lists, launches = self._slot_lists.recorder()
        ended = classes_below(births)
        looks, address = self.looks, self._reports
        settled = {r for r in looks if r.cls in births.made or r.cls in ended}
        settle_regions(lists, looks, births.made, ended, address, settled)
        changed = {region.cls for region in settled}
        self._listed = {key for key in self._listed if changed.isdisjoint(key)}
        return launches
