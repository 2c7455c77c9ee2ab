"""Prefix sums of our own kernels against ``np.cumsum``."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from apps.common.launches import Launches
from apps.common.prefix_sum import CHUNK, ExclusivePrefixSum
from sharedoa import i32

LENGTHS = [1, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK**2, CHUNK**2 + 1, 3 * CHUNK**2 + 17]


def prefix_sums(backend: str, values: np.ndarray, length: int) -> np.ndarray:
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        given = heap.array(i32, values)
        result = heap.array(i32, np.full(len(values), -1, np.int32))
        sums = ExclusivePrefixSum(heap, length)
        for _ in range(2):  # the same object is used again every iteration
            sums.launch(Launches(heap, timed=False), given, result)
        assert np.array_equal(np.array(given), values)
        return np.array(result)


@pytest.mark.parametrize("length", LENGTHS)
def test_against_numpy(length: int) -> None:
    values = np.random.default_rng(length).integers(-5, 100, length).astype(np.int32)
    expected = np.cumsum(values) - values
    assert np.array_equal(prefix_sums("cpu", values, length), expected)


def test_on_every_backend(backend: str) -> None:
    values = np.arange(CHUNK * 3 + 5, dtype=np.int32)
    assert np.array_equal(prefix_sums(backend, values, len(values)), np.cumsum(values) - values)


def test_elements_beyond_the_length_stay() -> None:
    values = np.ones(200, np.int32)
    result = prefix_sums("cpu", values, 150)
    assert np.array_equal(result[:150], np.arange(150))
    assert (result[150:] == -1).all()
