"""What code rests on, changed between two launches: kernels, vectorised calls and captured steps
see it, and nothing is compiled again for what the code did not ask about."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.errors import InternalError
from sharedoa.ir.job import Job
from sharedoa.model.clusters import Clusters
from sharedoa.runtime import launch, pipeline

COUNT = 40


class Cell(oa.Object):
    a: i32
    b: f32
    c: f32
    near: oa.Array[Cell]

    def value(self) -> i32:
        return shifted(self.a) + FACTOR * self.kind()

    def kind(self) -> i32: ...

    def sum(self) -> i32:
        total = i32(0)
        for k in range(len(self.near)):
            total += self.near[k].a
        return total

    def mean(self) -> f32:
        return (self.b + self.c) / f32(2)


class Live(Cell):
    def kind(self) -> i32:
        return 1


class Dead(Cell):
    d: i32

    def kind(self) -> i32:
        return 2


FACTOR = 100


@oa.func
def shifted(x: i32) -> i32:
    return x + 1


@oa.kernel
def values(cells: oa.Array[Cell], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = cells[i].value()


@oa.kernel
def sums(cells: oa.Array[Cell], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = cells[i].sum()


@oa.kernel
def means(cells: oa.Array[Cell], out: oa.Array[f32]):
    i = oa.grid(1)
    out[i] = cells[i].mean()


KERNELS = {"value": values, "sum": sums, "mean": means}


class Work:
    """Objects, and a method that is called on all of them, in one of three ways. What a captured
    step was given it keeps, so objects change in place, through ``fill``."""

    def __init__(self, way: str, method: str) -> None:
        self.method, self.way = method, way
        layout = "tile" if method == "mean" else "aos"
        self.heap = oa.Heap(
            mode="auto", backend="cpu", layout=layout, capacity="256MiB", initial_region=COUNT
        )
        self.cells = self.heap.array(Cell, self.heap.new(Live, COUNT, a=np.arange(COUNT)))
        edges = self.heap.new(Live, 3 * COUNT, a=np.arange(3 * COUNT))
        self.cells.near = oa.split(self.heap.array(Cell, edges), [3] * COUNT)
        self.cells.b = np.arange(COUNT)
        self.out = self.heap.zeros(COUNT, f32 if method == "mean" else i32)
        self._step: Any = None

    def fill(self, objects: Any) -> None:
        """Other objects into the same array."""
        self.cells[:] = objects

    def run(self) -> list[Any]:
        with self.heap:
            if self.way == "vectorised":
                return list(getattr(self.cells, self.method)().numpy())
            launch_it = KERNELS[self.method][COUNT]
            self.out[:] = -1
            if self.way == "kernel":
                launch_it(self.cells, self.out)
            else:
                if self._step is None:
                    with oa.capture() as self._step:
                        launch_it(self.cells, self.out)
                self._step.run()
            return list(self.out.numpy())

    def expected(self) -> list[Any]:
        return [getattr(cell, self.method)() for cell in self.cells]


WAYS = ("kernel", "vectorised", "captured")
Change = Callable[[Work, pytest.MonkeyPatch], None]


def another_number(work: Work, patch: pytest.MonkeyPatch) -> None:
    patch.setitem(globals(), "FACTOR", 7)


def another_function(work: Work, patch: pytest.MonkeyPatch) -> None:
    @oa.func
    def doubled(x: i32) -> i32:
        return 2 * x

    patch.setitem(globals(), "shifted", doubled)


def another_method(work: Work, patch: pytest.MonkeyPatch) -> None:
    def kind(self) -> i32:
        return 11

    patch.setattr(Live, "kind", kind)


def another_override(work: Work, patch: pytest.MonkeyPatch) -> None:
    def sum(self) -> i32:
        return 5

    patch.setattr(Live, "sum", sum, raising=False)


def another_class(work: Work, patch: pytest.MonkeyPatch) -> None:
    class Sick(Live):
        def kind(self) -> i32:
            return 31

        def sum(self) -> i32:
            return 9

    work.fill(work.heap.new(Sick, COUNT, a=3))


def another_population(work: Work, patch: pytest.MonkeyPatch) -> None:
    mixed = work.heap.concat(
        work.heap.new(Dead, COUNT // 2, a=np.arange(COUNT // 2)), work.cells[: COUNT // 2]
    )
    work.fill(mixed[np.random.default_rng(1).permutation(COUNT)])


def another_population_alone(work: Work, patch: pytest.MonkeyPatch) -> None:
    no_run(work, patch)
    assert work.run() == work.expected()
    another_population(work, patch)


def other_ranges(work: Work, patch: pytest.MonkeyPatch) -> None:
    """Both classes have objects before and after, elsewhere."""
    dead = work.heap.new(Dead, 3 * COUNT, a=np.arange(3 * COUNT))
    live = work.heap.new(Live, 5 * COUNT, a=np.arange(5 * COUNT))
    mixed = work.heap.concat(dead[-COUNT // 2 :], live[-COUNT // 2 :])
    work.fill(mixed[np.random.default_rng(2).permutation(COUNT)])


def no_run(work: Work, patch: pytest.MonkeyPatch) -> None:
    work.fill(work.cells[np.random.default_rng(3).permutation(COUNT)])


def a_run_elsewhere(work: Work, patch: pytest.MonkeyPatch) -> None:
    """Of the same form, so that the same code serves it."""
    work.cells = work.heap.array(Cell, work.heap.new(Live, COUNT, a=np.arange(COUNT) + 1000))


def a_run_of_others(work: Work, patch: pytest.MonkeyPatch) -> None:
    work.cells = work.heap.array(Cell, work.heap.new(Dead, COUNT, a=np.arange(COUNT)))


def a_piece_of_another_array(work: Work, patch: pytest.MonkeyPatch) -> None:
    others = work.heap.new(Live, COUNT, a=50)
    work.cells[3].near = work.heap.array(Cell, others)[:4]


def another_element(work: Work, patch: pytest.MonkeyPatch) -> None:
    piece = work.cells[3].near
    piece[1] = work.cells[30]


def other_clusters(work: Work, patch: pytest.MonkeyPatch) -> None:
    work.heap.rearrange(Clusters().replace(Cell.__sharedoa__, [("b", "c")]))


CHANGES: dict[str, tuple[Change, ...]] = {
    "value": (
        another_number, another_function, another_method, another_class, another_population,
        another_population_alone, other_ranges, no_run, a_run_elsewhere, a_run_of_others,
    ),
    "sum": (
        a_piece_of_another_array, another_element, another_override, another_class, no_run,
        a_run_elsewhere,
    ),
    "mean": (other_clusters, another_class, no_run, a_run_elsewhere, a_run_of_others),
}  # fmt: skip


@pytest.mark.parametrize(
    ("way", "method", "change"),
    [
        (way, method, change)
        for way in WAYS
        for method, changes in CHANGES.items()
        for change in changes
        # A step keeps its arrays, and none becomes a run.
        if not (way == "captured" and change in (a_run_elsewhere, a_run_of_others))
    ],
)
def test_what_changes_between_two_launches_is_seen(
    way: str, method: str, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(way, method)
    for _ in range(2):
        assert work.run() == work.expected()
    with monkeypatch.context() as patch:
        before = work.cells
        change(work, patch)
        after = work.cells
        # Both arguments are there now, so that going from one to the other changes nothing else.
        for work.cells in (after, after, before, after):
            assert work.run() == work.expected()
    assert work.run() == work.expected(), "what was bound before is bound again"


@pytest.fixture(autouse=True)
def no_code() -> None:
    for kernel in KERNELS.values():
        kernel.program._drop_units()
    Cell.__sharedoa__.made.clear()


@pytest.mark.parametrize("way", WAYS)
def test_what_was_not_asked_may_change(way: str, compiled: list[Job]) -> None:
    work = Work(way, "mean")
    no_run(work, pytest.MonkeyPatch())
    work.run()
    assert len(compiled) == 1
    questions = {what for what, *_ in compiled[0].facts.questions}
    assert questions <= {"clusters", "run"}, "no call is chosen by class, no array is in a field"
    another_population(work, pytest.MonkeyPatch())
    assert work.run() == work.expected() and len(compiled) == 1


def test_where_objects_lie_is_not_asked_for_the_only_method(compiled: list[Job]) -> None:
    work = Work("kernel", "value")
    no_run(work, pytest.MonkeyPatch())
    work.run()
    (job,) = compiled
    assert dict(job.facts.asked("populated")) and not list(job.facts.asked("ranges"))
    arrays = [work.heap.zeros(1000, i32)]
    for _ in range(4):
        more = work.heap.new(Live, COUNT)
        arrays.append(work.heap.zeros(1000, i32))
        work.fill(more[::-1])
        assert work.run() == work.expected() and compiled == [job]
    another_population(work, pytest.MonkeyPatch())
    assert work.run() == work.expected()
    assert len(compiled) == 2 and list(compiled[1].facts.asked("ranges"))


def test_answers_that_come_back_find_their_code(compiled: list[Job]) -> None:
    work = Work("kernel", "value")
    side_by_side, apart = work.cells, work.heap.array(Cell, list(work.cells)[::-1])
    for _ in range(3):
        for work.cells in (side_by_side, apart):
            assert work.run() == work.expected()
    assert len(compiled) == 2 and len(set(compiled)) == 2


def test_a_question_after_the_code_was_made_is_refused(compiled: list[Job]) -> None:
    Work("kernel", "sum").run()
    with pytest.raises(InternalError, match="complete"):
        compiled[0].facts.clusters(oa.Object)


def test_a_launch_in_another_mode_leaves_the_usual_one_bound() -> None:
    work = Work("kernel", "mean")
    work.run()
    bound = means.program.binding
    with work.heap:
        means[COUNT](work.cells, work.out, mode="range+switch")
    assert means.program.binding is bound and bound.holds(work.heap)
    with Work("kernel", "mean").heap as other:
        means[COUNT](other.new(Live, COUNT), other.zeros(COUNT, f32))
    assert not bound.holds(work.heap), "its state block is the other heap's"
    assert work.run() == work.expected()


def test_the_head_of_explanation_and_dump_is_the_job(
    compiled: list[Job], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("SHAREDOA_DUMP", str(tmp_path))
    work = Work("kernel", "sum")
    work.run()
    (job,) = compiled
    lines = str(job).splitlines()
    assert lines[2:] == [
        "cells: Live objects side by side, no reference is loaded",
        "Cell.near: pieces of one array of Live objects side by side, no reference is loaded",
    ]
    dumped = (tmp_path / "sums.auto.opt.ll").read_text().splitlines()
    assert dumped[: len(lines)] == [f"; {line}" for line in lines]
    with work.heap:
        assert sums.explain().startswith(str(job))


def test_clusters_that_change_while_code_is_compiled(
    compiled: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launch begins when the epoch has been raised, and objects still lie as before."""
    work, is_compiled = Work("kernel", "mean"), threading.Event()
    heap, compile = work.heap, launch.compile
    rearrange, results = heap.placement.rearrange, []
    # The lock of the heap, which is held meanwhile, is needed to learn of a second thread.
    other = threading.Thread(target=heap.note_thread)
    other.start()
    other.join()

    def noting(*given: Any) -> Any:
        made = compile(*given)
        is_compiled.set()
        return made

    def meanwhile(layout: Any) -> None:
        thread.start()
        assert is_compiled.wait(60)
        rearrange(layout)

    monkeypatch.setattr(launch, "compile", noting)
    # Describing the compilation would wait for the lock of the heap, which is being rearranged.
    monkeypatch.setattr(pipeline, "describe", lambda job: None)
    monkeypatch.setattr(heap.placement, "rearrange", meanwhile)
    thread = threading.Thread(target=lambda: results.append(work.run()))
    other_clusters(work, monkeypatch)
    thread.join()
    assert results == [work.expected()] and len(compiled) == 2


def test_code_holds_as_long_as_all_answers_are_the_same(compiled: list[Job]) -> None:
    """Each is asked again, and one other answer is enough."""
    with oa.Heap(backend="cpu", capacity="16MiB") as heap:
        cells = heap.new(Live, COUNT, a=1)
        values[COUNT](cells, heap.zeros(COUNT, i32))
    (job,) = compiled
    kinds = {question[0] for question in job.facts.questions}
    known = {(kind, *rest): answer for kind in kinds for rest, answer in job.facts.asked(kind)}
    assert len(known) > 1 and job.facts.still_hold(known.__getitem__)
    for changed in known:
        assert not job.facts.still_hold(lambda q, c=changed: object() if q == c else known[q])
