"""``oa.split``: many arrays that lie one after another in the memory of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, overload

import numpy as np

from ..errors import ArgumentError
from ..model.layout import ARRAY_DTYPE
from ..model.type_names import T_co
from ..model.values import describe
from .placement import Values

if TYPE_CHECKING:
    from .arrays import Array
    from .numpy_like import One, Several

Longs = np.ndarray[Any, np.dtype[np.int64]]


class SplitArray(Generic[T_co]):
    """Pieces of one array, which share its memory; made by ``oa.split``.

    ``pieces[k]`` is an ``oa.Array``; a slice, an array of positions or a mask selects pieces.
    ``oa.new(C, n, field=pieces)`` and ``objects.field = pieces`` give each object its own.
    """

    __slots__ = ("_starts", "array", "lengths")

    array: Array[T_co]
    """What was split. Pieces keep its memory, as slices do."""
    lengths: Longs
    """Elements of each piece, of shape (pieces,); read-only."""

    def __init__(self, array: Array[T_co], starts: Longs, lengths: Longs) -> None:
        """Piece k has ``lengths[k]`` elements from ``starts[k]``, all inside of the array."""
        self.array = array
        self._starts = starts
        self.lengths = lengths
        lengths.flags.writeable = False

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, key: One) -> Array[T_co]: ...
    @overload
    def __getitem__(self, key: Several) -> SplitArray[T_co]: ...
    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, (int, np.integer)):
            starts, lengths = self._starts[key], self.lengths[key]
            if starts.ndim != 1:
                raise IndexError("pieces are selected by an int, a slice, or a row of positions")
            return SplitArray(self.array, starts, lengths)
        if not -len(self) <= key < len(self):
            raise IndexError(f"index {key} is outside {len(self)} pieces")
        return self._piece(int(self._starts[key]), int(self.lengths[key]))

    def __iter__(self) -> Iterator[Array[T_co]]:
        return map(self._piece, self._starts.tolist(), self.lengths.tolist())

    def _piece(self, start: int, length: int) -> Array[T_co]:
        return self.array[start : start + length]

    def stored(self) -> Values:
        """The pieces as fields hold them, of shape (pieces,) and ``ARRAY_DTYPE``."""
        self.array._note_pieces()
        found = np.zeros(len(self), ARRAY_DTYPE)
        found["length"] = self.lengths
        # An empty array has no address: one past the end would be that of somebody else's memory.
        used = self.lengths > 0
        offsets = (self._starts * self.array._dtype.itemsize).astype(np.uint64)
        np.add(offsets, np.uint64(self.array._address), out=found["address"], where=used)
        return found

    def __repr__(self) -> str:
        return f"<{len(self)} pieces of {describe(self.array)}>"


def split_array(array: Any, lengths: Any) -> SplitArray:
    """See ``oa.split``."""
    if getattr(array, "__sharedoa_element__", None) is None:
        raise ArgumentError(
            f"oa.split takes an array of a heap, not {describe(array)}",
            "make one with oa.array(T, data), or oa.concat(oa.all(C)) of a population",
        )
    array = getattr(array, "flat", array) if hasattr(array, "_kernel_type") else array
    found = _checked_lengths(lengths, len(array))
    ends = np.cumsum(found)
    covered = int(ends[-1]) if len(ends) else 0
    if covered != len(array):
        raise ArgumentError(
            f"oa.split: the lengths are {covered} elements together, and the array has "
            f"{len(array)}",
            "pass the length of each piece, np.diff(offsets) if you have offsets; array[:n] "
            "leaves out what is to be in no piece",
        )
    return SplitArray(array, ends - found, found)


def _checked_lengths(lengths: Any, most: int) -> Longs:
    """A copy, which nobody else can change. Raises ArgumentError."""
    try:
        given = np.asarray(lengths)
    except (ValueError, OverflowError) as error:
        raise _bad_lengths(f"are no array: {error}") from error
    if given.ndim != 1:
        raise _bad_lengths(f"have {given.ndim} dimensions instead of one")
    if given.size and given.dtype.kind not in "iu":
        raise _bad_lengths(f"are {given.dtype}, not whole numbers")
    wrong = np.flatnonzero((given < 0) | (given > most))
    if len(wrong):
        place = int(wrong[0])
        raise _bad_lengths(f"are not all between 0 and {most}: piece {place} has {given[place]}")
    return given.astype(np.int64)


def _bad_lengths(what: str) -> ArgumentError:
    return ArgumentError(
        f"oa.split: the lengths {what}", "pass one int a piece: its number of elements"
    )
