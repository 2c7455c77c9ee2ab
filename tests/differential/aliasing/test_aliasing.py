"""Programs in which several names mean the same thing agree with plain Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatch.mode import MODES

from ...modes import third_of
from ..effort import EXAMPLES, IS_THOROUGH
from .agreement import made, play
from .features import ALL, MENDED
from .operations import Call, Launch
from .places import heaps

#: Seeds differ by test, as all machines and modes share the most.
_CPU, _PYTHON, _INTERPRETED, _CUDA = 0, 10_000_000, 20_000_000, 30_000_000


def agree(folder: Path, seed: int, backend: str, mode: str = "auto") -> None:
    program, steps = made(seed, MENDED)
    play(program, steps, folder, heaps(backend, mode, seed))


@pytest.mark.parametrize("mode", third_of(MODES, 1))
def test_in_every_mode(tmp_path: Path, mode: str) -> None:
    for number in range(max(1, EXAMPLES // 3)):
        agree(tmp_path, _CPU + number * len(MODES) + MODES.index(mode), "cpu", mode)


@pytest.mark.parametrize("number", range(max(1, EXAMPLES)))
def test_on_proxies(tmp_path: Path, number: int) -> None:
    agree(tmp_path, _PYTHON + number, "python")


@pytest.mark.parametrize("number", range((4 if IS_THOROUGH else 2) * EXAMPLES))
def test_in_the_interpreter(tmp_path: Path, number: int) -> None:
    agree(tmp_path, _INTERPRETED + number, "interpreted")


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(tmp_path: Path, mode: str) -> None:
    for number in range(max(6, EXAMPLES)):
        agree(tmp_path, _CUDA + number * len(MODES) + MODES.index(mode), "cuda", mode)


@pytest.mark.slow
def test_most_launches_have_many_threads_and_some_share_arrays() -> None:
    """Not much is left of random launches that are undefined but launches of one thread."""
    launches = [
        step.operation
        for seed in range(40)
        for step in made(seed, ALL)[1]
        if isinstance(step.operation, Launch)
    ]
    assert sum(launch.threads > 1 for launch in launches) > len(launches) // 2
    names = [[a for a in launch.arguments if isinstance(a, str) and a] for launch in launches]
    assert sum(len(set(each)) < len(each) for each in names) > len(names) // 5


def test_the_same_seed_is_the_same_history() -> None:
    (one, first), (other, second) = made(7, ALL), made(7, ALL)
    assert one.text == other.text
    assert [step.operation for step in first] == [step.operation for step in second]
    assert any(isinstance(step.operation, (Call, Launch)) for step in first)
