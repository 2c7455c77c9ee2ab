"""What NumPy computes for processors, in pieces and by threads, against NumPy at once."""

from __future__ import annotations

import _thread
import signal
from typing import Any

import numpy as np
import pytest

from sharedoa.heap.parallel import by_threads
from sharedoa.many import on_host, reduction
from sharedoa.model.scalars import f32, f64, i64

TYPES = ("bool", "i1", "u2", "i4", "u4", "i8", "u8", "f4", "f8")


def values_of(dtype: str, length: int) -> np.ndarray:
    """Few different ones, so that many are equal; of floats special ones."""
    found = np.random.default_rng(length).integers(-45, 45, length).astype(dtype)
    if dtype[0] == "f" and length > 50:
        found[[3, 9, 40, 44]] = np.nan, -np.nan, -0.0, np.inf
        found.view(f"u{found.itemsize}")[20] |= found.view(f"u{found.itemsize}")[3] | 1
    return found


@pytest.fixture(params=[(1, 1 << 30), (3, 2), (8, 300)], ids=str)
def threads(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    workers, worth = request.param
    monkeypatch.setattr(on_host, "worker_count", lambda: workers)
    monkeypatch.setattr(on_host, "_WORTH_THREADS", worth)
    monkeypatch.setattr(on_host, "_SORTING_WORTH", worth)
    monkeypatch.setattr(on_host, "_PIECE", 100)


@pytest.mark.parametrize("length", [1, 2, 17, 300, 5000])
def test_in_pieces(threads: None, length: int) -> None:
    for dtype in TYPES:
        given = values_of(dtype, length)
        is_float = dtype[0] == "f"
        for name in ("min", "max", "any", "all", "argmin", "argmax", *["sum"][is_float:]):
            found, expected = on_host.reduced(given, name, i64), getattr(given, name)()
            assert np.array_equal(found, expected, equal_nan=is_float), (dtype, name)
            assert found.dtype == expected.dtype
        assert on_host.reduced(given, "count", i64) == np.count_nonzero(given)
        order = np.empty(length, np.int64)
        on_host.argsort(given, order)
        assert np.array_equal(order, np.argsort(given, kind="stable")), dtype
        if is_float:
            bits, found = given.view(f"u{given.itemsize}"), given.copy()
            on_host.sort_floats(found)
            assert np.array_equal(found, np.sort(given), equal_nan=True)
            zeros = found[found == 0]
            assert np.array_equal(np.signbit(zeros), np.sort(np.signbit(zeros))[::-1])
            nans = np.sort(np.abs(given[np.isnan(given)]).view(bits.dtype))
            assert np.array_equal(found[np.isnan(found)].view(bits.dtype), nans)
        else:
            found = given.copy()
            on_host.sort(found)
            assert np.array_equal(found, np.sort(given)), dtype


def test_sums_of_floats_follow_the_tree(threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in {"LANES": 4, "ROWS": 8, "PIECE": 32}.items():
        monkeypatch.setattr(reduction, name, number)
    given = np.random.default_rng(1).normal(size=1500).astype(np.float32)
    for length in (1, 31, 32, 33, 1024, 1500):
        level = given[:length]
        while True:
            sums = []
            for first in range(0, len(level), 32):
                columns: list[Any] = [None] * 4
                for place, value in enumerate(level[first : first + 32]):
                    lane = place % 4
                    columns[lane] = value if place < 4 else columns[lane] + value
                pairs = [[c for c in columns[k::2] if c is not None] for k in (0, 1)]
                halves = [pair[0] + pair[1] if len(pair) > 1 else pair[0] for pair in pairs if pair]
                sums.append(halves[0] + halves[1] if len(halves) > 1 else halves[0])
            level = np.array(sums, np.float32)
            if len(level) == 1:
                break
        assert on_host.reduced(given[:length], "sum", f32) == level[0], length
    assert on_host.reduced(np.arange(5), "mean", f64) == 10


def test_sums_of_integers_as_floats() -> None:
    """Converted a piece at a time, they come to what they would all at once."""
    piece = on_host._PIECE
    given = np.random.default_rng(2).integers(-(2**62), 2**62, 2 * piece + 9000)
    for length in (1, piece - 1, piece, piece + 1, 2 * piece, len(given)):
        some = given[:length]
        found = on_host._sum_of_floats(some, np.dtype(np.float64))
        assert found == on_host._sum_of_floats(some.astype(np.float64), np.dtype(np.float64))


def test_sums_of_floats_at_full_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """As NumPy adds up rows, and halves of columns."""
    lanes, piece = reduction.LANES, reduction.PIECE
    for dtype, worth in ((np.float32, 1 << 30), (np.float64, piece)):
        monkeypatch.setattr(on_host, "_WORTH_THREADS", worth)
        monkeypatch.setattr(on_host, "worker_count", lambda: 3)
        given = np.random.default_rng(1).normal(size=5 * piece + 100).astype(dtype)
        for length in (1, lanes - 1, lanes + 3, piece, piece + 1, len(given)):
            level = given[:length]
            for _ in range(2):  # the sums of pieces are one piece
                rows = np.full((-(-len(level) // piece), piece), -0.0, dtype)
                rows.reshape(-1)[: len(level)] = level
                columns = np.add.reduce(rows.reshape(len(rows), -1, lanes), axis=1)
                while columns.shape[1] > 1:
                    left, right = np.split(columns, 2, axis=1)
                    columns = left + right
                level = columns[:, 0]
            assert on_host._sum_of_floats(given[:length], given.dtype) == level[0], length


@pytest.mark.parametrize("unusual", [-0.0, -np.nan])
def test_sorts_of_unusual_floats(unusual: float) -> None:
    for dtype in (np.float32, np.float64):
        given = np.random.default_rng(1).integers(-3, 4, 200).astype(dtype)
        given[::7] = np.copysign(unusual, -1)
        bits = given.view(f"u{given.itemsize}")
        bits[14] += np.isnan(given[14])  # another NaN
        found = given.copy()
        on_host.sort_floats(found)
        assert np.array_equal(found, np.sort(given), equal_nan=True)
        zeros = np.signbit(found[found == 0])
        assert np.array_equal(zeros, np.sort(zeros)[::-1])
        nans = np.sort(np.abs(given[np.isnan(given)]).view(bits.dtype))
        assert np.array_equal(found[np.isnan(found)].view(bits.dtype), nans)
        assert np.count_nonzero(zeros) == np.count_nonzero(np.signbit(given) & (given == 0))


def test_parts_of_a_sort_are_about_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one thread would sort nearly all."""
    lengths: list[int] = []
    merged = on_host._merged
    monkeypatch.setattr(on_host, "worker_count", lambda: 4)
    monkeypatch.setattr(on_host, "_SORTING_WORTH", 2)
    given = np.random.default_rng(2).integers(0, 1 << 30, 40_000)

    def merge(parts: Any) -> Any:
        lengths.append(sum(map(len, parts)))
        return merged(parts)

    monkeypatch.setattr(on_host, "_merged", merge)
    on_host.sort(given)
    assert len(lengths) == 4 and max(lengths) < 12_000 and np.all(np.diff(given) >= 0)


@pytest.mark.parametrize("most", [0, 2])
def test_where_the_system_gives_no_threads(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left, start = [most], _thread.start_new_thread

    def start_some(run: Any, given: Any) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(run, given)

    monkeypatch.setattr(on_host, "worker_count", lambda: 5)
    monkeypatch.setattr(on_host, "_SORTING_WORTH", 2)
    monkeypatch.setattr(_thread, "start_new_thread", start_some)
    given = np.random.default_rng(2).integers(0, 1 << 30, 4000)
    expected = np.sort(given)
    on_host.sort(given)
    assert np.array_equal(given, expected)


def test_what_a_thread_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_at_2(piece: int) -> int:
        if piece == 2:
            raise MemoryError("2")
        return piece

    assert by_threads(raise_at_2, [0, 1, 3]) == [0, 1, 3]
    with pytest.raises(MemoryError, match="2"):
        by_threads(raise_at_2, [0, 1, 2, 3])


def test_an_interrupted_sort_leaves_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy may change signs of zeros and the order of NaNs, which are put right after it."""
    given = np.array([np.nan, 1.0, 0.0, -np.nan, -0.0, -0.0], np.float32)
    expected = given.copy()
    on_host.sort_floats(expected)

    def sort(values: Any) -> None:
        values.sort()
        values[values == 0] = 0.0
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(on_host, "sort", sort)
    with pytest.raises(KeyboardInterrupt):
        on_host.sort_floats(given)
    assert given.view("u4").tolist() == expected.view("u4").tolist()
