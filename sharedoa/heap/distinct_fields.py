"""Fields that refer to another object in each object of a class, found by looking at all of them.

Where no two objects of a population refer to the same one, what a thread reaches through its own
object is its own, too (``runtime.fusion``). A field that somebody asks about is *watched*: all who
may change it say so. The host does so where it writes fields, launches if the role of the field is
among those that their program stores to, for which they are bound anew when a field comes to be
watched. Whatever makes, ends or moves objects changes the population's version.

Another thread's launch may come between the question and a launch that rests on the answer; so
nothing is known where several threads use the heap.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..model.classes import ClassType
from ..model.types import ReferenceType
from ..uninterrupted import uninterrupted
from .placement import FieldPath

if TYPE_CHECKING:
    from .heap import Heap

Field = tuple[ClassType, str]
"""The class that declares it, and its name."""
_MOST_LOOKS = 3
"""At a field of a class: all of its objects are read each time, so nobody is to ask again and again
what keeps changing."""


class DistinctFields:
    """What is known of the fields of one heap."""

    def __init__(self) -> None:
        self.watched: frozenset[Field] = frozenset()
        #: By class of the objects and field: when it was found, and what.
        self._known: dict[tuple[ClassType, Field], tuple[tuple[object, ...], bool]] = {}
        #: Of each watched field, its last change.
        self._changes: dict[Field, object] = {}
        self._looks: dict[tuple[ClassType, Field], int] = {}

    def are_distinct(self, heap: Heap, cls: ClassType, field: Field) -> bool:
        """Whether no two objects of ``cls`` or below refer to the same object by the field, but for
        those that refer to none. Waits for launches if it has to look."""
        owner, name = field
        is_known = isinstance(owner.fields.get(name), ReferenceType) and cls.is_subclass_of(owner)
        if heap.upkeep.is_shared or not is_known:
            return False
        if heap.mode.placement != "by_type":
            return False
        if field not in self.watched:
            with uninterrupted:
                self.watched |= {field}
                self._changes[field] = object()
                heap.forget_ways()  # what writes a field without a word
                heap.books.change_layout()
        key, now = (cls, field), self._version(heap, field)
        since, found = self._known.get(key, ((), False))
        if since != now:
            looks = self._looks[key] = self._looks.get(key, 0) + 1
            if looks > _MOST_LOOKS:
                return False
            heap.wait()
            now = self._version(heap, field)
            found = _look(heap, cls, name)
            self._known[key] = now, found
        return found

    def _version(self, heap: Heap, field: Field) -> tuple[object, ...]:
        books = heap.placement
        return books.population_version, books.moves, books.deletions, self._changes[field]

    def written(self, cls: ClassType, name: str) -> None:
        """The host writes the field of some objects of ``cls``."""
        if self.watched:
            owner = cls.field_owner(name)
            if owner is not None:
                self.stored([(owner, name)])

    def stored(self, fields: Collection[Field]) -> None:
        """A launch that is about to begin may change these fields."""
        for field in fields:
            if field in self._changes:
                self._changes[field] = object()

    @property
    def changes(self) -> Mapping[Field, object]:
        """The last change that each watched field may have had."""
        return self._changes

    def put_back(self, then: Mapping[Field, object]) -> None:
        """Memory is as it was when ``changes`` was ``then``."""
        self.stored([field for field in self.watched if then.get(field) != self._changes[field]])


def _look(heap: Heap, cls: ClassType, name: str) -> bool:
    classes = [each for each in heap.placement.classes() if each.is_subclass_of(cls)]
    selection = heap.placement.objects(classes)
    if not selection.count:
        return True
    values = np.asarray(selection.read(FieldPath(name)))
    values = values[values != 0]
    if (values[1:] > values[:-1]).all():
        return True
    return len(np.unique(values)) == len(values)
