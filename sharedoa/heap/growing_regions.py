"""Regions of classes as they grow: how large the next one is, where it lies, and which become one.

Below ``ByTypePlacement``, which says whose regions and objects come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import product
from weakref import WeakSet

from ..model.arrangement import Arrangement
from ..model.classes import ClassType
from ..model.field_address import LANES
from ..model.layout import Layout
from ..model.reference import ReferenceEncoding
from .class_windows import ClassWindows
from .extents import Extent, Extents, NoRoom, rounded
from .quarantine import Quarantine
from .region_index import RegionIndex
from .regions import Region
from .slot_lists import SlotBytes


class NeededRoom:
    """How much room classes of a heap have been in need of, by which objects move by themselves.

    Not how much there is: a device makes room for several runs of a captured step at once, regions
    of tiles end elsewhere, and what moves by itself must do so at the same moment everywhere. So
    slots are counted from the first one of a class on, whichever regions they are in.
    """

    def __init__(self) -> None:
        #: Slots that a class has been in need of, and objects that it had when they were put
        #: together last.
        self._most: dict[ClassType, int] = {}
        self._together: dict[ClassType, int] = {}

    def note(self, cls: ClassType, slots: int) -> None:
        """It has been in need of its first ``slots``."""
        self._most[cls] = max(slots, self._most.get(cls, 0))

    def note_together(self, cls: ClassType, count: int) -> None:
        """Its objects have the first ``count`` slots."""
        self._most[cls] = self._together[cls] = count

    def forget(self, cls: ClassType) -> None:
        """It has no objects, and hardly any room."""
        self._most.pop(cls, None)
        self._together.pop(cls, None)

    def room(self, cls: ClassType, least: int) -> int:
        """So many slots would be enough if room doubled where it is not, from ``least`` on or what
        there was for the objects that were put together."""
        most = self._most.get(cls, 0)
        room = max(least, self._together.get(cls, 0))
        while room < most:
            room *= 2
        return room


class GrowingRegions(RegionIndex):
    """All regions of one heap, and the memory that they take."""

    def __init__(
        self,
        extents: Extents,
        layout: Layout,
        encoding: ReferenceEncoding,
        initial_region: int,
        debug: bool,
        retire: Callable[[Extent], None],
        in_windows: bool,
    ) -> None:
        """As in ``ByTypePlacement``."""
        super().__init__(encoding)
        self._extents = extents
        self._layout = layout
        self.initial_region = initial_region
        #: So many slots a class has at least, whatever its layout.
        self.first_room = -(-initial_region // LANES) * LANES
        self._shows_living = debug
        self._quarantine = Quarantine[Region](extents.capacity) if debug else None
        self._retire = retire
        self._windows = ClassWindows(extents) if in_windows else None
        #: These, and those that were merged and that selections still know.
        self._every_region: WeakSet[Region] = WeakSet()
        self.generation = 0
        self.deletions = 0

    # ------------------------------------------------------------------ room

    def make_room(self, cls: ClassType, count: int) -> None:
        """Room for ``count`` more objects. Raises NoRoom, having changed nothing."""
        if self._missing(cls, count) > 0:
            self._grow(cls, self._missing(cls, count))

    def make_room_for_all(self, wanted: Mapping[ClassType, int], besides: Collection[int]) -> None:
        """Room for so many more objects of each class, which kernels may end, and for ``besides``
        in bytes. Raises NoRoom; where plainly not all fit, nothing changed."""
        missing = {cls: self._missing(cls, count) for cls, count in wanted.items()}
        missing = {cls: count for cls, count in missing.items() if count > 0}
        doubled = {cls: self._next_capacity(cls, count) for cls, count in missing.items()}
        for capacities, merges in product((doubled, missing), (True, False)):
            sizes = [size for cls in wanted for size in self._sizes(cls, capacities, merges)]
            if self._extents.has_room([*sizes, *besides]):
                for cls, capacity in capacities.items():
                    self._add(cls, capacity, merges)
                return
        raise NoRoom(sum(sizes), self._extents.free_bytes, self._extents.capacity)

    def _sizes(
        self, cls: ClassType, capacities: Mapping[ClassType, int], merges: bool
    ) -> Iterator[int]:
        """Bytes of what a class may take if it gets another region, which perhaps ``merges`` with
        those that it has: of its objects, of who lives, and of who has gone (``show_freed``)."""
        regions = self.regions(cls)
        untold = [region.capacity for region in regions if region.freed_extent is None]
        if cls in capacities:
            capacity = self._whole_tiles(cls, capacities[cls])
            yield capacity * self._layout.record(cls).size
            living = [capacity]
            untold.append(capacity)
            if merges and regions:
                all_in_one = capacity + sum(region.capacity for region in regions)
                living.append(all_in_one)
                untold = [all_in_one]
            yield from map(_living_bytes, living if self._shows_living else ())
        yield from (4 * each for each in untold)

    def _missing(self, cls: ClassType, count: int) -> int:
        return count - sum(region.room for region in self.regions(cls))

    def _grow(self, cls: ClassType, missing: int) -> None:
        """Add a region for ``missing`` objects at least; raises NoRoom, having changed nothing."""
        capacity = self._next_capacity(cls, missing)
        while True:
            try:
                return self._add(cls, capacity)
            except NoRoom:
                # Less than the doubling sequence asks for is better than nothing.
                if capacity == missing:
                    raise
                capacity = max(missing, capacity // 2)

    def _next_capacity(self, cls: ClassType, missing: int) -> int:
        """Of a region for so many objects at least: as much as there is doubles."""
        initial = self.initial_region
        held = sum(region.capacity for region in self.regions(cls))
        capacity = initial << (held // initial).bit_length()
        while capacity < missing:
            capacity *= 2
        return capacity

    def _add(self, cls: ClassType, capacity: int, merges: bool = True) -> None:
        region = self._reserve(cls, capacity, beside=next(reversed(self.regions(cls)), None))
        self.replace((), (region,))
        if merges:
            self._merge_with_last(region)

    def _whole_tiles(self, cls: ClassType, capacity: int) -> int:
        """The capacity of a region for so many objects at least."""
        arrangement = self._layout.arrangement(cls)
        size, lanes = arrangement.record.size, arrangement.lanes
        capacity = -(-capacity // lanes) * lanes
        # Slots between this one and a neighbour would else come up in the midst of both.
        filled = rounded(capacity * size)
        return capacity if filled % arrangement.block_bytes else filled // size

    def _reserve(self, cls: ClassType, capacity: int, beside: Region | None = None) -> Region:
        """A region of its own, or ``beside`` another one if there is room."""
        arrangement, capacity = self._layout.arrangement(cls), self._whole_tiles(cls, capacity)
        taken = [self._place(cls, capacity * arrangement.record.size, beside)]
        try:
            live = self._live_extent(capacity)
            taken += [] if live is None else [live]
            return self._region(cls, arrangement, capacity, taken[0], live)
        except BaseException:
            for extent in taken:
                self._extents.free(extent)
            raise

    def _region(
        self,
        cls: ClassType,
        arrangement: Arrangement,
        capacity: int,
        extent: Extent,
        live: Extent | None,
    ) -> Region:
        region = Region(cls, arrangement, capacity, extent, live, self.deletions)
        self._every_region.add(region)
        return region

    def _live_extent(self, capacity: int) -> Extent | None:
        """Where a region keeps which of its objects live, if kernels read it. Raises NoRoom."""
        if not self._shows_living:
            return None
        return self._extents.allocate(_living_bytes(capacity), from_top=True)

    def show_living(self) -> None:
        """From now on kernels can read which objects live: debug mode. Raises NoRoom, having
        changed nothing."""
        if self._shows_living:
            return
        taken: list[Extent] = []
        regions = list(self.all_regions())
        try:
            for region in regions:
                taken.append(self._extents.allocate(_living_bytes(region.capacity), from_top=True))
        except BaseException:
            for extent in taken:
                self._extents.free(extent)
            raise
        for region, extent in zip(regions, taken, strict=True):
            region.show_living(extent)
        self._shows_living = True
        self.layout_epoch += 1

    def _place(self, cls: ClassType, size: int, beside: Region | None) -> Extent:
        if self._windows is None:
            near = beside and self._extents.allocate_after(beside.extent, size)
            return near or self._extents.allocate(size)
        own = (region.extent for region in reversed(self.regions(cls)))
        every = (region.end - region.start for region in self.all_regions())
        return self._windows.allocate(size, own, every)

    def free_region(self, region: Region) -> None:
        """The memory of a region that no address leads to."""
        for extent in (region.extent, *region.own_extents):
            self._extents.free(extent)

    # ------------------------------------------------------------------ neighbours

    def _merge_with_last(self, high: Region) -> None:
        """One region instead of a new one and the one before it of its class, where they are
        neighbours. No others may become one, as that would change the order of objects."""
        before = self.regions(high.cls)[:-1]
        if not before:
            return
        low = before[-1]
        arrangement = low.arrangement
        if (high.start - low.start) % arrangement.block_bytes:
            return
        if low.lent:
            return  # a launch knows it
        extent = self._extents.join(low.extent, high.extent)
        if extent is None:
            return
        capacity = (high.end - low.start) // arrangement.record.size
        live = None
        try:
            live = self._live_extent(capacity)
            merged = self._region(low.cls, arrangement, capacity, extent, live)
            merged.absorb(low)
        except (NoRoom, MemoryError):
            if live is not None:
                self._extents.free(live)
            return  # two ranges work as well as one
        if self._quarantine is not None:
            self._quarantine.move(low, merged)
        self.replace((low, high), (merged,))
        for region in (low, high):
            for extent in region.own_extents:
                self._retire(extent)
        self.generation += 1


def _living_bytes(capacity: int) -> int:
    """Of what tells kernels which objects of a region live."""
    return SlotBytes.of_all(0, capacity).size
