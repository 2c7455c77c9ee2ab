"""Arrays of all objects of a class, kept for as long as the population stays what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.classes import ClassType
from .array_memory import ArrayStorage
from .arrays import ObjectArray
from .placement import Selection

if TYPE_CHECKING:
    from .heap import Heap


class ObjectsOfClasses:
    """Those of one heap, which it does not refer to: that would never go."""

    def __init__(self) -> None:
        #: By class, of the population that ``_version`` numbers.
        self._known: dict[ClassType, tuple[ArrayStorage | None, Selection]] = {}
        self._version = -1
        #: Launches on such arrays, or others of them all, that are called again
        #: (``runtime.vectorised``).
        self.plans: Any = None

    def array(self, heap: Heap, cls: ClassType) -> ObjectArray:
        """Every live object of exactly this class, in an array that is not to be written to."""
        with heap.lock.plain:
            version = heap.placement.population_version
            if self._version != version:
                # What is in there keeps regions whose objects may be gone.
                self._known.clear()
                self._version = version
            kept = self._known.get(cls)
            if kept is not None:
                storage, selection = kept
                array = _array(heap, cls, storage, selection.count)
                array._know(selection)
                return array
            selection = heap.placement.objects([cls])
            storage = heap.new_storage(heap.reference_type(cls), selection.count)
            array = _array(heap, cls, storage, selection.count)
            array._fill(selection)
            self._known[cls] = storage, selection
            return array

    def has(self, objects: ObjectArray) -> bool:
        """Whether these are all that live of a class, in the array that is kept of them."""
        storage, selection = self._known.get(objects._cls, (None, None))
        if storage is None or selection is None or storage is not objects._storage:
            return False
        return len(objects) == selection.count

    def forget(self) -> None:
        """Objects have gone or moved, or memory is short."""
        self._known.clear()
        self.plans = None


def _array(heap: Heap, cls: ClassType, storage: ArrayStorage | None, count: int) -> ObjectArray:
    address = storage.address if storage else 0
    return ObjectArray(heap, heap.reference_type(cls), storage, address, count)
