"""Heaps that choose clusters by what launches touch, on a GPU that is interpreted."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.errors import DeviceError
from sharedoa.heap.settings import HeapSettings
from sharedoa.model.clusters import Clusters
from sharedoa.runtime import clustering, compared_clusters
from tests.backends.pretend_device import PromptDevice
from tests.modes import rotated

#: Who decides does not know how wide references are.
pytestmark = pytest.mark.in_turns("heap", 1)
COUNT = 256
SOME = np.random.default_rng(3).permutation(COUNT)
NONE = Clusters()


class Cell(oa.Object):
    a: f32
    b: f32
    c: f32
    d: f32
    e: f32
    next: Cell

    def work(self, by: f32) -> f32:
        return self.a + self.b + self.c + self.d + by

    def pull(self, by: f32) -> f32:
        self.e += by
        other = self.next
        return other.a + other.b + other.c + other.d


class Double(Cell):
    def work(self, by: f32) -> f32:
        self.b += by + by
        return self.a + self.b


class InTiles(oa.Object, layout="tile"):
    a: f32
    b: f32
    c: f32


class InRecords(oa.Object, layout="aos"):
    a: f32
    b: f32
    c: f32


CELL = Cell.__sharedoa__
FOUR = ("a", "b", "c", "d")


@oa.kernel
def work(cells: oa.Array[Cell], by: f32, out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(cells):
        out[i] += cells[i].work(by)


@oa.kernel
def tiled(these: oa.Array[InTiles], out: oa.Array[f32]):
    i = oa.grid(1)
    out[i] = these[i].a + these[i].b + these[i].c


@oa.kernel
def recorded(these: oa.Array[InRecords], out: oa.Array[f32]):
    i = oa.grid(1)
    out[i] = these[i].a + these[i].b + these[i].c


@oa.kernel
def prepare(cells: oa.Array[Cell]):
    cells[oa.grid(1)].a = f32(1)


@cache
def gpu() -> PromptDevice:
    return PromptDevice()


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "FEWEST_OBJECTS", 64)
    monkeypatch.setattr(clustering, "FEWEST_THREADS", 64)
    monkeypatch.setenv(
        "SHAREDOA_BACKGROUND", "0"
    )  # objects are rearranged by the launch that looks


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that were looked at, in order."""
    found: list[str] = []
    look = clustering.sample

    def noting(program: Any, *more: Any) -> Any:
        found.append(program.kernel.name)
        return look(program, *more)

    monkeypatch.setattr(clustering, "sample", noting)
    return found


def new_heap(**given: Any) -> oa.Heap:
    return oa.Heap(**{"backend": gpu(), "capacity": "64MiB", "initial_region": 32, **given})


@pytest.fixture(params=["32", "64"])
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    with new_heap(references=request.param) as made:
        yield made


def fill(heap: oa.Heap, cls: Any = Cell, count: int = COUNT) -> Any:
    return heap.new(cls, count, a=range(count), b=1, c=2, d=3)


def expected(order: np.ndarray[Any, Any], launches: int) -> list[float]:
    """What so many launches of ``work`` give."""
    return (launches * (order + 6.5)).tolist()


def test_random_places_get_clusters_at_the_first_launch(heap: oa.Heap, looked: list[str]) -> None:
    cells = fill(heap)
    some, out = cells[SOME], heap.zeros(COUNT, f32)
    for number in range(1, 4):
        work[COUNT](some, 0.5, out)
        assert heap.layout.clusters.of(CELL) == (FOUR,)
        assert out.numpy().tolist() == expected(SOME, number)
    assert cells.a.numpy().tolist() == list(range(COUNT))
    assert cells.b.numpy().tolist() == [1] * COUNT
    assert looked == ["work"]
    assert "Cell clusters (a, b, c, d)" in work.explain()


def test_neighbours_get_none(heap: oa.Heap, looked: list[str]) -> None:
    cells, out = fill(heap), heap.zeros(COUNT, f32)
    for number in range(1, 18):
        work[COUNT](cells, 0.5, out)
        assert out.numpy().tolist() == expected(np.arange(COUNT), number)
    assert heap.layout.clusters == NONE
    assert looked == ["work"] * 2


def test_after_sixteen_launches_nobody_looks(
    heap: oa.Heap, looked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)
    # Only what takes the careful way packs arguments by the plan, some of it more than once.
    careful: set[int] = set()
    pack, number = work.program.plan.pack, 0

    def noting(*given: Any) -> Any:
        careful.add(number)
        return pack(*given)

    monkeypatch.setattr(work.program.plan, "pack", noting)
    for number in range(1, 21):
        work[COUNT](some, 0.5, out)
        assert len(looked) == 1 + (number >= clustering.LAUNCHES)
    assert careful == {1, clustering.LAUNCHES}
    assert out.numpy().tolist() == expected(SOME, 20)


@pytest.mark.parametrize(("grows", "is_captured"), rotated([False, True], [False, True]))
def test_looks_take_a_part_of_the_time(
    is_captured: bool, grows: bool, heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs are looked at again when they have run for long enough, and as soon as that."""
    few = COUNT // 2 if grows else COUNT
    some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)
    clock, looked, sample = 0.0, list[float](), clustering.sample

    def looking(*given: Any) -> Any:
        nonlocal clock
        looked.append(clock)
        clock += 1.0
        return sample(*given)

    monkeypatch.setattr(clustering, "PATIENCE", 3.0)
    monkeypatch.setattr(clustering, "perf_counter", lambda: clock)
    monkeypatch.setattr(clustering, "sample", looking)
    with oa.capture() as step:
        work[few](some, 0.5, out)
    for number in range(1, 4 * clustering.LAUNCHES):
        if is_captured and not (grows and number >= 18):
            step.run()
        else:
            work[few if number < 18 else COUNT](some, 0.5, out)
        clock += 0.125
    # After the first look of one second three pass, of 8 launches each.
    first, *others = looked
    assert first == 0.0 and len(others) == 1 and others[0] == pytest.approx(4.0, abs=0.126)


@pytest.mark.parametrize("times", [1, 2])
def test_preparations_do_not_count_later(heap: oa.Heap, times: int) -> None:
    """What is done once to all objects, and is better off with rows."""
    cells, out = fill(heap, count=16 * COUNT), heap.zeros(COUNT, f32)
    for _ in range(times):
        prepare[16 * COUNT](cells)
    for _ in range(clustering.LAUNCHES):
        assert heap.layout.clusters == NONE
        work[64](cells[SOME], 0.5, out)
    assert heap.layout.clusters.of(CELL) == ((FOUR,) if times == 1 else ())
    assert out.numpy()[:64].tolist() == [clustering.LAUNCHES * 7.5] * 64


class Seldom(oa.Object):
    a: f32
    b: f32
    c: f32
    d: f32


@oa.kernel
def visit(some: oa.Array[Seldom], out: oa.Array[f32]):
    i = oa.grid(1)
    out[i] += some[i].a + some[i].b + some[i].c + some[i].d


@pytest.mark.parametrize("others", [False, True])
def test_what_is_little_of_all_stays_as_it_is(heap: oa.Heap, others: bool) -> None:
    """All that uses it would be compiled anew."""
    if others:
        cells = fill(heap, count=16 * COUNT)
        for _ in range(clustering.LAUNCHES):
            prepare[16 * COUNT](cells)
    some, out = heap.new(Seldom, COUNT, a=1, b=2, c=3, d=4)[SOME], heap.zeros(COUNT, f32)
    visit[64](some, out)
    assert heap.layout.clusters.of(Seldom.__sharedoa__) == (() if others else (FOUR,))
    assert out.numpy()[:64].tolist() == [10.0] * 64


class Other(oa.Object):
    a: f32


def test_twice_as_many_threads_are_looked_at(heap: oa.Heap, looked: list[str]) -> None:
    """Those that come may meet objects in no order."""
    few = COUNT // 2
    order = np.concatenate([np.arange(few), few + np.random.default_rng(1).permutation(few)])
    some, out = fill(heap)[order], heap.zeros(COUNT, f32)
    for _ in range(clustering.LAUNCHES):
        work[few](some, 0.5, out)
    assert heap.layout.clusters == NONE
    heap.new(Other, 40)  # so that launches are bound again
    work[COUNT - 1](some, 0.5, out)
    assert looked == ["work"] * 2
    heap.new(Other, 400)
    work[COUNT](some, 0.5, out)
    assert looked == ["work"] * 3 and heap.layout.clusters.of(CELL) == (FOUR,)


def test_launches_that_do_nothing_say_nothing(heap: oa.Heap, looked: list[str]) -> None:
    """The next one is looked at instead, but not one after another for good."""
    some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)
    nobody = some[:0]
    work[COUNT](nobody, 0.5, out)
    assert looked == ["work"] and heap.layout.clusters == NONE
    work[COUNT](some, 0.5, out)
    assert looked == ["work"] * 2 and heap.layout.clusters.of(CELL) == (FOUR,)
    for _ in range(clustering.LAUNCHES - 3):
        work[COUNT](nobody, 0.5, out)
    assert looked == ["work"] * 2
    for _ in range(4):
        work[COUNT](nobody, 0.5, out)
    assert looked == ["work"] * 4


def test_what_is_seen_while_clusters_are_compared_is_chosen_later(
    heap: oa.Heap, looked: list[str]
) -> None:
    """Also where a program had been launched often by then, but had nothing to do."""
    some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)
    compared = heap.new(Seldom, COUNT)
    for _ in range(clustering.LAUNCHES):
        work[COUNT](some[:0], 0.5, out)
    with heap.lock:
        other = heap.layout.clusters.replace(Seldom.__sharedoa__, (FOUR,))
        compared_clusters.begin(heap, other, True, lambda layout: pytest.fail("a turn has ended"))
    work[COUNT](some, 0.5, out)
    assert looked == ["work"] * 4 and heap.layout.clusters == NONE
    with heap.lock:
        compared_clusters._of_heap(heap).comparison = None
    visit[COUNT](compared, heap.zeros(COUNT, f32))  # who was compared is bound anew
    for _ in range(2):
        work[COUNT](some, 0.5, out)
    assert looked == ["work"] * 4 + ["visit", "work"]
    assert heap.layout.clusters.of(CELL) == (FOUR,)
    assert out.numpy().tolist() == expected(SOME, 3)


def test_every_launch_counts_whatever_its_size(heap: oa.Heap, looked: list[str]) -> None:
    some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)
    for number in range(1, 20):
        work[COUNT - number](some, 0.5, out)
        work[3](some, 0.5, out)  # small ones are not among them
        assert len(looked) == 1 + (number >= clustering.LAUNCHES)


def test_runs_of_a_step_count(heap: oa.Heap, looked: list[str]) -> None:
    some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)
    with oa.capture() as step:
        work[COUNT](some, 0.5, out)
        work[COUNT](some, 0.5, out)
    step.run()
    bind = work.program.bind
    binds: list[Any] = []

    def noting(*given: Any, **named: Any) -> Any:
        binds.append(given)
        return bind(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work.program, "bind", noting)
        step.run(40)
    # In the block each was bound twice; what came until the sixteenth was not looked at.
    assert len(looked) == 2 and len(binds) <= 4
    assert out.numpy().tolist() == expected(SOME, 82)


@pytest.mark.parametrize(
    "given",
    [
        {"layout": "tile"}, {"layout": "aos"}, {"debug": True}, {"mode": "range+switch"},
        {"mode": "bits+switch"}, {"mode": "tag+switch"}, {"backend": "cpu"}, {"backend": "python"},
    ],
    ids=str,
)  # fmt: skip
def test_heaps_that_leave_no_choice(given: dict[str, Any], looked: list[str]) -> None:
    with new_heap(**given) as heap:
        some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)
        for number in (1, 2):
            work[COUNT](some, 0.5, out)
            assert out.numpy().tolist() == expected(SOME, number)
        assert heap.layout.clusters == NONE and looked == []


def test_launches_in_other_modes_and_debug(heap: oa.Heap, looked: list[str]) -> None:
    some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)
    work[COUNT](some, 0.5, out, mode="range+switch")
    work[COUNT](some, 0.5, out, debug=True)
    assert looked == [] and out.numpy().tolist() == expected(SOME, 2)
    work[COUNT](some, 0.5, out)
    assert looked == ["work"] and heap.layout.clusters.of(CELL) == (FOUR,)
    work[COUNT](some, 0.5, out, debug=True)
    work[COUNT](some, 0.5, out, mode="range+switch")
    assert out.numpy().tolist() == expected(SOME, 5)


@pytest.mark.parametrize(("kernel", "cls"), [(tiled, InTiles), (recorded, InRecords)])
def test_classes_that_ask_for_a_layout(heap: oa.Heap, kernel: Any, cls: Any) -> None:
    these = heap.new(cls, COUNT, a=range(COUNT), b=1)
    out = heap.zeros(COUNT, f32)
    for _ in range(17):
        kernel[COUNT](these[SOME], out)
    assert heap.layout.clusters == NONE
    assert out.numpy().tolist() == (SOME + 1.0).tolist()


def test_few_objects_or_threads(heap: oa.Heap, looked: list[str]) -> None:
    few, out = fill(heap, count=40), heap.zeros(COUNT, f32)
    work[COUNT](few[::-1], 0.5, out)
    cells = fill(heap)
    work[40](cells[SOME[:40]], 0.5, out)
    assert looked == [] and work.program.binding.is_settled
    # A large launch is looked at, though a small one was not.
    work[COUNT](cells[SOME], 0.5, out)
    assert looked == ["work"] and heap.layout.clusters.of(CELL) == (FOUR,)
    work[0](cells, 0.5, out)


def test_small_launches_between_large_ones_stay_quick(heap: oa.Heap) -> None:
    some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)
    for _ in range(clustering.LAUNCHES):
        work[COUNT](some, 0.5, out)
    work[3](some, 0.5, out)
    binding = work.program.binding
    work[COUNT](some, 0.5, out)
    work[3](some, 0.5, out)
    assert work.program.binding is binding and len(binding.starts) == 2


def test_growth(heap: oa.Heap, looked: list[str]) -> None:
    cells, out = fill(heap), heap.zeros(4 * COUNT, f32)
    work[COUNT](cells, 0.5, out)
    assert len(looked) == 1
    more = fill(heap, Double)
    for _ in range(3):
        work[COUNT](more[SOME], 0.5, out)
    assert looked == ["work"] * 2
    assert heap.layout.clusters.of(CELL) != NONE
    first = np.arange(COUNT) + 6.5
    assert out.numpy()[:COUNT].tolist() == (first + 3 * SOME + 2 + 3 + 4).tolist()
    heap.delete(more)
    before = out.numpy().copy()
    work[COUNT](cells, 0.5, out)
    assert looked == ["work"] * 2
    assert (out.numpy() - before)[:COUNT].tolist() == expected(np.arange(COUNT), 1)


def test_deleted_objects_are_not_followed(heap: oa.Heap) -> None:
    cells, out = fill(heap), heap.zeros(COUNT, f32)
    cells.next = cells[SOME]
    cells[:100].next = fill(heap, Double, 100)
    heap.delete(heap.all(Double))
    kept = cells[100:]
    kept.pull(f32(1))
    assert kept.e.numpy().tolist() == [1] * (COUNT - 100)
    assert cells.b.numpy().tolist() == [1] * COUNT


def test_calls_of_methods(heap: oa.Heap) -> None:
    cells, doubles = fill(heap), fill(heap, Double, 64)
    every = heap.concat(cells, doubles)
    every.next = every[np.random.default_rng(5).permutation(len(every))]
    values = np.concatenate([np.arange(COUNT), np.arange(64)]) + 6.0
    order = every.next.a.numpy() + 6.0
    for number in range(1, 18):
        found = heap.all(Cell).pull(f32(1)).numpy()
        assert sorted(found.tolist()) == sorted(order.tolist())
        assert every.e.numpy().tolist() == [number] * len(values)
    assert heap.layout.clusters.of(CELL) == (FOUR,)


def test_captured_steps(heap: oa.Heap, looked: list[str]) -> None:
    cells, out = fill(heap), heap.zeros(COUNT, f32)
    cells.next = cells
    with oa.capture() as step:
        work[COUNT](cells, 0.5, out)
        cells.pull(f32(1))
    assert looked and heap.layout.clusters == NONE
    step.run(3)
    # What was in order is in none any more; that shows when it is looked at again.
    cells.next = cells[SOME]
    step.run(20)
    assert heap.layout.clusters.of(CELL) != NONE
    assert out.numpy().tolist() == expected(np.arange(COUNT), 23)
    assert cells.e.numpy().tolist() == [23] * COUNT
    step.run(2)
    assert cells.e.numpy().tolist() == [25] * COUNT


def test_several_heaps(looked: list[str]) -> None:
    orders = [SOME, np.arange(COUNT), SOME[::-1]]
    heaps = [new_heap() for _ in orders]
    arrays = []
    for heap, order in zip(heaps, orders, strict=True):
        with heap:
            arrays.append((fill(heap)[order], heap.zeros(COUNT, f32)))
    for number in range(1, 4):
        for order, (some, out) in zip(orders, arrays, strict=True):
            work[COUNT](some, 0.5, out)
            assert out.numpy().tolist() == expected(order, number)
    assert [bool(heap.layout.clusters.of(CELL)) for heap in heaps] == [True, False, True]
    assert len(looked) == 3
    ghosts = [weakref.ref(heap) for heap in heaps]
    del heaps, heap, arrays, some, out
    gc.collect()
    assert [ghost() for ghost in ghosts] == [None] * 3


def test_threads_that_launch_at_once(heap: oa.Heap) -> None:
    problems: list[BaseException] = []
    begin = threading.Barrier(3)
    cells = fill(heap)
    some = cells[SOME]

    @oa.kernel
    def other(cells: oa.Array[Cell], out: oa.Array[f32]):
        i = oa.grid(1)
        out[i] += cells[i].a + cells[i].d

    @oa.kernel
    def third(cells: oa.Array[Cell], out: oa.Array[f32]):
        i = oa.grid(1)
        out[i] += cells[i].c

    def run(launch: Any, wanted: np.ndarray[Any, Any]) -> None:
        try:
            out = heap.zeros(COUNT, f32)
            begin.wait()
            for number in range(1, 19):
                launch(out)
                assert out.numpy().tolist() == (number * wanted).tolist()
        except BaseException as problem:
            problems.append(problem)

    launches = [
        (lambda out: work[COUNT](some, 0.0, out), SOME + 6.0),
        (lambda out: other[COUNT](some, out), SOME + 3.0),
        (lambda out: third[COUNT](cells, out), np.full(COUNT, 2.0)),
    ]
    threads = [threading.Thread(target=run, args=each) for each in launches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert heap.layout.clusters.of(CELL) != NONE


def test_what_an_earlier_kernel_has_done_wrong_is_raised(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)

    def gather(*arguments: Any) -> Any:
        raise DeviceError("an earlier kernel failed", "look at it")

    with monkeypatch.context() as patch:
        patch.setattr(heap.backend, "gather", gather)
        with pytest.raises(DeviceError, match="earlier"):
            work[COUNT](some, 0.5, out)
    assert not heap.memory.launching
    work[COUNT](some, 0.5, out)
    assert out.numpy().tolist() == expected(SOME, 1)


def test_programs_are_weighed_by_how_often_they_run(heap: oa.Heap, looked: list[str]) -> None:
    cells, out = fill(heap), heap.zeros(COUNT, f32)

    @oa.kernel
    def ordered(cells: oa.Array[Cell], out: oa.Array[f32]):
        i = oa.grid(1)
        if i < len(cells):
            this = cells[i]
            out[i] = this.a
            this.c = f32(2)

    some = cells[SOME[:64]]
    for _ in range(17):
        ordered[COUNT](cells, out)
    work[64](some, 0.5, out)
    # Little is spared for one launch of few threads.
    assert heap.layout.clusters == NONE
    for _ in range(17):
        ordered[COUNT](cells, out)
    assert out.numpy().tolist() == list(range(COUNT))


def test_what_a_step_does_many_times_weighs_more(heap: oa.Heap, looked: list[str]) -> None:
    some, out = fill(heap)[SOME], heap.zeros(COUNT, f32)
    with oa.capture() as step:
        for _ in range(2 * clustering.LAUNCHES):
            work[COUNT](some, 0.5, out)
    step.run()
    (known,) = clustering._known[heap].programs[work.program].values()
    assert known.launches >= 2 * clustering.LAUNCHES and len(looked) == 2


def test_settings_say_whose_choice_it_is() -> None:
    settings = HeapSettings.resolve("auto", gpu(), None, "64MiB", None, None, None, None, None)
    assert settings.layout.is_open and settings.layout.is_open_for(CELL)
    assert not settings.layout.is_open_for(InTiles.__sharedoa__)
    assert not settings.layout.is_open_for(InRecords.__sharedoa__)
