"""``oa.all(C)``: every live object of a class and its subclasses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..model.classes import ClassType
from ..model.type_names import T_co
from .arrays import ObjectArray
from .numpy_like import One, Several
from .objects import ManyObjects
from .placement import Placement, References, Selection
from .recording import Recorder, recording
from .run import Run, RunOfObjects
from .run_detection import MOST_RUNS

if TYPE_CHECKING:
    from .heap import Heap

_PATIENCE = 256
"""Calls: of a model that takes a few for each of its steps many steps."""


class RunsOfClasses:
    """The live objects of exactly one class as runs, remembered until an object is made or goes."""

    def __init__(self, placement: Placement, lock: AbstractContextManager[Any]) -> None:
        self._placement = placement
        self._lock = lock
        self._known: dict[ClassType, tuple[int, list[tuple[Run, int]] | None]] = {}
        #: Of classes that launches change, how many calls more take lists of their objects.
        self._patience: dict[ClassType, int] = {}

    def note_change(self, classes: Iterable[ClassType]) -> None:
        """Launches have made or ended objects of these."""
        for cls in classes:
            self._patience.setdefault(cls, 0)

    def stays(self, cls: ClassType, runs: list[tuple[Run, int]] | None) -> bool:
        """Whether a call should take the ``runs`` of a class as such: code is made for each number
        of them. What launches change is soon in other runs, also when it has just moved together;
        it is taken as a list until it has been one run for a while."""
        left = self._patience.get(cls)
        if left is None:
            return True
        is_whole = runs is not None and len(runs) == 1
        self._patience[cls] = max(left - 1, 0) if is_whole else _PATIENCE
        return is_whole and not left

    def is_waiting(self, cls: ClassType) -> bool:
        """Whether a class of which the last call took a list is one run now, so that later ones
        will take that."""
        return self._patience.get(cls, _PATIENCE) < _PATIENCE

    def of(self, cls: ClassType) -> list[tuple[Run, int]] | None:
        """Runs, with the number of objects of each; None if some are in none, or they are many."""
        with self._lock:
            version = self._placement.population_version
            kept, runs = self._known.get(cls, (-1, None))
            if kept != version:
                found = self._placement.objects([cls]).stretches()
                runs = [(run, stop - first) for first, stop, run in found if run is not None]
                runs = runs if len(runs) == len(found) <= MOST_RUNS else None
                self._known[cls] = version, runs
        return runs


class Population(ManyObjects[T_co]):
    """The objects as they are when asked: those made later belong to it, too. They are in order of
    class and, within a class, as they were made; an object in a reused place has that place."""

    __slots__ = ("_class", "_heap")
    _class: ClassType

    def __init__(self, heap: Heap, cls: ClassType) -> None:
        object.__setattr__(self, "_heap", heap)
        object.__setattr__(self, "_class", cls)

    @property
    def _cls(self) -> ClassType:
        return self._class

    def _call(self, name: str, /, *arguments: Any, **named: Any) -> Any:
        found = recording.get()
        if isinstance(found, Recorder) and not named and found.call_again(self, name, arguments):
            return None
        return super()._call(name, *arguments, **named)

    def _classes(self) -> list[ClassType]:
        """The classes that have objects, by type index."""
        populated = self._heap.placement.classes()
        return [cls for cls in populated if cls.is_subclass_of(self._cls)]

    def by_class(self) -> Iterator[ObjectArray[T_co]]:
        """The objects of each class that has any, class by class, in arrays of the caller's."""
        return (self._listed_anew(cls) for cls in self._classes())

    def _listed_anew(self, cls: ClassType) -> ObjectArray[T_co]:
        """Not in the array that calls of methods take: who gets this may write to it."""
        heap = self._heap
        made = heap.array_of(heap.reference_type(cls), heap.placement.objects([cls]).references)
        assert isinstance(made, ObjectArray)
        return made

    def _stretches(self) -> Iterator[ObjectArray[T_co] | RunOfObjects]:
        """The objects class by class, as arguments for kernels: where these use runs, as such."""
        heap = self._heap
        for cls in self._classes():
            listed = _listed(heap, cls)
            is_known = listed is None and heap.uses_runs
            runs = heap.runs_of_classes.of(cls) if is_known else None
            stays = heap.runs_of_classes.stays(cls, runs)
            if listed is not None:
                yield listed
            elif not stays:
                yield heap.objects_of(cls)._as_list()
            elif runs is not None:
                yield from (RunOfObjects(heap, run, count) for run, count in runs)
            elif heap.uses_runs:
                yield from heap.objects_of(cls)._stretches()
            else:
                yield heap.objects_of(cls)

    def _selection(self) -> Selection:
        return self._heap.placement.objects(self._classes())

    def _references(self) -> References:
        return self._selection().references

    def __len__(self) -> int:
        return sum(map(self._heap.placement.count, self._classes()))

    def __iter__(self) -> Iterator[T_co]:
        heap = self._heap
        return map(heap.wrap, heap.upkeep.holding(self._references().tolist()))

    @overload
    def __getitem__(self, key: One) -> T_co: ...
    @overload
    def __getitem__(self, key: Several) -> ObjectArray[T_co]: ...
    def __getitem__(self, key: Any) -> Any:
        """An object for an int, an array of objects for a slice."""
        references = self._references()
        if isinstance(key, (int, np.integer)):
            return self._heap.wrap(int(references[key]))
        return self._heap.array_of(self._heap.reference_type(self._cls), references[key])

    def __reduce__(self) -> Any:
        raise TypeError(
            f"oa.all({self._cls.name}) is all objects of a heap and cannot be copied or pickled by "
            "itself; oa.concat makes an array of them, oa.dump keeps the heap"
        )

    def _description(self) -> str:
        return f"oa.all({self._cls.name})"

    def __repr__(self) -> str:
        return f"<all {len(self)} {self._cls.name}>"


def _listed(heap: Heap, cls: ClassType) -> ObjectArray | None:
    """All objects of exactly a class, where a device lists them; for kernels that are launched at
    once."""
    lists, element = heap.memory.population_lists, heap.reference_type(cls)
    if lists is None:
        return None
    with heap.lock:
        storage = lists.of(cls, element)
        if storage is None:
            return None
        return ObjectArray(heap, element, storage, storage.address, heap.placement.count(cls))
