"""What another thread does exactly while a grid is built, or searched."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.heap.run import RunOfObjects
from sharedoa.runtime.hash_grid import HashGrid

from ..heap.invariants import check_invariants
from ..interleaving import OtherThread, in_heap, place, switching


@pytest.fixture
def heap() -> Iterator[oa.Heap]:
    with oa.Heap(backend="cpu", capacity="64MiB", initial_region=16) as made:
        yield made
        check_invariants(made)


class Egg(oa.Object):
    pass


class Bird(oa.Object):
    x: f32
    y: f32
    number: i32
    seen: i32


@oa.kernel
def count_near(birds: oa.Array[Bird], grid: oa.HashGrid[Bird]) -> None:
    i = oa.grid(1)
    if i < len(birds):
        birds[i].seen = 0
        for other in grid.near(birds[i].x, birds[i].y, f32(0.25)):
            birds[i].seen += 1 + 100 * other.number


def test_two_threads_that_build_a_grid(heap: oa.Heap) -> None:
    birds = oa.new(Bird, 8, x=np.arange(8) + 0.5, y=0.5, number=np.arange(8))
    grid = oa.HashGrid(cell=1.0, size=(8.0, 1.0))
    grid.build(birds)

    def build() -> None:
        grid.build(birds)

    with switching(place(HashGrid._build_listed, "between = "), in_heap(heap, build)):
        grid.build(birds)
    count_near[8](birds, grid)
    assert birds.seen.numpy().tolist() == [1 + 100 * k for k in range(8)]


def test_who_is_deleted_while_a_grid_is_built(heap: oa.Heap) -> None:
    birds = oa.new(Bird, 8, x=np.arange(8) + 0.5, y=0.5, number=np.arange(8))
    grid = oa.HashGrid(cell=1.0, size=(8.0, 1.0))
    grid.build(oa.all(Bird))
    listed = place(RunOfObjects.__init__, "self._heap")
    with switching(listed, in_heap(heap, lambda: oa.delete(birds[4:]))):
        grid.build(oa.all(Bird))
    birds[:4].x = 7.5  # where nobody is any more
    count_near[4](birds[:4], grid)
    assert birds[:4].seen.numpy().tolist() == [0] * 4


def until_built_anew(grid: oa.HashGrid[Bird]) -> None:
    end = time.monotonic() + 10
    while grid._kernel_type is not None and time.monotonic() < end:
        time.sleep(0.002)


@oa.kernel
def bear_near(birds: oa.Array[Bird], grid: oa.HashGrid[Bird]) -> None:
    Egg()
    until_built_anew(grid)
    for other in grid.near(birds[0].x, birds[0].y, f32(0.25)):
        birds[0].seen += other.number


def do_in_thread(work: Callable[[], Any]) -> None:
    """One that does not keep this one if it stands still."""
    thread = OtherThread(work)
    thread.go()
    thread.end()


def test_a_kernel_that_searches_in_a_grid_that_is_built_anew() -> None:
    """The kernel has the lock on the heap's books, as it makes objects, and a build needs it."""
    with oa.Heap(backend="python", capacity="64MiB") as heap:
        birds, more = oa.new(Bird, 2, x=0.5, y=0.5), oa.new(Bird, 20, x=0.5, y=0.5)
        grid = oa.HashGrid(cell=1.0, size=(8.0, 1.0))
        grid.build(birds)
        search = in_heap(heap, lambda: bear_near[1](birds, grid))

        def build() -> None:
            with heap, switching(place(HashGrid._make_room, "grown = "), search):
                grid.build(more)

        with pytest.raises(oa.DeviceError, match="another thread builds this grid"):
            do_in_thread(build)
        assert len([*grid.near(0.5, 0.5, 0.1)]) == 20


def test_a_grid_that_is_built_while_launches_that_use_it_wait(heap: oa.Heap) -> None:
    """They have been asked for before, so they find who was in it then."""
    birds = oa.new(Bird, 8, x=0.5, y=0.5)
    grid = oa.HashGrid(cell=1.0, size=(8.0, 1.0))
    grid.build(birds[:3])
    have_asked, may_launch = threading.Event(), threading.Event()

    def ask() -> None:
        with heap, oa.fuse():
            count_near[8](birds, grid)
            have_asked.set()
            may_launch.wait(10)

    asking = OtherThread(ask)
    asking.go()
    assert have_asked.wait(10)

    def let_launch() -> None:
        may_launch.set()
        asking.end()

    def build() -> None:
        with (
            heap,
            switching(place(HashGrid._build_listed, "_launch(grid_order.kernel_cl"), let_launch),
        ):
            grid.build(birds)

    do_in_thread(build)
    assert birds.seen.numpy().tolist() == [3] * 8
