"""Blocks of a tape that do what one before did follow its course, and go back as one; whatever
differs is seen. Each history is that of a heap without copies on a device, where none is followed.
"""

from __future__ import annotations

import gc
import math
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32
from sharedoa.runtime import following, way_back
from sharedoa.runtime.heap_state import Copies, Saved, memory_in

from ..differential.effort import examples
from .comparison import BY_CLASS, agree
from .copying_device import CopyingDevice

COUNT = 6
RATE: float = 0.5
FADING: float = 0.5


class Bead(oa.Object):
    x: f64
    force: f64
    stiffness: f64
    next: Bead

    def tension(self, stretch: f64) -> f64:
        return self.stiffness * stretch

    def pull(self) -> None:
        stretch = self.tension(self.next.x - self.x)
        oa.atomic_add(self, "force", stretch)
        oa.atomic_sub(self.next, "force", stretch)

    def move(self, dt: f64) -> None:
        self.x += self.force * dt * RATE * (1.0 - 0.1 * self.x)
        self.force = 0.0

    def turn(self, by: f64) -> None:
        self.x *= math.atan2(0.0, by) + 1.0


class Pearl(Bead):
    def tension(self, stretch: f64) -> f64:
        return self.stiffness * math.sin(stretch)


@oa.kernel
def blend(beads: oa.Array[Bead], weights: oa.Array[f64], out: oa.Array[f64], shift: i32) -> None:
    i = oa.grid(1)
    out[i] = out[i] * FADING + weights[i] * beads[i].x ** (1 + shift)


@oa.kernel
def total(numbers: oa.Array[f64], loss: oa.Array[f64]) -> None:
    oa.atomic_add(loss, 0, numbers[oa.grid(1)] ** 2)


class Counts:
    """What happened."""

    followed = left = backs = 0


@pytest.fixture(autouse=True)
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    found = Counts()

    def counting(of: Any, name: str, what: str) -> None:
        own = getattr(of, name)

        def call(*given: Any) -> Any:
            setattr(found, what, getattr(found, what) + 1)
            return own(*given)

        monkeypatch.setattr(of, name, call)

    counting(following.Following, "end", "followed")
    counting(following.Following, "leave", "left")
    counting(way_back.WayBack, "run_on", "backs")
    return found


class World:
    def __init__(self) -> None:
        self.beads: oa.Array[Bead] = oa.concat(oa.new(Bead, 4), oa.new(Pearl, 2))
        self.beads.next = self.beads[[*range(1, COUNT), 0]]
        self.weights = oa.array(f64, np.linspace(0.5, 1.0, COUNT))
        self.out, self.loss = oa.zeros(COUNT, f64), oa.zeros(1, f64)
        self.begin()

    def begin(self) -> None:
        self.beads.x, self.beads.stiffness = np.linspace(0.1, 1.3, COUNT) ** 2, 0.75
        self.beads.force, self.out[:], self.loss[:] = 0.0, 0.25, 0.0

    def steps(self, count: int = 3, dt: float = 0.1, shift: int = 1) -> None:
        for _ in range(count):
            oa.all(Bead).pull()
            oa.all(Bead).move(dt)
            blend[COUNT](self.beads, self.weights, self.out, shift)
        total[COUNT](self.out, self.loss)

    def block(self, *how: Any) -> oa.Tape:
        self.begin()
        with oa.tape() as tape:
            self.steps(*how)
        return tape

    def seen(self) -> list[Any]:
        beads = self.beads
        found = beads.x, beads.force, self.out, self.loss, beads.grad.x, beads.grad.stiffness
        return [np.array(e) for e in found] + [oa.grad(self.weights), oa.grad(self.out)]


History = Callable[[World, list[Any]], None]


def run(history: History, backend: Any) -> list[Any]:
    found: list[Any] = []
    with oa.Heap("auto", backend, "tile", capacity="64MiB", initial_region=32):
        world = World()
        history(world, found)
    return found


def check(history: History) -> None:
    expected = run(history, "cpu")
    found = run(history, CopyingDevice(1 << 30, keeps=True))
    assert len(expected) == len(found) > 0
    for one, other in zip(expected, found, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-15)


def test_the_same_again(counts: Counts) -> None:
    def history(world: World, found: list[Any]) -> None:
        for number in range(6):
            tape = world.block()
            found.append(world.seen()[:4])
            world.beads.x = -1.0  # which makes no difference any more
            world.out[:] = 7.0
            for _ in range(1 + number // 4):
                tape.backward(world.loss)
                found.append(world.seen())
            tape.zero()

    check(history)
    assert (counts.followed, counts.left) == (5, 0) and counts.backs >= 3


@pytest.mark.parametrize(
    "other", [(2,), (4,), (3, 0.2), (3, 0.1, 0), (0,)],
    ids=["fewer", "more", "number", "integer", "none"],
)  # fmt: skip
def test_blocks_that_differ(other: tuple[Any, ...], counts: Counts) -> None:
    def history(world: World, found: list[Any]) -> None:
        for how in ((), (), (), (), other, (), other, other, ()):
            tape = world.block(*how)
            tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()

    check(history)
    assert counts.left >= (other != (0,)) and counts.followed >= 2 and counts.backs >= 1


def test_arrays_that_become_runs_and_cease_to_be(counts: Counts) -> None:
    """The very array has the same words, but for where its run begins."""

    def history(world: World, found: list[Any]) -> None:
        few = oa.new(Bead, 4, x=0.5)
        second = few[1]
        for number in range(8):
            if number in (3, 5):
                few[1] = few[0] if number == 3 else second
            world.begin()
            with oa.tape() as tape:
                blend[4](few, world.weights, world.out, 1)
                total[COUNT](world.out, world.loss)
            tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()

    check(history)
    assert (counts.followed, counts.left) == (6, 1)


def test_zeros_have_signs(counts: Counts) -> None:
    def history(world: World, found: list[Any]) -> None:
        for by in (0.0, 0.0, 0.0, 0.0, -0.0, 0.0):
            world.begin()
            with oa.tape() as tape:
                oa.all(Bead).turn(by)
                world.steps(1)
            tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()

    check(history)
    assert counts.backs >= 2


def test_tapes_side_by_side(counts: Counts) -> None:
    """What an older tape keeps is its own."""

    def history(world: World, found: list[Any]) -> None:
        tapes = []
        for number in range(4):
            world.weights[:] = np.linspace(0.5, 1.0 + number, COUNT)
            tapes.append(world.block())
        for number in (1, 3, 1, 3, 2, 0, 2, 3):
            tapes[number].backward(world.loss)
            found.append(world.seen())
            tapes[number].zero()
        for number in (1, 3, 0, 3):
            tapes[number].backward(world.loss)  # adjoints add up
            found.append(world.seen())

    check(history)
    assert counts.followed == 3 and counts.backs >= 4


def test_losses_that_are_read(counts: Counts) -> None:
    def history(world: World, found: list[Any]) -> None:
        for number in range(6):
            world.begin()
            with oa.tape() as tape:
                first = world.beads.x.sum()
                world.steps()
                middle = world.out.sum() if number % 2 else 0.0
                world.steps(1)
                loss = first * world.loss[0] + (world.beads.x * np.arange(COUNT)).sum() + middle
            world.beads.x = 3.0
            tape.backward(loss if number < 5 else first)
            found.append(world.seen())
            tape.zero()

    check(history)
    assert counts.followed == 5


@pytest.mark.parametrize("changes", [False, True])
def test_losses_that_are_read_at_the_end(changes: bool, counts: Counts) -> None:
    """``changes``: what was read is another by then."""

    def history(world: World, found: list[Any]) -> None:
        for number in range(5):
            world.begin()
            with oa.tape() as tape:
                world.steps()
                loss = (world.beads.x * np.arange(COUNT) ** 2).sum() + world.out.sum() / 3.0
            if changes:
                world.beads.x, world.out[:] = 3.0 + number, -1.0
            tape.backward(loss)
            found.append(world.seen())
            tape.zero()
            del loss, tape
            gc.collect()  # the next one copies to the same places

    check(history)
    assert counts.followed == 4 and counts.backs >= 2


def _new_arrays(world: World) -> None:
    world.weights = oa.array(f64, np.linspace(1.0, 2.0, COUNT))


def _other_references(world: World) -> None:
    world.beads.next = world.beads[[2, 0, 1, 5, 3, 4]]


def _more_objects(world: World) -> None:
    more = oa.new(Pearl, 1, x=0.3, stiffness=0.5)
    more.next = world.beads[:1]


def _name(world: World) -> None:
    globals()["RATE"] = 0.25 if RATE == 0.5 else 0.5


def _name_in_kernel(world: World) -> None:
    globals()["FADING"] = 0.25 if FADING == 0.5 else 0.5


@pytest.mark.parametrize(
    "change", [_new_arrays, _other_references, _more_objects, _name],
    ids=["arrays", "references", "objects", "name"],
)  # fmt: skip
def test_changes_between_blocks(change: Callable[[World], None]) -> None:
    def history(world: World, found: list[Any]) -> None:
        for number in range(7):
            if number in (2, 5):
                change(world)
            tape = world.block()
            tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()

    check(history)


def test_references_that_change_after_a_block(counts: Counts) -> None:
    def history(world: World, found: list[Any]) -> None:
        chosen = world.beads[[5, 3, 1]]
        for number in range(6):
            chosen[:] = world.beads[[5, 3, 1]]
            world.begin()
            with oa.tape() as tape:
                blend[3](chosen, world.weights, world.out, number // 6)
                total[COUNT](world.out, world.loss)
            if number >= 4:
                chosen[:] = world.beads[:3]
            tape.backward(world.loss)
            found.append([*world.seen(), chosen.x.numpy().copy()])
            tape.zero()

    check(history)
    assert counts.followed == 5 and 0 < counts.backs < 4


@pytest.mark.parametrize(
    "change", [_new_arrays, _name, _name_in_kernel], ids=["arrays", "name", "name in kernel"]
)
def test_changes_within_a_block(change: Callable[[World], None], counts: Counts) -> None:
    def history(world: World, found: list[Any]) -> None:
        for number in range(6):
            world.begin()
            with oa.tape() as tape:
                world.steps(1)
                if number in (2, 5):
                    change(world)
                blend[COUNT](world.beads, world.weights, world.out, 1)
                world.steps(1)
            tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()

    check(history)
    assert counts.left >= 2 and counts.followed >= 2


def test_what_a_block_copies_is_what_lies_there_now() -> None:
    """Arrays that objects hold may have come since the course was taken."""

    def history(world: World, found: list[Any]) -> None:
        holders = oa.new(Holder, 2)
        for number in range(5):
            if number != 1:
                holders[0].numbers = oa.array(f64, [1.0 + number, 2.0])
                holders[1].numbers = oa.array(f64, [3.0, 4.0 + number])
            world.begin()
            with oa.tape() as tape:
                oa.all(Holder).square()
                scale[2](holders[0].numbers, 3.0)
                oa.all(Holder).square()
                gather[2](holders, world.loss)
            tape.backward(world.loss)
            found.append([oa.grad(holders[k].numbers) for k in range(2)])
            found.append([holders.y.numpy().copy()])
            tape.zero()

    check(history)


def _in_another_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_thread_that_comes_as_a_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it changes is not as the block has found it, and nobody has copied that yet."""
    end = following.Following.end

    def ending(*given: Any) -> None:
        thread = threading.Thread(target=lambda: world.weights.numpy().fill(7.0))
        thread.start()
        thread.join()
        end(*given)

    with oa.Heap("auto", CopyingDevice(1 << 30, keeps=True), capacity="64MiB", initial_region=32):
        world = World()
        for _ in range(3):
            world.block()
        monkeypatch.setattr(following.Following, "end", ending)
        tape = world.block()
        with pytest.raises(oa.HeapError, match="another thread"):
            tape.backward(world.loss)


def test_threads_that_come_between_blocks() -> None:
    """Blocks keep what launches load from then on, so that others may change it."""

    def history(world: World, found: list[Any]) -> None:
        for number in range(6):
            if number == 4:
                _in_another_thread(world.weights.numpy)
            tape = world.block()
            tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()

    check(history)


def test_a_thread_that_comes_within_a_block(counts: Counts) -> None:
    """Nobody has copied what it may change: also where the way back was gone through as one."""

    def history(world: World, found: list[Any]) -> None:
        for _ in range(4):
            tape = world.block()
            tape.backward(world.loss)
            tape.zero()
        world.begin()
        with oa.tape() as tape:
            world.steps(2)
            _in_another_thread(world.weights.numpy)
            world.steps(1)
        with pytest.raises(oa.HeapError, match="another thread"):
            tape.backward(world.loss)

    run(history, "cpu")
    run(history, CopyingDevice(1 << 30, keeps=True))
    assert counts.backs > 0


def test_a_thread_that_comes_after_the_last_launch(counts: Counts) -> None:
    """The block has done all that the one before did."""

    def history(world: World, found: list[Any]) -> None:
        for _ in range(4):
            tape = world.block()
            tape.backward(world.loss)
            tape.zero()
        world.begin()
        with oa.tape() as tape:
            world.steps()
            _in_another_thread(world.weights.numpy)
        with pytest.raises(oa.HeapError, match="another thread"):
            tape.backward(world.loss)

    run(history, "cpu")
    run(history, CopyingDevice(1 << 30, keeps=True))
    assert counts.backs > 0


class Holder(oa.Object):
    numbers: oa.Array[f64]
    y: f64

    def square(self) -> None:
        self.y = self.numbers[0] ** 2 + self.numbers[1] ** 3 + 0.5 * self.y


def test_first_arrays_of_a_type() -> None:
    """The course was taken when there were none for the way back to load again."""

    def history(world: World, found: list[Any]) -> None:
        late = oa.new(Late, 2)
        for number in range(4):
            if number >= 2:
                late[0].numbers = oa.array(f32, [1.0 + number, 2.0])
                late[1].numbers = oa.array(f32, [3.0])
            world.begin()
            late.y = 1.0
            with oa.tape() as tape:
                oa.all(Late).square()
                gather_late[2](late, world.loss)
            for each in late[: 2 * (number >= 2)]:
                each.numbers[:] = 50.0  # which makes no difference any more
            tape.backward(world.loss)
            found.append([oa.grad(each.numbers) for each in late])
            tape.zero()

    check(history)


class Late(oa.Object):
    numbers: oa.Array[f32]
    y: f64

    def square(self) -> None:
        for number in self.numbers:
            self.y += number**2


@oa.kernel
def gather_late(late: oa.Array[Late], loss: oa.Array[f64]) -> None:
    oa.atomic_add(loss, 0, late[oa.grid(1)].y ** 2)


def test_copies_tell_what_is_watched_since() -> None:
    """What is found of references then holds of memory as it is, not as it was."""
    with oa.Heap("auto", CopyingDevice(1 << 30), capacity="64MiB", initial_region=32) as heap:
        world = World()
        cls = Bead.__sharedoa__
        copies = Copies(heap)
        before = Saved(heap, memory_in(heap, frozenset([("field", cls.type_index, "next")])))
        assert before.is_known_now
        assert heap.distinct.are_distinct(heap, cls, (cls, "next"))
        assert not before.is_known_now and Saved(heap, before.pieces).is_known_now
        copies.let_go()
        del world


@oa.kernel
def scale(numbers: oa.Array[f64], by: f64) -> None:
    i = oa.grid(1)
    numbers[i] = numbers[i] ** 2 * by


@oa.kernel
def gather(holders: oa.Array[Holder], loss: oa.Array[f64]) -> None:
    oa.atomic_add(loss, 0, holders[oa.grid(1)].y ** 2)


def test_a_course_keeps_nobodys_memory(counts: Counts) -> None:
    device = CopyingDevice(1 << 30, keeps=True)
    with oa.Heap("auto", device, capacity="64MiB", initial_region=32) as heap:
        world = World()
        for _ in range(4):
            tape = world.block()
            tape.backward(world.loss)
            tape.zero()
        assert counts.followed == 3 and counts.backs >= 1
        assert world.weights._storage is not None
        dead = weakref.ref(world.weights._storage)
        del world.weights, tape
        heap.synchronize()
        assert dead() is None and device.copies.room == 1 << 30
        gone = weakref.ref(heap)
        del world
    gc.disable()
    try:
        del heap
        assert gone() is None
    finally:
        gc.enable()


def test_a_device_without_room_follows_nothing(counts: Counts) -> None:
    device = CopyingDevice(1 << 30, keeps=True)
    with oa.Heap("auto", device, capacity="64MiB", initial_region=32):
        world, found = World(), []
        for room in (1 << 30, 1 << 30, 0, 1 << 30):
            device.copies.room = room
            tape = world.block()
            tape.backward(world.loss)
            found.append(world.seen())
            tape.zero()
            device.copies.room = 1 << 30
            del tape
        for each in found[1:]:
            assert all(np.array_equal(a, b) for a, b in zip(found[0], each, strict=True))
    assert counts.followed == 2


@pytest.mark.parametrize("mode", BY_CLASS[::3])
def test_random_programs_again(mode: str, tmp_path: Any) -> None:
    for seed in range(70_000, 70_000 + examples(1)):
        agree(tmp_path, seed, mode, "copying", blocks=4)


def test_arrays_of_a_course_are_not_looked_for(
    counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as they are there; where one was another one may be."""
    with oa.Heap("auto", CopyingDevice(1 << 30, keeps=True), capacity="64MiB") as heap:
        world, looked, at = World(), [], heap.memory.arrays.at

        def noted(where: int) -> Any:
            looked.append(where)
            return at(where)

        monkeypatch.setattr(heap.memory.arrays, "at", noted)
        for number in range(4):
            looked.clear()
            world.block().backward(world.loss)
            assert number == 0 or not looked
    assert counts.followed == 3
