"""Programs on an AMD GPU that is emulated: the machine code of our code objects runs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from shutil import which

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.backends import hip
from sharedoa.backends.hip import HipBackend
from sharedoa.backends.hip_device import HipDevice

from .emulated_hip import EmulatedHip, emulator


@pytest.fixture(scope="module")
def run() -> Callable[..., int]:
    if find_spec("tinygrad") is None or find_spec("test.mockgpu") is None:
        pytest.skip("no checkout of tinygrad is on the search path")
    if which("clang") is None:
        pytest.skip("tinygrad's emulator needs clang")
    return emulator()


class Shape(oa.Object):
    size: f32
    turns: i32

    def area(self) -> f32:
        raise NotImplementedError

    def step(self, by: f32) -> None:
        self.size += by


class Square(Shape):
    def area(self) -> f32:
        return self.size * self.size


class Disc(Shape):
    def area(self) -> f32:
        self.turns += 1
        return f32(3.0) * self.size * self.size


class Ring(Disc):
    hole: f32

    def area(self) -> f32:
        return f32(3.0) * (self.size * self.size - self.hole * self.hole)

    def step(self, by: f32) -> None:
        n = i32(0)
        while self.hole < self.size:
            self.hole += by
            n += 1
        self.turns = n


@oa.kernel
def measure(shapes: oa.Array[Shape], out: oa.Array[f32], total: oa.Array[i32]):
    i = oa.grid(1)
    if i < len(shapes):
        out[i] = shapes[i].area()
        oa.atomic_add(total, i % 3, i)


@pytest.fixture
def hip_backend(run, monkeypatch) -> HipBackend:
    monkeypatch.setattr(hip, "link_code_object", lambda code: code)
    return HipBackend(HipDevice(driver=EmulatedHip(run)))


@pytest.mark.parametrize("mode", ["auto", "coal", "typepointer"])
def test_virtual_calls_loops_and_atomic_sums(hip_backend, mode):
    """In blocks that are not full, with calls that diverge, as on the CPU."""
    results = []
    for backend in (hip_backend, "cpu"):
        with oa.Heap(mode, backend, capacity="64MiB") as heap:
            sizes = np.arange(1, 41, dtype=np.float32)
            shapes = oa.concat(
                oa.new(Square, 40, size=sizes),
                oa.new(Ring, 40, size=sizes, hole=0.5),
                oa.new(Disc, 40, size=sizes),
            )[np.random.default_rng(3).permutation(120)]
            out, total = heap.zeros(120, f32), heap.zeros(3, i32)
            measure[120, 32](shapes, out, total)
            shapes.step(1.5)
            oa.all(Disc).step(0.25)
            heap.synchronize()
            fields = [shapes.size.numpy().copy(), shapes.turns.numpy().copy()]
            results.append([out.numpy().copy(), total.numpy().copy(), *fields])
    assert results[0][0].any() and results[0][3].any()
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_shared_memory_and_barriers(hip_backend):
    """A sum: a block of 256 threads in eight waves, and memory that the host reads."""
    with oa.Heap("auto", hip_backend, capacity="64MiB") as heap:
        numbers = np.random.default_rng(1).integers(-1000, 1000, 700).astype(np.int32)
        assert heap.array(i32, numbers).sum() == numbers.sum()


class Cell(oa.Object):
    number: i32

    def split(self) -> None:
        if self.number % 3 == 0:
            made = oa.new(Cell)
            made.number = self.number + 1000


def test_births(hip_backend):
    with oa.Heap("auto", hip_backend, capacity="64MiB") as heap:
        heap.new(Cell, 100, number=np.arange(100))
        oa.all(Cell).split()
        heap.synchronize()
        found = np.sort(oa.all(Cell).number.numpy())
    assert np.array_equal(found, [*range(100), *range(1000, 1100, 3)])
