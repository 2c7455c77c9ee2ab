"""Memory of results that were dropped is used again at once, where nobody else may use it."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, i64
from sharedoa.heap.arrays import make_array
from sharedoa.many import calls
from sharedoa.many.scratch import scratch
from tests.backends.pretend_device import PretendDevice

from .invariants import interrupt_everywhere


class Holder(oa.Object):
    sums: oa.Array[i64]


@oa.kernel
def kernel_keep(holders: oa.Array[Holder], sums: oa.Array[i64]) -> None:
    holders[oa.grid(1)].sums = sums


@oa.kernel
def kernel_add(values: oa.Array[i64], to: oa.Array[i64]) -> None:
    i = oa.grid(1)
    to[i] += values[i]


@oa.kernel
def kernel_add_floats(values: oa.Array[f32], to: oa.Array[f32]) -> None:
    i = oa.grid(1)
    to[i] += values[i]


@pytest.fixture(params=["cpu", "pretended"])
def heap(request: Any) -> Iterator[oa.Heap]:
    backend = PretendDevice(1 << 16) if request.param == "pretended" else request.param
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        yield heap


def array(length: int = 100) -> oa.Array[i32]:
    return oa.array(i32, np.arange(length))


def test_what_was_dropped_is_used_again(heap: oa.Heap) -> None:
    given = array()
    places = set()
    for _ in range(9):
        sums = given.cumsum()
        assert sums[99] == 4950
        places.add(sums.address)
        del sums
    assert len(places) == 1
    other = oa.array(i32, np.ones(100, np.int32)).cumsum()  # of as many numbers
    assert other.address in places and np.array_equal(other, np.arange(1, 101))
    assert given.cumsum().address not in places
    assert array(101).cumsum().address not in places
    shorter, floats = given[:50].cumsum(), oa.array(f32, np.arange(200)).cumsum()
    assert not {shorter.address, floats.address} & places


def test_what_is_dropped_before_a_wait_is_left_for_the_next(heap: oa.Heap) -> None:
    given = array()
    sums = given.cumsum()
    used, places = heap.stats().array_bytes, set()
    for _ in range(6):
        sums = given.cumsum()
        heap.synchronize()
        places.add(sums.address)
        assert heap.stats().array_bytes == used, "what is left counts as used"
    assert len(places) == 2
    (left,) = places - {sums.address}
    zeros = oa.zeros(100, i64)
    assert zeros.address == left and not zeros.numpy().any()


def test_many_that_are_dropped_before_a_wait_are_freed(heap: oa.Heap) -> None:
    given = array()
    several = [given.cumsum() for _ in range(6)]
    ranges = heap.memory.arrays.ranges()
    del several
    heap.synchronize()
    assert len(heap.memory.arrays.ranges()) == len(ranges) - 6


def test_what_is_left_and_used_since_is_not_free() -> None:
    """Who looks through all memory may launch what uses it."""
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="64MiB") as heap:
        given, ones = array(), oa.zeros(100, i64)
        ones[:] = 1
        place = given.cumsum().address
        heap.synchronize()
        (storage,) = (each for each in heap.memory.arrays.all() if each.address == place)
        kernel_add[100](ones, make_array(heap, i64, storage, place, 100))
        del storage
        zeros = oa.zeros(100, i64)
        assert zeros.address != place and not zeros.numpy().any()


def test_ctrl_c_while_memory_is_used_again() -> None:
    """It is no section that holds signals back, and loses nothing."""
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        given = array()

        def compute() -> None:
            for _ in range(2):
                given.cumsum(), given.argsort()
            heap.synchronize()
            given.cumsum()

        def check() -> None:
            heap.synchronize()
            heap.memory.collect(thorough=True)
            assert heap.memory.arrays.ranges() == [(given.address, given.address + 400)]
            assert given.cumsum()[99] == 4950

        compute()
        check()
        assert interrupt_everywhere(compute, check, 150) >= 100


@pytest.mark.parametrize("keeps", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_signals_handler_uses_memory_again_meanwhile(keeps: bool) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        given, ones = array(), oa.array(i32, np.ones(100, np.int32))
        held: list[Any] = []
        places = sorted((each.address, each.address + 400) for each in (given, ones))

        def compute() -> None:
            several = [given.cumsum() for _ in range(3)]
            del several
            held.extend(given.cumsum() for _ in range(2))

        def handle(*_: Any) -> None:
            found = ones.cumsum()
            if keeps:
                held.append(found)

        def check() -> None:
            assert len({each.address for each in held}) == len(held)
            assert all(each[99] in (4950, 100) for each in held)
            held.clear()
            heap.synchronize()
            heap.memory.collect(thorough=True)
            assert heap.memory.arrays.ranges() == places

        compute()
        check()
        usual = signal.signal(signal.SIGINT, handle)
        try:
            assert interrupt_everywhere(compute, check, 120) >= 100
        finally:
            signal.signal(signal.SIGINT, usual)


@pytest.mark.parametrize("hold", ["view", "numpy", "exported"])
def test_what_somebody_holds_is_not(heap: oa.Heap, hold: str) -> None:
    given = array()
    sums = given.cumsum()
    place, kept = sums.address, None
    if hold == "exported":
        # Another library's launches may be under way in a stream of their own.
        sums._shared()
    else:
        kept = sums[5:] if hold == "view" else sums.numpy()
    del sums
    assert given.cumsum().address != place and (kept is None or kept[-1] == 4950)


def test_what_was_exported_and_seen_again_is_not(heap: oa.Heap) -> None:
    """Who looks through all memory, as tapes do, holds an array for a moment that was dropped."""
    given = array()
    sums = given.cumsum()
    place = sums.address
    sums._shared()
    del sums
    assert place in {each.address for each in heap.memory.arrays.all()}
    assert given.cumsum().address != place


@pytest.mark.parametrize(("element", "kernel"), [(i64, "kernel_add"), (f32, "kernel_add_floats")])
def test_the_host_waits_for_who_had_it(
    monkeypatch: pytest.MonkeyPatch, element: Any, kernel: str
) -> None:
    """Another thread may have launched, and have dropped the result, since the host waited."""

    def launched_before(heap: oa.Heap, element: Any, length: int) -> Any:
        other = scratch(heap, element, length)
        place = other.address
        globals()[kernel][length](ones, other)
        del other
        result = scratch(heap, element, length)
        assert result.address == place
        return result

    with oa.Heap(backend=PretendDevice(1 << 16), capacity="64MiB"):
        ones, given = oa.zeros(100, element), oa.zeros(100, element)
        ones[:] = 1
        given[:] = np.arange(100)
        monkeypatch.setattr(calls, "is_for_numpy", lambda values: True)
        monkeypatch.setattr(calls, "scratch", launched_before)
        assert np.array_equal(given.cumsum(), np.arange(100).cumsum())


@pytest.mark.parametrize("by", ["host", "kernel"])
def test_what_fields_hold_is_not(heap: oa.Heap, by: str) -> None:
    given = array()
    holders = oa.new(Holder, 2)
    sums = given.cumsum()
    if by == "host":
        holders[0].sums = sums
    else:
        kernel_keep[2](holders, sums)
    del sums
    gc.collect()
    given[:] = 0
    assert given.cumsum()[99] == 0 and holders[0].sums[99] == 4950


def test_a_class_that_holds_arrays_comes_later(heap: oa.Heap) -> None:
    given = array()
    first = given.cumsum().address
    assert given.cumsum().address == first
    holders = oa.new(Holder, 1)
    sums = given.cumsum()
    kernel_keep[1](holders, sums)
    place = sums.address
    del sums
    given[:] = 0
    assert given.cumsum().address != place and holders[0].sums[99] == 4950


def test_what_waits_for_its_launch_is_not(heap: oa.Heap) -> None:
    given, to = array(), oa.zeros(100, i64)
    with oa.fuse():
        sums = given.cumsum()
        place = sums.address
        kernel_add[100](sums, to)
        del sums
        other = given.argsort()
    assert other.address != place or to[99] == 4950
    assert to[99] == 4950 and other[99] == 99


def test_debug_mode_and_adjoints_use_nothing_again() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB", debug=True):
        given = array()
        assert given.cumsum().address != given.cumsum().address
    with oa.Heap(backend="cpu", capacity="64MiB"):
        given = oa.array(f32, np.arange(100))
        with oa.tape() as tape:
            loss = given.square().sum()
        tape.backward(loss)
        first = given.cumsum().address
        assert given.cumsum().address != first


def test_a_recorded_step_keeps_what_it_uses(heap: oa.Heap) -> None:
    """Its arrays are its own as long as it may run."""
    if heap.backend.name == "cpu":
        pytest.skip("NumPy computes, and is not recorded")
    given, to = array(), oa.zeros(100, i64)
    with oa.capture() as step:
        kernel_add[100](given.cumsum(), to)
    others = [given.cumsum() for _ in range(4)]
    step.run()
    heap.wait()
    assert to[99] == 4950
    others[3][99] = 7
    step.run()
    heap.wait()
    assert to[99] == 9900 and others[3][99] == 7
