"""``oa.compact`` and ``oa.sort``: objects change places, and every reference follows.

The objects of a class go side by side into a new region of their size, in the order that is asked
for, and references in fields, arrays, values and Python's proxies follow (``object_moves``); then
the old regions go. A reference to a deleted object in one of these becomes null: somebody else may
soon live there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, HeapError
from ..model.classes import ClassType
from ..model.object import shared_type
from ..model.values import describe
from . import hooks
from .arrays import Array, ObjectArray
from .births import laid_out
from .by_type import ByTypePlacement
from .extents import Extent
from .numpy_like import NumPyLike
from .object_moves import (
    ReferenceColumn,
    Shape,
    columns_of,
    columns_of_array,
    decoding,
    forwarding,
    numbers_of,
    parts_of,
)
from .objects import ManyObjects
from .placement import References, repeated_reference
from .population import Population
from .recording import require_executing
from .region_selection import RegionSelection
from .regions import Region, has_repeated
from .slot_lists import Listing
from .slots_on_device import count_living

if TYPE_CHECKING:
    from .heap import Heap

#: All objects of classes in the order in which they are to lie, or, on a device, as an array of i64
#: their numbers as they do; None: as they do.
Orders = Mapping[ClassType, References | Array | None]
_FEW = 1 << 12
"""Objects that the host sorts before a device has launched what it takes."""


def compact(heap: Heap, python_class: type | None = None) -> None:
    """Put the objects of a class and those below it, or all objects, side by side by class, in the
    order in which they lie, and give back memory that nobody needs. Other threads must not read or
    write objects of these classes meanwhile; launches of theirs end before.

    Raises ClassError for something that is no shared class, HeapError without memory for the new
    places, having moved nothing, or where objects are placed one by one.
    """
    placement = _placement(heap, "compacting")
    below = None if python_class is None else {*shared_type(python_class).descendants()}
    with heap.memory.no_launch_in_cpython():
        heap.memory.finish_in_cpython()
        with heap.lock:
            heap.settle()  # another thread's step may have run since
            classes = [cls for cls in placement.holders() if below is None or cls in below]
            loose = [cls for cls in classes if _is_loose(cls, placement)]
            put_together(heap, placement, loose)
            for cls in classes:  # also those that were
                placement.needed.note_together(cls, placement.count(cls))


def put_together(
    heap: Heap,
    placement: ByTypePlacement,
    classes: Iterable[ClassType],
    keeps_deleted: bool = False,
) -> None:
    """Put the objects of each of these classes side by side, in the order in which they lie.
    ``keeps_deleted``: references to deleted objects stay that instead of becoming null. Raises
    HeapError without memory for the new places, having moved nothing."""
    with heap.lock:
        _move(heap, placement, dict.fromkeys(classes), keeps_deleted)


def sort(heap: Heap, objects: Any, key: Any) -> None:
    """Move objects into the order of ``key``: a field's or method's name, a method, or numbers, one
    an object. Objects of a class keep the places that they have together; of equal keys the order
    stays. Of other threads the same holds as for ``compact``.

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
    cls = objects._cls
    version = placement.class_version(cls)
    given = _key(objects, key)
    order = _order_on_device(heap, placement, objects, given)
    with heap.memory.no_launch_in_cpython():
        heap.memory.finish_in_cpython()
        with heap.lock:
            heap.settle()  # another thread's step may have run since
            if order is not None and placement.class_version(cls) == version:
                _move(heap, placement, {cls: order})
                return
            keys = np.asarray(given.numpy() if hasattr(given, "numpy") else given)
            references = objects._references()
            selection = placement.select(references)
            assert isinstance(selection, RegionSelection)
            if has_repeated(references):
                raise repeated_reference("sort")
            positions = np.argsort(keys, kind="stable")
            orders: dict[ClassType, References | None] = {}
            # In an order that is always the same, as the new regions lie in that.
            given = {part.region.cls for part in selection.parts}
            for cls in sorted(given, key=lambda each: each.type_index):
                is_own = np.zeros(len(keys), np.bool_)
                for part in selection.parts:
                    is_own[part.where] |= part.region.cls is cls
                orders[cls] = _sorted(placement, cls, references[positions[is_own[positions]]])
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


def _key(objects: ManyObjects, key: Any) -> Any:
    """One number an object, as an array, a view, or what NumPy makes an array of."""
    cls = objects._cls
    name = getattr(key, "__name__", key)  # C.method says as much as its name
    if isinstance(name, str):
        if name not in cls.fields and cls.find_method(name) is None:
            raise ArgumentError(
                objects._unknown(name), "pass the name of a field or method that is a number"
            )
        key = getattr(objects, name)
        if name not in cls.fields:
            key = key()
    given = key if isinstance(key, NumPyLike) else np.asarray(key)
    are_references = isinstance(given, ObjectArray)
    if are_references or given.shape != (len(objects),) or given.dtype.kind not in "biuf":
        raise ArgumentError(
            f"oa.sort takes one number an object as a key, {len(objects)} in all, not "
            f"{describe(key)}",
            "pass the name of a field of numbers, or an array of them",
        )
    return given


def _order_on_device(
    heap: Heap, placement: ByTypePlacement, objects: ManyObjects, key: Any
) -> Array | None:
    """The numbers of all objects of exactly one class in the order of their keys; None where the
    host had better list them."""
    is_there = isinstance(key, NumPyLike) and key._heap is heap
    if not is_there or not heap.backend.target.is_device or not isinstance(objects, Population):
        return None
    if len(objects) < _FEW or objects._classes() != [objects._cls]:
        return None
    if not _is_listed_by_kernels(placement, objects._cls):
        return None
    found: Array = key.argsort()
    return found


def _is_listed_by_kernels(placement: ByTypePlacement, cls: ClassType) -> bool:
    """Whether they can tell which slots live: they see it, or it is the first ones."""
    regions = placement.regions(cls)
    return all(each.live_extent is not None or each.used == each.unused_from for each in regions)


def _is_loose(cls: ClassType, placement: ByTypePlacement) -> bool:
    """Whether there is something between the objects, or much room behind them."""
    regions = placement.regions(cls)
    used = placement.count(cls)
    if len(regions) != 1 or placement.grave(cls) is not None:
        return True
    return regions[0].unused_from > used or regions[0].capacity > 2 * used


def _sorted(placement: ByTypePlacement, cls: ClassType, wanted: References) -> References:
    """All objects of a class, of which those in ``wanted`` have changed places among themselves."""
    references = placement.objects([cls]).references
    if len(wanted) == len(references):
        return wanted
    references[np.isin(references, wanted)] = wanted
    return references


def _move(
    heap: Heap, placement: ByTypePlacement, orders: Orders, keeps_deleted: bool = False
) -> None:
    """Nothing has changed if this raises."""
    heap.memory.stand_still()
    heap.memory.collect(thorough=True)
    placement.release_deleted(amid=False)
    counts = {cls: placement.count(cls) for cls in orders}
    former = {cls: grave for cls in orders if (grave := placement.grave(cls)) is not None}
    graves = former if keeps_deleted else {}

    def leaving() -> tuple[list[Region], list[tuple[int, int]]]:
        gone = [region for cls in orders for region in placement.regions(cls)]
        if keeps_deleted:
            return gone, []
        return [*gone, *former.values()], placement.places_left()

    if not any(leaving()):
        return
    come: dict[ClassType, Region] = {}
    new_graves: dict[ClassType, Region] = {}

    def make_room() -> _Move:
        for cls, count in counts.items():
            if count and cls not in come:
                come[cls] = placement.new_region(cls, count)
                come[cls].take(count)
            if keeps_deleted and cls not in graves and cls not in new_graves:
                new_graves[cls] = placement.new_grave(cls)
        # Asked now: for want of memory empty regions may have gone.
        gone, left = leaving()
        return _Move(heap, placement, orders, gone, come, graves | new_graves, left)

    what = "a second place for objects that move"
    try:
        move: _Move = heap.memory.with_room(what, make_room)
    except BaseException:
        _free(placement, [*come.values(), *new_graves.values()])
        raise
    with placement.access:  # until the objects are there: what is written meanwhile would be lost
        try:
            try:
                move.run()
                # What the old regions are then given to must not wait for this.
                heap.backend.synchronize()
                proxies = heap.proxies.all()
                references = move.followed([reference for reference, _ in proxies])
            finally:
                heap.memory.free_work(move.extent)
        except BaseException:
            _free(placement, [*come.values(), *new_graves.values()])
            raise
        # Nothing below can fail.
        placement.exchange(move.gone, [*come.values(), *new_graves.values()])
        if not keeps_deleted:
            placement.forget_places_left()
        heap.proxies.follow(proxies, references)
        heap.of_classes.forget()
        heap.note_reference_writes()


def _free(placement: ByTypePlacement, regions: Iterable[Region]) -> None:
    for region in regions:
        placement.free_region(region)


class _Move:
    """The lists and tables of one move, in a piece of the heap's memory."""

    def __init__(
        self,
        heap: Heap,
        placement: ByTypePlacement,
        orders: Orders,
        gone: list[Region],
        come: Mapping[ClassType, Region],
        graves: Mapping[ClassType, Region],
        left: Sequence[tuple[int, int]],
    ) -> None:
        """``graves``: where references to deleted objects are to lead; null where there is none,
        and of references to memory that regions have ``left``. Raises NoRoom."""
        self._heap, self._placement, self.gone, self._come = heap, placement, gone, come
        self._decoding = decoding(heap.encoding)
        item = self._decoding.item
        #: Of classes whose objects the host has listed.
        self._picks = {cls: each for cls, each in orders.items() if isinstance(each, Array)}
        self._orders = {
            cls: placement.objects([cls]).references if order is None else order
            for cls, order in orders.items()
            if cls in come
            and not isinstance(order, Array)
            and (order is not None or not _is_listed_by_kernels(placement, cls))
        }
        stays = [each for each in placement.all_regions() if each not in gone]
        slots = {each: each.unused_from for each in (*stays, *come.values())}
        self._columns = [*reference_columns(heap, slots)]
        moves = heap.backend.object_moves
        parts = {cls: parts_of(region.arrangement) for cls, region in come.items()}
        columns = moves.column_table(self._columns)
        others = [_first(graves.get(region.cls), heap) for region in gone]
        known = [region.unused_from for region in gone]
        self._rows = len(gone) + len(left)
        sizes = [forwarding(gone, known, others, others, left).nbytes, columns.nbytes]
        sizes += [each.nbytes for each in parts.values()]
        # The host writes lists that come first.
        listed = sorted(come, key=lambda cls: cls not in self._orders)
        sizes += [item * come[cls].used for cls in listed]
        sizes += [item * max((region.used for region in come.values()), default=0)]
        sizes += [item * (count + 1) for count in (*known, 0)]
        starts = laid_out(sizes)
        self.extent: Extent = heap.memory.work_memory(starts[-1])
        addresses = iter([self.extent.address + start for start in starts])
        self._table, self._column_table = next(addresses), next(addresses)
        self._parts = {cls: next(addresses) for cls in parts}
        self._lists = {cls: next(addresses) for cls in listed}
        self._target_list = next(addresses)
        self._words = [next(addresses) for _ in gone]
        table = forwarding(gone, known, self._words, others, left, next(addresses))
        try:
            self._write(self._table, table)
            self._write(self._column_table, columns)
            for cls, values in parts.items():
                self._write(self._parts[cls], values)
            for cls, order in self._orders.items():
                self._write(self._lists[cls], order.astype(heap.encoding.dtype))
        except BaseException:
            heap.memory.free_work(self.extent)
            raise

    def _write(self, address: int, values: np.ndarray[Any, Any]) -> None:
        start = address - self.extent.address
        self._heap.residency.host_uses(self.extent.address, address, address + values.nbytes)
        self.extent.memory[start : start + values.nbytes] = values.view(np.uint8)

    def run(self) -> None:
        """Copy the objects, and let references in fields and arrays follow."""
        heap, how = self._heap, self._decoding
        moves = heap.backend.object_moves
        heap.before_launch()
        for region in self._come.values():
            # Pages that a device comes to one by one take longer than to copy the objects.
            heap.residency.send(region.start, region.extent.end)
        for cls, region in self._come.items():
            arrangement, count, list = region.arrangement, region.used, self._lists[cls]
            if cls in self._picks:
                self._list(cls, self._target_list)
                order = self._picks[cls]._address
                moves.pick(self._target_list, order, count, list, how.item)
            elif cls not in self._orders:
                self._list(cls, list)
            moves.number(numbers_of(region, heap.encoding), count, self._target_list, how.item)
            moves.forward(how, self._table, self._rows, list, self._target_list, count)
            shift = arrangement.lanes.bit_length() - 1
            parts = sum(1 for _ in arrangement.parts())
            shape = Shape(arrangement.block_bytes, shift, self._parts[cls], parts)
            moves.gather(how, shape, list, count, region.start)
        columns = self._columns
        moves.follow(how, self._table, self._rows, columns, self._column_table, False)

    def _list(self, cls: ClassType, to: int) -> None:
        """A list of the objects of a class as they lie."""
        backend, encoding = self._heap.backend, self._heap.encoding
        regions = self._placement.regions(cls)
        shown = [region for region in regions if region.live_extent is not None]
        count_living(self._placement, shown, backend.slot_lists)
        listings, item = [], self._decoding.item
        for region in regions:
            numbers = numbers_of(region, encoding)
            if region.live_extent is None:
                backend.object_moves.number(numbers, region.used, to, item)
            else:
                listings.append(Listing(region.slot_bytes, True, region.used, numbers, to, item))
            to += region.used * item
        backend.slot_lists.list_slots(listings)

    def followed(self, references: list[int]) -> list[int]:
        """The references that now lead to the same objects, for few of them."""
        address, dtype = self._heap.encoding.address, self._heap.encoding.dtype
        bounds = [
            (region, start - self.extent.address)
            for region, start in zip(self.gone, self._words, strict=True)
        ]
        found = []
        for reference in references:
            for region, first in bounds:
                slot = region.slot(address(reference))
                if slot is not None:
                    word = first + min(slot, region.unused_from) * dtype.itemsize
                    bytes = self.extent.memory[word : word + dtype.itemsize]
                    reference = int(bytes.view(dtype)[0])
                    break
            found.append(reference)
        return found


def _first(region: Region | None, heap: Heap) -> int:
    """The reference to a region's first slot; null where there is none."""
    return 0 if region is None else numbers_of(region, heap.encoding).first


def reference_columns(
    heap: Heap, slots: Mapping[Region, int], held: Collection[ClassType] | None = None
) -> Iterator[ReferenceColumn]:
    """All references in arrays and in so many slots of regions; only those that may lead to
    objects of the classes ``held``, if these are given."""
    item = heap.encoding.dtype.itemsize
    for region, count in slots.items():
        for name, type in region.cls.fields.items():
            if count:
                yield from columns_of(region, type, name, item, count, held)
    for storage in heap.memory.arrays.all():
        address, size, element = storage.address, storage.size, storage.element
        yield from columns_of_array(address, size, element, heap.layout, held)
