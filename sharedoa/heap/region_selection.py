"""Objects in regions, seen field by field without copying where they form runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..model.reference import ReferenceEncoding
from .placement import Change, FieldPath, References, Values
from .regions import Region, Slots
from .residency import Residency


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

    def extremes(self) -> tuple[int, int]:
        """First and last slot by address."""
        if isinstance(self.slots, slice):
            numbers = range(*self.slots.indices(self.region.capacity))
            return min(numbers[0], numbers[-1]), max(numbers[0], numbers[-1])
        return int(self.slots.min()), int(self.slots.max())


class RegionSelection:
    """Parts of regions that together are ``count`` objects."""

    def __init__(
        self, parts: list[Part], count: int, encoding: ReferenceEncoding, residency: Residency
    ) -> None:
        self.parts = parts
        self.count = count
        self._encoding = encoding
        self._residency = residency

    @cached_property
    def references(self) -> References:
        found = np.empty(self.count, np.uint64)
        for part in self.parts:
            addresses = part.region.addresses(part.slots)
            found[part.where] = self._encoding.encode(addresses, part.region.cls.type_index)
        return found

    @property
    def is_one_view(self) -> bool:
        return len(self.parts) == 1 and isinstance(self.parts[0].slots, slice)

    def read(self, path: FieldPath) -> Values:
        if self.is_one_view:
            return self._values(self.parts[0], path)
        pieces = [self._values(part, path) for part in self.parts]
        found = np.empty((self.count, *pieces[0].shape[1:]), pieces[0].dtype)
        for part, piece in zip(self.parts, pieces, strict=True):
            found[part.where] = piece
        return found

    def write(self, path: FieldPath, values: Values) -> None:
        if not self.parts:
            return
        shape = (self.count, *self.parts[0].region.field(path).shape[1:])
        whole = np.broadcast_to(values, shape)
        for part in self.parts:
            self._touch(part)
            part.region.field(path)[part.slots] = whole[part.where]

    def change(self, path: FieldPath, change: Change) -> None:
        for part in self.parts:
            values = self._values(part, path)
            change(values, part.where)
            if not isinstance(part.slots, slice):
                part.region.field(path)[part.slots] = values

    def _values(self, part: Part, path: FieldPath) -> Values:
        """A view of a run, a copy of anything else."""
        self._touch(part)
        return part.region.field(path)[part.slots]

    def _touch(self, part: Part) -> None:
        first, last = part.extremes()
        region = part.region
        self._residency.host_uses(
            region.start,
            region.start + first * region.stride,
            region.start + (last + 1) * region.stride,
        )
