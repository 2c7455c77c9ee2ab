"""What a launch has looked at stays until its kernel is done, whatever others do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i8, i32, i64, u8
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.cpu import CpuBackend

from ..backends.pretend_device import PretendDevice


class Item(oa.Object):
    weight: i32

    def get(self) -> i64: ...


class Single(Item):
    def get(self) -> i64:
        return i64(self.weight)


class Double(Item):
    def get(self) -> i64:
        return i64(self.weight) * 2


class Part(oa.Object):
    weight: i32


class Whole(oa.Object):
    parts: oa.Array[Part]
    others: oa.Array[Part]
    total: i64


class Early(oa.Object):
    parts: oa.Array[Part]


class Long(oa.Object):
    number: i32
    values: oa.inline[i32, 100_000]


@oa.kernel
def read(items: oa.Array[Item], out: oa.Array[i64]) -> None:
    i = oa.grid(1)
    out[i] = items[i].get()


@oa.kernel
def read_again(items: oa.Array[Item], out: oa.Array[i64]) -> None:
    i = oa.grid(1)
    out[i] = items[i].get() + 1


@oa.kernel
def add_up(wholes: oa.Array[Whole]) -> None:
    whole = wholes[oa.grid(1)]
    total = i64(0)
    for k in range(len(whole.others)):
        total += whole.others[k].weight
    whole.total = total


@oa.kernel
def count(parts: oa.Array[Part]) -> None:
    parts[oa.grid(1)].weight += 1


class Interrupted(CpuBackend):
    """Before the next kernel runs, something else happens, as another thread may do it."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] | None = None

    def prepare(self, launch: KernelLaunch) -> Callable[[], None]:
        start = super().prepare(launch)

        def interrupted() -> None:
            if self.meanwhile is not None:
                meanwhile, self.meanwhile = self.meanwhile, None
                meanwhile()
            start()

        return interrupted


def free_bytes(heap: oa.Heap) -> int:
    extents = heap.memory.extents
    return sum(size for _, size in extents._free) + extents.capacity - extents.reserved


@pytest.mark.parametrize("meanwhile", ["a debug launch", "new objects"])
@pytest.mark.parametrize("captured", [False, True])
def test_the_range_table_that_a_kernel_walks_stays(meanwhile: str, captured: bool) -> None:
    backend = Interrupted()
    with oa.Heap("coal", backend, "aos", "64MiB", 32, references="64") as heap:
        singles, doubles = oa.new(Single, 50, weight=1), oa.new(Double, 50, weight=1)
        items = oa.array(Item, [item for k in range(50) for item in (singles[k], doubles[k])])
        out, other = oa.zeros(100, i64), oa.zeros(100, i64)
        read[100](items, out)
        read_again[100](items, other)
        with oa.capture() as step:
            read[100](items, out)
        step.run(1)
        heap.synchronize()
        out.numpy()[:] = 0
        kept: list[oa.Array] = []

        def interrupt() -> None:
            if meanwhile == "new objects":
                oa.new(Single, 5000)
            read_again[100](items, other, debug=meanwhile == "a debug launch" or None)
            heap.synchronize()
            assert heap.memory._retired, "the first table"
            kept.extend(oa.array(u8, np.full(256, 255, np.uint8)) for _ in range(300))

        backend.meanwhile = interrupt
        if captured:
            step.run(1)
        else:
            read[100](items, out)
        assert out.numpy().tolist() == [1, 2] * 50
        assert other.numpy().tolist() == [2, 3] * 50
        assert not heap.memory._retired, "it goes when nothing runs"


def test_code_fits_what_making_room_for_its_state_leaves() -> None:
    with oa.Heap("auto", "cpu", "aos", "8MiB", 32, references="64") as heap:
        first, second = oa.new(Part, 64, weight=1), oa.new(Part, 64, weight=2)
        early, wholes = oa.new(Early, 8), oa.new(Whole, 8)
        early.parts = oa.split(first, [8] * 8)
        wholes.others = oa.split(second, [8] * 8)
        add_up[8](wholes)
        assert wholes.total.numpy().tolist() == [16] * 8
        oa.delete(early)  # nothing holds the first array of pieces any more
        del early, first
        oa.new(Single, 32)  # the range table is to be written anew
        kept = []
        while free_bytes(heap):
            kept.append(oa.zeros(256, u8))
        add_up[8](wholes)
        assert wholes.total.numpy().tolist() == [16] * 8


@pytest.mark.parametrize("mode", ["auto", "coal"])
def test_a_debug_launch_without_room_takes_none(mode: str) -> None:
    with oa.Heap(mode, "cpu", "aos", "4MiB", 32, references="64") as heap:
        few = oa.new(Single, 20_000)[:10]
        doubles = oa.new(Double, 100_000)
        out = oa.zeros(10, i64)
        read[10](few, out)
        kept = []
        while free_bytes(heap) > 70_000:
            kept.append(oa.zeros(2048, i8))
        free = free_bytes(heap)
        with pytest.raises(oa.HeapError, match="no room for one byte an object, for debug mode"):
            read[10](few, out, debug=True)
        assert free_bytes(heap) == free
        read[10](few, out)
        del kept, doubles
        read[10](few, out, debug=True)


@pytest.mark.parametrize(
    "which, fetched", [("long objects", True), ("two of many", False), ("every tenth", True)]
)
def test_what_lies_close_is_fetched_at_once(which: str, fetched: bool) -> None:
    device = PretendDevice(1 << 16)
    with oa.Heap("coal", device, "aos", "256MiB", 64) as heap:
        if which == "long objects":
            objects: Any = oa.new(Long, 64)
        else:
            objects = oa.new(Part, 4_000_000)
        count[10](oa.new(Part, 10))
        heap.synchronize()
        heap.residency.before_launch()
        device.moved.clear()
        if which == "long objects":
            objects.number.numpy()
        elif which == "two of many":
            oa.array(Part, [objects[0], objects[len(objects) - 1]] * 500).weight.numpy()
        else:
            # An array of numbers, in no order.
            objects[np.random.default_rng(1).permutation(len(objects))[::10]].weight.numpy()
        moved = [size for _, size, to_device in device.moved if not to_device]
        assert any(size > 1 << 22 for size in moved) == fetched
