"""What a backend does with objects that change places, where their memory is: it copies them, and
lets references follow.

A list is references as memory holds them, one after another. Where an object has gone is told by
the *forwarding words* of the region that it was in: a reference a slot, 0 for none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from dispatch.dataclass import dataclass
from dispatch.identify.bits import TAG_SHIFT

from ..model.arrangement import Arrangement
from ..model.classes import ClassType
from ..model.field_address import WORD
from ..model.layout import Layout
from ..model.reference import ReferenceEncoding, TaggedReference
from ..model.types import InlineType, ReferenceType, Type, ValueType
from .regions import Region
from .slot_lists import Numbering

Words = np.ndarray[Any, np.dtype[np.uint64]]


class Decoding(NamedTuple):
    """The address of the reference that memory holds as r, of ``item`` bytes, is ((r & ``mask``) <<
    ``shift``) + ``base``."""

    item: int
    mask: int
    shift: int
    base: int


def decoding(encoding: ReferenceEncoding) -> Decoding:
    """How references of a heap that has objects are read."""
    item = encoding.dtype.itemsize
    tagged = isinstance(encoding, TaggedReference)
    mask = (1 << (TAG_SHIFT if tagged else 8 * item)) - 1
    return Decoding(item, mask, encoding.unit.bit_length() - 1, encoding.base)


def numbers_of(region: Region, encoding: ReferenceEncoding) -> Numbering:
    """The references to the objects of a region, as memory holds them."""
    arrangement, unit = region.arrangement, encoding.unit
    first = int(encoding.encode(region.start, region.cls.type_index))
    shift = arrangement.lanes.bit_length() - 1
    return Numbering(first, shift, arrangement.block_bytes // unit, WORD // unit)


@dataclass(frozen=True)
class Shape:
    """How objects of one class lie in blocks of 2**``shift`` slots; at ``table`` are three words
    for each of ``parts`` that they consist of: its bytes, where it is in the block in lane 0, and
    how many bytes the lanes are apart."""

    block_bytes: int
    shift: int
    table: int
    parts: int


def parts_of(arrangement: Arrangement) -> Words:
    """What lies at ``Shape.table``."""
    return np.array([*arrangement.parts()], np.uint64).reshape(-1)


FORWARDING_WORDS = 7


def forwarding(
    regions: Sequence[Region],
    slots: Sequence[int],
    words: Sequence[int],
    others: Sequence[int],
    left: Iterable[tuple[int, int]] = (),
    zero: int = 0,
) -> Words:
    """The table of regions with forwarding words of their first ``slots`` at these addresses, and
    behind them one that is zero: of each its start and end, the bytes of a block, log2 of its
    slots, that address, how many slots have words, and the reference that stands for objects
    without one, by start. Where no object lives any more memory may refer to any slot.

    References to anywhere in the pieces of memory ``left``, from where to where no region lies,
    become null; a word of 0 is at ``zero``."""
    rows = [
        (each.start, each.end, how.block_bytes, how.lanes.bit_length() - 1, address, count, other)
        for each, count, address, other in zip(regions, slots, words, others, strict=True)
        for how in [each.arrangement]
    ]
    rows += [(start, end, 1, 0, zero, 0, 0) for start, end in left]
    return np.array(sorted(rows), np.uint64).reshape(-1)


class ReferenceColumn(NamedTuple):
    """References of so many ``slots``: slot n's is at ``address`` + (n >> ``shift``) *
    ``block_bytes`` + (n & (2**``shift`` - 1)) * ``lane_bytes``."""

    address: int
    block_bytes: int
    shift: int
    lane_bytes: int
    slots: int


def columns_of(
    region: Region,
    type: Type,
    name: str,
    item: int,
    slots: int,
    held: Collection[ClassType] | None = None,
) -> Iterator[ReferenceColumn]:
    """The references in the field ``name`` of the first slots of a region; only those that may lead
    to objects of the classes ``held``, if these are given."""
    arrangement = region.arrangement
    offset, dtype = arrangement.record.part(name)
    for inside in _references_in(type, dtype, held):
        addressing = arrangement.addressing(offset + inside)
        yield ReferenceColumn(
            region.start + addressing.start(offset + inside),
            arrangement.block_bytes,
            arrangement.lanes.bit_length() - 1,
            addressing.lane_bytes(item) if arrangement.lanes > 1 else 0,
            slots,
        )


def columns_of_array(
    address: int,
    size: int,
    element: Type,
    layout: Layout,
    held: Collection[ClassType] | None = None,
) -> Iterator[ReferenceColumn]:
    """The same in an array of so many bytes."""
    dtype = layout.dtype(element)
    for inside in _references_in(element, dtype, held):
        yield ReferenceColumn(address + inside, dtype.itemsize, 0, 0, size // dtype.itemsize)


def _references_in(
    type: Type, dtype: np.dtype[Any], held: Collection[ClassType] | None
) -> Iterator[int]:
    """Where in a value that memory holds as ``dtype`` such references begin."""
    if isinstance(type, ReferenceType):
        if held is None or any(cls.is_subclass_of(type.cls) for cls in held):
            yield 0
    elif isinstance(type, InlineType):
        inner = [*_references_in(type.element, dtype.base, held)]
        for first in range(0, dtype.itemsize, dtype.base.itemsize):
            yield from (first + inside for inside in inner)
    elif isinstance(type, ValueType) and not type.shape:
        assert dtype.fields is not None
        for name, component in type.fields.items():
            part, start = dtype.fields[name][:2]
            yield from (int(start) + inside for inside in _references_in(component, part, held))


class ObjectMoves(Protocol):
    """In order with launches; returns at once where the backend can."""

    def number(self, numbers: Numbering, count: int, to: int, item: int) -> None:
        """Write a list of the first ``count`` numbers."""
        ...

    def pick(self, listed: int, order: int, count: int, to: int, item: int) -> None:
        """Write a list of ``count`` items of the one at ``listed``, by their numbers at ``order``,
        which have 64 bits."""
        ...

    def gather(
        self, decoding: Decoding, shape: Shape, objects: int, count: int, target: int
    ) -> None:
        """Copy the objects of the list at ``objects`` to the first slots of blocks at
        ``target``."""
        ...

    def scatter(
        self, decoding: Decoding, shape: Shape, source: int, objects: int, count: int
    ) -> None:
        """Copy what lies in the first slots of blocks at ``source`` to the places of the list at
        ``objects``."""
        ...

    def forward(
        self, decoding: Decoding, table: int, regions: int, before: int, after: int, count: int
    ) -> None:
        """Note that the objects of the list at ``before`` are where that at ``after`` says, in the
        words of ``regions`` of a table (``forwarding``)."""
        ...

    def follow(
        self,
        decoding: Decoding,
        table: int,
        regions: int,
        columns: Sequence[ReferenceColumn],
        at: int,
        keeps_others: bool,
    ) -> None:
        """Replace references to slots of these regions with what their forwarding words say; where
        these are 0 they stay if ``keeps_others``, else they become what the table has for such.
        ``at`` is the address of ``columns`` as ``column_table`` makes them."""
        ...

    def column_table(self, columns: Sequence[ReferenceColumn]) -> Words:
        """What ``follow`` reads."""
        ...
