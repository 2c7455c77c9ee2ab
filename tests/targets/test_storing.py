"""Kernels whose threads only store: one thread of a GPU is four of the launch."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.gpu import GpuKernel
from sharedoa.backends.gpu_launch import PreparedLaunch
from sharedoa.ir.storing import AT_ONCE
from sharedoa.runtime.kernel import Kernel
from tests.codegen.interpreted import InterpretedGpu


class Cell(oa.Object):
    x: i32


@oa.kernel
def number(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    i = oa.grid(1)
    a[i] = i32(i * 3 + 1)


@oa.kernel
def move(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    i = oa.grid(1)
    cells[i].x = 7
    a[i] = i32(i * 3 + 1)


@oa.kernel
def load(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    i = oa.grid(1)
    a[i] = cells[i].x + i32(i * 3 + 1)


@oa.kernel
def add(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    i = oa.grid(1)
    oa.atomic_add(a, i, i32(i * 3 + 1))


@oa.kernel
def choose(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    i = oa.grid(1)
    if i < len(a):
        a[i] = i32(i * 3 + 1)


@oa.kernel
def repeat(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    i = oa.grid(1)
    for _ in range(1 + i % 2):
        a[i] = i32(i * 3 + 1)


def _at_once(kernel: Kernel) -> int:
    return kernel.program.binding.unit.compilation.outline.at_once


@pytest.mark.parametrize("kernel", [number, move, load, add, choose, repeat])
def test_which_kernels(kernel: Kernel) -> None:
    for debug in (False, True):
        with oa.Heap(backend=InterpretedGpu(), capacity="64MiB", debug=debug) as heap:
            a, cells = heap.zeros(130, i32), heap.new(Cell, 130)
            kernel[130](a, cells)
            assert np.array_equal(np.array(a), np.arange(130) * 3 + 1)
            is_storing = kernel in (number, move) and not debug
            assert _at_once(kernel) == (AT_ONCE if is_storing else 1)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 128, 192, 255, 256, 257, 500, 513])
def test_each_thread_runs_once(count: int) -> None:
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
        a, cells = heap.zeros(520, i32), heap.new(Cell, 520)
        move[count](a, cells)
        expected = np.where(np.arange(520) < count, np.arange(520) * 3 + 1, 0)
        assert np.array_equal(np.array(a), expected)
        assert np.array_equal(cells.x, (expected > 0) * 7)


@oa.kernel
def number_both(a: oa.Array[i32], width: i32) -> None:
    x, y = oa.grid(2)
    a[y * width + x] = i32(x + 1000 * y)


@pytest.mark.parametrize("geometry", [(70, 3), (33, 2)])
@pytest.mark.parametrize("block", [None, (16, 4), (32, 2)])
def test_two_axes(geometry: tuple[int, int], block: tuple[int, int] | None) -> None:
    width, rows = geometry
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
        a = heap.array(i32, np.full(width * rows, -1, np.int32))
        launcher = number_both[geometry] if block is None else number_both[geometry, block]
        launcher(a, width)
        x, y = np.meshgrid(np.arange(width), np.arange(rows))
        assert np.array_equal(np.array(a), (x + 1000 * y).ravel())


def test_the_grid_has_as_many_blocks() -> None:
    slots = (ctypes.c_uint64 * 1)()
    kernel = GpuKernel("kernel", None, None, 1024, False)  # type: ignore[arg-type]
    for at_once, blocks in ((1, 32), (4, 8)):
        launch = KernelLaunch(kernel, (8100, 3), (256, 1), slots, 1, at_once=at_once)
        assert PreparedLaunch(launch).shape == (blocks, 3, 1, 256, 1, 1)
        # Threads are numbered by 32 bits, however many of them one is.
        too_many = KernelLaunch(kernel, (1 << 31, 1), (256, 1), slots, 1, at_once=at_once)
        with pytest.raises(oa.ArgumentError, match="more than the device takes"):
            PreparedLaunch(too_many)


@pytest.mark.gpu
@pytest.mark.parametrize("count", [1, 1000, 1_000_003])
def test_on_a_gpu(count: int) -> None:
    with oa.Heap(backend="cuda") as heap:
        a, cells = heap.zeros(count + 7, i32), heap.new(Cell, count + 7)
        move[count](a, cells)
        expected = np.where(np.arange(count + 7) < count, np.arange(count + 7) * 3 + 1, 0)
        assert np.array_equal(np.array(a), expected.astype(np.int32))
        assert np.array_equal(cells.x, (np.arange(count + 7) < count) * 7)
