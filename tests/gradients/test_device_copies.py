"""States of checkpoints on a device: copies in the order of launches, which nobody waits for, as
long as there is room; the host has the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64
from sharedoa.errors import ArgumentError
from sharedoa.heap.adjoints import adjoints_of
from sharedoa.runtime.heap_state import Copies, Saved, memory_in

from ..heap.test_export import Foreign
from .copying_device import CopyingDevice
from .test_checkpoints import Walker, World, same


def gradients(backend: Any, states: int | None) -> tuple[list[Any], int]:
    """Of two ways back, one after the other, and how large a state is."""
    with oa.Heap("auto", backend, capacity="64MiB", initial_region=16):
        world = World()
        tape, loss = world.record(12, states)
        before = world.seen()
        found = []
        for factor in (1.0, 3.0):
            tape.backward(loss * factor if states is None else loss)
            assert same(before, world.seen())
            found += world.gradients()
            tape.zero()
            world.walkers.speed = 3.0  # after which memory is no more as it was
            before = world.seen()
        return found[:3] if states is None else found, tape.state_bytes


@pytest.mark.parametrize("states", [1, 3])
@pytest.mark.parametrize("room", [0, 2, 100], ids=["none", "for some", "for all"])
def test_states_on_a_device(states: int, room: int) -> None:
    expected, _ = gradients("cpu", None)
    _, size = gradients("cpu", states)
    device = CopyingDevice(room * 2 * size)
    found, _ = gradients(device, states)
    assert same(expected, found[:3]) and same(expected, found[3:])
    assert (device.copies.count > 0) == (room > 0)


def test_memory_stays_on_the_device() -> None:
    """Regions that are too large to go to the host unnoticed."""
    device = CopyingDevice(1 << 30)
    with oa.Heap("auto", device, capacity="256MiB") as heap:
        walkers = oa.new(Walker, 10_000, x=0.5, speed=1.0)
        total = oa.zeros(1, f64)
        with oa.tape(checkpoints=2) as tape:
            for _ in range(6):
                oa.all(Walker).walk(0.01)
            _sum[10_000](walkers, total)
        heap.synchronize()
        device.moved.clear()
        tape.backward(total)
        assert device.to_host() == []
        assert device.copies.room < 1 << 30
        del tape
        heap.synchronize()
        assert device.copies.room == 1 << 30 and not device.copies.there
        walkers.grad.x.numpy()


@oa.kernel
def _sum(walkers: oa.Array[Walker], total: oa.Array[f64]) -> None:
    oa.atomic_add(total, 0, walkers[oa.grid(1)].x)


def test_memory_is_on_the_device_before_it_is_copied() -> None:
    device = CopyingDevice(1 << 30)
    with oa.Heap("auto", device, capacity="256MiB") as heap:
        numbers = oa.zeros(100_000, f64)
        numbers[:] = 1.0
        device.moved.clear()
        Saved(heap, memory_in(heap, frozenset([("element", f64)])))
        assert [size for *_, size, to_device in device.moved if to_device] == [800_000]


def test_the_host_waits_for_copies() -> None:
    device = CopyingDevice(1 << 20)
    with oa.Heap("auto", device, capacity="64MiB", initial_region=16) as heap:
        numbers = oa.array(f64, [1.0, 2.0])
        copies = Copies(heap)
        pieces = memory_in(heap, frozenset([("element", f64)]))
        saved = Saved(heap, pieces)
        assert saved.is_on_device
        numbers[:] = 3.0
        saved.put_back()
        assert numbers.numpy().tolist() == [1.0, 2.0]
        numbers[:] = 4.0
        saved.put_back([])
        assert numbers.numpy().tolist() == [4.0, 4.0]
        copies.let_go()


def test_adjoints_are_cleared_where_they_are() -> None:
    with oa.Heap("auto", CopyingDevice(0), "aos", capacity="64MiB", initial_region=16) as heap:
        world, mirrors, found = World(), [], []
        tape, loss = world.record(3, None)
        for number in range(3):
            tape.backward(loss)
            mirrors.append(adjoints_of(heap)._mirror)
            found.append(world.gradients())
            if number == 1:
                seen = np.asarray(world.walkers[:3].grad.x)  # which shares memory
            tape.zero()
        assert same(found[0], found[1]) and same(found[0], found[2]) and found[0][0].any()
        assert mirrors[0] is mirrors[1] and mirrors[1] is not mirrors[2]
        assert np.array_equal(seen, found[1][0][:3])


@oa.kernel
def _squares(numbers: oa.Array[f64], total: oa.Array[f64]) -> None:
    oa.atomic_add(total, 0, numbers[oa.grid(1)] ** 2)


def test_adjoints_of_what_lies_where_something_else_lay() -> None:
    """Only what was used is cleared: memory that was given back has adjoints left in it."""
    with oa.Heap("auto", CopyingDevice(1 << 30), capacity="64MiB", initial_region=16) as heap:
        total = oa.zeros(1, f64)
        places = []
        for count in (1 << 17, 100, 1 << 16, 1 << 17):
            numbers = oa.array(f64, np.full(count, 3.0))
            places.append(range(numbers.address, numbers.address + 8 * count))
            with oa.tape() as tape:
                _squares[count](numbers, total)
            tape.backward(total)
            assert (oa.grad(numbers) == 6.0).all() and oa.grad(total).tolist() == [1.0]
            del tape, numbers
            heap.synchronize()
            oa.grad(oa.zeros(10, f64))  # other memory is used before there are zeros again
            adjoints_of(heap).zero()
        assert places[-1].start in places[0] or places[0].start in places[-1]


def test_seeds_of_a_device() -> None:
    with oa.Heap("auto", CopyingDevice(1 << 30), capacity="64MiB", initial_region=16):
        numbers, squares = oa.array(f64, [1.0, 2.0, 3.0]), oa.zeros(3, f64)
        with oa.tape() as tape:
            _square[3](numbers, squares)
        for seed in ([1.0, 2.0, -1.0], 2.0, np.array([1, 0, 1], np.int32)):
            tape.backward(squares, seed)
            seeds = np.broadcast_to(np.asarray(seed, float), 3)
            np.testing.assert_array_equal(oa.grad(numbers), 2 * seeds * [1.0, 2.0, 3.0])
            tape.zero()


@pytest.mark.parametrize("backend", ["cpu", "device"])
def test_what_has_no_adjoints_on_the_heap_of_a_tape(backend: str) -> None:
    """The device would write them somewhere."""
    opened: Any = CopyingDevice(1 << 30) if backend == "device" else backend
    with oa.Heap("auto", opened, capacity="64MiB"):
        other = oa.zeros(3, f64)
        objects = oa.new(Walker, 3)
    with oa.Heap("auto", opened, capacity="64MiB"):
        numbers, squares = oa.array(f64, [1.0, 2.0, 3.0]), oa.zeros(3, f64)
        with oa.tape() as tape:
            _square[3](numbers, squares)
        tape.backward(squares, 1.0)
        for loss in (other, objects.speed):
            with pytest.raises(ArgumentError, match="on another heap"):
                tape.backward(loss, 1.0)
        foreign = oa.array(Foreign(np.zeros(3)))
        with oa.tape(), pytest.raises(ArgumentError, match="another library"):
            squares * foreign
        with pytest.raises(ArgumentError, match="another library"):
            tape.backward(foreign, 1.0)
        with pytest.raises(ArgumentError, match="another library"):
            oa.grad(foreign)
        assert oa.grad(numbers).tolist() == [2.0, 4.0, 6.0]


@oa.kernel
def _square(numbers: oa.Array[f64], squares: oa.Array[f64]) -> None:
    i = oa.grid(1)
    squares[i] = numbers[i] ** 2
