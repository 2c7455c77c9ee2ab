"""Fields that are references, of many objects at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.frozen import refuse_frozen
from ..model.types import ReferenceType
from .arrays import ObjectArray
from .objects import ManyObjects
from .placement import FieldPath


class FieldReferences(ObjectArray):
    """``objects.next``: the objects that a field refers to, now. Assigning to elements assigns to
    the field, too."""

    __slots__ = ("_name", "_source")
    _name: str
    _source: ManyObjects

    @classmethod
    def of(cls, source: ManyObjects, name: str, type: ReferenceType) -> FieldReferences:
        heap = source._heap
        heap.wait()
        selection = source._selection()
        values = selection.read(FieldPath(name)) if selection.count else np.empty(0, np.uint64)
        found = heap.array_of(type, values, cls)
        assert isinstance(found, FieldReferences)
        if found._storage is not None:
            found._storage.lived = 0  # objects may refer to what was deleted
        object.__setattr__(found, "_name", name)
        object.__setattr__(found, "_source", source)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._source._cls.frozen:
            refuse_frozen(self._source._cls, self._name)
        super().__setitem__(key, value)
        places = np.atleast_1d(np.arange(len(self))[key])
        owners = self._heap.placement.select(self._source._references()[places])
        if owners.count:
            owners.write(FieldPath(self._name), self._values()[places])
