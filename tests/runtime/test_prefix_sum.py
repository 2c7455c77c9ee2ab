"""Prefix sums of our own kernels against ``np.cumsum``, by either algorithm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from apps.common.launches import Launches
from sharedoa import i32
from sharedoa.model.world import World
from sharedoa.runtime import prefix_sum
from sharedoa.runtime.prefix_sum import (
    CHUNK,
    GROUP,
    PIECE,
    PrefixSumByChunks,
    PrefixSumByPieces,
    PrefixSumByTiles,
    exclusive_prefix_sum,
)
from tests.codegen.interpreted import InterpretedGpu
from tests.differential.effort import examples
from tests.modes import rotated

ALGORITHMS = [PrefixSumByChunks, PrefixSumByPieces, PrefixSumByTiles]
LENGTHS = [
    0, 1, GROUP - 1, GROUP, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK**2, CHUNK**2 + 1, 3 * CHUNK**2 + 17,
    PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + GROUP, 100_000,
]  # fmt: skip


def prefix_sums(algorithm, values: np.ndarray, length: int, backend: str = "cpu") -> np.ndarray:
    """Of ``values``, by an object that has been used for others before."""
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        given, result = heap.array(i32, ~values), heap.zeros(len(values), i32)
        sums, launches = algorithm(heap, length), Launches(heap, timed=False)
        sums.launch(launches, given, result)
        assert np.array_equal(np.array(result)[:length], expected(~values)[:length])
        given[:] = values
        result[:] = -1
        sums.launch(launches, given, result)
        assert np.array_equal(np.array(given), values)
        return np.array(result)


def random_values(seed: int, length: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(2**31), 2**31, length).astype(np.int32)


def expected(values: np.ndarray) -> np.ndarray:
    """Sums wrap as those of the kernels."""
    return np.cumsum(values, dtype=np.int32) - values


@pytest.mark.parametrize(("length", "algorithm"), rotated(LENGTHS, ALGORITHMS))
def test_against_numpy(algorithm, length: int) -> None:
    values = random_values(length, length)
    assert np.array_equal(prefix_sums(algorithm, values, length), expected(values))


@settings(max_examples=examples(12), deadline=None)
@given(length=st.integers(0, 3 * PIECE), seed=st.integers(0, 1000))
def test_all_are_alike(length: int, seed: int) -> None:
    values = random_values(seed, length)
    for algorithm in ALGORITHMS:
        assert np.array_equal(prefix_sums(algorithm, values, length), expected(values))


def test_on_every_backend(backend: str) -> None:
    values = np.arange(CHUNK * 3 + 5, dtype=np.int32)
    found = prefix_sums(exclusive_prefix_sum, values, len(values), backend)
    assert np.array_equal(found, expected(values))


@pytest.mark.parametrize(("length", "kernels"), [(2 * PIECE, 1), (2 * PIECE + 1, 2)])
def test_which_on_a_device(length: int, kernels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InterpretedGpu, "blocks_at_once", 2)
    names: list[str] = []
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
        values = random_values(length, length)
        array, result = heap.array(i32, values), heap.zeros(length, i32)
        launches = Launches(heap, timed=False, watcher=lambda kernel: names.append(kernel.name))
        sums = exclusive_prefix_sum(heap, length)
        for _ in range(2):
            sums.launch(launches, array, result)
        assert np.array_equal(np.array(result), expected(values))
    assert len(names) == 2 * kernels


@pytest.mark.gpu
@pytest.mark.parametrize("length", [*LENGTHS, 262_144, 262_145, 3_000_000])
def test_on_a_gpu(length: int) -> None:
    values = random_values(length, length)
    for algorithm in (exclusive_prefix_sum, PrefixSumByChunks):
        assert np.array_equal(prefix_sums(algorithm, values, length, "cuda"), expected(values))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_elements_beyond_the_length_stay(algorithm) -> None:
    values = np.ones(200, np.int32)
    result = prefix_sums(algorithm, values, 150)
    assert np.array_equal(result[:150], np.arange(150))
    assert (result[150:] == -1).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_in_place(algorithm) -> None:
    values = random_values(7, PIECE + 100)
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        array = heap.array(i32, values)
        algorithm(heap, len(values)).launch(Launches(heap, timed=False), array, array)
        assert np.array_equal(np.array(array), expected(values))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """So small that few threads have several levels of them."""
    small = {
        "MOST": 4, "FAN": 4, "BLOCK": 8, "PIECE": 64,
        "_FANS_OF_A_PIECE": 2, "_FANS_OF_THE_MOST": 1,
    }  # fmt: skip
    for name, number in small.items():
        monkeypatch.setattr(prefix_sum, name, number)
    World.advance()  # kernels look for changed globals when something was defined
    yield
    monkeypatch.undo()
    World.advance()


@pytest.mark.parametrize(
    ("length", "levels"), [(256, 0), (257, 1), (1024, 1), (1025, 2), (3000, 2), (4097, 3)]
)
def test_levels_of_pieces(small_pieces: None, length: int, levels: int) -> None:
    names: list[str] = []
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        values = random_values(length, length)
        array, result = heap.array(i32, values), heap.zeros(length, i32)
        launches = Launches(heap, timed=False, watcher=lambda kernel: names.append(kernel.name))
        PrefixSumByPieces(heap, length).launch(launches, array, result)
        assert np.array_equal(np.array(result), expected(values))
    assert names == ["kernel_sum_pieces", *["kernel_sum_level"] * levels, "kernel_scan_pieces"]
