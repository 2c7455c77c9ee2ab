"""While a way back has memory as it was, other threads are refused, whatever they do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64
from sharedoa.heap.alone import alone
from sharedoa.runtime import gradients

from ..heap.invariants import KeptInterruption, interrupt_everywhere


class Seed(oa.Object):
    x: f64
    k: f64

    def grow(self) -> None:
        self.x = self.x * self.k * self.x


@oa.kernel
def double(x: oa.Array[f64]) -> None:
    x[oa.grid(1)] *= 2.0


@oa.kernel
def squared(x: oa.Array[f64], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    y[i] = x[i] * x[i]


@pytest.fixture
def heap() -> Iterator[oa.Heap]:
    with oa.Heap("auto", "cpu", capacity="64MiB", initial_region=16) as made:
        yield made


class Paused:
    """Ways back stop in the middle until ``go`` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.there, self.go = threading.Event(), threading.Event()
        reverse = gradients.TapedLaunch.reverse

        def stopping(launch: Any, distance: int) -> None:
            self.there.set()
            assert self.go.wait(20)
            reverse(launch, distance)

        monkeypatch.setattr(gradients.TapedLaunch, "reverse", stopping)

    def during(self, back: Callable[[], None], work: Callable[[], Any]) -> Any:
        """What comes of ``work`` in this thread while ``back`` is amid its way in another one."""
        failed: list[BaseException] = []

        def run() -> None:
            try:
                back()
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            assert self.there.wait(20)
            return work()
        finally:
            self.go.set()
            thread.join()
            assert not failed, failed


def tried(uses: dict[str, Callable[[], Any]]) -> dict[str, str]:
    """What each use raised."""
    found = {}
    for name, use in uses.items():
        try:
            use()
            found[name] = "nothing"
        except oa.HeapError as error:
            found[name] = "refused" if "another thread goes back" in str(error) else str(error)
    return found


@pytest.mark.parametrize("checkpoints", [None, 1])
@pytest.mark.parametrize("is_owner", [True, False], ids=["the heap's own", "another"])
def test_whatever_others_do(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch, checkpoints: int | None, is_owner: bool
) -> None:
    """The way back is another thread's than the one that has used the heap, as PyTorch's engine
    does, or who comes is."""
    seeds, x, y = oa.new(Seed, 3, x=1.5, k=0.5), oa.array(f64, [1.0, 2.0]), oa.zeros(2, f64)
    seed = seeds[0]
    double[2](x)  # which is known
    with oa.tape(checkpoints=checkpoints) as tape:
        squared[2](x, y)
        oa.all(Seed).grow()
        double[2](x)
        loss = seeds.x.sum() + y.sum()
    uses: dict[str, Callable[[], Any]] = {
        "field": lambda: seed.x,
        "store": lambda: setattr(seed, "x", 3.0),
        "fields": lambda: seeds.x.numpy(),
        "array": lambda: x[0],
        "numpy": lambda: np.asarray(x),
        "stores": lambda: x.__setitem__(0, 3.0),
        "kernel": lambda: double[2](x),
        "method": lambda: oa.all(Seed).grow(),
        "methods": lambda: seeds.grow(),
        "new": lambda: oa.new(Seed, 2),
        "delete": lambda: oa.delete(seed),
        "back": lambda: tape.backward(loss),
        "tape": lambda: oa.tape().__enter__(),
        "heap": lambda: heap.__enter__(),
        "dump": lambda: oa.compact(),
        "reduction": lambda: x.sum(),
        "zeros": lambda: heap.synchronize(),
    }  # fmt: skip
    paused = Paused(monkeypatch)

    def back() -> None:
        with heap:
            tape.backward(loss)

    if is_owner:
        there, others = copy_context(), []

        def others_try() -> None:
            assert paused.there.wait(20)
            others.append(there.run(tried, uses))
            paused.go.set()

        thread = threading.Thread(target=others_try)
        thread.start()
        tape.backward(loss)
        thread.join()
        (found,) = others
    else:
        found = paused.during(back, lambda: tried(uses))
    assert found == dict.fromkeys(uses, "refused")
    np.testing.assert_allclose(seeds.grad.x, 2 * 0.5 * 1.5)
    np.testing.assert_allclose(oa.grad(x), [4.0, 8.0])
    assert x.numpy().tolist() == [4.0, 8.0] and seed.x == 1.125
    oa.all(Seed).grow()
    double[2](x)
    assert x.numpy().tolist() == [8.0, 16.0] and heap.memory.alone is None


def test_others_may_where_nothing_is_put_back(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a heap that several threads use, tapes keep what launches load."""
    x, y = oa.array(f64, [1.0, 2.0]), oa.zeros(2, f64)
    there = threading.Thread(target=x.numpy)
    there.start()
    there.join()
    with oa.tape() as tape:
        squared[2](x, y)
        loss = y.sum()
    seen = Paused(monkeypatch).during(lambda: tape.backward(loss), x.numpy().tolist)
    assert seen == [1.0, 2.0] and oa.grad(x).tolist() == [2.0, 4.0]


def test_a_way_back_that_fails_gives_the_heap_back(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = oa.array(f64, [1.0, 2.0]), oa.zeros(2, f64)
    with oa.tape() as tape:
        squared[2](x, y)
        loss = y.sum()

    def failing(launch: Any, distance: int) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(gradients.TapedLaunch, "reverse", failing)
        with pytest.raises(MemoryError):
            tape.backward(loss)
    seen: list[Any] = []
    there = threading.Thread(target=lambda: seen.append(x.numpy().tolist()))
    there.start()
    there.join()
    assert seen == [[1.0, 2.0]]


def test_an_interruption_gives_the_heap_back(heap: oa.Heap) -> None:
    def work() -> None:
        alone(heap, lambda: None)

    def check() -> None:
        assert heap.memory.alone is None and heap.memory.deferred is None

    assert interrupt_everywhere(work, check, 1000) >= 15
    for moment in range(1, KeptInterruption(1 << 60).during(work).moments):
        found = KeptInterruption(moment).during(work)
        check()
        found.error = None


def test_an_interruption_leaves_memory_as_it_is(heap: oa.Heap) -> None:
    """Also where somebody keeps the error, and with it all that was under way."""
    x, y = oa.array(f64, [1.0, 2.0]), oa.zeros(2, f64)
    with oa.tape() as tape:
        squared[2](x, y)
        double[2](x)
        loss = y.sum()
    untouched, seen = tape._untouched, x.numpy()
    assert untouched.puts_back

    def change() -> None:
        seen[:] = 7.0

    def work() -> None:
        untouched.as_it_was(change)

    for moment in range(1, KeptInterruption(1 << 60).during(work).moments):
        found = KeptInterruption(moment).during(work)
        assert seen.tolist() == [2.0, 4.0], moment
        found.error = None
    assert loss is not None
