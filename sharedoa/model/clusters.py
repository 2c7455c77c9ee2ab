"""Clusters: fields that lie side by side for each object of a tile, as they do in a record.

Rows of scalars are best for threads that walk neighbours. Where objects are met in no order, every
field of one is another sector of memory; those that are used together had better lie together.
Clusters belong to the class that declares their fields, and are the same in its subclasses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from dispatch.dataclass import dataclass

from .classes import ClassType, Family

Groups = tuple[tuple[str, ...], ...]
"""The fields of each cluster of one class, in order of declaration."""


@dataclass(frozen=True)
class Cluster:
    """``width`` bytes of the record, from ``offset`` on."""

    offset: int
    width: int

    @property
    def stop(self) -> int:
        return self.offset + self.width


@dataclass(frozen=True)
class Clusters:
    """The clusters of all classes."""

    by_class: frozenset[tuple[ClassType, Groups]] = frozenset()

    def __iter__(self) -> Iterator[tuple[ClassType, Groups]]:
        return iter(self.by_class)

    def of(self, cls: ClassType) -> Groups:
        """The clusters of fields that ``cls`` itself declares."""
        return next((groups for owner, groups in self.by_class if owner is cls), ())

    def within(self, families: Collection[Family]) -> Clusters:
        """Those of classes of the families."""
        return Clusters(frozenset(each for each in self.by_class if each[0].family in families))

    def replace(self, cls: ClassType, groups: Iterable[Sequence[str]]) -> Clusters:
        """The same, but for the fields that ``cls`` itself declares."""
        others = frozenset(each for each in self.by_class if each[0] is not cls)
        declared = list(cls.own_fields)
        ordered = sorted(map(tuple, groups), key=lambda names: declared.index(names[0]))
        return Clusters(others | {(cls, tuple(ordered))} if ordered else others)
