"""Objects side by side in one region: one number tells all their references."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dispatch.dataclass import dataclass

from ..model.arrangement import Arrangement
from ..model.classes import ClassType
from ..model.layout import pack_array
from ..model.reference import ReferenceEncoding
from ..model.run_form import NEAR_BYTES, RunForm
from ..model.types import ReferenceType
from .regions import Region

if TYPE_CHECKING:
    from .heap import Heap


@dataclass(frozen=True, eq=False)
class RunPlace:
    """A region: where it begins, its bytes, and what lies there."""

    start: int
    size: int
    cls: ClassType
    arrangement: Arrangement


@dataclass(frozen=True, eq=False)
class Run:
    """The objects from ``slot`` on; ``first`` is what kernels compute the
    references of it and of those after it from (``ReferenceEncoding.origin``).

    It says where objects were placed, whatever becomes of them or of their region since; what
    remembers it keeps no memory.
    """

    place: RunPlace
    slot: int
    encoding: ReferenceEncoding
    first: int
    form: RunForm

    @classmethod
    def at(cls, place: RunPlace, slot: int, encoding: ReferenceEncoding) -> Run:
        slots = slice(slot, slot + 1, 1)
        address = int(place.arrangement.addresses(place.start, slots)[0])
        is_first = slot % place.arrangement.lanes == 0
        form = RunForm(place.cls, is_first and place.size <= NEAR_BYTES)
        first = encoding.origin(address, place.cls.type_index)
        return cls(place, slot, encoding, first, form)

    def after(self, count: int) -> Run:
        """The same without the first ``count`` objects."""
        return Run.at(self.place, self.slot + count, self.encoding)


class RunOfObjects:
    """An array of references that nobody has written down: an argument for compiled code that takes
    it for the run that it is."""

    __slots__ = ("__sharedoa_element__", "_heap", "_length", "_packed", "_run")
    _storage = None  # as of an array without elements

    def __init__(self, heap: Heap, run: Run, count: int) -> None:
        self._heap = heap
        self._run = run
        self._length = count
        self._packed = pack_array(0, count)
        self.__sharedoa_element__: ReferenceType = heap.reference_type(run.form.cls)

    @property
    def _cls(self) -> ClassType:
        return self._run.form.cls

    def __len__(self) -> int:
        return self._length


def run_of_slots(
    region: Region,
    slots: slice | np.ndarray[tuple[int], np.dtype[np.int64]],
    encoding: ReferenceEncoding,
) -> Run | None:
    """The run that consecutive slots of a region are."""
    if not isinstance(slots, slice) or slots.step != 1:
        return None
    place = RunPlace(region.start, region.memory.nbytes, region.cls, region.arrangement)
    return Run.at(place, slots.start, encoding)
