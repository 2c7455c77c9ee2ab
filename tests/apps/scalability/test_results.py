"""Sums in every mode, exactly: additions of float32 in a fixed order."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import sharedoa as oa
from apps.common.glibc_random import RAND_MAX, GlibcRandom
from apps.interface import RunOptions, RunResult
from apps.scalability.family import MOST_CLASSES, family
from apps.scalability.program import Arguments, draw_numbers, make_objects, run
from dispatch.mode import MODES
from sharedoa import f32
from sharedoa.model.object import shared_type

from ...modes import few_modes, rotated

CASES = [
    Arguments(),
    Arguments(threads_per_block=128, num_compute=3, num_classes=32),
    Arguments(threads_per_block=100, num_compute=7, num_classes=5),
    Arguments(threads_per_block=1, num_compute=1, num_classes=2),
    Arguments(threads_per_block=1024, num_compute=0, num_classes=1),
]


def measured(size: int, mode: str, arguments: Arguments, backend: str = "cpu") -> RunResult:
    options = RunOptions(size=size, steps=3, seed=1, mode=mode, backend=backend, check=True)
    return run(options, arguments)


@functools.cache
def numbers(count: int) -> np.ndarray:
    """The first of each two numbers of the C library, for seed 1."""
    generator = GlibcRandom(1)
    drawn = np.array([generator.rand() for _ in range(2 * count)], np.float32)
    return drawn[::2] / np.float32(RAND_MAX)


def checksum(count: int, additions: int) -> int:
    """Of the bits of so many additions to 0 for each element, one after another."""
    sums = np.cumsum(np.tile(numbers(count), (additions, 1)), axis=0, dtype=np.float32)
    last = sums[-1] if additions else np.zeros(count, np.float32)
    return int(last.view(np.uint32).sum(dtype=np.uint64))


@pytest.mark.parametrize(("arguments", "mode"), rotated(CASES, MODES))
def test_sums_in_every_mode(mode: str, arguments: Arguments) -> None:
    for size in (1_024, 1_000):
        result = measured(size, mode, arguments)
        assert result.checks == {"sums of run": 3, "sums of branch": 3}
        additions = 3 * arguments.num_compute
        assert result.counts == {
            "elements": size,
            "additions": size * additions,
            "checksum": checksum(size, additions),
        }
        assert result.objects == size


@pytest.mark.parametrize(("mode", "arguments"), rotated(["coal", "range+switch"], CASES, each=3))
def test_cpython_makes_the_same_sums(mode: str, arguments: Arguments) -> None:
    result = measured(100, mode, arguments, backend="python")
    assert result.counts["checksum"] == checksum(100, 3 * arguments.num_compute)


@pytest.mark.parametrize("mode", few_modes(1))
def test_one_element(mode: str) -> None:
    result = measured(1, mode, Arguments(num_classes=4))
    assert (result.objects, result.counts["checksum"]) == (1, checksum(1, 3))


def test_numbers_are_drawn_in_turn_with_those_of_a_second_vector() -> None:
    assert np.array_equal(draw_numbers(5_000, 1), numbers(5_000))


@pytest.mark.parametrize("arguments", CASES, ids=str)
def test_classes_take_turns_within_a_block(arguments: Arguments) -> None:
    made = family(arguments.num_classes)
    with oa.Heap(backend="cpu") as heap:
        objects = make_objects(heap, made, 500, arguments)
        assert len(set(objects.numpy().tolist())) == 500
        for i in range(500):
            kind = i % arguments.threads_per_block % arguments.num_classes
            assert type(objects[i]) is made.classes[kind]


def test_an_object_is_its_header() -> None:
    made = family(4)
    with oa.Heap(mode="cuda", backend="cpu") as heap:
        assert [heap.layout.record(shared_type(c)).size for c in made.classes] == [8] * 4
    assert shared_type(made.base).concrete() == [shared_type(c) for c in made.classes]


def test_every_class_computes_the_same() -> None:
    made = family(MOST_CLASSES)
    with oa.Heap(backend="cpu"):
        found = {oa.new(c).do_the_math(f32(0.5), f32(0.3), 10, f32(0.0)) for c in made.classes}
    expected = np.float32(0.5)
    for _ in range(10):
        expected += np.float32(0.3)
    assert found == {expected}


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_sums_on_a_gpu(mode: str) -> None:
    for arguments in CASES:
        result = measured(10_000, mode, arguments, backend="cuda")
        assert result.counts["checksum"] == checksum(10_000, 3 * arguments.num_compute)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in ("cuda", "concord")])
@pytest.mark.parametrize(("mi", "classes"), [(32, 4), (16, 32)])
def test_paper_size_on_a_gpu(mode: str, mi: int, classes: int) -> None:
    """M-8 and M-9. (In the other modes the device makes objects one by one, at 4 s a Mi.)"""
    result = measured(mi << 20, mode, Arguments(num_classes=classes), backend="cuda")
    assert result.checks == {"sums of run": 3, "sums of branch": 3}
