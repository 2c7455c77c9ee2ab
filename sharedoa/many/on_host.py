"""What is computed of numbers that lie in host memory: by NumPy, whose functions use the widest
vectors that the processor has, many elements in pieces by as many threads as it has cores.

No result depends on how many those are. Sums of floats follow the tree of ``reduction``; stable
orders are those of numbers of 64 bits, key and index, of which no two are equal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..cores import worker_count
from ..model.scalars import ScalarType
from ..uninterrupted import uninterrupted
from . import reduction

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


def reduced(values: Values, name: str, total: ScalarType) -> Any:
    """One number for at least one element, of type ``total`` or an index."""
    if name in ("sum", "mean") and total.is_float:
        return _sum_of_floats(values.astype(total.dtype, copy=False))
    pieces = _cut(values, 1, _WORTH_THREADS)
    found = _by_threads(lambda piece: _of_piece(piece, name), pieces)
    if len(pieces) == 1:
        return found[0]
    if name.startswith("arg"):
        extremes = np.array([piece[at] for piece, at in zip(pieces, found, strict=True)])
        first = int(getattr(extremes, name)())
        return np.int64(sum(map(len, pieces[:first])) + found[first])
    return _of_piece(np.array(found), "sum" if name == "count" else name)


def _of_piece(values: Values, name: str) -> Any:
    if name == "count":
        return np.int64(np.count_nonzero(values))
    return getattr(values, name)()


def _sum_of_floats(values: Values) -> Any:
    """What ``reduction_plan`` makes of the sum of floats."""
    while True:
        columns = _columns(values)
        while columns.shape[1] > 1:
            half = columns.shape[1] // 2
            columns = columns[:, :half] + columns[:, half:]
        values = columns[:, 0]
        if len(values) == 1:
            return values[0]


def _columns(values: Values) -> Values:
    """The sums of the columns of each piece of the tree."""
    piece, lanes, rows = reduction.PIECE, reduction.LANES, reduction.ROWS
    whole = len(values) // piece * piece
    columns = np.empty((-(-len(values) // piece), lanes), values.dtype)

    def add_up(of: tuple[int, Values]) -> None:
        first, some = of[0] // piece, of[1].reshape(-1, rows, lanes)
        # NumPy adds up rows one after another, as neighbours in memory are those of one row.
        np.add.reduce(some, axis=1, out=columns[first : first + len(some)])

    _by_threads(add_up, _numbered(_cut(values[:whole], piece, _WORTH_THREADS)))
    if whole < len(values):
        rest = np.full((-(-(len(values) - whole) // lanes), lanes), -0.0, values.dtype)
        rest.reshape(-1)[: len(values) - whole] = values[whole:]  # -0.0 changes no number
        np.add.reduce(rest, axis=0, out=columns[-1])
    return columns


def sort(values: Values) -> None:
    """Sort in place, of floats as NumPy does."""
    workers = worker_count()
    if workers < _LEAST_SORTERS or len(values) < _SORTING_WORTH:
        values.sort()
        return
    pieces = _cut(values, 1, 0)
    with uninterrupted:  # until all of it is there again
        _by_threads(np.ndarray.sort, pieces)
        some = [each[:: max(1, len(each) // _SAMPLES)] for each in pieces]
        samples = np.sort(np.concatenate(some))
        cuts = samples[:: max(1, len(samples) // workers)][1:workers]
        ends = np.array([[0, *np.searchsorted(each, cuts), len(each)] for each in pieces])
        parts = [
            [each[a:b] for each, (a, b) in zip(pieces, pairs, strict=True)]
            for pairs in np.stack([ends[:, :-1], ends[:, 1:]], 2).swapaxes(0, 1).tolist()
        ]
        merged = _by_threads(_merged, parts)
        first = np.cumsum([0, *map(len, merged)]).tolist()
        _by_threads(
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
    negative = sum(_by_threads(_count_negative_zeros, pieces))
    is_nan = np.isnan(values)
    nans = np.abs(values[is_nan] if is_nan.any() else values[:0]).view(bits.dtype)
    with uninterrupted:  # until they are the same numbers again
        sort(values)
        stop = len(values) - len(nans)
        bits[stop:] = np.sort(nans)
        zero = values.dtype.type(0)  # of another type, NumPy would convert all values to that
        first, end = (np.searchsorted(values[:stop], zero, side) for side in ("left", "right"))
        values[first : first + negative], values[first + negative : end] = -0.0, 0.0


def _count_negative_zeros(bits: Values) -> int:
    return int(np.count_nonzero(bits == np.iinfo(bits.dtype).min))


def argsort(values: Values, order: Values) -> None:
    """Write to ``order``, of i64, which of ``values`` come one after another; equal ones, and NaNs,
    as they are."""
    if values.dtype.itemsize == 8 or len(values) >> _INDEX_BITS:
        order[:] = _order_of_wide(values)
        return
    words = order.view(np.uint64)

    def prepare(of: tuple[int, Values]) -> None:
        first, all = of
        for at, piece in _numbered(_small(all)):
            keys = _keys(piece).astype(np.uint64)
            keys <<= np.uint64(_INDEX_BITS)
            start = first + at
            np.bitwise_or(
                keys,
                np.arange(start, start + len(piece), dtype=np.uint64),
                out=words[start : start + len(piece)],
            )

    def restore(words: Values) -> None:
        words &= np.uint64((1 << _INDEX_BITS) - 1)

    _by_threads(prepare, list(_numbered(_cut(values, 1, _WORTH_THREADS))))
    sort(words)
    _by_threads(restore, _cut(words, 1, _WORTH_THREADS))


def _keys(values: Values) -> Values:
    """Unsigned numbers in the same order, all NaNs alike."""
    unsigned, sign = f"u{values.dtype.itemsize}", 1 << (8 * values.dtype.itemsize - 1)
    if values.dtype.kind in "bu":
        return values.view(unsigned)
    if values.dtype.kind == "i":
        return values.view(unsigned) ^ np.dtype(unsigned).type(sign)
    plain = values + values.dtype.type(0)  # a zero has no sign
    bits = plain.view(f"i{values.dtype.itemsize}")
    keys = (bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max)).view(unsigned)
    keys ^= keys.dtype.type(sign)
    keys[np.isnan(values)] = np.iinfo(unsigned).max
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
    words <<= np.uint64(_INDEX_BITS)
    words |= order.astype(np.uint64)
    sort(words)
    words &= np.uint64((1 << _INDEX_BITS) - 1)
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


def _by_threads(work: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
    """What ``work`` makes of each piece, a thread a piece; this one has those for which the system
    gives none."""
    if len(pieces) == 1:
        return [work(pieces[0])]
    found: list[Any] = [None] * len(pieces)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            found[number] = work(pieces[number])
        except BaseException as error:
            errors.append(error)

    threads, own = [], [0]
    with uninterrupted:  # until none of them runs
        for number in range(1, len(pieces)):
            thread = threading.Thread(target=run, args=(number,))
            try:
                thread.start()
                threads.append(thread)
            except RuntimeError:
                own.append(number)
        for number in own:
            run(number)
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    return found
