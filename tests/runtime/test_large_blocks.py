"""Kernels whose threads do little and wait for nothing are launched in large blocks."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.runtime.kernel import Kernel
from tests.codegen.interpreted import InterpretedGpu


class Cell(oa.Object):
    x: i32


@oa.kernel
def clear(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    a[oa.grid(1)] = 7


@oa.kernel
def copy(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    i = oa.grid(1)
    a[i] = cells[i].x + 7


@oa.kernel
def count(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    oa.atomic_add(a, oa.grid(1), 7)


@oa.kernel
def choose(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    i = oa.grid(1)
    if i >= 0:
        a[i] = 7


@oa.kernel
def repeat(a: oa.Array[i32], cells: oa.Array[Cell]) -> None:
    for _ in range(2):
        a[oa.grid(1)] = 7


@pytest.mark.parametrize("kernel", [clear, copy, count, choose, repeat])
def test_which_kernels(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def usual_block(self, threads, block, only_stores=False):
        asked.append(only_stores)
        return (128, 1) if only_stores else (64, 1)

    monkeypatch.setattr(InterpretedGpu, "usual_block", usual_block)
    for debug in (False, True):
        with oa.Heap(backend=InterpretedGpu(), capacity="64MiB", debug=debug) as heap:
            a, cells = heap.zeros(130, i32), heap.new(Cell, 130)
            kernel[130](a, cells)
            assert (np.array(a) == 7).all()
        assert asked == [kernel is clear and not debug]
        asked.clear()
