"""Fields whose arrays are all pieces of one array of objects side by side.

``oa.split`` gives every vertex its piece of one array of edges. Where the objects of that array are
a run (``run``), an element of a piece need not be loaded: where it lies in the whole array tells
which object it refers to, and of which class that is. Kernels may rest on it for a field as long as
every object's array in it, if not empty, lies in the whole, and nobody stores to that.

All writes of arrays to fields by the host are reported here; launches that may do so, or may store
references to arrays, end what is known.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatch import state
from dispatch.dataclass import dataclass, replace

from ..model.classes import ClassType
from ..model.layout import ARRAY_DTYPE
from ..model.run_form import RunForm
from ..model.types import ArrayType, ReferenceType
from ..uninterrupted import uninterrupted
from .distinct_fields import DistinctFields
from .run import Run

if TYPE_CHECKING:
    from .placement import Placement


@dataclass(frozen=True, eq=False)
class WholeArray:
    """``size`` bytes of references from ``address`` on, to the objects of ``run`` in order, each of
    ``item`` bytes."""

    address: int
    size: int
    item: int
    run: Run

    def holds(self, arrays: np.ndarray[Any, Any]) -> bool:
        """Whether all of ``arrays`` (``ARRAY_DTYPE``), none of which is empty, are pieces of it."""
        offsets = arrays["address"] - np.uint64(self.address)  # large where it is below
        ends = offsets + arrays["length"].astype(np.uint64) * np.uint64(self.item)
        return bool((offsets < self.size).all() and (ends <= self.size).all())


class PieceFields:
    """What is known of one heap's fields."""

    def __init__(self, distinct: DistinctFields) -> None:
        self._distinct = distinct
        self._wholes: tuple[WholeArray, ...] = ()
        #: By declaring class and name; None for a field that holds other arrays, too.
        self._fields: dict[tuple[ClassType, str], WholeArray | None] = {}
        self._placement: Callable[[], Placement | None] = lambda: None

    def watch(self, placement: Placement) -> None:
        """Tell ``placement`` of every change: kernels that were compiled before rest on what was
        known. It is not kept, as it keeps what is known here."""
        self._placement = weakref.ref(placement)

    def _changed(self) -> None:
        placement = self._placement()
        if placement is not None:
            placement.change_layout()

    def note(self, array: WholeArray) -> None:
        """Fields are going to get pieces of ``array``."""
        for known in self._wholes:
            if known.address == array.address and known.size >= array.size:
                return
        if len(self._wholes) < state.MOST_WHOLES:
            self._wholes = (*self._wholes, array)

    def written(self, cls: ClassType, name: str, values: Any) -> None:
        """The host writes ``values`` to field ``name`` of some objects of ``cls``."""
        type = cls.fields[name]
        if isinstance(type, ReferenceType):
            self._distinct.written(cls, name)
        if not isinstance(type, ArrayType) or not isinstance(type.element, ReferenceType):
            return
        arrays = np.atleast_1d(np.asarray(values, ARRAY_DTYPE))
        arrays = arrays[arrays["length"] > 0]
        if len(arrays) == 0:
            return
        whole = next((known for known in self._wholes if known.holds(arrays)), None)
        owner = cls.field_owner(name)
        assert owner is not None
        key = owner, name
        before = self._fields.get(key)
        is_same = key not in self._fields or whole is before
        now = whole if is_same else None
        if key not in self._fields or now is not before:
            with uninterrupted:
                self._fields[key] = now
                if now is not before:
                    self._changed()

    def changed(self, start: int, end: int) -> None:
        """The contents of the memory [``start``, ``end``) change."""
        gone = self._among(start, end)
        if gone:
            with uninterrupted:
                self._drop(gone)
                self._fields = {k: None if a in gone else a for k, a in self._fields.items()}
                self._changed()

    def freed(self, start: int, end: int) -> None:
        """The memory [``start``, ``end``) was freed, as no field holds a piece of it. The caller
        has the heap's lock, so no signal comes in between."""
        gone = self._among(start, end)
        if gone:
            self._drop(gone)
            self._fields = {k: a for k, a in self._fields.items() if a not in gone}
            self._changed()

    def _among(self, start: int, end: int) -> set[WholeArray]:
        return {a for a in self._wholes if start < a.address + a.size and a.address < end}

    def _drop(self, gone: set[WholeArray]) -> None:
        self._wholes = tuple(a for a in self._wholes if a not in gone)

    def forget_all(self) -> None:
        """Any field and any array may change."""
        if any(self._fields.values()) or self._wholes:
            with uninterrupted:
                self._wholes = ()
                self._fields = dict.fromkeys(self._fields)
                self._changed()

    def known(self) -> dict[tuple[ClassType, str], RunForm]:
        """The fields that kernels may rest on, by declaring class and name, and what their
        elements are."""
        return {
            field: replace(whole.run.form, whole=self._wholes.index(whole))
            for field, whole in self._fields.items()
            if whole is not None
        }

    def words(self) -> list[int]:
        """Of the state block, from ``state.WHOLES`` on."""
        return [word for a in self._wholes for word in (a.address, a.run.first)]
