"""What the heap asks of a device that moves whole columns itself, so that pages stay where they
are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..model.reference import ReferenceEncoding

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Column:
    """A field of ``count`` consecutive slots, from slot ``first`` on, of a region at address
    ``start``, in which ``lanes`` records of ``record_bytes`` make up a group.

    ``offset`` is that of the field in the record; ``dtype`` has the shape of an inline array.
    """

    start: int
    lanes: int
    record_bytes: int
    offset: int
    dtype: np.dtype[Any]
    first: int
    count: int

    def between(self, first: int, stop: int) -> Column:
        """The column of some of the slots, counted from the first."""
        return replace(self, first=self.first + first, count=stop - first)


def array_column(address: int, dtype: np.dtype[Any], count: int) -> Column:
    """The elements of an array."""
    return Column(address, 1, dtype.itemsize, 0, dtype, 0, count)


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

    def clear(self, start: int, end: int) -> None:
        """Zero the bytes between two multiples of 8."""
        ...
