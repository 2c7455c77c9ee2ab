"""Launch sizes: what is written between a kernel's brackets."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from sharedoa.errors import ArgumentError
from sharedoa.runtime.geometry import parse_geometry


@pytest.mark.parametrize(
    ("item", "axes", "threads", "block"),
    [
        (1000, 1, (1000, 1), (256, 1)),
        (np.int64(7), 1, (7, 1), (256, 1)),
        ((1000, 64), 1, (1000, 1), (64, 1)),
        ((1000, (64, 2)), 1, (1000, 1), (64, 2)),
        ((30, 20), 2, (30, 20), (32, 8)),
        (((30, 20), (8, 4)), 2, (30, 20), (8, 4)),
        (((30, 20), 64), 2, (30, 20), (64, 1)),
        (30, 2, (30, 1), (32, 8)),
    ],
)
def test_sizes(item, axes, threads, block):
    found = parse_geometry(item, axes)
    assert (found.threads, found.block) == (threads, block)


def test_a_block_that_is_asked_for_is_kept():
    assert parse_geometry(1000, 1).is_usual
    assert parse_geometry((30, 20), 2).is_usual
    assert not parse_geometry((1000, 256), 1).is_usual
    assert not parse_geometry(1000, 1, default_block=(128, 1)).is_usual


def test_a_launch_may_be_empty():
    assert parse_geometry(0, 1).is_empty
    assert parse_geometry((5, 0), 2).is_empty
    assert not parse_geometry(1, 1).is_empty


@pytest.mark.parametrize(
    ("item", "axes", "complaint"),
    [
        (1.5, 1, "not a whole number"),
        (np.array([5, 5]), 1, "not a whole number"),
        ("many", 1, "not a whole number"),
        (-1, 1, "at least 0"),
        ((10, 0), 1, "at least 1"),
        ((10, 2048), 1, "larger than 1024"),
        (((10, 10), (64, 32)), 2, "larger than 1024"),
        ((1, 2, 3), 1, "3 launch sizes"),
        (((1, 2, 3), 4), 1, "3 axes"),
        (2**31, 1, "along one axis"),
        ((10, None), 2, "not a whole number"),
        (True, 1, "not a whole number"),
        (np.array([5, 5]), 1, "not a whole number"),
    ],
)
def test_bad_sizes_are_refused(item, axes, complaint):
    with pytest.raises(ArgumentError, match=complaint) as caught:
        parse_geometry(item, axes)
    assert caught.value.help


@oa.kernel
def mark(numbers: oa.Array[oa.i32, 2]) -> None:
    x, y = oa.grid(2)
    if x < numbers.shape[1] and y < numbers.shape[0]:
        numbers[y, x] += 1


def test_sizes_that_are_remembered_are_ints():
    """What equals them is looked at."""
    with oa.Heap(backend="cpu"):
        numbers = oa.array(oa.i32, np.zeros((1, 3), np.int32))
        mark[1, 1](numbers)
        for sizes in ((True, 1), (1, True), (1.0, 1)):
            with pytest.raises(ArgumentError, match="not a whole number"):
                mark[sizes](numbers)
        mark[np.int64(1), 1](numbers)
        mark[3, 1](numbers)
        assert mark[3, 1] is mark[3, 1]
        assert numbers.numpy().tolist() == [[3, 1, 1]]
