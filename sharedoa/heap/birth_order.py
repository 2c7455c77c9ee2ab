"""New objects stand in the order of the threads that made them, also where threads took places from
one counter, in the order in which they came.

After the launch the objects change places among those that were taken, and the references that the
launch has stored follow; in a heap that is not ``ordered`` they stay. So that it has stored all
that lead there, what refers to objects that had these places before, and were deleted, refers to
the class's grave from before the launch on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatch.dataclass import dataclass

from ..errors import HeapError
from .births import Places, laid_out
from .births_by_class import BirthsByClass, SlotPlaces
from .extents import Extent, NoRoom
from .moving import reference_columns
from .object_moves import Shape, decoding, forwarding, numbers_of, parts_of
from .placement import References
from .regions import Loan, Region, SlotNumbers

if TYPE_CHECKING:
    from ..model.arrangement import Arrangement
    from .heap import Heap

_Taken = Sequence[tuple[Region, SlotNumbers]]


def part_with_deleted(heap: Heap, lent: Iterable[Places]) -> None:
    """A launch is about to make objects in these places. Raises HeapError without memory, having
    changed nothing that a program sees."""
    births = heap.memory.births
    if not heap.ordered or not isinstance(births, BirthsByClass):
        return
    reused: list[_Taken] = []
    for places in lent:
        if isinstance(places, SlotPlaces) and not places.step:
            listed = [(loan.region, _reused(loan)) for loan in places.loans]
            reused += [found] if (found := [pair for pair in listed if len(pair[1])]) else []
    if not reused:
        return

    def attempt() -> None:
        for taken in reused:
            births.placement.with_grave(taken[0][0].cls)
        changes = []
        for taken in reused:
            before = _references(heap, taken)
            grave = numbers_of(births.placement.with_grave(taken[0][0].cls), heap.encoding).first
            changes.append(_Change(taken, before, np.full_like(before, grave)))
        _run(heap, births, changes, copies=False)

    heap.memory.with_room("references to deleted objects whose places others get", attempt)


def _reused(loan: Loan) -> SlotNumbers:
    """The lent slots that had other objects before."""
    if loan.slots is not None:
        return loan.slots[loan.slots < loan.unused_from]
    return np.flatnonzero(loan.region.live[: loan.unused_from] == 0)[: loan.count]


def put_in_order(heap: Heap, lent: Iterable[Places]) -> None:
    """The launch that made objects in these places has ended; what it did is still to be settled.
    Where objects are placed one by one they stay, and ``settle`` numbers them in that order.

    Raises HeapError without memory for it, having changed nothing.
    """
    births = heap.memory.births
    if not heap.ordered or not isinstance(births, BirthsByClass):
        return
    changes, states = [], []
    for places in lent:
        if isinstance(places, SlotPlaces) and (order := places.thread_order()) is not None:
            taken, moves = births.taken(places), order != np.arange(len(order))
            references = _references(heap, taken)
            changes.append(_Change(taken, references[order[moves]], references[moves]))
            states.append(np.concatenate([region.live[slots] for region, slots in taken])[order])
    if not changes:
        return
    try:
        _run(heap, births, changes, copies=True)
    except NoRoom as shortage:
        if births.shortages:
            return  # the launch reports that there was no room for all
        # Nothing is collected: the books do not know yet what new objects refer to.
        raise HeapError(
            f"no room for putting {sum(each.count for each in changes):,} new objects in the order "
            f"of their threads: {shortage.asked:,} bytes asked for, {shortage.free:,} bytes free; "
            "they live, and stand in another order",
            "delete objects or drop arrays, or give the heap more: oa.Heap(capacity=...)",
        ) from None
    for change, state in zip(changes, states, strict=True):
        for region, slots in change.taken:
            region.live[slots], state = state[: len(slots)], state[len(slots) :]
    _move_proxies(heap, changes)


def _references(heap: Heap, taken: _Taken) -> References:
    addresses = np.concatenate([region.addresses(slots) for region, slots in taken])
    found: References = heap.encoding.encode(addresses, taken[0][0].cls.type_index)
    return found


@dataclass(frozen=True, eq=False)
class _Change:
    """What refers to objects ``before``, of one class, all in slots of ``taken``, is to refer to
    those in ``after``."""

    taken: _Taken
    before: References
    after: References

    @property
    def count(self) -> int:
        return len(self.before)

    @property
    def arrangement(self) -> Arrangement:
        return self.taken[0][0].arrangement

    @property
    def block_bytes(self) -> int:
        """What the objects need side by side."""
        return -(-self.count // self.arrangement.lanes) * self.arrangement.block_bytes


def _run(heap: Heap, births: BirthsByClass, changes: Sequence[_Change], copies: bool) -> None:
    """Raises NoRoom, having changed nothing."""
    work = _Work(heap, births, changes)
    try:
        with births.placement.access:
            work.run(copies)
            # What the memory is then given to must not wait for this.
            heap.backend.synchronize()
    finally:
        heap.memory.free_work(work.extent)
    heap.note_reference_writes()


def _move_proxies(heap: Heap, changes: Iterable[_Change]) -> None:
    """Where CPython has run the kernel, it knows objects."""
    known = heap.proxies.all()
    if not known:
        return
    moved: dict[int, int] = {}
    for change in changes:
        moved.update(zip(change.before.tolist(), change.after.tolist(), strict=True))
    references = [moved.get(reference, reference) for reference, _ in known]
    heap.proxies.follow(known, references)


class _Work:
    """The lists and tables of changes, in a piece of the heap's memory."""

    def __init__(self, heap: Heap, births: BirthsByClass, changes: Sequence[_Change]) -> None:
        """Raises NoRoom."""
        self._heap, self._changes = heap, changes
        self._decoding = decoding(heap.encoding)
        item, moves = self._decoding.item, heap.backend.object_moves
        # The launch may have made others in any slot that it had.
        slots = {
            each: min(each.capacity, each.unused_from + each.lent)
            for each in births.placement.all_regions()
        }
        held = {region.cls for each in changes for region, _ in each.taken}
        self._columns = [*reference_columns(heap, slots, held)]
        self._regions: list[Region] = [region for each in changes for region, _ in each.taken]
        columns, none = moves.column_table(self._columns), [0] * len(self._regions)
        parts = [parts_of(each.arrangement) for each in changes]
        known = [slots[region] for region in self._regions]
        sizes = [forwarding(self._regions, known, none, none).nbytes, columns.nbytes]
        for change, part in zip(changes, parts, strict=True):
            sizes += [part.nbytes, item * change.count, item * change.count]
        sizes += [max(each.block_bytes for each in changes)]
        sizes += [item * (count + 1) for count in known]
        starts = laid_out(sizes)
        self.extent: Extent = heap.memory.work_memory(starts[-1])
        addresses = iter([self.extent.address + start for start in starts])
        self._table, self._column_table = next(addresses), next(addresses)
        self._lists = [(next(addresses), next(addresses), next(addresses)) for _ in changes]
        self._blocks = next(addresses)
        words = [next(addresses) for _ in self._regions]
        try:
            heap.residency.host_uses(self.extent.address, self._table, self._blocks)
            self._write(self._table, forwarding(self._regions, known, words, none))
            self._write(self._column_table, columns)
            for change, part, (shape, before, after) in zip(
                changes, parts, self._lists, strict=True
            ):
                self._write(shape, part)
                self._write(before, change.before.astype(heap.encoding.dtype))
                self._write(after, change.after.astype(heap.encoding.dtype))
        except BaseException:
            heap.memory.free_work(self.extent)
            raise

    def _write(self, address: int, values: np.ndarray[Any, Any]) -> None:
        start = address - self.extent.address
        self.extent.memory[start : start + values.nbytes] = values.view(np.uint8)

    def run(self, copies: bool) -> None:
        """Let references follow; ``copies``: objects change places, too."""
        heap, how, table = self._heap, self._decoding, self._table
        moves, regions = heap.backend.object_moves, len(self._regions)
        heap.before_launch()
        for change, (parts, before, after) in zip(self._changes, self._lists, strict=True):
            arrangement, count = change.arrangement, change.count
            if copies:
                shift, number = arrangement.lanes.bit_length() - 1, len([*arrangement.parts()])
                shape = Shape(arrangement.block_bytes, shift, parts, number)
                moves.gather(how, shape, before, count, self._blocks)
                moves.scatter(how, shape, self._blocks, after, count)
            moves.forward(how, table, regions, before, after, count)
        moves.follow(how, table, regions, self._columns, self._column_table, True)
