"""Placement by type: every class has regions of its own, so that an address tells the class.

SharedOA's rules ("Judging a Type by Its Pointer", section 4): the first region of a class holds
``initial_region`` objects, each next one twice as many, and regions of one class that lie side by
side become one. What the paper leaves open: a request for many objects at once takes the smallest
size of that sequence that fits them; a region that has no object left is given back.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import HeapError
from ..forks import take_for_forks
from ..model.arrangement import slot_numbers
from ..model.classes import ClassType
from ..model.field_address import LANES
from ..model.layout import Layout
from ..model.reference import ReferenceEncoding
from .extents import Extent, Extents
from .growing_regions import GrowingRegions, NeededRoom
from .pieces import PieceFields
from .placement import (
    FieldPath,
    Fields,
    References,
    Selection,
    freed_reference,
    repeated_reference,
)
from .quarantine import Batch
from .rearrangement import rearrange
from .region_selection import Part, RegionSelection
from .regions import Region, has_repeated
from .residency import Residency
from .run_detection import find_runs


class ByTypePlacement(GrowingRegions):
    """All regions of one heap."""

    def __init__(
        self,
        extents: Extents,
        layout: Layout,
        encoding: ReferenceEncoding,
        residency: Residency,
        initial_region: int,
        debug: bool,
        header: Callable[[ClassType], bytes],
        retire: Callable[[Extent], None],
        pieces: PieceFields,
        in_windows: bool,
    ) -> None:
        """``debug``: what is freed is overwritten and not given out again for a while
        (``quarantine``), and kernels see which objects live; ``header`` gives the bytes that an
        object of a class starts with; ``retire`` frees an extent once launches under way have
        finished; ``in_windows``: whether classes are kept in windows apart (``class_windows``)."""
        super().__init__(extents, layout, encoding, initial_region, debug, retire, in_windows)
        self._residency = residency
        self._header = header
        self._pieces = pieces
        #: Held while the host reads or writes fields, and while fields change places.
        self.access = take_for_forks(threading.RLock())
        #: From where to where regions were that went with their last object, in order; what
        #: overlaps or touches is one.
        self._left: list[tuple[int, int]] = []
        self.population_epoch = 0
        self.population_version = 0
        self._versions: dict[ClassType, int] = {}
        self.moves = 0
        #: After how many moves objects of exactly this class had moved last.
        self._last_move: dict[ClassType, int] = {}
        self.needed = NeededRoom()

    # ------------------------------------------------------------------ making and freeing

    def allocate(self, cls: ClassType, count: int, fields: Fields) -> Selection:
        header = self._header(cls)
        before = self.count(cls)
        missing = count - sum(region.room for region in self.regions(cls))
        taken: list[tuple[Part, bool]] = []
        position = 0
        try:
            if missing > 0:
                self._grow(cls, missing)
            for region in self.regions(cls):
                wanted = min(count - position, region.room)
                if wanted == 0:
                    continue
                if header or fields:
                    self._fetch_unused(region, wanted)
                for slots, is_reused in region.take(wanted):
                    taken.append((Part.at(region, position, slots), is_reused))
                    position += taken[-1][0].count
            for part, is_reused in taken:
                if is_reused:
                    part.host_uses(self._residency)
                    with self.access:
                        part.region.clear(part.slots)
            made = self._selection([part for part, _ in taken], count)
            made.initialise(header, fields)
        except BaseException:
            self._take_back(cls, taken)
            raise
        self.note_population(cls, before)
        return made

    def allocate_one(self, cls: ClassType) -> tuple[Region, int] | None:
        """Make one object, all zero, whose header is still to be set: its region and slot, the
        same as ``allocate`` would take. None if there is no room."""
        for region in self._of_class.get(cls, ()):
            if region.room:
                break
        else:
            return None
        before = region.used or self.count(cls)
        slot, is_reused = region.take_one()
        try:
            if self._residency.moves:
                self._residency.host_uses(region.start, *region.span(slot, slot))
            if is_reused:
                with self.access:
                    region.clear(slot)
            self.note_population(cls, before)
        except BaseException:
            region.take_back(slice(slot, slot + 1, 1), 1, is_reused)
            raise
        return region, slot

    def free_one(self, region: Region, slot: int) -> bool:
        """The same as ``free`` for an object that lives; but the first region of a class stays when
        its last object goes, for the next one, until the memory is wanted (``release_deleted``).
        False, having done nothing, where more than that is to be done."""
        cls = region.cls
        if self._quarantine is not None or (region.used == 1 and not self._is_first(region)):
            return False
        region.prepare_to_free(1)
        self._last_deletion.setdefault(cls, 0)
        # Nothing below can fail.
        region.live[slot] = 0
        self.deletions += 1
        self._last_deletion[cls] = self.deletions
        with self.access:
            region.note_freed(slot, self.deletions)
            region.give_back_one(slot)
        if not region.used:
            self.needed.forget(cls)
        self.note_population(cls, 1)
        self._note_end_of(cls)
        self.generation += 1
        return True

    def _is_first(self, region: Region) -> bool:
        """Whether its class has no other one, nor ever had more room than this."""
        return region.capacity <= self.initial_region and len(self._of_class[region.cls]) == 1

    def _take_back(self, cls: ClassType, taken: list[tuple[Part, bool]]) -> None:
        """What was to become new objects is free again."""
        for part, is_reused in reversed(taken):
            part.host_uses(self._residency)
            part.region.take_back(part.slots, part.count, is_reused)
        self._drop_idle(self.regions(cls))

    def _fetch_unused(self, region: Region, count: int) -> None:
        first = region.unused_from
        last = min(first + count, region.capacity) - 1
        if first > last:
            return
        start, end = region.span(first, last)
        if self._residency.transfer_between(start, end) is None:
            self._residency.host_uses(region.start, start, end)

    def free(self, selection: Selection, where: str = "", keeps_room: bool = False) -> None:
        assert isinstance(selection, RegionSelection)
        parts = selection.parts
        touched = {id(part.region): part.region for part in parts}
        before = {region.cls: self.count(region.cls) for region in touched.values()}
        numbers = [slot_numbers(part.slots) for part in parts]
        for region in touched.values():
            region.prepare_to_free(sum(part.count for part in parts if part.region is region))
            self._last_deletion.setdefault(region.cls, 0)
        self._mark_dead(parts)
        # Nothing below can fail.
        self.deletions += 1
        for cls in before:
            self._last_deletion[cls] = self.deletions
            self._note_end_of(cls)
        with self.access:
            for part, freed in zip(parts, numbers, strict=True):
                region = part.region
                region.note_freed(part.slots, self.deletions)
                if self._quarantine is None:
                    region.give_back(freed)
                else:
                    region.withhold(part.slots, freed)
                    self._quarantine.add(region, freed, region.arrangement.record.size, where)
        if not keeps_room:
            for cls in before:
                is_empty = not self.count(cls)
                own = self.regions(cls) if is_empty else touched.values()
                self._drop_idle(each for each in own if each.cls is cls)
        if self._quarantine is not None:
            self._release(self._quarantine.overdue())
        for cls, count in before.items():
            self.note_population(cls, count)
        self.generation += 1

    def _drop_idle(self, regions: Iterable[Region], amid: bool = False) -> None:
        """Give back those that nobody needs; only ``amid`` others of their class also those before
        objects, where the next ones would be made: where these stand is not to depend on where
        regions end."""
        for region in [*regions]:
            own = self.regions(region.cls)
            behind = (region,) if amid else own[own.index(region) :]
            if all(each.is_idle for each in behind):
                self._note_reached(region.cls)
                self.replace((region,), ())
                self.free_region(region)
                self._note_left(region.start, region.end)
                if not self.regions(region.cls):
                    self.needed.forget(region.cls)

    def _note_reached(self, cls: ClassType) -> None:
        before = reached = 0
        for region in self.regions(cls):
            reached = before + region.unused_from if region.unused_from else reached
            before += region.capacity
        self.needed.note(cls, reached)

    def needed_room(self, cls: ClassType) -> int:
        """How many slots of a class would have been enough since its objects were put together:
        the same on every backend."""
        self._note_reached(cls)
        return self.needed.room(cls, self.first_room)

    def _note_left(self, start: int, end: int) -> None:
        near = [each for each in self._left if each[0] <= end and start <= each[1]]
        starts, ends = zip((start, end), *near, strict=True)
        apart = [each for each in self._left if each not in near]
        self._left = sorted([*apart, (min(starts), max(ends))])

    def _release(self, batches: Iterable[Batch[Region]]) -> None:
        touched: dict[int, Region] = {}
        for batch in batches:
            batch.owner.release(batch.places)
            touched[id(batch.owner)] = batch.owner
        self._drop_idle(touched.values())

    def release_deleted(self, amid: bool = True) -> None:
        """Let all memory of deleted objects be given out again, also to others. No launch may be
        under way."""
        if self._quarantine is not None:
            self._release(self._quarantine.everything())
        every = [region for cls in [*self._of_class] for region in self.regions(cls)]
        self._drop_idle(every, amid)

    def deleted_at(self, address: int) -> tuple[ClassType, str] | None:
        """What was deleted at ``address`` and by which line, as long as that is known."""
        if self._quarantine is None:
            return None
        try:
            region, slot = self.locate(address)
        except HeapError:
            return None
        where = self._quarantine.find(region, slot)
        return None if where is None else (region.cls, where)

    def _mark_dead(self, parts: list[Part]) -> None:
        marked: list[Part] = []
        try:
            for part in parts:
                live = part.region.live
                if has_repeated(part.slots) or not live[part.slots].all():
                    raise repeated_reference()
                live[part.slots] = 0
                marked.append(part)
        except BaseException:
            for part in marked:
                part.region.live[part.slots] = 1
            raise

    def note_population(self, cls: ClassType, before: int) -> None:
        """There may be others than the ``before`` objects that there were of a class."""
        self.population_version += 1
        self._versions[cls] = self._versions.get(cls, 0) + 1
        if (before == 0) != (self.count(cls) == 0):
            self.population_epoch += 1

    # ------------------------------------------------------------------ made and ended in kernels

    def note_ended(self, touched: Iterable[Region]) -> None:
        """A launch has ended objects in these regions, whose slots are free."""
        self.deletions += 1
        for region in touched:
            self._last_deletion[region.cls] = self.deletions
        self.generation += 1

    def selection(self, parts: list[Part]) -> RegionSelection:
        """Objects one after another, as ``parts`` has them."""
        return self._selection(parts, sum(part.count for part in parts))

    def class_version(self, cls: ClassType) -> tuple[int, int]:
        """Another one when other objects of exactly this class live, or elsewhere."""
        return self._versions.get(cls, 0), self.moves

    def header(self, cls: ClassType) -> bytes:
        """What every object of a class starts with."""
        return self._header(cls)

    def show_freed(self, classes: Iterable[ClassType]) -> None:
        """Let kernels write with which deletion objects of these classes went. Raises NoRoom."""
        for region in (region for cls in classes for region in self.regions(cls)):
            if region.freed_extent is None:
                region.show_freed(self._extents.allocate(4 * region.capacity, from_top=True))

    # ------------------------------------------------------------------ moved objects

    def new_region(self, cls: ClassType, count: int) -> Region:
        """For ``count`` objects of ``cls`` that will come from other regions (``exchange``). Raises
        NoRoom."""
        # The same on every backend, whatever its layout.
        region = self._reserve(cls, -(-count // LANES) * LANES)
        region.forget_deletions()
        return region

    def new_grave(self, cls: ClassType) -> Region:
        """For references to deleted objects of a class whose places others may get (``exchange``):
        they stay references to something deleted. Raises NoRoom."""
        region = self._reserve(cls, LANES)
        region.become_grave()
        return region

    def grave(self, cls: ClassType) -> Region | None:
        """That of a class, if it has one; it is not among its ``regions``."""
        graves = (each for each in self.all_regions() if each.is_grave)
        return next((each for each in graves if each.cls is cls), None)

    def with_grave(self, cls: ClassType) -> Region:
        """That of a class, which has one from now on. Raises NoRoom."""
        found = self.grave(cls)
        if found is None:
            found = self.new_grave(cls)
            self.replace((), (found,))
        return found

    def exchange(self, gone: Sequence[Region], come: Sequence[Region]) -> None:
        """The same objects are in other regions now."""
        for cls in dict.fromkeys(region.cls for region in gone):
            self._last_move[cls] = self.moves + 1
            own = [[each for each in regions if each.cls is cls] for regions in (gone, come)]
            self.replace(*own)
            self.needed.note_together(cls, self.count(cls))
        for region in gone:
            self.free_region(region)
        self.generation += 1
        self.population_version += 1
        self.moves += 1

    def have_moved(self, cls: ClassType, since: int) -> bool:
        return any(self._last_move.get(each, 0) > since for each in cls.descendants())

    def places_left(self) -> list[tuple[int, int]]:
        """Where regions were whose objects have all gone, and none is now: memory may still refer
        to deleted objects there, unless ``forget_places_left`` was called since."""
        found: list[tuple[int, int]] = []
        starts, regions = self._index
        for start, end in self._left:
            first = max(bisect_right(starts, start) - 1, 0)
            for region in regions[first : bisect_left(starts, end)]:
                if start < region.end:
                    found.append((start, max(start, region.start)))
                    start = region.end
            found.append((start, end))
        return [(start, end) for start, end in found if start < end]

    def forget_places_left(self) -> None:
        """Nothing refers to them any more."""
        self._left = []

    # ------------------------------------------------------------------ regions

    def _note_end_of(self, cls: ClassType) -> None:
        """An object of the class has gone, and another one may come to lie in its place."""
        if cls.frozen:
            self.change_layout()  # code may know what it held

    def change_layout(self) -> None:
        self.layout_epoch += 1

    def change_code(self) -> None:
        # Without a call between, amid which other threads, who need no lock, would see places that
        # there were before, or are still to come.
        self.code_epoch += 1
        self.layout_epoch += 1

    def rearrange(self, layout: Layout) -> None:
        """From now on objects lie as ``layout`` says, whose clusters may be others. No launch may
        be under way, and the layout epoch has been raised."""
        with self.access:
            for region in self.all_regions():
                rearrange(region, layout.arrangement(region.cls), self._extents, self._residency)
            for region in self._every_region:
                region.have(layout.arrangement(region.cls))
            self._layout = layout
            self.change_code()  # who looked at a region meanwhile looks again

    # ------------------------------------------------------------------ fields and objects

    def read_one(self, address: int, path: FieldPath) -> Any:
        with self.access:
            region, slot = self.locate_live(address)
            self._residency.host_uses(region.start, *region.span(slot, slot))
            return region.field(path)[slot]

    def write_one(
        self, address: int, path: FieldPath, value: Any, index: tuple[int, ...] | None
    ) -> None:
        with self.access:
            region, slot = self.locate_live(address)
            self._residency.host_uses(region.start, *region.span(slot, slot))
            if index is None:
                self._pieces.written(region.cls, path.name, value)
                region.field(path)[slot] = value
            else:
                region.field(path)[(slot, *index)] = value

    def select(self, references: References) -> Selection:
        addresses: References = self._encoding.address(references)
        parts = find_runs(
            addresses, lambda place: self.locate(int(addresses[place]), f"element {place}: ")
        )
        if parts is None:
            parts = self.scattered_parts(addresses)
        for part in parts:
            live = part.region.live[part.slots]
            if not live.all():
                dead = int(np.flatnonzero(live == 0)[0])
                place = int(np.arange(len(references))[part.where][dead])
                raise freed_reference(int(addresses[place]), part.region.cls, f"element {place}: ")
        return self._selection(parts, len(references))

    def objects(self, classes: Sequence[ClassType]) -> Selection:
        parts: list[Part] = []
        position = 0
        for region in (region for cls in classes for region in self.regions(cls)):
            part = Part.at(region, position, region.live_slots())
            parts += [part] if part.count else []
            position += part.count
        return self._selection(parts, position)

    def _selection(self, parts: list[Part], count: int) -> RegionSelection:
        return RegionSelection(
            parts, count, self._encoding, self._residency, self._pieces, self.access
        )
