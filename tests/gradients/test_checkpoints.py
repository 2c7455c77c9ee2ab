"""``oa.tape(checkpoints=k)``: the same gradients, with few states, whatever happens in between."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.model.clusters import Clusters
from sharedoa.runtime import checkpoints as module
from sharedoa.runtime.heap_state import Copies

COUNT = 5


class Walker(oa.Object):
    x: f64
    speed: f64
    turns: i32

    def walk(self, dt: f64) -> None:
        self.turns += 1
        self.x += math.sin(self.x * self.speed) * dt * (1 + self.turns % 3)


class Runner(Walker):
    def walk(self, dt: f64) -> None:
        self.turns += 2
        self.x *= 1.0 + self.speed * dt * (self.turns % 2)


@oa.kernel
def gather(walkers: oa.Array[Walker], total: oa.Array[f64], count: oa.Array[i32]) -> None:
    i = oa.grid(1)
    count[i] += 1
    oa.atomic_add(total, 0, walkers[i].x * count[i])


@pytest.fixture(autouse=True)
def heap() -> Iterator[oa.Heap]:
    with oa.Heap(mode="auto", backend="cpu", capacity="64MiB", initial_region=16) as made:
        yield made


class World:
    def __init__(self) -> None:
        self.walkers: oa.Array[Walker] = oa.concat(oa.new(Walker, 3), oa.new(Runner, 2))
        self.walkers.x, self.walkers.speed = np.linspace(0.1, 1, COUNT), np.linspace(1, 2, COUNT)
        self.total, self.count = oa.zeros(1, f64), oa.zeros(COUNT, i32)

    def record(self, steps: int, states: int | None) -> tuple[Any, Any]:
        with oa.tape(checkpoints=states) as tape:
            middle = 0.0
            for step in range(steps):
                oa.all(Walker).walk(0.01 * (step % 4))
                if step % 3 == 0:
                    gather[COUNT](self.walkers, self.total, self.count)
                if step == steps // 2:
                    middle = (self.walkers.x * np.arange(COUNT)).sum()
            loss = self.total[0] + middle * self.walkers.x.sum()
        return tape, loss

    def seen(self) -> list[Any]:
        fields = self.walkers.x, self.walkers.speed, self.walkers.turns, self.total, self.count
        return [np.array(each) for each in fields]

    def gradients(self) -> list[Any]:
        found = self.walkers.grad.x, self.walkers.grad.speed, oa.grad(self.total)
        return [np.array(each) for each in found]


def same(one: list[Any], other: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def results(steps: int, states: int | None, layout: str = "auto") -> tuple[list[Any], list[Any]]:
    """Gradients, and memory afterwards."""
    with oa.Heap("auto", "cpu", layout, capacity="64MiB", initial_region=16):
        world = World()
        tape, loss = world.record(steps, states)
        before = world.seen()
        tape.backward(loss)
        assert same(before, world.seen())
        return world.gradients(), before


@pytest.mark.parametrize("states", [1, 2, 3, 7, 100])
def test_gradients_and_memory_are_the_same(states: int) -> None:
    expected, found = results(25, None), results(25, states)
    assert same(expected[0], found[0]) and same(expected[1], found[1])
    assert all(each.any() for each in found[0])


def test_objects_keep_their_clusters_while_there_are_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """States are bytes as they lie: other clusters that were due while launches were repeated made
    other fields of them, and references of numbers."""
    expected = results(25, 3, "tile")
    run, together = module._Launch.run, Clusters().replace(Walker.__sharedoa__, [("x", "speed")])

    def run_and_rearrange(launch: Any) -> None:
        run(launch)
        oa.current_heap().rearrange(together)

    monkeypatch.setattr(module._Launch, "run", run_and_rearrange)
    found = results(25, 3, "tile")
    assert same(expected[0], found[0]) and same(expected[1], found[1])
    with oa.Heap("auto", "cpu", "tile") as heap:
        world = World()
        tape, loss = world.record(3, 2)
        tape.backward(loss)
        heap.rearrange(together)
        assert heap.layout.clusters != together
        tape.zero()
        del tape, loss
        gc.collect()
        heap.rearrange(together)
        assert heap.layout.clusters == together and np.all(world.walkers.turns > 0)


def test_copies_wait_for_who_rearranges(heap: oa.Heap) -> None:
    with ThreadPoolExecutor() as threads:
        with heap.lock:
            made = threads.submit(Copies, heap)
            time.sleep(0.1)
            assert not heap.upkeep.keeps_clusters
        copies = made.result()
    assert heap.upkeep.keeps_clusters
    copies.let_go()
    assert not heap.upkeep.keeps_clusters


@pytest.mark.parametrize("steps", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_more_states_than_that(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0
    schedule = module.schedule

    def counted(count: int, states: int) -> Iterator[Any]:
        nonlocal most
        stored = 1
        for action in schedule(count, states):
            stored += {"store": 1, "drop": -1}.get(action.kind, 0)
            most = max(most, stored)
            yield action

    monkeypatch.setattr(module, "schedule", counted)
    world = World()
    tape, loss = world.record(steps, 8)
    # Two regions and two arrays, however many steps there were.
    assert tape.bytes <= 2 * tape.state_bytes < 10_000
    tape.backward(loss)
    assert most == 8


def test_memory_may_change_after_the_block() -> None:
    expected, _ = results(10, None)
    world = World()
    tape, loss = world.record(10, 2)
    world.walkers.x, world.walkers.speed, world.walkers.turns = 7.0, -1.0, 5
    world.total[0] = 3.0
    changed = world.seen()
    tape.backward(loss)
    assert same(expected, world.gradients()) and same(changed, world.seen())
    tape.zero()
    tape.backward(loss)  # once more
    assert same(expected, world.gradients())


def test_other_objects_and_methods_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    tape, loss = world.record(4, 2)
    before = Walker.walk

    def walk(self: Any, dt: f64) -> None:
        self.x += dt

    Walker.walk = walk  # type: ignore[method-assign]
    try:
        with pytest.raises(oa.HeapError, match="defined anew"):
            tape.backward(loss)
    finally:
        Walker.walk = before  # type: ignore[method-assign]
    tape, loss = world.record(4, 2)
    oa.new(Walker, 1)
    with pytest.raises(oa.HeapError, match="objects were made since"):
        tape.backward(loss)


def test_what_has_no_adjoint_is_refused_in_the_block() -> None:
    class Highest(oa.Object):
        best: f64

        def rise(self) -> None:
            oa.atomic_max(self, "best", 2.0 * self.best)

    highest = oa.new(Highest, 2, best=1.0)
    with oa.tape(checkpoints=2), pytest.raises(oa.CompileError, match="no gradient"):
        oa.all(Highest).rise()
    assert (highest.best.numpy() == 1.0).all()


@pytest.mark.parametrize("states", [0, -1, 1.5, True])
def test_numbers_that_are_none(states: Any) -> None:
    with pytest.raises(oa.ArgumentError, match="no number of states"):
        oa.tape(checkpoints=states)


def test_a_way_back_that_fails_leaves_memory_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    tape, loss = world.record(9, 2)
    before, calls = world.seen(), []
    taped = module.launch_taped

    def failing(*arguments: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 4:
            raise MemoryError
        return taped(*arguments, **more)

    monkeypatch.setattr(module, "launch_taped", failing)
    with pytest.raises(MemoryError):
        tape.backward(loss)
    assert same(before, world.seen())
