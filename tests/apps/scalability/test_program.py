"""Running the microbenchmark as the command line does; the code of its kernels."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import sharedoa as oa
from apps.interface import CheckFailed, RunOptions
from apps.scalability import program
from apps.scalability.family import MOST_CLASSES, family
from apps.scalability.program import Arguments, run
from sharedoa import ArgumentError

from ...modes import rotated
from ..gpu_code import EVERY_MODE, check_gpu_code
from .running import SCALABILITY

SMALL = RunOptions(size=1_000, steps=3, seed=1, backend="cpu")


def small(**options: object) -> RunOptions:
    return dataclasses.replace(SMALL, **options)  # type: ignore[arg-type]


def test_progress_and_timings() -> None:
    seen: list[tuple[int, int]] = []
    options = small(time_kernels=True, progress=lambda done, total: seen.append((done, total)))
    result = SCALABILITY.run(options)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert set(result.timings) == {
        "numbers", "objects", "first step", "run", "first step of branch", "branch",
        "kernel ooVectorAdd", "kernel branch",
    }  # fmt: skip
    assert result.regions == 4


def test_one_step() -> None:
    timings = run(small(steps=1)).timings
    assert timings["run"] == timings["branch"] == 0


def test_seed_changes_the_numbers() -> None:
    assert run(small(seed=7)).counts != run(small(seed=8)).counts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size is 0"),
        ({"size": 2**31}, "size is 2147483648"),
        ({"steps": 0}, "steps is 0"),
        ({"natural": True}, "one flavour only"),
        ({"input": Path("numbers.txt")}, "numbers are drawn"),
        ({"out": Path("picture.png")}, "nothing to draw"),
    ],
)
def test_what_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        run(small(**options))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threads_per_block", 0),
        ("threads_per_block", 1025),
        ("num_compute", -1),
        ("num_classes", 0),
        ("num_classes", 33),
    ],
)
def test_impossible_arguments(name: str, value: int) -> None:
    with pytest.raises(ArgumentError, match=f"{name} is {value}"):
        Arguments(**{name: value})


def test_wrong_sums_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = program.draw_numbers(1_000, 1)
    wrong = drawn.copy()
    wrong[123] += 1
    monkeypatch.setattr(program, "draw_numbers", lambda count, seed: drawn)
    check = program._Check
    monkeypatch.setattr(
        program, "_Check", lambda numbers, sums, additions: check(wrong, sums, additions)
    )
    with pytest.raises(CheckFailed, match="element 123 is"):
        run(small(check=True))


@pytest.mark.parametrize(("mode", "everything"), EVERY_MODE)
def test_gpu_code_in_every_mode(mode: str, everything: bool) -> None:
    for classes in (1, 4):
        made = family(classes)
        check_gpu_code([made.virtual, made.branch], mode, everything)


@pytest.mark.parametrize(
    ("classes", "mode"), rotated([4, MOST_CLASSES], ["concord", "typepointer"])
)
def test_no_bodies_are_merged(mode: str, classes: int) -> None:
    """Each class has a loop of its own, with additions or with subtractions, in both kernels."""
    made = family(classes)
    with oa.Heap(mode=mode, backend="cpu"):
        for kernel in (made.virtual, made.branch):
            ptx = kernel.asm["ptx"]
            backwards = re.findall(r"(?m)^(\S+):.*?\bbra(?:\.uni)?\s+\1;", ptx, re.DOTALL)
            assert len(set(backwards)) >= classes
            assert len(re.findall(r"\badd\.rn\.f32", ptx)) >= classes // 2
            assert len(re.findall(r"\bsub\.rn\.f32", ptx)) >= classes // 2
