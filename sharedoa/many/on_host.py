"""What is computed of numbers that lie in host memory: by NumPy, whose functions use the widest
vectors that the processor has, many elements in pieces by as many threads as it has cores.

No result depends on how many those are. Sums of floats follow the tree of ``reduction``; stable
orders are those of numbers of 64 bits, key and index, of which no two are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..cores import worker_count
from ..heap.parallel import by_threads
from ..model.scalars import ScalarType
from ..uninterrupted import uninterrupted
from . import reduction
from .float_sums import add_pieces

Values = np.ndarray[Any, np.dtype[Any]]

_PIECE = 1 << 16
"""Elements that are gone over several times while they are in a core's own cache."""
_WORTH_THREADS = 1 << 21
"""Elements from which threads save more than it takes to start them, of what goes over them once;
of what sorts, a sixteenth."""
_SORTING_WORTH = _WORTH_THREADS // 16
_LEAST_SORTERS = 4
"""Threads that sort parts of what others have sorted; two or three would take as long as one."""
_SAMPLES = 64
"""Of each sorted piece, by which all are cut."""
_INDEX_BITS = 32
_INDEX_SHIFT = np.uint64(_INDEX_BITS)
_INDEX_MASK = np.uint64((1 << _INDEX_BITS) - 1)


def reduced(values: Values, name: str, total: ScalarType) -> Any:
    """One number for at least one element, of type ``total`` or an index."""
    if name in ("sum", "mean") and total.is_float:
        return _sum_of_floats(values, total.dtype)
    pieces = _cut(values, 1, _WORTH_THREADS)
    found = by_threads(lambda piece: _of_piece(piece, name), pieces)
    if len(pieces) == 1:
        return found[0]
    if name.startswith("arg"):
        extremes = np.array([piece[at] for piece, at in zip(pieces, found, strict=True)])
        first = int(getattr(extremes, name)())
        return np.int64(sum(map(len, pieces[:first])) + found[first])
    return _of_piece(np.array(found), "sum" if name == "count" else name)


def _of_piece(values: Values, name: str) -> Any:
    return _BY_NUMPY[name](values)


_BY_NUMPY: dict[str, Callable[[Values], Any]] = {
    # What NumPy's own methods come to.
    "sum": np.add.reduce, "min": np.minimum.reduce, "max": np.maximum.reduce,
    "any": np.logical_or.reduce, "all": np.logical_and.reduce, "argmin": np.ndarray.argmin,
    "argmax": np.ndarray.argmax, "count": lambda values: np.int64(np.count_nonzero(values)),
}  # fmt: skip


@cache
def of_few(name: str, letter: str) -> Callable[[Values], Any]:
    """What computes one number of at least one element, of which few others threads would make
    no quicker, one after another in memory; ``letter`` is NumPy's for the type of the elements.
    Exactly what ``calls.reduce`` computes."""
    dtype = np.dtype(letter)
    found = _BY_NUMPY.get(name)
    if name == "mean":
        total = dtype if dtype.kind == "f" else np.dtype(np.float64)
        return lambda values: total.type(without_sign(_sum_of_floats(values, total)) / len(values))
    if dtype.kind != "f" or name not in ("sum", "min", "max"):
        assert found is not None
        return found
    if name == "sum":
        return lambda values: without_sign(_sum_of_floats(values, dtype))
    assert found is not None
    return lambda values: without_sign(found(values))


def finished(found: Any, name: str, count: int) -> Any:
    """What ``name`` gives where this is what ``count`` elements come to."""
    if found.dtype.kind != "f":
        return found
    found = without_sign(found)
    return found.dtype.type(found / count) if name == "mean" else found


def without_sign(found: Any) -> Any:
    """A zero has no sign, and NaN is one, whichever came first."""
    return found + _ZEROS[found.dtype] if found == found else found.dtype.type(np.nan)


_ZEROS = {np.dtype(each): np.dtype(each).type(0) for each in "fd"}


def _sum_of_floats(values: Values, dtype: np.dtype[Any]) -> Any:
    """What ``reduction_plan`` makes of the sum of numbers as floats of this type."""
    values = np.ascontiguousarray(values)
    while True:
        totals = np.empty(-(-len(values) // reduction.PIECE), dtype)
        pieces = _cut(values, reduction.PIECE, _WORTH_THREADS)
        if len(pieces) == 1:
            _add_pieces(values, totals)
        else:
            each = len(pieces[0]) // reduction.PIECE
            starts = range(0, len(totals), each)
            by_threads(
                lambda of: _add_pieces(*of),
                [(p, totals[at : at + each]) for p, at in zip(pieces, starts, strict=True)],
            )
        if len(totals) == 1:
            return totals[0]
        values = totals


def _add_pieces(values: Values, totals: Values) -> None:
    if values.dtype == totals.dtype:
        add_pieces(values, totals)
        return
    each = _PIECE // reduction.PIECE
    for place, some in enumerate(_small(values)):
        add_pieces(some.astype(totals.dtype), totals[place * each : (place + 1) * each])


def sort(values: Values) -> None:
    """Sort in place, of floats as NumPy does."""
    workers = worker_count()
    if workers < _LEAST_SORTERS or len(values) < _SORTING_WORTH:
        values.sort()
        return
    pieces = _cut(values, 1, 0)
    with uninterrupted:  # until all of it is there again
        by_threads(np.ndarray.sort, pieces)
        some = [each[:: max(1, len(each) // _SAMPLES)] for each in pieces]
        samples = np.sort(np.concatenate(some))
        cuts = samples[:: max(1, len(samples) // workers)][1:workers]
        ends = np.array([[0, *np.searchsorted(each, cuts), len(each)] for each in pieces])
        parts = [
            [each[a:b] for each, (a, b) in zip(pieces, pairs, strict=True)]
            for pairs in np.stack([ends[:, :-1], ends[:, 1:]], 2).swapaxes(0, 1).tolist()
        ]
        merged = by_threads(_merged, parts)
        first = np.cumsum([0, *map(len, merged)]).tolist()
        by_threads(
            lambda of: np.copyto(values[of[0] : of[0] + len(of[1])], of[1]),
            list(zip(first, merged, strict=False)),
        )


def _merged(parts: Sequence[Values]) -> Values:
    found = np.concatenate(parts)
    found.sort()
    return found


def sort_floats(values: Values) -> None:
    """Sort in place: -0.0 before 0.0, and NaN at the end without its sign, in the order of its
    bits. What NumPy makes of these depends on the processor."""
    bits = values.view(f"i{values.dtype.itemsize}")
    pieces = _cut(bits, 1, _WORTH_THREADS)
    if not any(by_threads(_has_unusual, pieces)):
        sort(values)
        return
    negative = sum(by_threads(_count_negative_zeros, pieces))
    is_nan = np.isnan(values)
    nans = np.abs(values[is_nan] if is_nan.any() else values[:0]).view(bits.dtype)
    with uninterrupted:  # until they are the same numbers again
        sort(values)
        stop = len(values) - len(nans)
        bits[stop:] = np.sort(nans)
        zero = values.dtype.type(0)  # of another type, NumPy would convert all values to that
        first, end = (np.searchsorted(values[:stop], zero, side) for side in ("left", "right"))
        values[first : first + negative], values[first + negative : end] = -0.0, 0.0


def _has_unusual(bits: Values) -> bool:
    """Whether among floats with these bits there is a NaN or a negative zero, which as an integer
    is less than all others."""
    largest, least = np.maximum.reduce(bits.view(f"f{bits.itemsize}")), np.minimum.reduce(bits)
    return bool(largest != largest or least == _LEAST[bits.itemsize])


def _count_negative_zeros(bits: Values) -> int:
    return int(np.count_nonzero(bits == _LEAST[bits.itemsize]))


_LEAST = {size: int(np.iinfo(f"i{size}").min) for size in (4, 8)}
"""Integers of so many bytes."""


def argsort(values: Values, order: Values) -> None:
    """Write to ``order``, of i64, which of ``values`` come one after another; equal ones, and NaNs,
    as they are."""
    if values.dtype.itemsize == 8 or len(values) >> _INDEX_BITS:
        order[:] = _order_of_wide(values)
        return
    words = order.view(np.uint64)
    if len(values) <= _PIECE:
        np.copyto(words, _keys(values), casting="unsafe")
        words <<= _INDEX_SHIFT
        words |= np.arange(len(values), dtype=np.uint64)
        words.sort()
        words &= _INDEX_MASK
        return

    def prepare(of: tuple[int, Values]) -> None:
        first, all = of
        for at, piece in _numbered(_small(all)):
            keys = _keys(piece).astype(np.uint64)
            keys <<= _INDEX_SHIFT
            start = first + at
            np.bitwise_or(
                keys,
                np.arange(start, start + len(piece), dtype=np.uint64),
                out=words[start : start + len(piece)],
            )

    def restore(words: Values) -> None:
        words &= _INDEX_MASK

    by_threads(prepare, list(_numbered(_cut(values, 1, _WORTH_THREADS))))
    sort(words)
    by_threads(restore, _cut(words, 1, _WORTH_THREADS))


def _keys(values: Values) -> Values:
    """Unsigned numbers in the same order, all NaNs alike."""
    unsigned, sign = f"u{values.dtype.itemsize}", 1 << (8 * values.dtype.itemsize - 1)
    if values.dtype.kind in "bu":
        return values.view(unsigned)
    if values.dtype.kind == "i":
        return values.view(unsigned) ^ np.dtype(unsigned).type(sign)
    plain = values + values.dtype.type(0)  # a zero has no sign
    bits = plain.view(f"i{values.dtype.itemsize}")
    changes = bits >> (8 * bits.itemsize - 1)  # all bits of negative ones
    changes |= _LEAST[bits.itemsize]
    bits ^= changes
    keys = bits.view(unsigned)
    keys[np.isnan(values)] = 2 * sign - 1
    return keys


def _order_of_wide(values: Values) -> Values:
    """Of numbers that leave no room for an index in 64 bits."""
    order = np.argsort(values)
    ordered = values[order]
    is_new = np.ones(len(order), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    if values.dtype.kind == "f":
        is_new[1:] &= ~np.isnan(ordered[:-1])
    if is_new.all():
        return order
    if len(values) >> _INDEX_BITS:
        return np.argsort(values, kind="stable")
    words = np.cumsum(is_new, dtype=np.uint64)
    words <<= _INDEX_SHIFT
    words |= order.astype(np.uint64)
    sort(words)
    words &= _INDEX_MASK
    return words.view(np.int64)


def _cut(values: Values, multiple: int, least: int) -> list[Values]:
    """One piece for each thread, of a ``multiple`` of elements but for the last; or one for all, of
    less than ``least``."""
    workers = worker_count()
    if len(values) < least or workers == 1:
        return [values]
    size = -(-len(values) // (workers * multiple)) * multiple
    return [values[first : first + size] for first in range(0, len(values), size)]


def _small(values: Values) -> list[Values]:
    return [values[first : first + _PIECE] for first in range(0, len(values), _PIECE)]


def _numbered(pieces: Sequence[Values]) -> list[tuple[int, Values]]:
    """Each with the number of its first element."""
    found, first = [], 0
    for piece in pieces:
        found.append((first, piece))
        first += len(piece)
    return found
