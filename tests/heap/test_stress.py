"""Eight threads that launch, make, delete, read, compact views and dump, side by side."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32

from .invariants import check_invariants


class Thing(oa.Object):
    owner: i32
    group: i32
    steps: i32
    launched: i32
    next: Thing

    def step(self) -> None: ...

    def own(self) -> i32:
        return self.owner


class Slow(Thing):
    def step(self) -> None:
        self.steps += 1


class Fast(Thing):
    speed: f32

    def step(self) -> None:
        self.steps += 1


@oa.kernel
def advance(things: oa.Array[Thing], rounds: i32) -> None:
    i = oa.grid(1)
    if i < len(things):
        for _ in range(rounds):
            things[i].step()
            things[i].launched += 1


class Worker:
    """Works on objects of its own, in a heap that all share."""

    def __init__(self, heap: oa.Heap, number: int, folder: Path) -> None:
        self.heap, self.number, self.file = heap, number, folder / f"dump{number}"
        self.random = np.random.default_rng(number)
        self.mine: list[tuple[Any, int]] = []
        self.rounds = 0

    def make(self) -> None:
        python_class = (Slow, Fast)[int(self.random.integers(2))]
        count, group = int(self.random.integers(1, 3000)), self.number + 8 * self.rounds
        made = self.heap.new(python_class, count, owner=self.number, group=group)
        made.next = made
        self.mine.append((made, 0))

    def launch(self) -> None:
        for place, (things, steps) in enumerate(self.mine):
            rounds = int(self.random.integers(1, 4))
            advance[len(things)](things, rounds)
            self.mine[place] = things, steps + rounds

    def read(self) -> None:
        for things, steps in self.mine:
            assert (things.steps.numpy() == steps).all()
            assert (things.owner.numpy() == self.number).all()
            last = things[len(things) - 1]
            assert last.steps == steps and last.next is last
            assert things.own().numpy().sum() == self.number * len(things)

    def compact(self) -> None:
        """An array anew without some of its objects, and views of it in place."""
        if self.mine:
            things, steps = self.mine.pop()
            keep = self.random.random(len(things)) < 0.7
            rest, gone = things[keep], things[~keep]
            self.heap.delete(gone)
            rest.steps += 1
            rest.steps -= 1
            if len(rest):
                self.mine.insert(0, (rest, steps))

    def delete(self) -> None:
        if self.mine:
            things, _ = self.mine.pop(0)
            self.heap.delete(things)

    def dump(self) -> None:
        """Of each launch of any thread a dump has all or nothing."""
        self.heap.dump(self.file)
        with oa.Heap(capacity="512MiB"):
            oa.load(self.file)
            seen: dict[int, set[int]] = {}
            for python_class in (Slow, Fast):
                things = oa.all(python_class)
                groups, launched = things.group.numpy(), things.launched.numpy()
                for group in np.unique(groups).tolist():
                    seen.setdefault(group, set()).update(launched[groups == group].tolist())
        assert all(len(numbers) == 1 for numbers in seen.values())
        assert self.heap.stats().objects >= sum(len(things) for things, _ in self.mine)
        assert len(self.heap.ranges()) >= 1 or not self.mine

    def work(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for self.rounds in itertools.count():
            if time.monotonic() > end:
                return
            self.make()
            for name in self.random.permutation(["launch", "read", "compact", "launch", "read"]):
                getattr(self, name)()
            if len(self.mine) > 4 or self.rounds % 7 == 3:
                self.delete()
            if self.rounds % 31 == 5:
                self.dump()


def run(seconds: float, mode: str, layout: str, folder: Path) -> None:
    with oa.Heap(mode, "cpu", layout, "512MiB", 64) as heap:
        workers = [Worker(heap, number, folder) for number in range(8)]
        failures: list[BaseException] = []

        def work(worker: Worker) -> None:
            try:
                with heap:
                    worker.work(seconds)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(each,), daemon=True) for each in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + 60)
        assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
        if failures:
            raise failures[0]
        assert sum(worker.rounds for worker in workers) > 1
        for worker in workers:
            worker.read()
        assert heap.stats().objects == sum(len(t) for w in workers for t, _ in w.mine)
        check_invariants(heap)


@pytest.mark.parametrize(
    ("mode", "layout"),
    [
        ("auto", "tile"),
        *(pytest.param(mode, "aos", marks=pytest.mark.slow) for mode in ("auto", "coal")),
    ],
)
def test_eight_threads_for_a_moment(mode: str, layout: str, tmp_path: Path) -> None:
    run(0.8, mode, layout, tmp_path)


@pytest.mark.slow
def test_eight_threads_for_a_minute(tmp_path: Path) -> None:
    run(60, "auto", "aos", tmp_path)
