"""What looks at programs found, in the place of looks in later runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.model.clusters import Clusters
from sharedoa.runtime import background, clustering, knobs, remembered_looks

from .test_clustering import (
    CELL,
    COUNT,
    FOUR,
    NONE,
    SOME,
    Cell,
    expected,
    few_are_enough,
    fill,
    looked,
    new_heap,
    work,
)

__all__ = ["few_are_enough", "looked"]  # fixtures

pytestmark = pytest.mark.in_turns("heap", 1)
PAIRS = np.arange(COUNT) ^ 1
"""An order in which threads have neighbours, and no run."""


@oa.kernel
def meet(cells: oa.Array[Cell], out: oa.Array[f32]):
    i = oa.grid(1)
    out[i] += cells[i].d + cells[i].e


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Looks are kept, in a folder of this test alone."""
    monkeypatch.setattr(remembered_looks, "KEEPS", True)
    with knobs.scope(cache_dir=tmp_path):
        yield tmp_path
    forget()


def forget() -> None:
    """As a new process knows nothing."""
    for each in (work, meet):
        each.program.uses().derived.clear()


def run(order: Any = SOME, launches: int = 1, **settings: Any) -> Clusters:
    """A heap's clusters after launches of ``work``, whose results are right."""
    with new_heap(**settings) as heap:
        out = heap.zeros(COUNT, f32)
        some = fill(heap)[order]
        for _ in range(launches):
            work[COUNT](some, 0.5, out)
        assert out.numpy().tolist() == expected(order, launches)
        return heap.layout.clusters


def files(folder: Path) -> list[Path]:
    """Of looks."""
    found = [file for file in folder.glob("*.code") if b'"compiler": "look"' in file.read_bytes()]
    return sorted(found)


@pytest.mark.parametrize("is_new_process", [False, True])
def test_a_later_run_does_not_look(is_new_process: bool, looked: list[str], kept: Path) -> None:
    first = run()
    assert first.of(CELL) == (FOUR,) and looked == ["work"] and len(files(kept)) == 1
    if is_new_process:
        forget()
    assert run() == first and looked == ["work"]


def test_a_process_that_ends_before_the_background_is_idle(
    looked: list[str], kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, knobs.scope(background=True):
        patch.setattr(background, "submit", lambda *_: None)
        first = run()
    assert not files(kept)
    remembered_looks.store_all()
    assert len(files(kept)) == 1 and not remembered_looks._unstored
    forget()
    assert run() == first and looked == ["work"]


def test_what_is_kept_elsewhere_is_not_found(looked: list[str]) -> None:
    run()
    forget()
    with knobs.scope(cache_dir="off"):
        run()
        assert looked == ["work"] * 2
        run()
        assert looked == ["work"] * 2  # in the same process


@pytest.mark.parametrize("change", [b'"launches"', b'"groups"', b'"used": [0', b"Cell."])
def test_damaged_files_are_not_taken(change: bytes, looked: list[str], kept: Path) -> None:
    first = run()
    forget()
    (file,) = files(kept)
    data = file.read_bytes()
    assert change in data
    file.write_bytes(data.replace(change, change.swapcase()))
    assert run() == first and looked == ["work"] * 2


def test_other_circumstances(looked: list[str]) -> None:
    run()
    run(references="32")
    assert looked == ["work"] * 2
    many = 16 * COUNT
    with new_heap() as heap:
        cells, out = fill(heap, count=many), heap.zeros(many, f32)
        work[COUNT](cells[SOME], 0.5, out)  # more objects
        assert looked == ["work"] * 3
    with new_heap() as heap:
        cells, out = fill(heap, count=many), heap.zeros(many, f32)
        work[many](cells[np.random.default_rng(5).permutation(many)], 0.5, out)  # and threads
        assert looked == ["work"] * 4
    with new_heap() as heap:
        out = heap.zeros(COUNT, f32)
        work[COUNT](fill(heap), 0.5, out)  # a run
        assert looked == ["work"] * 5 and heap.layout.clusters == NONE


def test_other_code(looked: list[str]) -> None:
    """Of the same name, with classes of the same name."""

    def first() -> tuple[Any, Any]:
        class Body(oa.Object):
            a: f32
            b: f32
            c: f32
            d: f32

        @oa.kernel
        def visit(bodies: oa.Array[Body], out: oa.Array[f32]):
            i = oa.grid(1)
            out[i] = bodies[i].a

        return Body, visit

    def second() -> tuple[Any, Any]:
        class Body(oa.Object):
            a: f32
            b: f32
            c: f32
            d: f32

        @oa.kernel
        def visit(bodies: oa.Array[Body], out: oa.Array[f32]):
            i = oa.grid(1)
            out[i] = bodies[i].a + bodies[i].b + bodies[i].c + bodies[i].d

        return Body, visit

    found = []
    for make in (first, second):
        body, visit = make()
        with new_heap() as heap:
            out = heap.zeros(COUNT, f32)
            visit[COUNT](heap.new(body, COUNT, a=1, b=2)[SOME], out)
            found.append(heap.layout.clusters.of(body.__sharedoa__))
    assert looked == ["visit"] * 2 and found == [(), (FOUR,)]


def test_programs_in_another_company(looked: list[str]) -> None:
    """What was not counted then is looked at again, and chosen by all."""
    run()
    with new_heap() as heap:
        cells, out = fill(heap), heap.zeros(COUNT, f32)
        meet[COUNT](cells[SOME], out)
        work[COUNT](cells[SOME], 0.5, out)
        work[COUNT](cells[SOME], 0.5, out)
        assert looked == ["work", "meet", "work"]
        assert heap.layout.clusters.of(CELL) == (FOUR,)


def test_whether_it_is_still_so(looked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at again once the run has gone on for as long as looks may take a part of it."""
    clock, sample = 0.0, clustering.sample

    def looking(*given: Any) -> Any:
        nonlocal clock
        clock += 1.0
        return sample(*given)

    monkeypatch.setattr(clustering, "PATIENCE", 3.0)
    monkeypatch.setattr(clustering, "perf_counter", lambda: clock)
    monkeypatch.setattr(clustering, "sample", looking)
    with new_heap() as heap:
        work[COUNT](fill(heap)[SOME], 0.5, heap.zeros(COUNT, f32))
    with new_heap() as heap:
        some, out = fill(heap)[PAIRS], heap.zeros(COUNT, f32)
        before = clock
        launches = 0
        while launches < 60 and looked != ["work"] * 2:
            work[COUNT](some, 0.5, out)
            launches += 1
            if clock < before + 1.0:
                assert heap.layout.clusters.of(CELL) == (FOUR,)
            clock += 0.125
        assert 24 <= launches <= 26 and heap.layout.clusters == NONE
        assert out.numpy().tolist() == expected(PAIRS, launches)
    assert run(PAIRS) == NONE and looked == ["work"] * 2


def test_nobody_waits_for_other_launches(looked: list[str]) -> None:
    """Another thread launches, and waits for the heap."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with meet.program.lock:
            held.set()
            done.wait(60)

    other = threading.Thread(target=hold)
    with new_heap() as heap:
        cells, out = fill(heap), heap.zeros(COUNT, f32)
        meet[COUNT](cells[SOME], out)
        other.start()
        held.wait()
        threading.Timer(30, done.set).start()
        work[COUNT](cells[SOME], 0.5, out)
        assert not done.is_set()
        done.set()
        other.join()
    assert looked == ["meet", "work"]


def test_a_class_that_changes(looked: list[str]) -> None:
    class Body(oa.Object):
        a: f32
        b: f32

        def value(self) -> f32:
            return self.a

    def value(self: Body) -> f32:
        return self.a + self.b

    for expected_sum in (1.0, 3.0):
        with new_heap() as heap:
            some = heap.new(Body, COUNT, a=1, b=2)[SOME]
            assert some.value().numpy().tolist() == [expected_sum] * COUNT
            Body.value = value  # type: ignore[method-assign]
    assert len(looked) == 2


def test_nothing_to_choose(looked: list[str], kept: Path) -> None:
    """Programs that touch no fields that may be clusters are not looked at again, either."""
    for _ in range(2):
        with new_heap() as heap:
            cells = fill(heap)
            probe[COUNT](cells[SOME], heap.zeros(COUNT, f32))
            assert heap.layout.clusters == NONE
    assert looked == ["probe"] and len(files(kept)) == 1


@oa.kernel
def probe(cells: oa.Array[Cell], out: oa.Array[f32]):
    i = oa.grid(1)
    out[i] = cells[i].e
