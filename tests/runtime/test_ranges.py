"""Ranges for profilers: what is one, how they nest, and that without a profiler there are none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.backends.cpu import CpuBackend
from sharedoa.backends.gpu import GpuBackend
from sharedoa.runtime import knobs, ranges

ROOT = Path(__file__).parents[2]
PROFILER = Path(__file__).with_name("nvtx_profiler.c")


class Walker(oa.Object):
    pos: oa.vec2
    energy: f32 = 1.0

    def step(self) -> None:
        self.energy -= 0.5
        if self.energy <= 0.0:
            oa.delete(self)


@oa.kernel
def fill(numbers: oa.Array[i32]) -> None:
    numbers[oa.grid(1)] = 1


class Domain:
    """In place of NVTX's: which ranges began, with how many around them."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, str]] = []
        self.depth = 0

    def get_event_attributes(self, message: str) -> SimpleNamespace:
        return SimpleNamespace(message=message)

    def push_range(self, given: SimpleNamespace) -> None:
        self.begun.append((self.depth, given.message))
        self.depth += 1

    def pop_range(self) -> None:
        self.depth -= 1


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[Domain]:
    watched = [(owner, name) for owner, name, _ in ranges._FUNCTIONS]
    for owner, name in [*watched, (CpuBackend, "prepare"), (GpuBackend, "prepare")]:
        monkeypatch.setattr(owner, name, getattr(owner, name))
    made = Domain()
    ranges.make(ranges.Ranges(made))
    yield made
    assert made.depth == 0


def test_launches_steps_and_work_of_the_heap(domain: Domain) -> None:
    with (
        knobs.scope(cache_dir="off"),
        oa.Heap(backend="cpu", capacity="64MiB", initial_region=4),
    ):
        numbers = oa.zeros(64, i32)
        fill[64](numbers)
        with oa.capture() as step:
            fill[64](numbers)
        step.run()
        walkers = oa.new(Walker, 8)
        grid: Any = oa.HashGrid(cell=1.0, size=(4.0, 4.0), periodic=True)
        grid.build(walkers, "pos")
        oa.all(Walker).step()
        oa.all(Walker).step()
        oa.compact()
    begun = domain.begun
    assert {"compile fill", "captured step", "build grid", "move objects"} <= {n for _, n in begun}
    assert begun.count((0, "kernel_fill")) == 1
    after = begun[begun.index((0, "captured step")) + 1]
    assert after == (1, "kernel_fill")
    assert "settle births and deaths" in {name for _, name in begun}


def test_a_range_ends_with_an_exception(domain: Domain) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"), pytest.raises(oa.errors.ArgumentError):
        with oa.capture() as step:
            pass
        step.run(-1)
    assert (0, "captured step") in domain.begun


PROGRAM = """\
import sys
import sharedoa as oa
from tests.runtime.test_ranges import fill
with oa.Heap(backend="cpu", capacity="64MiB"):
    numbers = oa.zeros(4, oa.i32)
    with oa.capture() as step:
        fill[4](numbers)
    step.run(2)
print("nvtx" in sys.modules)
"""


def run(**environment: str) -> tuple[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True, text=True, check=True, cwd=ROOT,
        env={**os.environ, "SHAREDOA_CACHE_DIR": "off", **environment},
    )  # fmt: skip
    return done.stdout.strip(), done.stderr.splitlines()


def test_nobody_looks() -> None:
    assert run() == ("False", [])


def test_a_profiler_that_nvtx_loads(tmp_path: Path) -> None:
    pytest.importorskip("nvtx")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path / "profiler.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, PROFILER], check=True)
    _, told = run(**{ranges.PROFILER: str(library)})
    assert told == [
        "domain sharedoa", "begin 0 compile fill", "begin 0 captured step",
        "begin 1 kernel_fill", "begin 1 kernel_fill",
    ]  # fmt: skip
