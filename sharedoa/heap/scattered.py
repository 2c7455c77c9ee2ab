"""Placement one by one, where the platform's own allocator puts each object.

This is what the paper's CUDA and Concord modes measure. On a GPU the memory is the device heap,
which no host call can reach: fields are read and written by kernels of the backend that gather and
scatter, so what the host sees of a field is always a copy, though writes go through.

Places for objects that kernels may make are allocated before the launch, and what it did not take,
or what launches have emptied, stays with the class for later ones.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dispatch.births import BORN, ENDED, LIVED

from ..errors import HeapError, InternalError
from ..model.classes import ClassType
from ..model.field_address import RECORDS
from ..model.layout import Layout
from ..model.reference import ReferenceEncoding
from .extents import Extent, Extents, NoRoom
from .placement import (
    Change,
    FieldPath,
    Fields,
    References,
    Selection,
    Values,
    foreign_reference,
    freed_reference,
    null_reference,
    repeated_reference,
)
from .quarantine import Batch, Quarantine
from .registry import NO_TYPE, Registry
from .residency import Residency
from .run import Run
from .shown_registry import ShownRegistry

_NO_PLACES: References = np.zeros(0, np.uint64)


class ScatteredPlacement:
    """Objects of one heap that lie anywhere, and the registry that knows their classes."""

    def __init__(
        self,
        extents: Extents,
        layout: Layout,
        encoding: ReferenceEncoding,
        residency: Residency,
        backend: Any,
        track_layout: bool,
        header: Callable[[ClassType], bytes],
        retire: Callable[[Extent], None],
    ) -> None:
        """``track_layout``: kernels check references against the registry (debug mode), so that
        every new object is a change of layout, and memory of deleted ones is not given back for a
        while (``quarantine``). ``retire`` frees an extent once launches under way have finished."""
        self._extents = extents
        self._layout = layout
        self._encoding = encoding
        self._backend = backend
        self._track_layout = track_layout
        self._quarantine = Quarantine[ClassType](extents.capacity) if track_layout else None
        self._header = header
        self._registry = registry = Registry()
        self.shown = ShownRegistry(registry, extents, residency, retire)
        # At exit the process goes with all its memory; a driver may be gone before.
        weakref.finalize(self, _free_all, backend, registry, self._quarantine).atexit = False
        self._classes: dict[int, ClassType] = {}
        self._counts: dict[ClassType, int] = {}
        #: Places of each class that have no object, and that no launch has.
        self._free: dict[ClassType, References] = {}
        self.layout_epoch = self.code_epoch = 0
        self.population_epoch = 0
        self.generation = 0
        self.population_version = 0
        self.deletions = self.moves = 0

    def have_moved(self, cls: ClassType, since: int) -> bool:
        return False

    def allocate(self, cls: ClassType, count: int, fields: Fields) -> Selection:
        free, registry = self._free_places(cls), self._registry
        reused, others = free[:count], free[count:]
        size, fresh = self._layout.record(cls).size, self._allocate(cls, count - len(reused))
        try:
            self.clear(cls, reused)
            addresses = np.concatenate([fresh, reused])
            made = self._selection(self._encoding.encode(addresses, cls.type_index), cls)
            for path, values in fields.items():
                made.write(path, values, is_distinct=True)
            self._classes[cls.type_index] = cls
            registry.add(fresh, cls.type_index)
        except BaseException:
            self._give_back(fresh, size)
            raise
        if len(reused):
            registry.take(reused)
            self._free[cls] = others
        self._count(cls, count)
        return made

    def _allocate(self, cls: ClassType, count: int) -> References:
        """New places, zero but for the header. Raises NoRoom."""
        size, header = self._layout.record(cls).size, self._header(cls)
        self._extents.reserve_outside(count * size)
        try:
            addresses: References = self._backend.allocate_scattered(count, size, header)
        except HeapError as error:
            self._extents.release_outside(count * size)
            raise NoRoom(
                count * size, self._extents.free_bytes, self._extents.capacity, error.message
            ) from error
        return addresses

    def clear(self, cls: ClassType, places: References) -> None:
        """Let these places be as new ones are."""
        if len(places):
            record = self._header(cls).ljust(self._layout.record(cls).size, b"\0")
            data = np.tile(np.frombuffer(record, np.uint8), (len(places), 1))
            self._backend.scatter(places, 0, data)

    def free(self, selection: Selection, where: str = "", keeps_room: bool = False) -> None:
        assert isinstance(selection, ScatteredSelection)
        addresses = selection.addresses
        ordered = np.sort(addresses)
        if (ordered[1:] == ordered[:-1]).any():
            raise repeated_reference()
        indices = self._registry.find_all(addresses)
        counts = np.bincount(indices)
        stays = keeps_room and self._quarantine is None
        if stays:
            self._registry.free(addresses, self.deletions + 1)
        else:
            self._registry.remove(addresses)
        for type_index in np.flatnonzero(counts):
            cls, count = self._classes[int(type_index)], int(counts[type_index])
            self._count(cls, -count)
            size = self._layout.record(cls).size
            gone = addresses[indices == type_index]
            if stays:
                self._free[cls] = np.concatenate([self._free_places(cls), gone])
            elif self._quarantine is not None:
                self._quarantine.add(cls, gone, size, where)
            else:
                self._give_back(gone, size)
        if self._quarantine is not None:
            self._release(self._quarantine.overdue())
        self.generation += 1
        self.deletions += 1

    def _give_back(self, addresses: References, size: int) -> None:
        self._extents.release_outside(len(addresses) * size)
        self._backend.free_scattered(addresses)

    def _release(self, batches: Iterable[Batch[ClassType]]) -> None:
        for batch in batches:
            self._give_back(batch.places, batch.size)

    def release_deleted(self, amid: bool = True) -> None:
        if self._quarantine is not None:
            self._release(self._quarantine.everything())
        for cls in [cls for cls, free in self._free.items() if len(free)]:
            free = self._free.pop(cls)
            self._registry.remove(free)
            self._give_back(free, self._layout.record(cls).size)

    def deleted_at(self, address: int) -> tuple[ClassType, str] | None:
        if self._quarantine is None:
            return None
        for cls in self._classes.values():
            where = self._quarantine.find(cls, address)
            if where is not None:
                return cls, where
        return None

    def change_layout(self) -> None:
        self.layout_epoch += 1

    def change_code(self) -> None:
        # Without a call between, amid which other threads, who need no lock, would see places that
        # there were before, or are still to come.
        self.code_epoch += 1
        self.layout_epoch += 1

    # ------------------------------------------------------------------ made and ended in kernels

    def make_room(self, cls: ClassType, count: int) -> None:
        """Let there be ``count`` free places. Raises NoRoom, having changed nothing."""
        free = self._free_places(cls)
        if len(free) >= count:
            return
        fresh = self._allocate(cls, count - len(free))
        try:
            both = np.concatenate([free, fresh])
            self._classes[cls.type_index] = cls
            self._registry.add_free(fresh, cls.type_index)
        except BaseException:
            self._give_back(fresh, self._layout.record(cls).size)
            raise
        self._free[cls] = both

    def _free_places(self, cls: ClassType) -> References:
        return self._free.get(cls, _NO_PLACES)

    def room(self, cls: ClassType) -> int:
        """How many free places there are."""
        return len(self._free_places(cls))

    def lend(self, cls: ClassType, count: int) -> References:
        """The first ``count`` free places, or all. Nobody else has them until ``end_loan``."""
        free = self._free_places(cls)
        self._free[cls] = free[count:]
        return free[:count]

    def end_loan(self, cls: ClassType, places: References) -> None:
        """Those of lent places in which objects were made and not ended have one, made in their
        order, and the others are free."""
        states = self._registry.states_of(places)
        is_born = states & (BORN | ENDED) == BORN
        free = np.concatenate([places[~is_born], self._free_places(cls)])
        self._registry.set_states(places, 0)
        self._registry.take(places[is_born])
        self._free[cls] = free
        if is_born.any():
            self._count(cls, int(is_born.sum()))

    def ended(self) -> Selection:
        """The objects that a launch has ended, which live until they are freed; loans have ended
        before."""
        places = self._registry.marked(ENDED)
        self._registry.set_states(places, LIVED)
        indices = self._registry.find_all(places)
        references = [
            self._encoding.encode(places[indices == each], int(each)) for each in np.unique(indices)
        ]
        found = np.concatenate(references) if references else np.zeros(0, np.uint64)
        return self._selection(found, self._classes[int(indices[0])] if len(indices) else None)

    def state(self, address: int) -> int:
        """The byte that says whether an object lives at an address (``dispatch.births``), where
        CPython runs kernels; 0 if it is no place."""
        return self._registry.state(address)

    def set_state(self, address: int, state: int) -> None:
        """Another one."""
        self._registry.set_states(np.array([address], np.uint64), state)

    def _count(self, cls: ClassType, change: int) -> None:
        self.population_version += 1
        before = self.count(cls)
        self._counts[cls] = before + change
        if (before == 0) != (before + change == 0):
            self.population_epoch += 1
        if self._track_layout and change:
            self.layout_epoch += 1

    def lives(self, address: int) -> bool:
        return self._registry.find(address) != NO_TYPE

    def refuse_replaced(self, references: References, deletions: int) -> None:
        used = np.flatnonzero(references)
        self.select(references[used])
        addresses: References = self._encoding.address(references[used])
        replaced = self._registry.freed_after(addresses, deletions)
        if replaced.any():
            first = int(np.argmax(replaced))
            address = int(addresses[first])
            raise freed_reference(address, self.class_of(address), f"element {used[first]}: ")

    def has_deleted(self, cls: ClassType, deletions: int) -> bool:
        return self.deletions > deletions

    def refuse_deleted_run(self, run: Run, count: int, deletions: int) -> None:
        raise InternalError("objects that are placed one by one are no run")

    def class_of(self, address: int) -> ClassType:
        if address == 0:
            raise null_reference()
        type_index = self._registry.find(address)
        if type_index == 0:
            raise foreign_reference(address)
        return self._classes[type_index]

    def one(self, address: int) -> ScatteredSelection:
        cls = self.class_of(address)
        references = self._encoding.encode(np.array([address], np.uint64), cls.type_index)
        return self._selection(references, cls)

    def select(self, references: References) -> Selection:
        addresses = self._encoding.address(references)
        missing = np.flatnonzero(self._registry.find_all(addresses) == 0)
        if len(missing):
            place = int(missing[0])
            where = f"element {place}: "
            if addresses[place] == 0:
                raise null_reference(where)
            raise foreign_reference(int(addresses[place]), where)
        first = self.class_of(int(addresses[0])) if len(addresses) else None
        return self._selection(references, first)

    def objects(self, classes: Sequence[ClassType]) -> Selection:
        found = [
            self._encoding.encode(self._registry.of_type(cls.type_index), cls.type_index)
            for cls in classes
        ]
        references = np.concatenate(found) if found else np.zeros(0, np.uint64)
        return self._selection(references, classes[0] if classes else None)

    def read_one(self, address: int, path: FieldPath) -> Any:
        value = self.one(address).read(path)[0]
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        return value

    def write_one(
        self, address: int, path: FieldPath, value: Any, index: tuple[int, ...] | None
    ) -> None:
        selection = self.one(address)
        if index is None:
            _, dtype = selection.part(path)
            values = np.empty((1, *dtype.shape), dtype.base)
            values[0] = value
        else:
            values = selection.read(path).copy()
            values[(0, *index)] = value
        selection.write(path, values)

    def _selection(self, references: References, cls: ClassType | None) -> ScatteredSelection:
        return ScatteredSelection(references, cls, self._encoding, self._layout, self._backend)

    def classes(self) -> list[ClassType]:
        found = [cls for cls, count in self._counts.items() if count]
        return sorted(found, key=lambda cls: cls.type_index)

    def holders(self) -> list[ClassType]:
        held = np.unique(self._registry.types()).tolist()
        return [self._classes[type_index] for type_index in held]

    def count(self, cls: ClassType) -> int:
        return self._counts.get(cls, 0)

    def reserved(self, cls: ClassType) -> int:
        return (self.count(cls) + self.room(cls)) * self._layout.record(cls).size

    def region_count(self, cls: ClassType) -> int:
        return 0

    def ranges(self) -> list[tuple[int, int, ClassType]]:
        return []


def _free_all(backend: Any, registry: Registry, quarantine: Quarantine[ClassType] | None) -> None:
    backend.free_scattered(registry.addresses())
    if quarantine is not None:
        for batch in quarantine.everything():
            backend.free_scattered(batch.places)


class ScatteredSelection:
    """Objects that only the backend reaches. All have the field that is asked for; a field's offset
    is the same in every subclass, so one class tells it for all of them."""

    is_one_view = False
    run = None

    def __init__(
        self,
        references: References,
        cls: ClassType | None,
        encoding: ReferenceEncoding,
        layout: Layout,
        backend: Any,
    ) -> None:
        self.references = references
        self.count = len(references)
        self.addresses: References = encoding.address(references)
        self._cls = cls
        self._layout = layout
        self._backend = backend

    def stretches(self) -> list[tuple[int, int, Run | None]]:
        return [(0, self.count, None)]

    def copy_references(self, target: References) -> None:
        target[:] = self.references

    def send_references(self, address: int) -> bool:
        return False

    def part(self, path: FieldPath) -> tuple[int, np.dtype[Any]]:
        """Bytes from an object to the field, as all are records, and the field's dtype."""
        assert self._cls is not None
        offset, dtype = self._layout.record(self._cls).part(path.name, path.components)
        return RECORDS.start(offset), dtype

    def view(self, path: FieldPath) -> Values | None:
        return None

    def read(self, path: FieldPath) -> Values:
        offset, dtype = self.part(path)
        data = self._backend.gather(self.addresses, offset, dtype.itemsize)
        values = np.ascontiguousarray(data).reshape(-1).view(dtype.base)
        return values.reshape(self.count, *dtype.shape)

    def write(self, path: FieldPath, values: Values, is_distinct: bool = False) -> None:
        """``is_distinct``: no object is there twice, as the caller knows."""
        if self.count == 0:
            return
        offset, dtype = self.part(path)
        whole = np.empty((self.count, *dtype.shape), dtype.base)
        whole[:] = values
        data = whole.reshape(-1).view(np.uint8).reshape(self.count, dtype.itemsize)
        addresses = self.addresses
        if not is_distinct and self._has_repeated:
            # The last value counts, as in NumPy; threads of a device have no order.
            addresses, last = np.unique(addresses[::-1], return_index=True)
            data = data[::-1][last]
        self._backend.scatter(addresses, offset, data)

    @cached_property
    def _has_repeated(self) -> bool:
        return len(np.unique(self.addresses)) != self.count

    def change(self, path: FieldPath, change: Change) -> None:
        if self.count == 0:
            return
        values = self.read(path).copy()
        change(values, slice(None))
        self.write(path, values)
