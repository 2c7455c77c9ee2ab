"""Classes and kernels that are defined anew, as when a cell of a notebook runs again, leave nothing
behind; but what went wrong in them is told."""

from __future__ import annotations

import gc
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sharedoa as oa
from sharedoa.frontend import source
from sharedoa.model.classes import ClassType
from sharedoa.runtime.launch import Program
from sharedoa.runtime.unit import records_of, release_left

CELL = """
import sharedoa as oa
from sharedoa import f32, i32

class Body(oa.Object):
    x: f32

    def step(self, dt: f32) -> None:
        self.x += dt

class Star(Body):
    def step(self, dt: f32) -> None:
        self.x += 2 * dt

@oa.kernel
def step(bodies: oa.Array[Body], dt: f32) -> None:
    i = oa.grid(1)
    if i < len(bodies):
        bodies[i].step(dt)

@oa.kernel
def divide(numbers: oa.Array[i32], by: i32) -> None:
    numbers[oa.grid(1)] = 7 // by
"""


def run_in(module: types.ModuleType, number: int) -> dict[str, Any]:
    """Runs the cell in a module, whose namespace it returns."""
    name = f"<cell {number}>"
    linecache.cache[name] = len(CELL), None, CELL.splitlines(True), name
    exec(compile(CELL, name, "exec"), module.__dict__)
    return module.__dict__


@pytest.fixture
def run_cell() -> Iterator[Callable[[], dict[str, Any]]]:
    """Runs the cell once more in one namespace, which it returns."""
    module, number = types.ModuleType("a_notebook"), 0
    sys.modules[module.__name__] = module

    def run() -> dict[str, Any]:
        nonlocal number
        number += 1
        return run_in(module, number)

    yield run
    del sys.modules[module.__name__]


def use(heap: oa.Heap, made: dict[str, Any]) -> None:
    bodies = heap.concat(heap.new(made["Body"], 3), heap.new(made["Star"], 3))
    made["step"][6](bodies, 0.5)
    heap.all(made["Body"]).step(1.0)
    bodies.step(1.0)
    assert bodies.x.numpy().tolist() == [2.5] * 3 + [5.0] * 3


def count() -> tuple[int, int]:
    gc.collect()
    kinds = [type(each) for each in gc.get_objects()]
    return kinds.count(ClassType), kinds.count(Program)


def test_a_cell_that_runs_again(backend: str, run_cell: Callable[[], dict[str, Any]]) -> None:
    counts = []
    for _ in range(4):
        with oa.Heap(backend=backend, capacity="16MiB") as heap:
            use(heap, run_cell())
        del heap
        counts.append(count())
    assert counts[1] == counts[2] == counts[3]


def test_modules_that_are_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each under a name of its own, as programs that write programs load them."""
    counts = []
    for number in range(3):
        module = types.ModuleType(f"a_module_{number}")
        with monkeypatch.context() as patch, oa.Heap(backend="cpu", capacity="16MiB") as heap:
            patch.setitem(sys.modules, module.__name__, module)
            use(heap, run_in(module, number))
        del heap, module
        counts.append(count())
    assert counts[0] == counts[1] == counts[2]


class Hand(oa.Object):
    cards: oa.Array[Card]  # noqa: F821


def deal() -> None:
    class Card(oa.Object):
        value: oa.i32


def test_a_class_that_is_known_by_name_alone() -> None:
    """It stays as long as its module."""
    deal()
    gc.collect()
    with oa.Heap(backend="cpu", capacity="16MiB"):
        assert len(oa.new(Hand).cards) == 0


def test_few_files_are_remembered() -> None:
    for number in range(2 * source._MOST_FILES):
        made = run_in(types.ModuleType("a_notebook"), number)
        assert source.source_of(made["divide"].function, "divide").definition.name == "divide"
    assert len(source._parsed) == source._MOST_FILES


def test_records_are_used_again(run_cell: Callable[[], dict[str, Any]]) -> None:
    free = []
    with oa.Heap(backend="cpu", capacity="16MiB") as heap:
        for _ in range(4):
            numbers = heap.zeros(1, oa.i32)
            run_cell()["divide"][1](numbers, 2)
            assert numbers[0] == 3
            gc.collect()
            free.append(len(records_of(heap.backend)._free))
        assert free[1] == free[2] == free[3]


def test_errors_of_what_is_no_more(run_cell: Callable[[], dict[str, Any]]) -> None:
    with oa.Heap(backend="cpu", capacity="16MiB") as heap:
        numbers = heap.zeros(1, oa.i32)
        run_cell()["divide"][1](numbers, 0, debug=True)
        run_cell()
        gc.collect()
        with pytest.raises(oa.DeviceError, match="kernel divide"):
            heap.synchronize()
        run_cell()["divide"][1](numbers, 7)
        assert numbers[0] == 1


def leave(heap: oa.Heap, made: dict[str, Any]) -> int:
    """Launch a kernel of a cell that is gone afterwards; how many records were free before."""
    records = records_of(heap.backend)
    numbers = heap.zeros(1, oa.i32)
    made["divide"][1](numbers, 2)
    del made["divide"]
    return len(records._free)


def test_two_take_back_at_once(
    run_cell: Callable[[], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another thread does that compiles meanwhile."""
    with oa.Heap(backend="cpu", capacity="16MiB") as heap:
        free, records = leave(heap, run_cell()), records_of(heap.backend)
        gc.collect()
        assert records.left
        count, wait = len(records.left), heap.backend.synchronize

        def meanwhile() -> None:
            monkeypatch.undo()
            release_left(heap.backend)
            wait()

        monkeypatch.setattr(heap.backend, "synchronize", meanwhile)
        release_left(heap.backend)
        assert not records.left and len(records._free) == free + count


def test_an_interrupted_wait_loses_no_record(
    run_cell: Callable[[], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with oa.Heap(backend="cpu", capacity="16MiB") as heap:
        free, records = leave(heap, run_cell()), records_of(heap.backend)
        gc.collect()
        left = [*records.left]

        def interrupted() -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(heap.backend, "synchronize", interrupted)
            with pytest.raises(KeyboardInterrupt):
                release_left(heap.backend)
        assert [*records.left] == left and len(records._free) == free
        release_left(heap.backend)
        assert len(records._free) == free + len(left)
