"""What the heap asks of a device that moves whole columns itself, so that pages stay where they
are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dispatch.dataclass import dataclass, replace

from ..model.field_address import RECORDS, WIDEST_ACCESS, Addressing
from ..model.reference import ReferenceEncoding

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Column:
    """A field of ``count`` consecutive slots, from slot ``first`` on, of a region at address
    ``start``, whose records have ``record_bytes``.

    ``offset`` is that of the field in the record; ``dtype`` has the shape of an inline array;
    ``addressing`` says how it lies.
    """

    start: int
    record_bytes: int
    offset: int
    dtype: np.dtype[Any]
    first: int
    count: int
    addressing: Addressing = RECORDS

    def address(self, inside: int) -> int:
        """Where, in slot 0, the scalar begins that is so many bytes into the value."""
        return self.start + self.addressing.start(self.offset + inside)

    def multiple(self, inside: int, size: int) -> int:
        """A power of two that divides the address of that scalar, of ``size`` bytes, in every
        slot, if ``size`` is one."""
        of_object = math.gcd(self.start, self.record_bytes, WIDEST_ACCESS)
        return self.addressing.multiple(self.offset + inside, size, of_object)

    def between(self, first: int, stop: int) -> Column:
        """The column of some of the slots, counted from the first."""
        return replace(self, first=self.first + first, count=stop - first)


def array_column(address: int, dtype: np.dtype[Any], count: int) -> Column:
    """The elements of an array."""
    return Column(address, dtype.itemsize, 0, dtype, 0, count)


@dataclass(frozen=True)
class Permutation:
    """Scalars that change places within stretches of ``size`` bytes, a multiple of 8, which are
    ``step`` bytes apart; there are ``count`` from address ``start`` on. Each scalar has 32 lanes;
    what is not part of one need not be kept.

    ``table`` is the address of ``scalars`` times five words of 64 bits: bytes of the scalar, where
    in the stretch it is in lane 0 and how many bytes the lanes are apart; and where it shall be.
    """

    start: int
    step: int
    count: int
    size: int
    table: int
    scalars: int


class Transfer(Protocol):
    """Moves columns between NumPy arrays of the host and memory that is on the device.

    All of it has ended on return, and so has everything launched before. Raises DeviceError if that
    failed.
    """

    largest_item: int
    """Bytes of the largest value that can be moved."""

    def ready(self) -> bool:
        """Whether it can work; it needs memory of its own. The host must do it otherwise."""
        ...

    def write(self, columns: Sequence[tuple[Column, Values]]) -> None:
        """Write values of shape (count,) or (count, N) to each column."""
        ...

    def read(self, column: Column, into: Values) -> None:
        """Copy a column to an array of shape (count,) or (count, N)."""
        ...

    def write_references(
        self, address: int, slots: Column, first: int, encoding: ReferenceEncoding
    ) -> None:
        """Write references to all of ``slots`` to an array at ``address``; ``first`` is the
        reference to slot 0."""
        ...

    def permute(self, permutation: Permutation, scratch: int, scratch_bytes: int) -> None:
        """Move scalars to their new places, through memory at ``scratch`` that has room for one
        stretch at least."""
        ...

    def clear(self, start: int, end: int) -> None:
        """Zero the bytes between two multiples of 8."""
        ...
