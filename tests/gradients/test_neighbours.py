"""Tapes of kernels that find neighbours in a hash grid, and of arrays of two dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.backends.cpu import CpuBackend

from ..codegen.interpreted import InterpretedGpu
from .copying_device import CopyingDevice

COUNT, RADIUS, STEP = 20, 1.0, 0.1


class Bird(oa.Object):
    pos: oa.vec2d
    vel: oa.vec2d
    force: oa.vec2d

    def look(self, grid: oa.HashGrid[Bird], radius: f64) -> None:
        force = oa.vec2d(0.0)
        for other in grid.near(self.pos, radius):
            way = other.pos - self.pos
            force += way * math.exp(-oa.dot(way, way))
        self.force = force

    def move(self, dt: f64) -> None:
        self.vel += self.force * dt
        self.pos += self.vel * dt


def flown(pos: Any, steps: int = 2, dt: float = STEP) -> float:
    """The sum of squares of where birds are in the end."""
    pos, vel = pos.copy(), np.zeros_like(pos)
    for _ in range(steps):
        way = pos[None] - pos[:, None]
        square = (way**2).sum(axis=2)
        near = np.exp(-square) * (square <= RADIUS**2)
        vel += dt * (way * near[..., None]).sum(axis=1)
        pos += dt * vel
    return float((pos**2).sum())


@pytest.mark.parametrize("checkpoints", [pytest.param(None, marks=pytest.mark.slow), 2])
def test_neighbours_in_a_grid(checkpoints: int | None) -> None:
    start = np.random.default_rng(0).uniform(0, 5, (COUNT, 2))
    with oa.Heap(backend="cpu", capacity="64MiB"):
        birds = oa.new(Bird, COUNT, pos=start)
        grid = oa.HashGrid(cell=1.0, size=(5, 5), periodic=False)
        with oa.tape(checkpoints=checkpoints) as tape:
            for _ in range(2):
                grid.build(birds, "pos")
                oa.all(Bird).look(grid, RADIUS)
                oa.all(Bird).move(STEP)
            loss = birds.pos.square().sum()
        assert float(loss) == pytest.approx(flown(start), rel=1e-12)
        tape.backward(loss)
        found = birds.grad.pos.numpy()
    for place in [(0, 0), (3, 1), (7, 0), (12, 1)]:
        moved = np.zeros_like(start)
        moved[place] = 1e-6
        difference = (flown(start + moved) - flown(start - moved)) / 2e-6
        assert found[place] == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize(
    "backend",
    [
        CpuBackend,
        InterpretedGpu,
        pytest.param(lambda: CopyingDevice(1 << 20), marks=pytest.mark.slow),
    ],
    ids=["cpu", "warps", "copies"],
)
def test_a_grid_that_is_built_in_another_order(backend: Callable[[], Any]) -> None:
    """Birds come to other cells, so what the grid refers to changes from step to step; the block is
    repeated, with birds where they were and elsewhere."""
    rng = np.random.default_rng(0)
    start, way = rng.uniform(0, 5, (COUNT, 2)), rng.normal(size=(COUNT, 2))
    with oa.Heap("auto", backend(), capacity="64MiB") as heap:
        birds = oa.new(Bird, COUNT)
        grid = oa.HashGrid(cell=1.0, size=(5, 5), periodic=False)
        begins = (start, start, start[::-1])
        for begin in begins[isinstance(heap.backend, InterpretedGpu) :]:
            birds.pos, birds.vel = begin, np.zeros_like(begin)
            with oa.tape() as tape:
                for _ in range(3):  # with two the fault is not seen
                    grid.build(birds, "pos")
                    oa.all(Bird).look(grid, RADIUS)
                    oa.all(Bird).move(0.5)
                loss = birds.pos.square().sum()
            tape.zero()
            tape.backward(loss)
            found = (birds.grad.pos.numpy() * way).sum()
            ends = [flown(begin + step * way, 3, 0.5) for step in (1e-6, -1e-6)]
            assert found == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


@oa.kernel
def smooth(a: oa.Array2[f64], b: oa.Array2[f64]) -> None:
    x, y = oa.grid(2)
    rows, columns = b.shape[0], b.shape[1]
    b[y, x] = a[y, x] + a[(y + 1) % rows, x] * a[y, (x + 1) % columns]


def test_arrays_of_two_dimensions() -> None:
    start = np.linspace(1, 2, 12).reshape(3, 4)
    weights = np.arange(12.0).reshape(3, 4)

    def smoothed(a: Any) -> float:
        made = a + np.roll(a, -1, axis=0) * np.roll(a, -1, axis=1)
        return float((weights * made).sum())

    with oa.Heap(backend="cpu", capacity="64MiB"):
        a, b = oa.zeros((3, 4), f64), oa.zeros((3, 4), f64)
        a[:] = start
        with oa.tape() as tape:
            smooth[4, 3](a, b)
        tape.backward(b, weights)
        found = oa.grad(a)
    for place in np.ndindex(3, 4):
        moved = np.zeros_like(start)
        moved[place] = 1e-6
        difference = (smoothed(start + moved) - smoothed(start - moved)) / 2e-6
        assert found[place] == pytest.approx(difference, rel=1e-8)


@oa.kernel
def counted(a: oa.Array[f64], found: oa.Array[i32]) -> None:
    number = oa.shared(i32, 1)
    if a[oa.grid(1)] > 1.0:
        oa.atomic_add(number, 0, 1)
    oa.syncthreads()
    if oa.grid(1) == 0:
        found[0] = number[0]


@oa.kernel
def scaled(a: oa.Array[f64], found: oa.Array[i32], out: oa.Array[f64]) -> None:
    i = oa.grid(1)
    out[i] = a[i] * found[0]


@oa.kernel
def shifted(a: oa.Array[f64], out: oa.Array[f64]) -> None:
    beside = oa.shared(i32, 4)
    beside[oa.grid(1)] = oa.grid(1)
    oa.syncthreads()
    out[oa.grid(1)] = a[beside[3 - oa.grid(1)]]


def test_integers_that_threads_share() -> None:
    """Constants to gradients, but nothing that a way back could find again."""
    with oa.Heap(backend="cpu", capacity="64MiB"):
        a, out, found = oa.array(f64, [0.5, 1.5, 2.5, 3.5]), oa.zeros(4, f64), oa.zeros(1, i32)
        with oa.tape() as tape:
            counted[4, 4](a, found)
            scaled[4](a, found, out)
        with oa.tape(), pytest.raises(oa.CompileError, match="threads share memory of a block"):
            shifted[4, 4](a, out)
        tape.backward(out, np.ones(4))
        assert (oa.grad(a) == 3.0).all()
