"""Gradients of random programs are those of dual numbers, in every mode, layout and backend."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from dispatch.mode import MODES

from ..differential.effort import examples
from ..modes import third_of
from .comparison import BY_CLASS, agree
from .shared_world import SharedProgram
from .source import make_program
from .worlds import make_inputs, tame


def some(first: int, count: int) -> list[int]:
    """Seeds whose small programs can be compared."""
    found: list[int] = []
    while len(found) < count:
        program = make_program(first, is_small=True)
        if tame(program, make_inputs(program, first)) is not None:
            found.append(first)
        first += 1
    return found


@pytest.mark.parametrize("mode", third_of(BY_CLASS, 1))
def test_gradients_agree(mode: str, tmp_path: Path) -> None:
    # Other programs in each mode: the modes share all but dispatch.
    for seed in some(1000 * MODES.index(mode), examples(1)):
        assert agree(tmp_path, seed, mode, "cpu")


@pytest.mark.slow
@pytest.mark.parametrize("mode", BY_CLASS)
@pytest.mark.parametrize("seed", [5, 20])
def test_each_program_agrees_in_every_mode(mode: str, seed: int, tmp_path: Path) -> None:
    assert agree(tmp_path, seed, mode, "cpu", is_small=False)


def test_gradients_of_kernels_that_cpython_runs_agree(tmp_path: Path) -> None:
    for seed in some(20_000, examples(2)):
        assert agree(tmp_path, seed, "auto", "python")


def test_gradients_agree_in_debug_mode(tmp_path: Path) -> None:
    # In the first one threads add to each other's adjoints.
    for seed in [33, *some(30_000, examples(1) - 1)]:
        assert agree(tmp_path, seed, "range+switch", "cpu", debug=True)


@pytest.mark.parametrize("states", [1, 2, pytest.param(5, marks=pytest.mark.slow)])
def test_gradients_agree_with_checkpoints(states: int, tmp_path: Path) -> None:
    for seed in some(40_000 + states, examples(1)):
        assert agree(tmp_path, seed, "auto", "cpu", checkpoints=states)


def test_gradients_have_the_same_bits_every_time(tmp_path: Path) -> None:
    (seed,) = some(50_000, 1)
    program = make_program(seed, is_small=True)
    inputs, shared = make_inputs(program, seed), SharedProgram(program, tmp_path)
    found = []
    for _ in range(3):
        with oa.Heap("auto", "cpu", capacity="64MiB") as heap:
            found.append(shared.run(inputs, heap).gradient)
    for other in found[1:]:
        for one, two in zip(found[0].fields, other.fields, strict=True):
            assert all(np.array_equal(one[name], two[name]) for name in one)
        assert all(np.array_equal(found[0].arrays[n], other.arrays[n]) for n in other.arrays)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", BY_CLASS)
def test_gradients_agree_on_a_gpu(mode: str, tmp_path: Path) -> None:
    for seed in some(60_000 + MODES.index(mode), examples(3)):
        assert agree(tmp_path, seed, mode, "cuda")
