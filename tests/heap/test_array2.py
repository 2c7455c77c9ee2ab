"""Arrays of two dimensions on the host, their rows and slices, and in kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, i64
from tests.codegen.interpreted import InterpretedGpu


class Cell(oa.Object):
    number: i32

    def write(self, a: oa.Array2[f32], row: i32) -> None:
        a[row, self.number] = f32(self.number)


@oa.func
def total(row: oa.Array[f32]) -> f32:
    found = f32(0)
    for i in range(len(row)):
        found += row[i]
    return found


@oa.kernel
def everything(
    a: oa.Array[f32, 2],
    out: oa.Array2[f32],
    sums: oa.Array[f32],
    cuts: oa.Array[f32],
    shape: oa.Array[i64],
    cells: oa.Array[Cell, 2],
    bounds: oa.Array[i32],
) -> None:
    x, y = oa.grid(2)
    height, width = a.shape
    out[y, x] = a[y, x] * 2 + a[y - 1, x - 1]
    out[y, x] += 1
    cells[y, x].number += i32(y * width + x)
    if x == 0:
        row = a[y]
        sums[y] = total(row) + total(row[1:-1]) + total(a[-1][y:]) + oa.atomic_add(out, (y, 0), 0)
    if x == 0 and y == 0:
        shape[0], shape[1], shape[2] = len(a), width, shape.shape[0]
        for i in range(-6, 6):
            for j in range(-6, 6):
                bounds[0], bounds[1] = i32(i), i32(j)
                cuts[(i + 6) * 12 + j + 6] = total(a[1][bounds[0] : bounds[1]])


@pytest.mark.parametrize("backend", ["python", "cpu", "interpreted"])
def test_in_kernels(backend: Any) -> None:
    opened = InterpretedGpu() if backend == "interpreted" else backend
    with oa.Heap(backend=opened, capacity="64MiB"):
        values = np.arange(12, dtype=np.float32).reshape(3, 4)
        a, out = oa.array(f32, values), oa.zeros((3, 4), f32)
        sums, cuts, shape = oa.zeros(3, f32), oa.zeros(144, f32), oa.zeros(3, i64)
        cells = oa.array(Cell, [list(oa.new(Cell, 4)) for _ in range(3)])
        given = a, out, sums, cuts, shape, cells, oa.zeros(2, i32)
        everything[4, 3](*given)
        everything[4, 3](*given)  # the quick way
        expected = values * 2 + np.roll(values, (1, 1), (0, 1)) + 1
        assert np.array_equal(out, expected)
        rows = values.sum(1) + values[:, 1:-1].sum(1) + [values[-1][y:].sum() for y in range(3)]
        assert np.array_equal(sums, rows + expected[:, 0])
        assert shape.numpy().tolist() == [3, 4, 3]
        found = [values[1][i:j].sum() for i in range(-6, 6) for j in range(-6, 6)]
        assert np.array_equal(cuts, found)
        assert cells[2, 3].number == 22 and cells.flat.number.sum() == 132


def test_methods_of_many_take_all_of_it() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        a = oa.zeros((2, 3), f32)
        cells = oa.new(Cell, 3, number=np.arange(3))
        cells.write(a, oa.array(i32, [1, 0, 1]))
        oa.all(Cell).write(a, 0)
        assert a.numpy().tolist() == [[0, 1, 2], [0, 0, 2]]


def test_on_the_host(tmp_path: Path) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        values = np.arange(12, dtype=np.float32).reshape(3, 4)
        a = oa.array(f32, values.tolist())
        assert a.shape == (3, 4) and len(a) == 3 and a.ndim == 2 and a.size == 12
        assert repr(a).startswith("Array[f32, 2](array([[ 0.,")
        assert np.array_equal(np.asarray(a[:, 1]), values[:, 1]) and a[-1, -1] == 11
        assert np.array_equal(a[1:], values[1:]) and np.array_equal(a[::2, 1:3], values[::2, 1:3])
        assert [row.sum() for row in a] == values.sum(1).tolist()
        assert a.argmax() == 11 and np.array_equal(a.sum(axis=0), values.sum(0))
        a[1][2], a[0], a[2:][0, 1] = 100, 5, -1
        a[:, 3] = [7, 8, 9]
        a *= 2
        values[1][2], values[0], values[2, 1] = 100, 5, -1
        values[:, 3] = [7, 8, 9]
        assert np.array_equal(a, values * 2) and np.array_equal(a.flat, (values * 2).ravel())
        assert np.array_equal(oa.where(a[0], a[1], 0), values[1] * 2)
        for index in ((3, 0), (0, 4), (-4, 0), (0, -5), 3):
            with pytest.raises(IndexError, match=r"(row|column) -?\d is outside an array of"):
                a[index]
        oa.dump(tmp_path / "a.dump", a=a)
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        again = oa.load(tmp_path / "a.dump")["a"]
        assert again.shape == (3, 4) and np.array_equal(again, values * 2) and again.heap is heap


@oa.kernel
def flat(a: oa.Array[f32]) -> None:
    a[oa.grid(1)] = 1


@oa.kernel
def two(a: oa.Array2[f32], place: i64) -> None:
    a[0, place] = 1


@oa.kernel
def rows(a: oa.Array2[f32], place: i64) -> None:
    row = a[place]
    for i in range(len(row)):
        row[i] = 7


def test_mistakes() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB", debug=True) as heap:
        whole = oa.zeros((3, 3), f32)
        a = whole[:2]
        with pytest.raises(oa.ArgumentError, match=r"not Array\[f32, 2\]\nhelp: annotate"):
            flat[1](a)
        with pytest.raises(oa.ArgumentError, match=r"Array\[f32, 2\], not Array\[f32\]\nhelp"):
            two[1](a.flat, 0)
        with pytest.raises(oa.ArgumentError, match=r"takes Array\[f32, 2\], not Array\[i32, 2\]"):
            two[1](oa.zeros((2, 3), i32), 0)
        with pytest.raises(oa.ArgumentError, match="is given 3 lengths"):
            oa.zeros((2, 3, 4), f32)
        with pytest.raises(oa.ArgumentError, match=r"pass all elements of it, a\.flat"):
            oa.concat(a, a)
        with pytest.raises(oa.ClassError, match="an array of 3 dimensions\nhelp: arrays have one"):

            class Wrong(oa.Object):
                values: oa.Array[f32, 3]

            oa.new(Wrong)
        with pytest.raises(oa.ClassError, match="cannot be kept"):

            class Keeps(oa.Object):
                values: oa.Array2[f32]

            oa.new(Keeps)
        two[1](a, 0)
        two[1](a, 3)  # of the next row
        with pytest.raises(oa.DeviceError, match=r"index 3 .*3"):
            heap.synchronize()
        assert whole.sum() == 1
        rows[1](a, 2)
        with pytest.raises(oa.DeviceError, match=r"index 2 .*2"):
            heap.synchronize()
        assert whole.sum() == 1
