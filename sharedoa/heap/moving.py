"""``oa.compact`` and ``oa.sort``: objects change places, and every reference follows.

The objects of a class go side by side into a new region of their size, in the order that is asked
for; then references in fields, arrays, values and Python's proxies are looked up by address and
written anew; then the old regions go. A reference to a deleted object in one of these becomes
null: somebody else may soon live there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, HeapError
from ..model.classes import ClassType
from ..model.object import shared_type
from ..model.types import Type
from ..model.values import describe
from . import hooks
from .by_type import ByTypePlacement
from .conversion import holds_references
from .objects import ManyObjects
from .placement import FieldPath, References, repeated_reference
from .recording import require_executing
from .region_selection import Part, RegionSelection
from .regions import Region, SlotNumbers
from .relocation import translate

if TYPE_CHECKING:
    from .heap import Heap

_CHUNK = 1 << 20
"""Values whose references are looked up at a time."""
Order = list[tuple[Region, SlotNumbers]]
"""All objects of a class: slots of regions, one after the other."""


def compact(heap: Heap, python_class: type | None = None) -> None:
    """Put the objects of a class and those below it, or all objects, side by side by class, in the
    order in which they lie, and give back memory that nobody needs. Other threads must not read or
    write objects of these classes meanwhile; launches of theirs end before.

    Raises ClassError for something that is no shared class, HeapError without memory for the new
    places, having moved nothing, or where objects are placed one by one.
    """
    placement = _placement(heap, "compacting")
    below = None if python_class is None else {*shared_type(python_class).descendants()}
    with heap.lock:
        classes = [cls for cls in placement.holders() if below is None or cls in below]
        loose = [cls for cls in classes if _is_loose(cls, placement)]
        _move(heap, placement, {cls: _by_address(placement, cls) for cls in loose})


def sort(heap: Heap, objects: Any, key: Any) -> None:
    """Move objects into the order of ``key``: a field's name, or numbers, one an object. Objects of
    a class keep the places that they have together; of equal keys the order stays. Of other threads
    the same holds as for ``compact``.

    Raises ArgumentError for anything else, HeapError as ``compact`` and for objects that are
    repeated, null or deleted.
    """
    placement = _placement(heap, "sorting objects")
    if not isinstance(objects, ManyObjects) or objects._heap is not heap:
        raise ArgumentError(
            f"oa.sort takes an array or a population of objects of this heap, not "
            f"{describe(objects)}",
            "write oa.sort(oa.all(C), key)",
        )
    keys = _keys(objects, key)
    with heap.lock:
        references = objects._references()
        selection = placement.select(references)
        assert isinstance(selection, RegionSelection)
        if len(np.unique(references)) < len(references):
            raise repeated_reference("sort")
        ranks = np.empty(len(keys), np.int64)
        ranks[np.argsort(keys, kind="stable")] = np.arange(len(keys))
        orders = {}
        # In an order that is always the same, as the new regions lie in that.
        given = {part.region.cls for part in selection.parts}
        for cls in sorted(given, key=lambda each: each.type_index):
            parts = [part for part in selection.parts if part.region.cls is cls]
            orders[cls] = _sorted(_by_address(placement, cls), parts, ranks)
        _move(heap, placement, orders)


def _placement(heap: Heap, what: str) -> ByTypePlacement:
    require_executing(heap, what)
    if hooks.kernel_objects() is not None:
        raise HeapError(f"{what} in a kernel would move what its threads use", "do it on the host")
    if not isinstance(heap.placement, ByTypePlacement):
        raise HeapError(
            f"mode {heap.mode.name} places objects one by one, and none of them moves",
            "use a mode that places them by class, such as auto, coal or typepointer",
        )
    heap.wait()
    return heap.placement


def _keys(objects: ManyObjects, key: Any) -> np.ndarray[Any, Any]:
    if isinstance(key, str):
        key = getattr(objects, key)
    keys = np.asarray(key.numpy() if hasattr(key, "numpy") else key)
    if keys.shape != (len(objects),) or keys.dtype.kind not in "biuf":
        raise ArgumentError(
            f"oa.sort takes one number an object as a key, {len(objects)} in all, not "
            f"{describe(key)}",
            "pass the name of a field of numbers, or an array of them",
        )
    return keys


def _is_loose(cls: ClassType, placement: ByTypePlacement) -> bool:
    """Whether there is something between the objects, or much room behind them."""
    regions = placement.regions(cls)
    used = placement.count(cls)
    return len(regions) > 1 or regions[0].unused_from > used or regions[0].capacity > 2 * used


def _by_address(placement: ByTypePlacement, cls: ClassType) -> Order:
    return [
        (each, np.flatnonzero(each.live[: each.unused_from])) for each in placement.regions(cls)
    ]


def _sorted(order: Order, parts: Iterable[Part], ranks: np.ndarray[Any, Any]) -> Order:
    """The order in which those of ``parts`` have changed places among themselves."""
    regions = [region for region, _ in order]
    numbers = np.repeat(np.arange(len(order)), [len(slots) for _, slots in order])
    slots = np.concatenate([slots for _, slots in order])
    given = [(regions.index(part.region), part) for part in parts]
    rank = np.full(len(slots), -1)
    for number, part in given:
        here = numbers == number
        by_slot = np.full(part.region.capacity, -1)
        by_slot[part.slots] = ranks[part.where]
        rank[here] = np.maximum(rank[here], by_slot[slots[here]])
    places = np.flatnonzero(rank >= 0)
    after = np.arange(len(slots))
    after[places] = places[np.argsort(rank[places], kind="stable")]
    numbers, slots = numbers[after], slots[after]
    cuts = np.flatnonzero(np.diff(numbers)) + 1
    return [
        (regions[int(number[0])], part)
        for number, part in zip(np.split(numbers, cuts), np.split(slots, cuts), strict=True)
        if len(part)
    ]


def _move(heap: Heap, placement: ByTypePlacement, orders: Mapping[ClassType, Order]) -> None:
    """Nothing has changed if this raises."""
    heap.memory.stand_still()
    placement.release_deleted()
    orders = {cls: order for cls, order in orders.items() if placement.regions(cls)}
    gone = [region for cls in orders for region in placement.regions(cls)]
    if not gone:
        return
    counts = {cls: sum(len(slots) for _, slots in order) for cls, order in orders.items()}
    come: dict[ClassType, Region] = {}

    def make_room() -> None:
        for cls, count in counts.items():
            if count and cls not in come:
                come[cls] = placement.new_region(cls, count)

    try:
        heap.memory.with_room("a second place for objects that move", make_room)
        with placement.access:
            moves = _Moves(heap, gone)
            for cls, region in come.items():
                _copy(heap, orders[cls], region, moves)
            moves.close()
            changes = [*_changes(heap, placement, gone, [*come.values()], moves)]
            proxies = [*heap._proxies.items()]
            references = moves(np.array([reference for reference, _ in proxies], np.uint64))
    except BaseException:
        for region in come.values():
            placement.free_region(region)
        raise
    # Nothing below can fail.
    with placement.access:
        for values, part, after in changes:
            values[part] = after
        placement.exchange(gone, [*come.values()])
        heap._proxies.clear()
        for reference, (_, proxy) in zip(references.tolist(), proxies, strict=True):
            proxy._reference = reference
            heap._proxies[reference] = proxy
        heap._objects_of.clear()
        heap.note_reference_writes()


def _copy(heap: Heap, order: Order, target: Region, moves: _Moves) -> None:
    """The objects of one class, into a region that has none."""
    count = sum(len(slots) for _, slots in order)
    target.take(count)
    heap.residency.host_uses(target.start, target.start, target.end)
    records = target.arrangement.records(target.memory)
    first = 0
    for region, slots in order:
        if not len(slots):
            continue
        Part.at(region, 0, slots).host_uses(heap.residency)
        part = slice(first, first + len(slots), 1)
        records[part] = region.arrangement.records(region.memory)[slots]
        moves.add(region.addresses(slots), target.addresses(part), target.cls)
        first += len(slots)


class _Moves:
    """Where objects have gone, by address."""

    def __init__(self, heap: Heap, gone: list[Region]) -> None:
        self._encoding = heap.encoding
        bounds = sorted((region.start, region.end) for region in gone)
        self._starts = np.array([start for start, _ in bounds], np.uint64)
        self._ends = np.array([end for _, end in bounds], np.uint64)
        self._before: list[References] = []
        self._after: list[References] = []

    def add(self, before: References, after: References, cls: ClassType) -> None:
        self._before.append(before)
        self._after.append(np.asarray(self._encoding.encode(after, cls.type_index), np.uint64))

    def close(self) -> None:
        before = np.concatenate([np.zeros(0, np.uint64), *self._before])
        order = np.argsort(before)
        self._from = before[order]
        self._to = np.concatenate([np.zeros(0, np.uint64), *self._after])[order]

    def __call__(self, references: Any) -> Any:
        """The references that now lead to the same objects; null where an object is gone."""
        addresses = np.asarray(self._encoding.address(references.astype(np.uint64)))
        number = np.searchsorted(self._starts, addresses, side="right") - 1
        has_moved = (number >= 0) & (addresses < self._ends[number]) & (references != 0)
        found = references.copy()
        if has_moved.any():
            wanted = addresses[has_moved]
            place = np.minimum(np.searchsorted(self._from, wanted), max(0, len(self._from) - 1))
            lives = self._from[place] == wanted if len(self._from) else np.zeros(len(wanted), bool)
            there = self._to[place] if len(self._from) else np.zeros(len(wanted), np.uint64)
            found[has_moved] = np.where(lives, there, np.uint64(0)).astype(references.dtype)
        return found


def _changes(
    heap: Heap,
    placement: ByTypePlacement,
    gone: list[Region],
    come: list[Region],
    moves: _Moves,
) -> Iterator[tuple[Any, slice, Any]]:
    """What is to be written where: values that have references which lead elsewhere now."""
    regions = [each for each in placement.all_regions() if each not in gone]
    for region in (*regions, *come):
        for name, type in region.cls.fields.items():
            if holds_references(type) and region.unused_from:
                span = region.span(0, region.unused_from - 1)
                heap.residency.host_uses(region.start, *span)
                values = region.field(FieldPath(name))
                yield from _changed(values, region.unused_from, type, moves)
    for storage in heap.memory.all_arrays():
        if holds_references(storage.element):
            start = storage.address
            heap.residency.host_uses(start, start, start + storage.size)
            elements = np.asarray(storage).view(heap.layout.dtype(storage.element))
            yield from _changed(elements, len(elements), storage.element, moves)


def _changed(
    values: Any, count: int, type: Type, moves: _Moves
) -> Iterator[tuple[Any, slice, Any]]:
    for first in range(0, count, _CHUNK):
        part = slice(first, min(first + _CHUNK, count), 1)
        before = np.array(values[part])
        after = before.copy()
        translate(after, type, moves, lambda addresses: addresses)
        if after.tobytes() != before.tobytes():
            yield values, part, after
