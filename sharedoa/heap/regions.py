"""A region: slots for objects of one class, side by side ("Judging a Type by Its Pointer", 4).

Slots are taken from the free list first, then from the part that was never used. One byte a slot
says whether an object lives there; in debug mode kernels read these too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any
from weakref import ref

import numpy as np

from dispatch.dataclass import dataclass

from ..model.arrangement import Arrangement, Slots, SlotValues
from ..model.classes import ClassType
from .extents import Extent
from .placement import FieldPath, References
from .slot_lists import SlotBytes
from .transfer import Column, Values

POISON = 0xDD
_NEVER = 1 << 62
"""More deletions than there will be."""
_NO_SLOTS = np.zeros(0, np.int64)
_FEW = 16
"""Slots that are sorted at each use whatever there are; its root times that of all others are, too.
"""

SlotNumbers = np.ndarray[Any, np.dtype[np.int64]]


class FreeList:
    """Slot numbers, of which the lowest go out first; whole arrays go in and out at once. Which
    slot an object gets does not depend on what a region has room for, or on who was deleted first.

    Most are in ascending order. Those that came late are in descending order behind them: to sort
    these few at each use, and all together only when they are more than a few square roots, spares
    a look at all for each that comes.
    """

    def __init__(self) -> None:
        self._slots = _NO_SLOTS
        #: Where those in the list begin, where those that came late do, and where all end.
        self._first = self._late = self._end = 0
        self._is_sorted = True
        #: How many of those taken out last were before ``_first``; others are behind ``_end``.
        self._taken = 0

    def __len__(self) -> int:
        return self._end - self._first

    def reserve(self, count: int) -> None:
        """Make room for so many more. Afterwards ``push`` of these needs no memory."""
        if self._end + count > len(self._slots):
            grown = np.empty(max(len(self) + count, 2 * len(self)), np.int64)
            grown[: len(self)] = self.all()
            moved = self._first
            self._slots, self._first = grown, 0
            self._late, self._end = self._late - moved, self._end - moved

    def push(self, slots: np.ndarray[Any, Any]) -> None:
        self.reserve(len(slots))
        end = self._end + len(slots)
        self._slots[self._end : end] = slots
        self._end, self._is_sorted = end, False

    def push_one(self, slot: int) -> None:
        self.reserve(1)
        self._slots[self._end] = slot
        self._end, self._is_sorted = self._end + 1, False

    def pop(self) -> int:
        """The lowest one."""
        self._sort()
        most, late = self._late - self._first, self._end - self._late
        if late and (not most or self._slots[self._end - 1] < self._slots[self._first]):
            slot = self._slots[self._end - 1]
        else:
            slot = self._slots[self._first]
        self.drop(1, slot)
        return int(slot)

    def lowest(self, count: int) -> np.ndarray[Any, Any]:
        """In ascending order."""
        self._sort()
        most = self._slots[self._first : self._late][:count]
        late = self._slots[self._late : self._end][::-1][:count]
        both = np.concatenate([most, late])
        if len(late):
            sort(both)
        return both[:count]

    def drop(self, count: int, last: int) -> None:
        """Take out the ``count`` lowest, up to ``last``."""
        most = self._slots[self._first : self._late]
        self._taken = int(most.searchsorted(last, "right"))
        self._first += self._taken
        self._end -= count - self._taken

    def put_back(self, count: int) -> None:
        """All that were taken out last."""
        self._first -= self._taken
        self._end += count - self._taken

    def all(self) -> np.ndarray[Any, Any]:
        return self._slots[self._first : self._end]

    def _sort(self) -> None:
        if self._is_sorted:
            return
        late = self._end - self._late
        if late > _FEW and late**2 > _FEW * (self._late - self._first):
            sort(self.all())
            self._late = self._end
        else:
            sort(self._slots[self._late : self._end][::-1])
        self._is_sorted = True


def sort(slots: np.ndarray[Any, Any]) -> None:
    """In place; of parts that are in order in one look."""
    slots.sort(kind="stable")


class Region:
    """``capacity`` slots, a multiple of the arrangement's groups, in ``extent``; ``live`` is one
    byte a slot, in ``live_extent``, of zeros at first, where kernels are to read it."""

    def __init__(
        self,
        cls: ClassType,
        arrangement: Arrangement,
        capacity: int,
        extent: Extent,
        live_extent: Extent | None,
        deletions: int = 0,
    ) -> None:
        """``deletions``: how many there have been in the heap."""
        self.cls = cls
        self.arrangement = arrangement
        self.capacity = capacity
        self.extent = extent
        self.live_extent: Extent | None = None
        size = capacity * arrangement.record.size
        self.start = extent.address
        self.end = extent.address + size
        self.memory = extent.memory[:size]
        # Zeros, which are not written: of a large region that would be each of the host's pages.
        self.live = np.zeros(capacity, np.uint8)
        if live_extent is not None:
            self.live, self.live_extent = live_extent.memory[:capacity], live_extent
        self.unused_from = 0
        #: None where it is to be made again from what lives.
        self._free_list: FreeList | None = FreeList()
        #: Whether a device has settled what lives.
        self._is_settled = False
        #: The version of the class (``ByTypePlacement.class_version``) that sums of what lives are
        #: of.
        self.summed: tuple[int, int] | None = None
        self.used = 0
        #: Slots of deleted objects that are not to be given out yet (``quarantine``).
        self.withheld = 0
        #: Slots that a launch under way may make objects in, and nobody else.
        self.lent = 0
        self._fields: dict[FieldPath, SlotValues] = {}
        #: Whether it only stands for objects that were deleted (``ByTypePlacement.new_grave``).
        self.is_grave = False
        self._records: SlotValues | None = None
        self._flat: dict[str, Any] = {}
        #: Regions that have become this one, and what views of their memory refer to.
        self._former: list[tuple[ref[Region], ref[Any]]] = []
        #: After how many deletions the region began, and with which of them the object in each slot
        #: went last: of those that were known before, none is here.
        self._born = deletions
        self._freed: np.ndarray[Any, np.dtype[np.uint32]] | None = None
        self.freed_extent: Extent | None = None

    @property
    def free_list(self) -> FreeList:
        if self._free_list is None:
            self._free_list = FreeList()
            self._free_list.push(np.flatnonzero(self.live[: self.unused_from] == 0))
        return self._free_list

    @property
    def is_known_to_device(self) -> bool:
        """Whether nobody on the host has looked which slots live since a device has settled that,
        and they are not simply the first ones."""
        return self._is_settled and self._free_list is None and self.used != self.unused_from

    def list_again(self) -> None:
        """The next who needs a free slot looks which there are, in ascending order."""
        if not (self.withheld or self.lent):
            self._free_list = None

    @cached_property
    def slot_bytes(self) -> SlotBytes:
        """Where kernels find which objects live."""
        assert self.live_extent is not None
        return SlotBytes.of_all(self.live_extent.address, self.capacity)

    @property
    def own_extents(self) -> list[Extent]:
        """What it has beside the memory of its objects."""
        return [each for each in (self.live_extent, self.freed_extent) if each is not None]

    def show_living(self, extent: Extent) -> None:
        """Keep which objects live in ``extent``, where kernels can read it."""
        lives = extent.memory[: self.capacity]
        lives[:] = self.live
        self.live, self.live_extent = lives, extent

    def show_freed(self, extent: Extent) -> None:
        """Keep with which deletion the object in each slot went last in ``extent``, of zeros, where
        kernels can write it."""
        freed = extent.memory[: 4 * self.capacity].view(np.uint32)
        if self._freed is not None:
            freed[:] = self._freed
        self._freed, self.freed_extent = freed, extent

    def have(self, arrangement: Arrangement) -> None:
        """Fields have moved: now they lie as another arrangement of the same records says."""
        self.arrangement = arrangement
        self._fields.clear()
        self._records = None

    @property
    def is_viewed(self) -> bool:
        """Whether somebody may have NumPy's views of fields, which share memory with objects."""
        kept = [self.memory, self.extent.memory, self._records, *self._fields.values()]
        own = [each for each in (*kept, *self._flat.values()) if isinstance(each, np.ndarray)]
        # Fields in tiles are read as copies.
        if not self.arrangement.is_tiled and references_to_base(self.memory, own):
            return True
        for region, base in self._former:
            former = region()
            if former.is_viewed if former is not None else base() is not None:
                return True
        return False

    @property
    def room(self) -> int:
        return self.capacity - self.used - self.withheld - self.lent

    @property
    def is_idle(self) -> bool:
        """Whether nobody needs its memory."""
        return self.used == self.withheld == self.lent == 0

    def field(self, path: FieldPath) -> SlotValues:
        """The field of every slot, live or not, in the region's memory."""
        found = self._fields.get(path)
        if found is None:
            found = self.arrangement.field(self.memory, path.name, path.components)
            self._fields[path] = found
        return found

    def flat(self, format: Any) -> Any:
        """All of the region's memory as items: a ``memoryview`` of a format such as "f", or a NumPy
        array of a dtype such as "f4"."""
        found = self._flat.get(format)
        if found is None:
            memory: Any = self.memory
            found = memory.view(format) if len(format) > 1 else memoryview(memory).cast(format)
            self._flat[format] = found
        return found

    def column(self, path: FieldPath, slots: slice) -> Column:
        """The field of consecutive slots, for a device that moves it."""
        return self._column(slots, *self.arrangement.record.part(path.name, path.components))

    def header_column(self, size: int, slots: slice) -> Column:
        """The first ``size`` bytes of their records."""
        return self._column(slots, 0, np.dtype(f"u{size}"))

    def _column(self, slots: slice, offset: int, dtype: np.dtype[Any]) -> Column:
        arrangement, count = self.arrangement, slots.stop - slots.start
        size, addressing = arrangement.record.size, arrangement.addressing(offset)
        return Column(self.start, size, offset, dtype, slots.start, count, addressing)

    def take(self, count: int) -> list[tuple[Slots, bool]]:
        """Make ``count`` objects, at most ``room``; their headers are still to be set. The second
        number tells slots that had other objects before, and are still to be cleared."""
        taken: list[tuple[Slots, bool]] = []
        reused = min(count, len(self.free_list))
        if reused:
            numbers = self.free_list.lowest(reused)
            taken.append((as_slots(numbers), True))
        fresh = count - reused
        if fresh:
            taken.append((slice(self.unused_from, self.unused_from + fresh, 1), False))
        # Nothing below can fail.
        if reused:
            self.free_list.drop(reused, numbers[-1])
        self.unused_from += fresh
        for slots, _ in taken:
            self.live[slots] = 1
        self.used += count
        return taken

    def take_one(self) -> tuple[int, bool]:
        """The same for one object: its slot, and whether that had another one before."""
        is_reused = len(self.free_list) > 0
        slot = self.free_list.pop() if is_reused else self.unused_from
        # Nothing below can fail.
        self.unused_from += not is_reused
        self.live[slot] = 1
        self.used += 1
        return slot, is_reused

    def take_back(self, slots: Slots, count: int, is_reused: bool) -> None:
        """The opposite of ``take``, of what was taken last first; needs no memory."""
        if is_reused:
            self.free_list.put_back(count)
        else:
            assert isinstance(slots, slice)
            self.clear(slots)
            self.unused_from = slots.start
        self.live[slots] = 0
        self.used -= count

    def clear(self, slots: Slots | int) -> None:
        records = self._records
        if records is None:
            records = self._records = self.arrangement.records(self.memory)
        records[slots] = np.zeros((), records.dtype)

    def set_header(self, slots: Slots, header: bytes) -> None:
        if header:
            headers = self.arrangement.header(self.memory, len(header))
            headers[slots] = np.frombuffer(header, headers.dtype)[0]

    def give_back(self, numbers: SlotNumbers) -> None:
        """Put the slots of objects that are marked as not live on the free list."""
        self.free_list.push(numbers)
        self.used -= len(numbers)

    def give_back_one(self, slot: int) -> None:
        self.free_list.push_one(slot)
        self.used -= 1

    def withhold(self, slots: Slots, numbers: SlotNumbers) -> None:
        """Overwrite objects that are marked as not live, and give out their slots, which have these
        ``numbers``, only after ``release``."""
        records = self.arrangement.records(self.memory)
        dead = np.full(records.dtype.itemsize, POISON, np.uint8)
        records[slots] = dead.view(records.dtype)[0]
        self.used -= len(numbers)
        self.withheld += len(numbers)

    def release(self, numbers: SlotNumbers) -> None:
        self.free_list.push(numbers)
        self.withheld -= len(numbers)

    def lend(self, count: int) -> Loan:
        """The first ``count`` free slots, or all, for a launch to make objects in."""
        count = min(count, self.room)
        if self.withheld or self.lent:
            listed = np.sort(self.free_list.all())
        else:
            listed = np.flatnonzero(self.live[: self.unused_from] == 0)
        listed, others = listed[:count], listed[count:]
        before = self.unused_from
        fresh = np.arange(before, before + count - len(listed))
        loan = Loan(self, count, before, np.concatenate([listed, fresh]))
        free = FreeList()
        free.reserve(len(others) + count)  # those that come back, too
        free.push(others)
        # Nothing below can fail.
        self._free_list = free
        self.unused_from += len(fresh)
        self.lent += count
        return loan

    def lend_unlisted(self, count: int) -> Loan:
        """The same where a device lists the slots. Nobody takes or frees any until ``settle``."""
        loan = Loan(self, min(count, self.room), self.unused_from)
        self.lent += loan.count
        return loan

    def settle(self, loans: Iterable[Loan], used: int, unused_from: int) -> None:
        """A device has noted who was made and who was ended: now so many live, in slots before
        ``unused_from``."""
        self.lent -= sum(loan.count for loan in loans)
        self.used, self.unused_from = used, max(self.unused_from, unused_from)
        self._is_settled = True
        self.list_again()

    def end_loan(self, loan: Loan, born: SlotNumbers, touched: SlotNumbers) -> None:
        """Objects were made in the slots ``touched``, and live in ``born``; the others are free.
        All are in ascending order."""
        slots, unused_from = loan.slots, self.unused_from
        if slots is None:
            self.lent -= loan.count
            return
        if not len(slots):
            return
        if unused_from == max(loan.unused_from, int(slots[-1]) + 1):
            # What was never used, and nobody has taken since, still is not.
            last = int(touched[-1]) if len(touched) else -1
            unused_from = max(loan.unused_from, last + 1)
        is_free = slots < unused_from
        is_free[np.searchsorted(slots, born)] = False
        returned = slots[is_free]
        self.free_list.reserve(len(returned))
        # Nothing below can fail.
        self.live[slots] = 0
        self.live[born] = 1
        self.free_list.push(returned)
        self.unused_from = unused_from
        self.lent -= len(slots)
        self.used += len(born)

    def prepare_to_free(self, count: int) -> None:
        """What else freeing so many slots needs memory for."""
        self.free_list.reserve(count)
        if self._freed is None:
            self._freed = np.zeros(self.capacity, np.uint32)

    def note_freed(self, slots: Slots | int, deletion: int) -> None:
        assert self._freed is not None
        self._freed[slots] = deletion

    def freed_after(self, slots: Slots, deletions: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """For each slot, whether what was there after so many deletions went later."""
        if self._born > deletions:
            return np.ones(self.live[slots].shape, np.bool_)
        if self._freed is None:
            return np.zeros(self.live[slots].shape, np.bool_)
        later: np.ndarray[Any, np.dtype[np.bool_]] = self._freed[slots] > deletions
        return later

    def is_freed_after(self, slot: int, deletions: int) -> bool:
        """``freed_after`` of one slot."""
        freed = self._freed
        return self._born > deletions or (freed is not None and bool(freed[slot] > deletions))

    def become_grave(self) -> None:
        """No object will ever live here, and all that lead here were deleted."""
        self.is_grave, self._born = True, _NEVER

    def forget_deletions(self) -> None:
        """No reference leads here to what was deleted."""
        self._born, self._freed = 0, None

    def live_slots(self) -> Slots:
        if self.used == self.unused_from:
            return slice(0, self.used, 1)
        return as_slots(np.flatnonzero(self.live[: self.unused_from] != 0))

    def addresses(self, slots: Slots) -> np.ndarray[Any, np.dtype[np.uint64]]:
        return self.arrangement.addresses(self.start, slots)

    def slot(self, address: int) -> int | None:
        """The slot whose object has that address; None if there is none."""
        if not self.start <= address < self.end:
            return None
        return self.arrangement.slot(address - self.start)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Addresses between which the slots from first to last lie."""
        start, end = self.arrangement.span(first, last)
        return self.start + start, self.start + end

    def absorb(self, low: Region) -> None:
        """Take over the objects of a region whose memory is the first part of this one's; in the
        rest there never were any."""
        former = [pair for pair in low._former if pair[1]() is not None]
        self._former += [*former, (ref(low), ref(low.memory.base))]
        # Of the rest nothing is known from before this one began.
        if self._born != low._born or low._freed is not None:
            self._freed = np.full(self.capacity, self._born, np.uint32)
            mine = self._freed[: low.capacity]
            mine[:] = low._born
            if low._freed is not None:
                np.maximum(mine, low._freed, out=mine)
            self._born = low._born
        self.live[: low.unused_from] = low.live[: low.unused_from]
        self.used, self.withheld = low.used, low.withheld
        self.unused_from = low.unused_from
        self.free_list.push(low.free_list.all())


@dataclass(frozen=True, eq=False)
class Loan:
    """The first ``count`` free slots of a region, which a launch may make objects in: ``slots`` in
    ascending order, None where a device lists them. From ``unused_from`` on none was used before.
    """

    region: Region
    count: int
    unused_from: int
    slots: SlotNumbers | None = None

    def give_back(self) -> None:
        """There was no launch."""
        self.region.end_loan(self, _NO_SLOTS, _NO_SLOTS)


def references_to_base(memory: Values, own: Sequence[Values]) -> int:
    """How many there are to the array that ``memory`` is a view of, but for those of ``own``: views
    of views are NumPy's views of the first one."""
    base = memory.base
    assert base is not None
    return sys.getrefcount(base) - sum(each.base is base for each in own) - _FROM_HERE


_FROM_HERE = 0
_A_VIEW = np.zeros(2)[1:]
_FROM_HERE = references_to_base(_A_VIEW, [_A_VIEW])


def has_repeated(slots: Slots | References) -> bool:
    if isinstance(slots, slice):
        return False
    ordered = np.sort(slots)
    return bool((ordered[1:] == ordered[:-1]).any())


def as_slots(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> Slots:
    """A slice if the numbers follow one another."""
    count = len(numbers)
    # Without NumPy's functions written in Python, which take as long as a thousand numbers.
    is_dense = count > 0 and numbers[-1] - numbers[0] == count - 1
    if is_dense and (numbers[1:] - numbers[:-1] == 1).all():
        return slice(int(numbers[0]), int(numbers[0]) + count, 1)
    return numbers
