"""Memory for adjoints: a mirror of the heap's own, in which everything lies the same distance away.

So the place of an adjoint follows from that of a float by one addition, no object refers to another
one's adjoints, and a class has no second layout. The mirror spans all slabs of the heap; pages of
it that nobody has touched are zero and cost nothing on a processor. Where the heap has grown beyond
it, the mirror is made anew. Adjoints go with what they are of: what lies where something else lay
before has none yet.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..context_managers import contextmanager
from ..errors import ArgumentError, HeapError
from ..model.layout import Layout
from ..model.types import InlineType, array_form
from ..model.values import to_host
from .array_memory import elements_in
from .arrays import Array
from .by_type import ByTypePlacement
from .extents import SlabMemory
from .field_values import position_of
from .field_view import FieldView, changes_now
from .objects import ManyObjects
from .placement import FieldPath, Selection
from .provider import Bytes, private_pages
from .region_selection import RegionSelection
from .regions import Region, references_to_base
from .residency import Residency

if TYPE_CHECKING:
    from .heap import Heap

_UNIT = 1 << 16
"""Bytes that the distance is a multiple of: more than any alignment in the heap."""


class _Mirror:
    """``low`` to ``high``, mirrored ``distance`` bytes further; zero when made."""

    def __init__(self, heap: Heap, low: int, high: int) -> None:
        self._backend = heap.backend
        self.low, self.high = low // _UNIT * _UNIT, -(-high // _UNIT) * _UNIT
        size = self.high - self.low + _UNIT
        if heap.backend.target.is_device:
            provider = heap.backend.provider
            slab = provider.allocate(size)
            memory = SlabMemory(slab, provider).view(slab.address, slab.address + slab.size)
        else:
            try:
                memory = np.frombuffer(private_pages(size, are_reserved=False), np.uint8)
            except (OSError, OverflowError) as error:
                raise HeapError(
                    f"the system refused {size:,} bytes of addresses for adjoints: {error}",
                    "give the heap less capacity",
                ) from error
        address = int(memory.ctypes.data)
        start = -(-address // _UNIT) * _UNIT
        self.distance = start - self.low
        self.memory: Bytes = memory[start - address :][: self.high - self.low]
        #: From where to where what it mirrors was used since it was zero.
        self._touched: list[tuple[int, int]] = []
        #: Changes when other memory may be used.
        self.used: tuple[int, int] | None = None
        #: Whether the host may have some of it.
        self.on_host = True

    def touch(self, used: Sequence[tuple[int, int]]) -> None:
        """Somebody may write to what mirrors these."""
        self._touched = [*_merged([*self._touched, *used])]

    def can_be_kept(self) -> bool:
        """Whether it is one of a device, which takes long to make, of which nobody has a view and
        whose memory nobody misses."""
        backend, size = self._backend, self.memory.nbytes
        if not backend.target.is_device or references_to_base(self.memory, [self.memory]):
            return False
        if backend.copies is not None:
            return bool(backend.copies.has_room(size))
        return bool(size <= backend.provider.free_memory())

    def clear(self, used: tuple[int, int]) -> None:
        """Make it zero again, where it is; ``used`` is about to be."""
        copies, touched = self._backend.copies, self._touched
        if self.used != used:
            self._touched, self.used = [], None
        for low, high in touched:
            start, size = low + self.distance, high - low
            if copies is None:
                self.at(low, size)[...] = 0
            else:
                if self.on_host:
                    self._backend.prefetch(start, size, True)
                copies.clear(start, size)
        self.on_host = False

    def at(self, start: int, size: int) -> Bytes:
        """What mirrors ``size`` bytes from ``start`` on."""
        return self.memory[start - self.low :][:size]


class Adjoints:
    """The adjoints of one heap. ``grown`` tells how often the mirror was made anew."""

    def __init__(self, heap: Heap) -> None:
        if not isinstance(heap.placement, ByTypePlacement):
            raise HeapError(
                f"in mode {heap.mode.name} objects lie one by one, and have no adjoints",
                "use a mode that places objects by class, as auto does",
            )
        self._heap = heap.weak
        self._mirror: _Mirror | None = None
        #: What there was before a way back that is under way.
        self._before: _Mirror | None = None
        #: After how many deletions adjoints are those of the objects that there are.
        self._deletions = 0
        #: Whether the device may be at work for which the host has to wait before it uses them.
        self._is_busy = False
        #: One that was made zero, for the next time.
        self._spare: _Mirror | None = None
        self._layout: tuple[Layout, int] | None = None

    @property
    def _there(self) -> Heap:
        heap = self._heap()
        assert heap is not None
        return heap

    @property
    def distance(self) -> int:
        """From what a float lies at to its adjoint, in bytes; as long as the mirror stays."""
        return self._ready().distance

    def _ready(self) -> _Mirror:
        heap = self._there
        low, high = heap.memory.extents.span()
        mirror = self._mirror
        known = heap.layout, heap.placement.moves
        if mirror is not None and self._layout != known:
            raise HeapError(
                "objects have changed places since their adjoints were computed",
                "look at adjoints before oa.compact and oa.sort, or call tape.zero() first",
            )
        if mirror is None or low < mirror.low or high > mirror.high:
            spare, self._spare = self._spare, None
            if mirror is None and spare is not None and spare.low <= low and high <= spare.high:
                made = spare
                made.clear(_used(heap))
                self._is_busy = True
            else:
                del spare  # before memory is asked for
                # It grows: leave room for more.
                made = _Mirror(heap, low, high + (0 if mirror is None else high - low))
            if mirror is not None:
                self._settle()
                made.at(mirror.low, mirror.high - mirror.low)[...] = mirror.memory
                made.touch([(mirror.low, mirror.high)])
            if not heap.upkeep.has_adjoints:
                self._renew()
            self._mirror, self._layout = made, known
            heap.upkeep.has_adjoints = True
            mirror = made
        if heap.memory.has_given or self._deletions != heap.placement.deletions:
            self._renew()
        used = _used(heap)
        if mirror.used != used:
            with heap.lock:
                mirror.touch(heap.memory.extents.used())
            mirror.used = used
        return mirror

    def _renew(self) -> None:
        """What has come since somebody looked last, where others were, has no adjoints."""
        heap = self._there
        with heap.lock:
            given = [*_merged(heap.memory.note_given(True))]
            deletions, self._deletions = self._deletions, heap.placement.deletions
        mirrors = [each for each in (self._mirror, self._before) if each is not None]
        if not mirrors:
            return
        self._settle()
        for mirror in mirrors:
            mirror.on_host = True
            for low, high in given:
                start, end = max(low, mirror.low), min(high, mirror.high)
                if start < end:
                    mirror.at(start, end - start)[...] = 0
            if deletions != self._deletions:
                for region, slots in _freed_after(heap, deletions):
                    _mirrored_region(region, mirror).clear(slots)

    def _for_host(self) -> _Mirror:
        """The host is about to use adjoints."""
        mirror = self._ready()
        mirror.on_host = True
        self._settle()
        return mirror

    def _settle(self) -> None:
        """Wait for the device, if it may be at work."""
        if self._is_busy:
            self._there.backend.synchronize()
            self._is_busy = False

    def begin_early(self) -> None:
        """A way back begins before anybody has waited for what was launched."""
        self._is_busy = True

    def begin_with(self, array: Array, values: np.ndarray[Any, Any]) -> bool:
        """Let the device write the first adjoints that are not zero, those of an array; False, and
        nothing, where the host has to add them. ``values`` stay as they are until it has waited."""
        heap, copies = self._there, self._there.backend.copies
        is_right = values.dtype == array.dtype and values.shape == array.shape
        if copies is None or not values.nbytes or not (is_right and values.flags.c_contiguous):
            return False
        address = array._address + self.distance
        heap.note_launch(False, ())
        copies.write(address, values)
        return True

    def zero(self) -> None:
        """All adjoints are zero."""
        mirror, self._mirror, self._layout = self._mirror, None, None
        if mirror is not None and mirror.can_be_kept():
            self._spare = mirror
        self._there.upkeep.has_adjoints = False
        self._there.memory.note_given(False)

    @contextmanager
    def from_zero(self) -> Iterator[None]:
        """Within they begin with zeros; afterwards what there was is added. Where that fails they
        are what they were."""
        if self._mirror is not None:
            self._ready()
        layout, self._layout = self._layout, None
        self._before, self._mirror = self._mirror, None
        try:
            yield
            if self._before is not None:
                self._add(self._before)
        except BaseException:
            self._mirror, self._layout = self._before, layout
            raise
        finally:
            self._before = None

    def _add(self, before: _Mirror) -> None:
        heap, now = self._there, self._for_host()
        for cls in heap.placement.classes():
            selection = heap.placement.objects([cls])
            assert isinstance(selection, RegionSelection)
            for name, type in cls.fields.items():
                for path in float_paths(FieldPath(name), type):
                    old = _mirrored(selection, before).read(path)
                    new = _mirrored(selection, now)
                    new.write(path, new.read(path) + old)
        for storage in heap.memory.arrays.all():
            dtype = heap.layout.dtype(storage.element)
            count = storage.size // max(dtype.itemsize, 1)
            if storage.address + storage.size > before.high or storage.address < before.low:
                continue
            pair = [
                elements_in(m.at(storage.address, count * dtype.itemsize), dtype)
                for m in (now, before)
            ]
            for mine, other in zip(*map(_floats_in, pair), strict=True):
                mine += other

    def mirrored(self, selection: Selection) -> RegionSelection:
        """The adjoints of these objects."""
        assert isinstance(selection, RegionSelection)
        return _mirrored(selection, self._for_host())

    def of_array(self, array: Array) -> np.ndarray[Any, Any]:
        """The adjoints of an array's elements: a view that is good until the mirror changes."""
        dtype = array._dtype
        if array._storage is None:
            return np.empty(array.shape, dtype)
        refuse_foreign(array)
        memory = self._for_host().at(array._address, array.size * dtype.base.itemsize)
        return elements_in(memory, dtype).reshape(array.shape)


def refuse_foreign(array: Array) -> None:
    """Raise ArgumentError for an array that has no adjoints, as it is no memory of a heap."""
    if array._storage is not None and array._storage.is_foreign:
        raise ArgumentError(
            "this array is memory of another library, which has no adjoints",
            "take array.numpy() where it is constant, or copy it: oa.zeros, and a kernel",
        )


def _used(heap: Heap) -> tuple[int, int]:
    """Changes when other memory may be used."""
    return heap.books.layout_epoch, heap.memory.arrays.made.total()


def _freed_after(
    heap: Heap, deletions: int
) -> Iterator[tuple[Region, np.ndarray[Any, np.dtype[np.int64]]]]:
    """Regions, and slots of each whose objects went after so many deletions."""
    placement = heap.placement
    assert isinstance(placement, ByTypePlacement)
    for region in placement.all_regions():
        if placement.has_deleted(region.cls, deletions):
            gone = region.freed_after(slice(0, region.unused_from, 1), deletions)
            yield region, np.flatnonzero(gone)


def _mirrored(selection: RegionSelection, mirror: _Mirror) -> RegionSelection:
    parts = []
    for part in selection.parts:
        moved = copy.copy(part)
        object.__setattr__(moved, "region", _mirrored_region(part.region, mirror))
        parts.append(moved)
    same = selection._encoding, Residency(None), selection._pieces, selection._access
    return RegionSelection(parts, selection.count, *same)


def _mirrored_region(region: Region, mirror: _Mirror) -> Region:
    if region.start < mirror.low or region.end > mirror.high:
        memory = np.zeros(region.end - region.start, np.uint8)  # made since: no adjoints yet
    else:
        memory = mirror.at(region.start, region.end - region.start)
    found = copy.copy(region)
    found.memory, found._fields, found._records, found._flat = memory, {}, None, {}
    return found


def float_paths(path: FieldPath, type: Any) -> list[FieldPath]:
    """The floats of a field, an inline array or vector of them as a whole."""
    from ..model.scalars import ScalarType
    from ..model.types import ValueType

    item, shape = array_form(type)
    if isinstance(item, ScalarType):
        return [path] if item.is_float else []
    if isinstance(item, ValueType) and not shape:
        found = []
        for name, each in item.fields.items():
            found += float_paths(path.inside(name), each)
        return found
    return []


def _floats_in(values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    if values.dtype.names is not None:
        return [each for name in values.dtype.names for each in _floats_in(values[name])]
    return [values] if values.dtype.kind == "f" else []


def _merged(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same as spans that do not touch."""
    spans.sort()
    low, high = spans[0] if spans else (0, 0)
    for start, end in spans[1:]:
        if start > high:
            yield low, high
            low = start
        high = max(high, end)
    if spans:
        yield low, high


_adjoints: WeakKeyDictionary[Heap, Adjoints] = WeakKeyDictionary()


def adjoints_of(heap: Heap) -> Adjoints:
    """Raises HeapError for a heap whose objects have none."""
    found = _adjoints.get(heap)
    if found is None:
        found = _adjoints[heap] = Adjoints(heap)
    return found


class AdjointView(FieldView):
    """``objects.grad.field``: the adjoints of a field of many objects; a view as that of the field
    itself is one."""

    __slots__ = ()

    @property
    def _selection(self) -> Selection:
        return adjoints_of(self._heap).mirrored(super()._selection)

    def __getitem__(self, key: Any) -> Any:
        """As that of a field; what NumPy's indexing gives is read-only where it is a copy."""
        if isinstance(key, slice):
            references, since = super()._selection.references[key], self._since
            part = self._heap.placement.select(references)
            return AdjointView(self._heap, self._cls, part, self.path, since)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return self._one(int(key))
        return self._component(key) if isinstance(key, str) else self.numpy()[key]

    def _one(self, index: int) -> Any:
        found = self.numpy()[position_of(index, len(self))]
        return found if isinstance(self.type, InlineType) else to_host(self.type, found, self._heap)

    def _component(self, name: str) -> AdjointView:
        path, selection = super()._component(name).path, super()._selection
        return AdjointView(self._heap, self._cls, selection, path, self._since)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str):
            self._component(key)[...] = value
            return
        values = self.numpy().copy()
        values[key] = value
        self._assign(values)

    def _description(self) -> str:
        return f"grad of {super()._description()}"


class AdjointFields:
    """``objects.grad``: has the adjoints of each field of floats."""

    __slots__ = ("_objects",)

    def __init__(self, objects: ManyObjects) -> None:
        object.__setattr__(self, "_objects", objects)

    def __setattr__(self, name: str, value: Any) -> None:
        self._view(name)[...] = value

    def __getattr__(self, name: str) -> Any:
        return self._view(name)

    def _view(self, name: str) -> AdjointView:
        objects = self._objects
        type = objects._cls.fields.get(name)
        if type is None or not float_paths(FieldPath(name), type):
            what = f"{objects._cls.name} has no field {name!r}"
            if type is not None:
                what = f"{objects._cls.name}.{name} has no adjoints, as it is no float: {type!r}"
            raise AttributeError(f"{what}; fields with adjoints: {', '.join(dir(self)) or 'none'}")
        since, selection = changes_now(objects._heap), objects._selection()
        path = FieldPath(name)
        return AdjointView(objects._heap, objects._cls, selection, path, since, objects)

    def __dir__(self) -> list[str]:
        fields = self._objects._cls.fields.items()
        return [name for name, type in fields if float_paths(FieldPath(name), type)]


class AdjointsOfOne(AdjointFields):
    """``node.grad``: the adjoint of each field of floats."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return self._view(name)[0]
