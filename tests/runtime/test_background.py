"""Work beside the program, and code for other clusters that is made so: kernels go on meanwhile,
and change in the middle of a loop of launches."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.ir.job import Job
from sharedoa.model.clusters import Clusters
from sharedoa.own_threads import OwnThread
from sharedoa.runtime import background, clustering, compared_clusters, knobs, launch
from tests.codegen.interpreted import InterpretedGpu
from tests.no_threads import no_thread_begins

COUNT = 256
SOME = np.random.default_rng(7).permutation(COUNT)
NONE = Clusters()


class Cell(oa.Object):
    a: f32
    b: f32
    c: f32
    d: f32
    e: f32

    def weight(self) -> f32:
        return self.a + self.b + self.c + self.d


class Odd(Cell):
    def weight(self) -> f32:
        return self.a - self.b


CELL = Cell.__sharedoa__
FOUR = ("a", "b", "c", "d")


class Kernels:
    """New ones, as those that were compiled for one test need not be for another."""

    def __init__(self) -> None:
        @oa.kernel
        def gather(cells: oa.Array[Cell], out: oa.Array[f32]):
            i = oa.grid(1)
            if i < len(cells):
                out[i] += cells[i].weight()

        @oa.kernel
        def age(cells: oa.Array[Cell], by: f32):
            i = oa.grid(1)
            if i < len(cells):
                cells[i].e += by

        self.gather, self.age = gather, age


@cache
def gpu() -> InterpretedGpu:
    return InterpretedGpu()


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "FEWEST_OBJECTS", 64)
    monkeypatch.setattr(clustering, "FEWEST_THREADS", 64)
    monkeypatch.setattr(compared_clusters, "are_quicker", lambda *_: True)  # nothing is timed


@pytest.fixture
def heap() -> Iterator[oa.Heap]:
    with oa.Heap(backend=gpu(), capacity="64MiB", initial_region=32) as made:
        yield made
    background.wait()


class Gate(Kernels):
    """Compilations in the background wait until it is opened; those of launches are counted."""

    def __init__(self, compile: Callable[..., Any]) -> None:
        super().__init__()
        self._compile = compile
        self.open, self.begun = threading.Event(), threading.Event()
        self.failure: BaseException | None = None
        self.in_launches = self.beside = 0

    def __call__(self, job: Job, *instead: Any) -> Any:
        if threading.current_thread().name != "sharedoa background":
            self.in_launches += 1
            return self._compile(job, *instead)
        self.beside += 1
        self.begun.set()
        assert self.open.wait(60)
        if self.failure is not None:
            raise self.failure
        return self._compile(job, *instead)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(launch.compile)
    monkeypatch.setattr(launch, "compile", made)
    yield made
    made.open.set()
    assert background.wait()


def fill(heap: oa.Heap) -> tuple[Any, Any]:
    cells = heap.new(Cell, COUNT, a=range(COUNT), b=1, c=2, d=3)
    return cells, heap.zeros(COUNT, f32)


def start(heap: oa.Heap, gate: Gate) -> tuple[Any, Any]:
    """Objects that had better be in clusters, for which code is being made: there is a kernel that
    uses them, and another one was just launched for the first time, in disorder."""
    cells, out = fill(heap)
    gate.age[COUNT](cells, 0.0)
    assert heap.layout.clusters == NONE
    gate.gather[COUNT](cells[SOME], out)
    assert gate.begun.wait(60) and heap.layout.clusters == NONE
    return cells, out


def finish(heap: oa.Heap, gate: Gate) -> None:
    gate.open.set()
    assert background.wait()
    assert heap.layout.clusters == NONE  # until somebody launches


def test_kernels_go_on_and_change_when_there_is_code(heap: oa.Heap, gate: Gate) -> None:
    cells, out = start(heap, gate)
    assert "code is being compiled" in gate.gather.explain()
    wanted = SOME + 6.0
    for number in range(1, 9):
        assert out.numpy().tolist() == wanted.tolist()
        gate.age[COUNT](cells, 1.0, mode="auto")  # looks at everything each time
        if number == 4:
            finish(heap, gate)
            gate.in_launches = 0
        gate.gather[COUNT](cells[SOME], out)
        wanted += SOME + 6.0
        assert (heap.layout.clusters.of(CELL) == (FOUR,)) == (number >= 4)
    assert cells.e.numpy().tolist() == [8] * COUNT
    # Both kernels were made beside the launches, none in them.
    assert (gate.beside, gate.in_launches) == (2, 0)
    assert (
        "wanted" not in gate.gather.explain() and "clusters (a, b, c, d)" in gate.gather.explain()
    )


def test_at_once_where_nothing_is_compiled_or_it_is_off(heap: oa.Heap, gate: Gate) -> None:
    cells, out = fill(heap)
    gate.gather[COUNT](cells[SOME], out)
    assert heap.layout.clusters.of(CELL) == (FOUR,)
    with (
        knobs.scope(background=False),
        oa.Heap(backend=gpu(), capacity="64MiB", initial_region=32) as other,
    ):
        cells, out = fill(other)
        gate.age[COUNT](cells, 1.0)
        gate.gather[COUNT](cells[SOME], out)
        assert other.layout.clusters.of(CELL) == (FOUR,)
    assert gate.beside == 0


def test_a_failure_changes_nothing_and_is_said(heap: oa.Heap, gate: Gate) -> None:
    gate.failure = MemoryError("none left")
    cells, out = start(heap, gate)
    finish(heap, gate)
    for _ in range(3):
        gate.gather[COUNT](cells[SOME], out)
    assert heap.layout.clusters == NONE
    assert out.numpy().tolist() == (4 * (SOME + 6.0)).tolist()
    assert "could not be made" in gate.gather.explain() and "none left" in gate.gather.explain()


def test_what_is_redefined_meanwhile(heap: oa.Heap, gate: Gate) -> None:
    cells, out = start(heap, gate)
    before = Cell.weight

    def weight(self) -> f32:
        return self.a - self.d

    try:
        Cell.weight = weight  # type: ignore[method-assign]
        finish(heap, gate)
        out[:] = 0
        gate.gather[COUNT](cells[SOME], out)
        assert out.numpy().tolist() == (SOME - 3.0).tolist()
    finally:
        Cell.weight = before  # type: ignore[method-assign]
    out[:] = 0
    gate.gather[COUNT](cells[SOME], out)
    assert out.numpy().tolist() == (SOME + 6.0).tolist()


def test_classes_that_get_objects_meanwhile(heap: oa.Heap, gate: Gate) -> None:
    cells, out = start(heap, gate)
    every = heap.concat(cells[:128], heap.new(Odd, 128, a=range(128), b=2))
    finish(heap, gate)
    out[:] = 0
    gate.gather[COUNT](every, out)
    assert heap.layout.clusters.of(CELL) == (FOUR,)
    assert out.numpy().tolist() == [*range(6, 134), *range(-2, 126)]


def test_a_captured_step(heap: oa.Heap, gate: Gate) -> None:
    cells, out = fill(heap)
    some = cells[SOME]
    with knobs.scope(background=False), oa.capture() as step:
        gate.age[COUNT](cells, 1.0)
    step.run()
    gate.gather[COUNT](some, out)
    assert gate.begun.wait(60)
    step.run(2)
    finish(heap, gate)
    made = gate.in_launches
    step.run(4)
    assert heap.layout.clusters.of(CELL) == (FOUR,)
    assert cells.e.numpy().tolist() == [7] * COUNT
    assert gate.in_launches == made


def test_a_heap_that_is_gone(gate: Gate) -> None:
    with oa.Heap(backend=gpu(), capacity="64MiB", initial_region=32) as heap:
        start(heap, gate)
    ghost = weakref.ref(heap)
    del heap
    gate.open.set()
    assert background.wait()
    gc.collect()
    assert ghost() is None


def test_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    usual = sys.getswitchinterval()

    def fail(task: background.Task) -> None:
        raise KeyError("why")

    with knobs.scope(mode="coal"):
        first = background.submit(lambda task: seen.append((knobs.mode.value(), task)))
    second, third = background.submit(fail), background.submit(lambda task: seen.append(3))
    assert background.wait()
    assert seen == [("coal", first), 3]
    assert [task.is_done for task in (first, second, third)] == [True] * 3
    assert isinstance(second.failure, KeyError) and third.failure is None
    begin = threading.Event()
    first = background.submit(lambda task: seen.append(begin.wait(60)))
    second = background.submit(lambda task: seen.append("never"))
    assert first.is_pending and second.is_pending and not background.wait(0.01)
    second.drop()
    begin.set()
    assert background.wait() and seen[-1] is True and not second.is_done
    assert sys.getswitchinterval() == usual


def test_a_thread_without_memory_to_begin() -> None:
    with no_thread_begins():
        task = background.submit(lambda task: None)
        assert task.is_dropped and background.wait()
    task = background.submit(lambda task: None)
    assert background.wait() and task.is_done


def test_a_thread_that_was_given_up_works_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(OwnThread, "start", lambda thread: late.append(thread))
        background.submit(lambda task: None)
    begin, seen = threading.Event(), []
    background._worker._thread = None
    background.submit(lambda task: seen.append(begin.wait(60)))
    background.submit(lambda task: seen.append(threading.current_thread()))
    threading.Thread.start(late[0])
    late[0].join(60)
    begin.set()
    assert background.wait() and late[0] not in seen and len(seen) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_forks() -> None:
    begin = threading.Event()
    tasks = [background.submit(lambda task: begin.wait(60) and None) for _ in range(2)]
    child = os.fork()
    if child == 0:
        fine = not any(task.is_pending for task in tasks) and sys.getswitchinterval() > 0.004
        again: list[int] = []
        background.submit(lambda task: again.append(1))
        os._exit(0 if fine and background.wait() and again else 1)
    _, status = os.waitpid(child, 0)
    begin.set()
    assert status == 0 and background.wait()
    assert all(task.is_done for task in tasks)


def test_the_end_of_a_program_drops_what_has_not_begun() -> None:
    program = (
        "import threading, time\n"
        "from sharedoa.runtime import background\n"
        "begun = threading.Event()\n"
        "def last(task):\n"
        "    begun.set()\n"
        "    while threading.main_thread().is_alive():\n"
        "        time.sleep(0.01)\n"
        "    print('last', flush=True)\n"
        "background.submit(last)\n"
        "for number in range(1000):\n"
        "    background.submit(lambda task: print('never', flush=True))\n"
        "begun.wait()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["last"], "")
