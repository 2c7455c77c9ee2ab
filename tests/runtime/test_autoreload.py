"""IPython's autoreload changes functions of classes in place, and kernels have what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32


def changed_in_place(old: Any, new: Any) -> None:
    """As autoreload does with a method whose text was edited."""
    name = "IPython.extensions.deduperreload.deduperreload_patching"
    patching = pytest.importorskip(name).DeduperReloaderPatchingMixin
    patching.patch_function(old, new, True)


def another(self: Any, *others: Any) -> Any:
    return 1000


def test_methods_of_classes() -> None:
    pytest.importorskip("IPython")

    class Cell(oa.Object):
        x: i32

        def step(self) -> i32:
            return self.x + self.more + self.twice(self.x)

        @property
        def more(self) -> i32:
            return 1

        @staticmethod
        def twice(x: i32) -> i32:
            return 2 * x

    @oa.kernel
    def run(cells: oa.Array[Cell], out: oa.Array[i32]) -> None:
        out[oa.grid(1)] = cells[oa.grid(1)].step()

    with oa.Heap(backend="cpu") as heap:
        cells, out = heap.new(Cell, 2, x=5), heap.zeros(2, i32)
        with oa.capture() as step:
            run[2](cells, out)
        for launch in (lambda: run[2](cells, out), step.run):
            launch()
            assert np.array_equal(cells.step(), out) and out[0] == 16
        changed_in_place(Cell.more.fget, another)
        for launch in (lambda: run[2](cells, out), step.run, cells.step):
            with pytest.raises(oa.ClassError, match=r"method Cell\.more was changed in place"):
                launch()


def test_methods_of_values() -> None:
    pytest.importorskip("IPython")

    @oa.value
    class Sum:
        a: i32

        def doubled(self) -> i32:
            return self.a * 2

    @oa.kernel
    def run(out: oa.Array[i32]) -> None:
        out[oa.grid(1)] = Sum(3).doubled()

    with oa.Heap(backend="cpu") as heap:
        out = heap.zeros(2, i32)
        run[2](out)
        changed_in_place(Sum.doubled, another)
        with pytest.raises(oa.ClassError, match=r"method Sum\.doubled was replaced"):
            run[2](out)
