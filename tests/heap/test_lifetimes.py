"""What is freed, when, and what is waited for before: also with other threads about."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.heap.arrays import ObjectArray
from sharedoa.heap.residency import Residency

from .conftest import CountingDevice
from .shapes import Circle, Square


class Filter(oa.Object):
    weights: oa.inline[f32, 3]
    rank: i32

    def touch(self) -> None:
        self.rank += 1


class Owner(oa.Object):
    values: oa.Array[f32]


def slabs_of(heap: oa.Heap) -> list[Any]:
    return list(heap.memory.extents._slabs.values())


@pytest.mark.parametrize("mode", ["auto", "range+switch", "cuda"])
def test_a_heap_goes_with_its_last_user(mode: str) -> None:
    """At once: a cycle of references would keep the memory until the collector comes along."""
    heap = oa.Heap(mode=mode, backend="cpu", capacity="64MiB")
    objects = heap.new(Circle, 10)
    slabs = [weakref.ref(slab) for slab in slabs_of(heap)]
    assert slabs
    del heap
    assert all(slab() is not None for slab in slabs), "its objects are users"
    del objects
    assert all(slab() is None for slab in slabs)


def test_what_is_remembered_keeps_no_memory() -> None:
    """Runs and plans of calls outlive the objects that they were of."""
    with oa.Heap(mode="auto", backend="cpu", capacity="256MiB") as heap:
        heap.new(Filter, 2_000_000)
        oa.all(Filter).touch()
        assert len(heap.objects_of(Filter.__sharedoa__)) == 2_000_000
        slabs = [weakref.ref(slab) for slab in slabs_of(heap)]
        oa.delete(oa.all(Filter))
        heap.memory.collect(thorough=True)
        heap.memory.extents._drop_empty_slabs()
        assert not slabs_of(heap)
        assert all(slab() is None for slab in slabs)


class SlowDevice(CountingDevice):
    """Somebody launches while others wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Any = None

    def synchronize(self) -> None:
        super().synchronize()
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()


def test_a_launch_of_another_thread_during_a_wait_is_waited_for() -> None:
    device = SlowDevice()
    with oa.Heap("range+switch", device, "aos", capacity="64MiB") as heap:
        dropped: Any = heap.zeros(1000, f32)
        heap.note_launch()
        freed = weakref.finalize(dropped, lambda: None)

        def launch() -> None:
            nonlocal dropped
            heap.note_launch()
            dropped = None  # the kernel may still use it

        device.meanwhile = launch
        used = heap.stats().array_bytes
        heap.wait()
        assert not freed.alive and heap.stats().array_bytes == used
        waits = device.waits
        heap.wait()
        assert device.waits == waits + 1, "the second launch has not been waited for"
        assert heap.stats().array_bytes < used


def test_an_array_that_is_put_into_a_field_while_fields_are_searched(monkeypatch) -> None:
    with oa.Heap(mode="auto", backend="cpu", capacity="64MiB") as heap:
        owner = heap.new(Owner)
        array: Any = heap.array(f32, np.arange(1000))
        search = type(heap.memory)._addresses_in

        def search_slowly(memory: Any, holders: Any) -> Any:
            nonlocal array
            found = search(memory, holders)
            if array is not None:
                owner.values = array
                array = None
            return found

        monkeypatch.setattr(type(heap.memory), "_addresses_in", search_slowly)
        gone = heap.zeros(1 << 20, f32)
        del gone
        heap.memory.collect(thorough=True)
        heap.zeros(1000, f32)
        assert owner.values.numpy().tolist() == list(range(1000))


def test_elements_that_are_assigned_by_place_wait_for_launches(device: CountingDevice) -> None:
    with oa.Heap("range+switch", device, "aos", capacity="64MiB") as heap:
        weights = heap.new(Filter, 10).weights
        for key in ((0, 1), 3, slice(2, 5)):
            heap.note_launch()
            waits = device.waits
            weights[key] = 9.0
            assert device.waits == waits + 1
        assert weights.numpy()[:4].tolist() == [[0, 9, 0], [0, 0, 0], [9, 9, 9], [9, 9, 9]]


def test_elements_are_not_assigned_while_launches_are_recorded() -> None:
    with oa.Heap(mode="auto", backend="cpu") as heap:
        weights = heap.new(Filter, 10).weights
        with pytest.raises(oa.HeapError, match="capture"), oa.capture():
            weights[0, 1] = 9.0


def test_memory_that_is_freed_is_not_sent_to_the_device(device: CountingDevice) -> None:
    with oa.Heap("range+switch", device, "aos", capacity="64MiB") as heap:
        array = heap.zeros(100_000, f32)
        array[:] = 1.0
        del array
        heap.delete(heap.new(Circle, 1000))
        heap.delete(heap.new(Square, 1000, number=4))
        heap.memory.collect(thorough=True)
        assert heap.residency.on_host == {}
        device.moved.clear()
        heap.before_launch()
        assert device.moved == []


def test_what_another_thread_uses_during_a_launch_is_sent_by_a_later_one() -> None:
    moved: list[int] = []

    def prefetch(address: int, size: int, to_device: bool) -> None:
        if to_device:
            moved.append(address)
            if len(moved) == 1:
                residency.host_uses(3, 300, 310)
            if len(moved) == 2:
                raise RuntimeError("refused")

    residency = Residency(prefetch)
    residency.host_uses(1, 100, 110)
    residency.host_uses(2, 200, 210)
    with pytest.raises(RuntimeError, match="refused"):
        residency.before_launch()
    residency.before_launch()
    assert {100, 200, 300} <= set(moved) and not residency.on_host


def test_what_lies_between_far_accesses_is_fetched_when_it_is_used() -> None:
    moved: list[tuple[int, int, bool]] = []
    residency = Residency(lambda *move: moved.append(move))
    whole = 1 << 30
    residency.host_uses(0, 0, 64)
    residency.host_uses(0, whole - 64, whole)
    assert moved == []
    residency.host_uses(0, 0, whole)
    residency.host_uses(0, 1 << 20, 1 << 29)
    assert moved == [(0, whole, False)]
    residency.before_launch()
    assert moved[1:] == [(0, whole, True)]
    residency.host_uses(0, 64, 128)
    assert len(moved) == 2 and residency.on_host == {0: (64, 128)}


def test_few_objects_far_apart_do_not_fetch_what_lies_between() -> None:
    moved: list[tuple[int, int, bool]] = []
    residency = Residency(lambda *move: moved.append(move))
    residency.host_uses(0, 0, 1 << 30, blocks=1)
    assert moved == [] and residency.on_host == {0: (0, 1 << 30)}
    residency.host_uses(0, 0, 1 << 30, blocks=1 << 11)
    assert moved == [(0, 1 << 30, False)]


def test_all_objects_of_a_class_are_known_once_they_are_written_down(monkeypatch) -> None:
    """An error on the way leaves no array of null references behind."""
    with oa.Heap(mode="auto", backend="cpu") as heap:
        made = heap.new(Circle, 5)

        def refuse(array: Any, selection: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(ObjectArray, "_fill", refuse)
            heap.objects_of(Circle.__sharedoa__)
        found = heap.objects_of(Circle.__sharedoa__).references()
        assert found.tolist() == made.references().tolist()


@oa.kernel
def count_up(circles: oa.Array[Circle], by: i32) -> None:
    circles[oa.grid(1)].number += by


def test_the_range_table_of_an_emptied_heap_takes_no_room() -> None:
    with oa.Heap(mode="range+switch", backend="cpu", capacity="128MiB") as heap:
        circles = heap.new(Circle, 10)
        count_up[10](circles, 1)
        oa.delete(circles)
        del circles
        assert len(heap.zeros(100 << 20, oa.u8)) == 100 << 20
