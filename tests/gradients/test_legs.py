"""Launches of a block that follows a course wait for those of their leg, and are started as one;
who looks, or does something else, finds them launched. Each history is that of a heap where none
waits.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64
from sharedoa.heap import recording
from sharedoa.runtime import following, legs
from sharedoa.runtime.heap_state import Saved

from . import test_courses
from .copying_device import CopyingDevice
from .test_courses import COUNT, Bead, World, _in_another_thread, blend, check, total


class Legs:
    """How many were started as one, and how often some of one were launched one by one."""

    whole = parts = 0


@pytest.fixture(autouse=True)
def counts(monkeypatch: pytest.MonkeyPatch) -> Legs:
    found, launch = Legs(), following.Following._launch

    def noted(self: Any) -> None:
        before, waited = found.whole, bool(self._waiting)
        launch(self)
        found.parts += waited and found.whole == before

    run_with = legs.Leg.run_with

    def run(self: Any, *given: Any) -> None:
        found.whole += 1
        run_with(self, *given)

    monkeypatch.setattr(following.Following, "_launch", noted)
    monkeypatch.setattr(legs.Leg, "run_with", run)
    return found


_OWN = test_courses.RATE, Bead.move


def _as_at_first() -> None:
    test_courses.RATE, Bead.move = _OWN  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def names() -> Iterator[None]:
    yield
    _as_at_first()


Change = Callable[[World, list[Any]], None]


def _reads(world: World, found: list[Any]) -> None:
    found.append([world.beads.force.numpy().copy(), world.out.numpy().copy()])


def _reads_one(world: World, found: list[Any]) -> None:
    found.append([world.beads[1].force, world.out[2].item()])


def _another_thread_reads(world: World, found: list[Any]) -> None:
    _in_another_thread(lambda: _reads(world, found))


def _other_numbers(world: World, found: list[Any]) -> None:
    oa.all(Bead).move(0.3)


def _another_kernel(world: World, found: list[Any]) -> None:
    total[COUNT](world.out, world.loss)


def _another_name(world: World, found: list[Any]) -> None:
    test_courses.RATE = 0.75


def _another_method(world: World, found: list[Any]) -> None:
    Bead.move = _move  # type: ignore[method-assign]


def _move(self: Bead, dt: f64) -> None:
    self.x += self.force * dt * 0.25
    self.force = 0.0


def _forks(world: World, found: list[Any]) -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


CHANGES: list[Change] = [
    _reads, _reads_one, _another_thread_reads, _other_numbers, _another_kernel, _another_name,
    _another_method, _forks,
]  # fmt: skip


def _block(world: World, change: Change | None, found: list[Any]) -> oa.Tape:
    world.begin()
    with oa.tape() as tape:
        world.steps(2)
        oa.all(Bead).pull()
        if change is not None:
            change(world, found)
        oa.all(Bead).move(0.1)
        world.steps(1)
    return tape


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
def test_what_comes_within_a_leg(change: Change, counts: Legs) -> None:
    def history(world: World, found: list[Any]) -> None:
        _as_at_first()
        for number in range(5):
            is_last = number == 4
            tape = _block(world, change if is_last else None, found)
            if not (is_last and change is _another_thread_reads):
                tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()

    check(history)
    assert counts.whole > 2 and counts.parts == 1


def test_an_error_within_a_leg(counts: Legs) -> None:
    """What was asked for before it has run."""

    def fails(world: World, found: list[Any]) -> None:
        raise ZeroDivisionError

    def history(world: World, found: list[Any]) -> None:
        for _ in range(4):
            _block(world, None, found).backward(world.loss)
        with pytest.raises(ZeroDivisionError):
            _block(world, fails, found)
        found.append(world.seen()[:4])
        tape = _block(world, None, found)
        tape.zero()
        tape.backward(world.loss)
        found.append(world.seen())

    check(history)
    assert counts.whole > 2 and counts.parts == 1


def test_launches_wait_for_their_leg(counts: Legs, monkeypatch: pytest.MonkeyPatch) -> None:
    device, recorded = CopyingDevice(1 << 30, keeps=True), []
    record = device.record

    def noted(launches: Any) -> Any:
        recorded.append(launches)
        return record(launches)

    monkeypatch.setattr(device, "record", noted)
    with oa.Heap("auto", device, capacity="64MiB", initial_region=32) as heap:
        world, launched, bytes = World(), [], set()
        for _ in range(4):
            world.begin()
            with oa.tape() as tape:
                for _ in range(4):
                    blend[COUNT](world.beads, world.weights, world.out, 1)
                    launched.append(device.launched())
                kept = tape.bytes
            assert tape.bytes > kept >= 0  # with a copy of what is left
            tape.backward(world.loss)
            heap.synchronize()
            bytes.add(tape.bytes)
        assert len(bytes) == 1
        first, last = np.diff(launched[:4]), np.diff(launched[-4:])
        assert (first > 0).all() and last[0] == last[1] == 0 and last[2] >= 4
    assert (counts.whole, counts.parts) == (2, 0) and len(recorded) == 2


@oa.kernel
def shake(weights: oa.Array[f64], by: f64) -> None:
    i = oa.grid(1)
    weights[i] = weights[i] ** 2 * by


@pytest.mark.parametrize("is_other", [False, True], ids=["the same array", "another number"])
def test_what_others_give_after_a_leg_has_begun(is_other: bool, counts: Legs) -> None:
    """Arrays that are others, and the same to kernels, are looked at; other numbers end the leg,
    and change what launches have left that waited."""

    def history(world: World, found: list[Any]) -> None:
        for number in range(5):
            is_last = number == 4
            world.begin()
            world.weights[:] = np.linspace(0.5, 1.0, COUNT)
            with oa.tape() as tape:
                blend[COUNT](world.beads, world.weights, world.out, 1)
                shake[COUNT](world.weights, 0.75 if is_other and is_last else 0.5)
                out = world.out[:] if is_last and not is_other else world.out
                blend[COUNT](world.beads, world.weights, out, 1)
                total[COUNT](world.out, world.loss)
            tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()

    check(history)
    assert (counts.whole, counts.parts) == (2, 1)


def test_who_looks_while_the_first_launch_waits(counts: Legs) -> None:
    """Everything else has been waited for."""

    def history(world: World, found: list[Any]) -> None:
        for number in range(5):
            world.begin()
            oa.synchronize()
            with oa.tape() as tape:
                blend[COUNT](world.beads, world.weights, world.out, 1)
                if number == 4:
                    found.append([world.out.numpy().copy()])
                blend[COUNT](world.beads, world.weights, world.out, 1)
                total[COUNT](world.out, world.loss)
            tape.backward(world.loss)
            tape.zero()

    check(history)
    assert counts.parts == 1


def test_another_thread_launches_what_waits(counts: Legs, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be in the middle of that when the next launch is asked for."""
    take, owner, begun = following.Following._take, threading.get_ident(), threading.Event()

    def slow(self: Any, *given: Any) -> None:
        if threading.get_ident() != owner:
            begun.set()
            time.sleep(0.05)
        take(self, *given)

    monkeypatch.setattr(following.Following, "_take", slow)

    def history(world: World, found: list[Any]) -> None:
        for number in range(5):
            world.begin()
            with oa.tape() as tape:
                shake[COUNT](world.weights, 1.5)
                shake[COUNT](world.weights, 1.5)
                if number == 4:
                    thread = threading.Thread(target=recording.launch_all_deferred)
                    thread.start()
                    begun.wait(0.2)
                shake[COUNT](world.weights, 1.5)
                shake[COUNT](world.weights, 0.5)
                blend[COUNT](world.beads, world.weights, world.out, 0)
                total[COUNT](world.out, world.loss)
            if number == 4:
                thread.join()
            tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()
            world.weights[:] = np.linspace(0.5, 1.0, COUNT)

    check(history)
    assert (counts.whole, counts.parts) == (5, 1) and begun.is_set()


def _counted(monkeypatch: pytest.MonkeyPatch, of: type, name: str) -> list[Any]:
    """Who was asked for it, one after another."""
    found: list[Any] = []
    own = getattr(of, name)

    def call(self: Any, *given: Any) -> Any:
        found.append(self)
        return own(self, *given)

    monkeypatch.setattr(of, name, call)
    return found


@oa.kernel
def fade(weights: oa.Array[f64], by: oa.vec2d) -> None:
    i = oa.grid(1)
    weights[i] = weights[i] * by.x + weights[i] ** 2 * by.y


@oa.kernel
def weigh(weights: oa.Array[f64], loss: oa.Array[f64], by: oa.vec2d) -> None:
    oa.atomic_add(loss, 0, weights[oa.grid(1)] ** 3 * by.x)


@pytest.mark.parametrize("is_last", [True, False])
def test_the_last_leg_copies_what_is_left(
    is_last: bool, counts: Legs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its launches, if they are the last ones of the block."""
    copied = _counted(monkeypatch, Saved, "take")

    def history(world: World, found: list[Any]) -> None:
        for number in range(6):
            world.begin()
            world.weights[:] = np.linspace(0.5, 1.0, COUNT)
            copied.clear()
            with oa.tape() as tape:
                for _ in range(2):
                    shake[COUNT](world.weights, 0.5)
                    blend[COUNT](world.beads, world.weights, world.out, 1)
                    blend[COUNT](world.beads, world.weights, world.out, 0)
                    total[COUNT](world.out, world.loss)
                if not is_last:  # of neither launch others may wait
                    fade[COUNT](world.weights, oa.vec2d(0.5, 0.25))
                    weigh[COUNT](world.weights, world.loss, oa.vec2d(0.5, 0.25))
                if number == 4:  # which the block before had not
                    shake[COUNT](world.weights, 0.5)
            world.weights[:], world.out[:], world.beads.x = 3.0, 5.0, 7.0
            found.append([np.array(bool(copied))] if number == 3 else [])
            tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()

    expected = test_courses.run(history, "cpu")
    found = test_courses.run(history, CopyingDevice(1 << 30, keeps=True))
    assert expected[6][0] and found[6][0] != is_last and counts.whole >= 6
    for one, other in zip(expected[1::2], found[1::2], strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-15)


def test_a_block_that_was_left_unseen(counts: Legs) -> None:
    """A signal may come before ``__exit__`` does anything."""
    device = CopyingDevice(1 << 30, keeps=True)
    with oa.Heap("auto", device, capacity="64MiB", initial_region=32):
        world = World()

        def launch() -> None:
            blend[COUNT](world.beads, world.weights, world.out, 1)

        for _ in range(3):
            with oa.tape():
                for _ in range(4):
                    launch()
        tape = oa.tape()
        leave = tape.__exit__
        tape.__enter__()
        launched = device.launched()
        launch()
        assert device.launched() == launched and tape.is_recording
        del leave
        launch()
        assert device.launched() == launched + 2 and not tape.is_recording


def test_a_device_goes_on_until_a_way_back_comes(
    counts: Legs, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = CopyingDevice(1 << 30, keeps=True)
    waits = _counted(monkeypatch, CopyingDevice, "synchronize")
    with oa.Heap("auto", device, capacity="64MiB", initial_region=32):
        world = World()
        for _ in range(4):
            tape = _block(world, None, [])
            waits.clear()
            tape.backward(world.loss)
            tape.zero()
        assert len(waits) == 1


def test_methods_that_change_while_launches_wait(counts: Legs) -> None:
    device = CopyingDevice(1 << 30, keeps=True)
    with oa.Heap("auto", device, capacity="64MiB", initial_region=32):
        world = World()
        for _ in range(3):
            _block(world, None, []).backward(world.loss)
        world.begin()
        with oa.tape():
            oa.all(Bead).pull()
            launched = device.launched()
            assert counts.parts == 0
            Bead.move = _move  # type: ignore[method-assign]
            assert counts.parts == 1 and device.launched() > launched


def test_tapes_go_without_the_collector() -> None:
    """Their memory is that of the next block."""
    device = CopyingDevice(1 << 30, keeps=True)
    with oa.Heap("auto", device, capacity="64MiB", initial_region=32) as heap:
        world = World()
        gc.disable()
        try:
            for number in range(5):
                tape = _block(world, _other_numbers if number == 4 else None, [])
                tape.backward(world.loss)
                tape.zero()
                del tape
                heap.synchronize()
                assert device.copies.room == 1 << 30
        finally:
            gc.enable()


def test_where_legs_are_cut() -> None:
    assert legs.cut([True] * 30) == [(0, 4), (4, 12), (12, 28), (28, 30)]
    assert legs.cut([False, True, True, False, True, False]) == [(1, 3)]
    assert legs.cut([]) == []
