"""What the first runs of a captured step make the host do: how often steps are planned and kernels
compiled, and what of it is done beside the program."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.heap.by_type import ByTypePlacement
from sharedoa.ir.job import Job
from sharedoa.model.clusters import Clusters
from sharedoa.runtime import (
    background,
    capture,
    clustering,
    compared_clusters,
    launch,
    population_sequence,
    specialisation,
)
from sharedoa.runtime.launch_sequence import RecordedLaunch
from sharedoa.runtime.population_sequence import PopulationSequence
from sharedoa.runtime.specialisation import MOST_VARIANTS, differing

from .evolution import EagerDevice, plans

COUNT = 256
FOUR = ("a", "b", "c", "d")


class Cell(oa.Object):
    a: f32
    b: f32
    c: f32
    d: f32
    e: f32
    next: Cell

    def age(self) -> None:
        self.e += 1

    def gather(self) -> None:
        other = self.next
        self.e += other.a + other.b + other.c + other.d

    def collect(self) -> None:
        self.gather()

    def end(self) -> None:
        if self.e < 0:
            oa.delete(self)

    def reach(self, level: i32, by: i32) -> None:
        if i32(self.e) % 16 == level:
            self.e += f32(by)

    def stretch(self, level: i32, by: i32) -> None:
        self.reach(level, by)


CELL = Cell.__sharedoa__


class Mark(oa.Object):
    left: i32

    def split(self) -> None:
        self.left -= 1
        if self.left == 1:
            Mark(left=0)

    def fade(self) -> None:
        self.left += 1
        if self.left > 3:
            oa.delete(self)


@oa.kernel
def connect(cells: oa.Array[Cell], order: oa.Array[i32]):
    i = oa.grid(1)
    cells[i].next = cells[order[i]]


class Compiled:
    """What was compiled, by launches and beside them, while the gate is open."""

    def __init__(self, compile: Any) -> None:
        self._compile = compile
        self.in_launches: list[Job] = []
        self.beside: list[Job] = []
        self.open = threading.Event()
        self.open.set()

    def __call__(self, job: Job, *instead: Any) -> Any:
        is_beside = threading.current_thread().name == "sharedoa background"
        (self.beside if is_beside else self.in_launches).append(job)
        if is_beside:
            assert self.open.wait(60)
        return self._compile(job, *instead)

    @property
    def names(self) -> Counter[str]:
        return Counter(job.name for job in self.in_launches)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiled]:
    monkeypatch.setattr(clustering, "FEWEST_OBJECTS", 64)
    monkeypatch.setattr(clustering, "FEWEST_THREADS", 64)
    monkeypatch.setattr(compared_clusters, "are_quicker", lambda *_: True)  # nothing is timed
    made = Compiled(launch.compile)
    monkeypatch.setattr(launch, "compile", made)
    monkeypatch.setenv("SHAREDOA_FUSE", "0")
    yield made
    made.open.set()
    assert background.wait()


@pytest.fixture
def heap(compiled: Compiled) -> Iterator[oa.Heap]:
    with oa.Heap(backend=EagerDevice(), capacity="64MiB", initial_region=32) as made:
        yield made


def fill(heap: oa.Heap) -> Any:
    cells = heap.new(Cell, COUNT, a=range(COUNT), b=1, c=2, d=3)
    order = np.random.default_rng(3).permutation(COUNT).astype(np.int32)
    cells.next = cells[order]
    return cells, order + 6.0


def test_a_step_is_looked_at_before_any_of_it_is_compiled(
    heap: oa.Heap, compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its last launch says of where fields had better lie is known to the first."""
    cells, gathered = fill(heap)
    made = plans(monkeypatch)
    heap.new(Mark, 64, left=3)
    with oa.capture() as step:
        oa.all(Mark).split()
        for _ in range(3):
            oa.all(Cell).age()
        oa.all(Cell).gather()
    for _ in range(3):
        step.run()
    assert heap.layout.clusters.of(CELL) == (FOUR,)
    assert compiled.names == {"Mark.split": 1, "Cell.age": 1, "Cell.gather": 1}
    assert compiled.beside == [] and len(made) == 1
    assert cells.e.numpy().tolist() == (3 * (3 + gathered)).tolist()
    ((known,),) = (
        known.values()
        for program, known in clustering._known[heap].programs.items()
        if program.source.name == "Cell.age"
    )
    assert known.launches == 9


def test_what_prepared_gets_no_code_for_other_clusters(
    heap: oa.Heap, compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, gathered = fill(heap)
    connect[COUNT](cells, heap.array(i32, (gathered - 6).astype(np.int32)))
    with monkeypatch.context() as patch:
        patch.setattr(clustering, "_AT_FIRST", 0.0)  # not before the second look
        patch.setattr(clustering, "_TRIAL", 0.0)
        with oa.capture() as step:
            oa.all(Mark).split()
            oa.all(Cell).collect()
        heap.new(Mark, 64, left=3)
        for _ in range(clustering.LAUNCHES + 1):
            step.run()
        assert background.wait()
    step.run()
    assert heap.layout.clusters.of(CELL) == (FOUR,)
    assert [job.name for job in compiled.beside] == ["Cell.collect"]
    assert compiled.names["Cell.collect"] == compiled.names["connect"] == 1
    connect[COUNT](cells, heap.array(i32, np.arange(COUNT, dtype=np.int32)))  # once more, after all
    step.run()
    expected = (clustering.LAUNCHES + 2) * gathered + np.arange(COUNT) + 6.0
    assert cells.e.numpy().tolist() == expected.tolist()


@pytest.mark.parametrize("what", ["code", "clusters", "places", "a region"])
def test_other_code_is_bound_and_other_places_are_planned(
    what: str, heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, gathered = fill(heap)
    made = plans(monkeypatch)
    marks = heap.new(Mark, 64, left=3)
    with oa.capture() as step:
        oa.all(Mark).split()
        oa.all(Cell).gather()
        oa.all(Mark).fade()
    step.run(2)
    before = len(made)
    match what:
        case "code":
            heap.books.change_code()
        case "clusters":
            clusters = () if heap.layout.clusters.of(CELL) else (FOUR,)
            heap.rearrange(Clusters().replace(CELL, clusters))
        case "places":
            heap.books.change_layout()
        case "a region":
            heap.new(Mark, 4096, left=3)
    step.run(2)
    assert len(made) == before + (what in ("places", "a region"))
    assert cells.e.numpy().tolist() == (4 * gathered).tolist()
    assert marks.left.numpy().tolist() == [3] * 64


def once_elsewhere(work: Callable[[], Any]) -> Callable[[], None]:
    """What has ``work`` done by another thread the first time that it is called."""
    left = [work]

    def called() -> None:
        if left:
            thread = threading.Thread(target=left.pop())
            thread.start()
            thread.join(20)
            assert not thread.is_alive()

    return called


@pytest.mark.parametrize("when", ["it was bound", "half of it was bound"])
def test_another_thread_rearranges_meanwhile(
    when: str, heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing lies elsewhere, and so the plan holds; but the code of the step does not."""
    cells, gathered = fill(heap)
    heap.new(Mark, 64, left=3)
    with oa.capture() as step:
        oa.all(Mark).split()
        oa.all(Cell).gather()
        oa.all(Mark).fade()
    step.run(2)
    clusters = () if heap.layout.clusters.of(CELL) else (FOUR,)
    rearrange = once_elsewhere(lambda: heap.rearrange(Clusters().replace(CELL, clusters)))
    is_current, bind = PopulationSequence._is_current, RecordedLaunch.bind

    def looking(self: PopulationSequence) -> bool:
        found = is_current(self)
        if found:
            rearrange()
        return found

    def binding(self: RecordedLaunch, *given: Any, **named: Any) -> Any:
        found = bind(self, *given, **named)
        if self.program.source.name == "Cell.gather":
            rearrange()
        return found

    if when == "it was bound":
        monkeypatch.setattr(PopulationSequence, "_is_current", looking)
    else:
        heap.books.change_code()
        monkeypatch.setattr(RecordedLaunch, "bind", binding)
    step.run(2)
    assert heap.layout.clusters.of(CELL) == clusters
    assert cells.e.numpy().tolist() == (4 * gathered).tolist()


@pytest.mark.parametrize("mode", ["auto", "cuda"])
def test_amid_a_change_of_code_nobody_sees_other_places(mode: str) -> None:
    """Threads may take turns where a function is called, and finalizers raise epochs unlocked."""
    with oa.Heap(backend="python", capacity="64MiB", mode=mode) as heap:
        books = heap.books
        seen: list[int] = []

        def look(frame: Any, event: str, argument: Any) -> None:
            if event == "call":
                seen.append(books.layout_epoch - books.code_epoch)

        before = books.layout_epoch - books.code_epoch
        sys.setprofile(look)
        try:
            books.change_code()
        finally:
            sys.setprofile(None)
        assert seen and set(seen) == {before} == {books.layout_epoch - books.code_epoch}


def test_another_thread_plans_meanwhile(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(heap)
    marks = heap.new(Mark, 64, left=3)
    steps = []
    for cls, method in ((Mark, "split"), (Cell, "end"), (Mark, "fade")):
        with oa.capture() as step:
            getattr(oa.all(cls), method)()
        steps.append(step)
    steps[0].run()
    usual, plan_another = ByTypePlacement.class_version, once_elsewhere(steps[1].run)

    def asking(self: ByTypePlacement, cls: Any) -> tuple[int, int]:
        if not heap.lock.plain._is_owned():
            plan_another()
        return usual(self, cls)

    monkeypatch.setattr(ByTypePlacement, "class_version", asking)
    steps[2].run()
    assert marks.left.numpy().tolist() == [3] * 64


def test_what_other_steps_change_is_watched_from_the_first_plan(
    heap: oa.Heap, compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, _ = fill(heap)
    made = plans(monkeypatch)
    heap.new(Mark, 64, left=3)

    def aging() -> oa.Capture:
        with oa.capture() as step:
            oa.all(Mark).split()
            oa.all(Cell).age()
        return step

    with oa.capture() as ending:
        oa.all(Cell).end()
    aging().run()
    ending.run()
    assert len(heap.all(Cell)) == COUNT
    aging().run()
    assert made[-1].watched == set()  # as nothing has changed so far
    cells[:10].e = -1
    ending.run()
    second = aging()
    for _ in range(3):
        second.run()
        cells = heap.all(Cell)
        cells[:10].e = -1
        ending.run()
    own = [plan.watched for plan in made if CELL not in plan.changing]
    assert own == [set(), set(), {CELL}] and compiled.names["Cell.age"] == 2
    assert len(heap.all(Cell)) == COUNT - 40
    assert heap.all(Cell).e.numpy().tolist() == [5] * (COUNT - 40)


def test_what_nothing_changes_is_watched_no_longer(
    heap: oa.Heap, compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But again as soon as something does, and then for longer."""
    monkeypatch.setattr(population_sequence, "_STILL", 4)
    monkeypatch.setattr(population_sequence, "_MANY", 64)
    cells, _ = fill(heap)
    made = plans(monkeypatch)
    heap.new(Mark, 64, left=3)
    with oa.capture() as ending:
        oa.all(Cell).end()
    cells[:10].e = -1
    ending.run()
    with oa.capture() as step:
        oa.all(Mark).split()
        oa.all(Cell).age()

    def run(count: int) -> list[bool]:
        """Whether cells are watched in each of the plans that so many runs make."""
        before = len(made)
        step.run(count)
        return [CELL in plan.watched for plan in made[before:]]

    assert run(8) == [True]
    assert run(30) == [False]
    cells = heap.all(Cell)
    cells[:10].e = -1
    ending.run()
    assert run(32) == [True]
    assert run(8) == [False]
    assert len(heap.all(Cell)) == COUNT - 20
    assert heap.all(Cell).e.numpy().tolist() == [78] * (COUNT - 20)


def test_what_has_to_be_watched_stays_so(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no plan without that, runs do not come to look at the heap one by one."""
    monkeypatch.setattr(population_sequence, "_STILL", 4)
    monkeypatch.setattr(population_sequence, "_MANY", 64)
    cells, _ = fill(heap)
    heap.new(Mark, 64, left=3)
    with oa.capture() as ending:
        oa.all(Cell).end()
    cells[:10].e = -1
    ending.run()
    with oa.capture() as step:
        oa.all(Mark).split()
        oa.all(Cell).age()
    made, plan_of, one_by_one = plans(monkeypatch), population_sequence.plan_of, list[object]()

    def planning(heap: oa.Heap, records: Any, watched: Any = (CELL,)) -> Any:
        if CELL not in watched:
            raise population_sequence.CannotPlanError
        return plan_of(heap, records, watched)

    monkeypatch.setattr(population_sequence, "plan_of", planning)
    monkeypatch.setattr(capture, "_run_parts", lambda *given: one_by_one.append(given))
    step.run(30)
    assert [CELL in plan.watched for plan in made] == [True, True] and not one_by_one
    assert heap.all(Cell).e.numpy().tolist() == [30] * (COUNT - 10)


@pytest.mark.parametrize(("method", "levels"), [("reach", 0), ("stretch", 3)])
def test_a_step_has_variants_for_all_of_its_launches_or_none(
    method: str, levels: int, heap: oa.Heap, compiled: Compiled
) -> None:
    """What is the same in all is known to all."""
    levels += MOST_VARIANTS
    cells, _ = fill(heap)
    heap.new(Mark, 64, left=3)
    with oa.capture() as step:
        oa.all(Mark).split()
        for level in range(levels):
            getattr(oa.all(Cell), method)(level, 2)
    step.run()
    own = [job.facts for job in compiled.in_launches if job.name == f"Cell.{method}"]
    known = [sorted(facts.constants.values()) for facts in own]
    every = [sorted((level, 2)) for level in range(levels)]
    assert known == (every if levels <= MOST_VARIANTS else [[2]])
    expected = 0
    for level in range(levels):
        expected += 2 if expected % 16 == level else 0
    assert set(cells.e.numpy().tolist()) == {expected}


def test_launches_that_have_nothing_to_do_yet_are_looked_at_once(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a step has just been planned nobody has listed who lives."""
    fill(heap)
    looked: list[str] = []
    sample = clustering.sample

    def noting(program: Any, *given: Any) -> Any:
        looked.append(program.kernel.name)
        return sample(program, *given)

    monkeypatch.setattr(clustering, "sample", noting)
    with oa.capture() as step:
        oa.all(Cell).end()
        for level in range(3):
            oa.all(Cell).reach(level, 7)
    for times in (1, 2, 2):  # in the first run, in the second, and in the third not
        step.run()
        assert sorted(looked) == sorted(["Cell.end", "Cell.reach"] * times)


@oa.kernel
def scale(cells: oa.Array[Cell], by: f32):
    cells[oa.grid(1)].e *= by


def test_no_launch_waits_for_constants_of_code_that_launches_have_left(
    heap: oa.Heap, compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("launches_on_device", 2), ("looks", 2), ("worth", 0.0)):
        monkeypatch.setattr(specialisation.policy, name, value)
    begin = threading.Event()
    background.submit(lambda task: (begin.wait(60), None)[1], background.Urgency.NEEDED)
    cells = heap.new(Cell, COUNT, e=1)
    for round in range(4):
        for _ in range(300):
            scale[COUNT](cells, 1.0)
        if round == 0:
            heap.rearrange(Clusters().replace(CELL, (FOUR,)))
            begin.set()
        assert background.wait()
        assert len(compiled.beside) == (round > 0)
    assert set(cells.e.numpy().tolist()) == {1.0}
    assert [job.facts.constants for job in compiled.in_launches] == [{}, {}]
    assert [job.facts.constants for job in compiled.beside] == [{1: 1.0}]


def test_which_numbers_differ() -> None:
    assert differing([{1: n % MOST_VARIANTS, 2: 7} for n in range(9)]) == set()
    assert differing([{1: n, 2: 7} for n in range(MOST_VARIANTS + 1)]) == {1}
    assert differing([{1: n, 2: -n} for n in range(MOST_VARIANTS + 1)]) == {1, 2}
    assert differing([{}] * 9) == set()


def test_what_is_urgent_is_done_first() -> None:
    """Work that lets it interrupts itself for nothing else."""
    seen: list[str] = []
    begun, begin = threading.Event(), threading.Event()

    def noting(what: str, urgency: background.Urgency) -> None:
        background.submit(lambda task: seen.append(what), urgency)

    def layout(task: background.Task) -> None:
        begun.set()
        assert begin.wait(60)
        seen.append("layout")
        background.let_first()
        seen.append("layout again")

    urgent = background.Urgency
    background.submit(layout, urgent.LAYOUT)
    assert begun.wait(60)
    for what in ("trial", "layout", "constants", "needed", "constants"):
        noting(what, urgent[what.upper()])
    background.let_first()  # in another thread, which does nothing
    assert seen == []
    begin.set()
    assert background.wait()
    assert seen == [
        "layout", "needed", "constants", "constants", "layout again", "layout", "trial",
    ]  # fmt: skip
