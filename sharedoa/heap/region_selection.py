"""Objects in regions, seen field by field without copying where they form runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from dispatch.dataclass import dataclass

from ..model.arrangement import Slots, slot_numbers
from ..model.reference import ReferenceEncoding
from .parallel import in_chunks
from .pieces import PieceFields
from .placement import Change, FieldPath, Fields, References, Values
from .regions import Region, has_repeated
from .residency import BLOCK, Residency
from .run import Run, run_of_slots
from .transfer import Column, Transfer


@dataclass(frozen=True, eq=False)
class Part:
    """``count`` objects of one region; ``where`` says which elements of the selection they are."""

    region: Region
    where: Any
    slots: Slots
    count: int

    @classmethod
    def at(cls, region: Region, position: int, slots: Slots) -> Part:
        if isinstance(slots, slice):
            count = len(range(*slots.indices(region.capacity)))
        else:
            count = len(slots)
        return cls(region, slice(position, position + count), slots, count)

    def between(self, first: int, stop: int) -> Part:
        """Some of the objects, of a part whose slots have a constant distance."""
        assert isinstance(self.slots, slice)
        step = self.slots.step
        end = self.slots.start + stop * step
        slots = slice(self.slots.start + first * step, end if end >= 0 else None, step)
        where = slice(self.where.start + first, self.where.start + stop)
        return Part(self.region, where, slots, stop - first)

    @property
    def is_view(self) -> bool:
        """Whether fields of these objects are read without copying them."""
        return isinstance(self.slots, slice) and not self.region.arrangement.is_tiled

    def extremes(self) -> tuple[int, int]:
        """First and last slot by address."""
        if isinstance(self.slots, slice):
            numbers = range(*self.slots.indices(self.region.capacity))
            return min(numbers[0], numbers[-1]), max(numbers[0], numbers[-1])
        return int(self.slots.min()), int(self.slots.max())

    def host_uses(self, residency: Residency) -> None:
        """The host is about to read or write fields of these objects."""
        if residency.moves:
            region = self.region
            start, end = region.span(*self.extremes())
            residency.host_uses(region.start, start, end, self._blocks())

    def _blocks(self) -> int | None:
        """How many blocks of memory the objects lie in, or None where they lie side by side."""
        if _consecutive(self) is not None:
            return None
        size = self.region.arrangement.record.size
        used = np.zeros(self.region.capacity * size // BLOCK + 1, bool)
        used[slot_numbers(self.slots) * size // BLOCK] = True
        return int(used.sum())


class RegionSelection:
    """Parts of regions that together are ``count`` objects."""

    def __init__(
        self,
        parts: list[Part],
        count: int,
        encoding: ReferenceEncoding,
        residency: Residency,
        pieces: PieceFields,
        access: AbstractContextManager[Any],
    ) -> None:
        """``access`` is held while fields are read or written."""
        self.parts = parts
        self.count = count
        self._encoding = encoding
        self._residency = residency
        self._pieces = pieces
        self._access = access

    @cached_property
    def references(self) -> References:
        found = np.empty(self.count, np.uint64)
        self.copy_references(found)
        return found

    def copy_references(self, target: References) -> None:
        def copy(part: Part) -> None:
            addresses = part.region.addresses(part.slots)
            target[part.where] = self._encoding.encode(addresses, part.region.cls.type_index)

        for part in self.parts:
            _work_on(part, target.itemsize, copy)

    def send_references(self, address: int) -> bool:
        end = address + self.count * self._encoding.dtype.itemsize
        parts = [(part, _consecutive(part)) for part in self.parts]
        transfer = self._residency.transfer_between(address, end)
        if transfer is None or any(slots is None for _, slots in parts):
            return False
        for part, slots in parts:
            assert slots is not None
            region = part.region
            first = self._encoding.encode(region.start, region.cls.type_index)
            target = address + part.where.start * self._encoding.dtype.itemsize
            slots_column = region.header_column(1, slots)
            transfer.write_references(target, slots_column, first, self._encoding)
        return True

    @property
    def is_one_view(self) -> bool:
        return len(self.parts) == 1 and self.parts[0].is_view

    @property
    def run(self) -> Run | None:
        return self._runs[0] if len(self.parts) == 1 else None

    def stretches(self) -> list[tuple[int, int, Run | None]]:
        if not all(isinstance(part.where, slice) for part in self.parts):
            return [(0, self.count, None)]
        return [
            (part.where.start, part.where.stop, run)
            for part, run in zip(self.parts, self._runs, strict=True)
        ]

    @cached_property
    def _runs(self) -> list[Run | None]:
        return [run_of_slots(part.region, part.slots, self._encoding) for part in self.parts]

    def read(self, path: FieldPath) -> Values:
        with self._access:
            return self._read(path)

    def view(self, path: FieldPath) -> Values | None:
        if not self.is_one_view:
            return None
        view: Values = self.parts[0].region.field(path)[self.parts[0].slots]
        return view

    def _read(self, path: FieldPath) -> Values:
        field = self.parts[0].region.field(path)
        if self.is_one_view:
            self.parts[0].host_uses(self._residency)
            view: Values = field[self.parts[0].slots]
            return view
        # Padding of structures is not copied, and must not show what lay there before.
        blank = np.empty if field.dtype.fields is None else np.zeros
        found = blank((self.count, *field.shape[1:]), field.dtype)

        def copy(part: Part) -> None:
            found[part.where] = part.region.field(path)[part.slots]

        for part in self.parts:
            device = self._device(part)
            if device is not None:
                device.transfer.read(part.region.column(path, device.slots), found[part.where])
            else:
                part.host_uses(self._residency)
                _work_on(part, part.region.arrangement.record.size, copy)
        return found

    def write(self, path: FieldPath, values: Values) -> None:
        with self._access:
            self._write(b"", {path: values})

    def initialise(self, header: bytes, fields: Fields) -> None:
        """Write what new objects start with, all fields of an object at a time."""
        with self._access:
            self._write(header, fields)

    def _write(self, header: bytes, fields: Fields) -> None:
        if not self.parts or not (header or fields):
            return
        whole = {path: self._spread(path, values) for path, values in fields.items()}
        for path in whole:
            for part in self.parts:
                self._pieces.written(part.region.cls, path.name, whole[path][part.where])

        def write(part: Part) -> None:
            part.region.set_header(part.slots, header)
            for path, values in whole.items():
                part.region.field(path)[part.slots] = values[part.where]

        for part in self.parts:
            device = self._device(part)
            if device is not None:
                device.transfer.write(_columns(part, device.slots, header, whole))
            else:
                part.host_uses(self._residency)
                _work_on(part, part.region.arrangement.record.size, write)

    def _spread(self, path: FieldPath, values: Values) -> Values:
        """A value for every object, which no part of the assignment changes for a later one."""
        shape = (self.count, *self.parts[0].region.field(path).shape[1:])
        whole = np.broadcast_to(values, shape)
        shared = any(np.may_share_memory(values, part.region.memory) for part in self.parts)
        return whole.copy() if shared else whole

    def change(self, path: FieldPath, change: Change) -> None:
        with self._access:
            self._change(path, change)

    def _change(self, path: FieldPath, change: Change) -> None:
        def change_copy(part: Part) -> None:
            field = part.region.field(path)
            values = field[part.slots]
            change(values, part.where)
            field[part.slots] = values

        if self._may_repeat:
            # Each place is computed from what was there before, as NumPy does.
            values = self._read(path).copy()
            change(values, slice(None))
            self._write(b"", {path: values})
            return
        for part in self.parts:
            device = self._device(part)
            if device is not None:
                column = part.region.column(path, device.slots)
                values = np.empty((part.count, *column.dtype.shape), column.dtype.base)
                device.transfer.read(column, values)
                change(values, part.where)
                device.transfer.write([(column, values)])
                continue
            part.host_uses(self._residency)
            if part.is_view:
                change(part.region.field(path)[part.slots], part.where)
            else:
                _work_on(part, part.region.arrangement.record.size, change_copy)

    def add(self, path: FieldPath, values: Values) -> None:
        """Add to a field, to that of an object as often as it is here. In the memory of the host
        alone."""
        with self._access:
            for part in self.parts:
                field, slots, given = part.region.field(path), part.slots, values[part.where]
                if not isinstance(slots, slice) and has_repeated(slots):
                    slots, places = np.unique(slots, return_inverse=True)
                    summed = np.zeros((len(slots), *given.shape[1:]), given.dtype)
                    np.add.at(summed, places, given)
                    given = summed
                now = field[slots]
                np.add(now, given, out=now)
                if not part.is_view:
                    field[slots] = now

    @cached_property
    def _may_repeat(self) -> bool:
        """Whether several parts may have an object in common."""
        if len(self.parts) == 1:
            return False
        spans = sorted((part.region.start, *part.extremes()) for part in self.parts if part.count)
        return any(one[0] == other[0] and other[1] <= one[2] for one, other in pairwise(spans))

    def _device(self, part: Part) -> _OnDevice | None:
        """What moves values of the part, where it lies on the device."""
        slots = _consecutive(part)
        if slots is None or part.count == 0:
            return None
        transfer = self._residency.transfer_between(*part.region.span(*part.extremes()))
        if transfer is None or part.region.arrangement.record.size > transfer.largest_item:
            return None
        return _OnDevice(transfer, slots)


@dataclass(frozen=True)
class _OnDevice:
    """Slots of a part that lie side by side, and what moves their values."""

    transfer: Transfer
    slots: slice


def _consecutive(part: Part) -> slice | None:
    slots = part.slots
    return slots if isinstance(slots, slice) and slots.step == 1 else None


def _columns(
    part: Part, slots: slice, header: bytes, fields: Fields
) -> list[tuple[Column, Values]]:
    region = part.region
    columns = [(region.column(path, slots), fields[path][part.where]) for path in fields]
    if header:
        column = region.header_column(len(header), slots)
        value = np.frombuffer(header, column.dtype)[0]
        columns.append((column, np.broadcast_to(value, part.count)))
    return columns


def _work_on(part: Part, item_bytes: int, work: Callable[[Part], None]) -> None:
    """Call ``work`` for the part, piece by piece where these cannot have an object in common."""
    if isinstance(part.slots, slice):
        in_chunks(part.count, item_bytes, lambda first, stop: work(part.between(first, stop)))
    else:
        work(part)
