"""Where kernels make objects, launches go on with general code when classes have got other ranges,
and code for these is made beside them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.runtime import background, knobs, launch
from sharedoa.runtime.facts import NOTHING, Now
from sharedoa.runtime.known_ranges import GENERAL
from tests.heap.test_forks import child_does

Compiled = list[tuple[str, bool]]


class Tree(oa.Object):
    age: i32
    seen: i32

    def kind(self) -> i32:
        return 1

    def grow(self, seeds: i32) -> None:
        self.age += 1
        for _ in range(2):
            if self.age <= seeds:
                oa.new(Tree, age=9)


class Oak(Tree):
    def kind(self) -> i32:
        return 2


class Elm(Tree):
    def kind(self) -> i32:
        return 3


class Other(oa.Object):
    age: i32


@pytest.fixture
def look() -> Any:
    return new_look()


def new_look() -> Any:
    """A kernel that nothing was compiled of."""

    @oa.kernel
    def look(trees: oa.Array[Tree], out: oa.Array[i32]) -> None:
        i = oa.grid(1)
        if i < len(trees):
            out[i] = trees[i].kind()

    return look


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiled]:
    """What was compiled, and whether a launch waited for it."""
    found: Compiled = []
    compile: Callable[..., Any] = launch.compile
    main = threading.current_thread()

    def noting(job: Any, *instead: Any) -> Any:
        found.append((job.name, threading.current_thread() is main))
        return compile(job, *instead)

    monkeypatch.setattr(launch, "compile", noting)
    yield found
    background.wait()


def ranges_of(look: Any) -> Any:
    """What the code for the last launch knows."""
    facts = look.program.binding.unit.compilation.job.facts
    (known,) = (answer for _, answer in facts.asked("ranges"))
    return known


def where(heap: oa.Heap, look: Any) -> Any:
    return Now(look.program.uses(), heap, NOTHING).where


def check(heap: oa.Heap, look: Any, trees: Any) -> None:
    some = trees[np.random.default_rng(1).permutation(len(trees))]
    out = heap.zeros(len(some), i32)
    look[len(some)](some, out)
    kinds = {Tree: 1, Oak: 2, Elm: 3}
    assert out.numpy().tolist() == [kinds[type(each)] for each in some]


def new_heap() -> oa.Heap:
    """So small that classes do not stay in windows."""
    return oa.Heap(backend="cpu", initial_region=32, capacity="1MiB")


def forest(heap: oa.Heap) -> Any:
    return heap.concat(*(heap.new(cls, 32) for cls in (Tree, Oak, Elm)))


def grow(heap: oa.Heap, look: Any) -> None:
    """Let there be more trees until they have another range."""
    before = where(heap, look)
    while where(heap, look) == before:
        heap.all(Oak).grow(100)


def test_no_launch_waits_for_code_when_a_class_grows(look: Any, compiled: Compiled) -> None:
    with new_heap() as heap:
        trees = forest(heap)
        check(heap, look, trees)
        first = ranges_of(look)
        assert first == where(heap, look) != GENERAL
        heap.all(Oak).grow(0)  # from now on kernels may make objects
        heap.new(Other, 100)  # what was bound looks at everything again
        check(heap, look, trees)
        assert background.wait()
        compiled.clear()
        for more in (lambda: grow(heap, look), lambda: heap.new(Oak, 300)):
            more()
            assert first != where(heap, look)
            check(heap, look, trees)
            assert ranges_of(look) == GENERAL
            assert background.wait()
            check(heap, look, trees)
            assert ranges_of(look) == where(heap, look) != GENERAL
            first = where(heap, look)
        assert ("look", True) not in compiled


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_compiles_what_its_parent_was_about_to(look: Any, compiled: Compiled) -> None:
    def hold(task: background.Task) -> None:
        go_on.wait()

    def compiles() -> None:
        heap.new(Other, 100)  # what was bound looks at everything again
        check(heap, look, trees)
        assert background.wait()
        check(heap, look, trees)
        assert ranges_of(look) == where(heap, look) != GENERAL

    with new_heap() as heap:
        trees = forest(heap)
        check(heap, look, trees)
        heap.all(Oak).grow(0)
        go_on = threading.Event()
        background.submit(hold)
        try:
            grow(heap, look)
            check(heap, look, trees)
            assert ranges_of(look) == GENERAL
            child_does(compiles)
        finally:
            go_on.set()


def test_without_a_thread_beside_it_launches_wait(
    look: Any, compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAREDOA_BACKGROUND", "0")
    with new_heap() as heap:
        trees = forest(heap)
        check(heap, look, trees)
        grow(heap, look)
        check(heap, look, trees)
        assert ranges_of(look) == where(heap, look) != GENERAL
        assert compiled.count(("look", True)) == 2


def test_what_is_being_compiled_for_other_ranges_is_dropped(look: Any, compiled: Compiled) -> None:
    """Results are right whatever code there is when a launch begins."""
    with oa.Heap(backend="cpu", initial_region=4, capacity="1MiB") as heap:
        trees = [forest(heap)]
        for step in range(12):
            heap.all(Oak).grow(100)
            trees.append(heap.new((Elm, Oak, Tree)[step % 3], 3 << step // 3))
            check(heap, look, heap.concat(*trees))
        assert background.wait()
        check(heap, look, heap.concat(*trees))
        assert compiled.count(("look", True)) <= 2


def new_look_beside() -> Any:
    """A kernel whose code is another one where the others lie side by side."""

    @oa.kernel
    def look(trees: oa.Array[Tree], others: oa.Array[Other], out: oa.Array[i32]) -> None:
        i = oa.grid(1)
        out[i] = trees[i].kind() + others[i].age

    return look


def check_beside(heap: oa.Heap, look: Any, trees: Any, others: Any) -> None:
    out = heap.zeros(len(trees), i32)
    look[len(trees)](trees, others, out)
    kinds = {Tree: 1, Oak: 2, Elm: 3}
    ages = others.age.numpy()
    assert (out.numpy() - ages).tolist() == [kinds[type(each)] for each in trees]


def side_by_side(heap: oa.Heap) -> Any:
    return heap.new(Other, 96, age=np.arange(96))


def backwards(others: Any) -> Any:
    return others[np.arange(96)[::-1]]


@pytest.fixture
def left(tmp_path: Path) -> Iterator[None]:
    """On disk is what processes leave where classes have the ranges of ``forest``: code for these
    and general code, with others of both kinds."""
    with knobs.scope(cache_dir=tmp_path):
        for order in (lambda others: others, backwards):
            with new_heap() as heap:
                trees = forest(heap)
                heap.all(Oak).grow(0)
                check_beside(heap, new_look_beside(), trees, order(side_by_side(heap)))
                assert background.wait()
        yield


def otherwise(heap: oa.Heap) -> Any:
    """Trees in other ranges."""
    trees = heap.concat(*(heap.new(cls, 32) for cls in (Elm, Tree, Oak)))
    heap.all(Oak).grow(0)
    return trees


@pytest.mark.usefixtures("left")
def test_launches_begin_with_general_code_that_is_on_disk() -> None:
    look = new_look_beside()
    with new_heap() as heap:
        trees, others = otherwise(heap), side_by_side(heap)
        check_beside(heap, look, trees, others)
        assert ranges_of(look) == GENERAL
        assert background.wait()
        check_beside(heap, look, trees, others)
        assert ranges_of(look) == where(heap, look) != GENERAL


@pytest.mark.usefixtures("left")
def test_launches_do_not_go_back_to_general_code() -> None:
    """What they have for where objects lie is quicker."""
    look = new_look_beside()
    with new_heap() as heap:
        trees, others = otherwise(heap), side_by_side(heap)
        for _ in range(2):
            check_beside(heap, look, trees, backwards(others))
            assert background.wait()
        assert ranges_of(look) != GENERAL
        go_on = threading.Event()
        background.submit(lambda task: go_on.wait(60) and None, background.Urgency.NEEDED)
        try:
            # Of which there is but general code on disk.
            check_beside(heap, look, trees, others)
            assert ranges_of(look) == where(heap, look) != GENERAL
        finally:
            go_on.set()


def test_whoever_has_the_heaps_lock_may_look(look: Any) -> None:
    """Python 3.11 has one lock for a cached property of all objects."""
    with new_heap() as heap:
        forest(heap)
        uses = look.program.uses()
        began = threading.Event()

        def one() -> None:
            with heap.lock:
                other.start()
                began.wait()
                other.join(0.1)
                Now(uses, heap, NOTHING).populated()

        def another() -> None:
            began.set()
            Now(uses, heap, NOTHING).populated()

        other = threading.Thread(target=another, daemon=True)
        thread = threading.Thread(target=one, daemon=True)
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
        other.join()
