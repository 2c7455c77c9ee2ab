"""oa.grid, oa.syncthreads, atomics and random numbers: in CPython and compiled alike."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, u32, u64
from sharedoa.philox import philox
from sharedoa.runtime.host_intrinsics import BlockBarrier


class Cell(oa.Object):
    count: i32
    bins: oa.inline[i32, 4]
    next: Cell
    flag: bool


@pytest.fixture(params=["python", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def small(request):
    with oa.Heap(backend=request.param, capacity="256MiB") as heap:
        yield heap


def test_outside_a_kernel_there_is_no_thread():
    for ask in (lambda: oa.grid(1), lambda: oa.gridsize(2), oa.syncthreads):
        with pytest.raises(oa.DeviceError, match="outside a kernel"):
            ask()


@oa.kernel
def rotate(data: oa.Array[i32]):
    i = oa.grid(1)
    value = data[i]
    oa.syncthreads()
    block = i // 8 * 8
    data[block + (i + 1) % 8] = value


def test_a_barrier_parts_reads_from_writes(small):
    data = oa.array(i32, np.arange(24))
    rotate[24, 8](data)
    expected = np.arange(24).reshape(3, 8)
    assert data.numpy().tolist() == np.roll(expected, 1, axis=1).ravel().tolist()


def test_a_thread_that_returned_is_not_waited_for():
    barrier = BlockBarrier(3)
    passed = []

    def work(rounds):
        for number in range(rounds):
            barrier.wait()
            passed.append(number)
        barrier.leave()

    threads = [threading.Thread(target=work, args=(n,)) for n in (0, 2, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(passed) == [0, 0, 1, 1, 2, 3, 4]


def test_host_atomics_give_the_old_value(small):
    cell, array = Cell(count=5), oa.array(f32, [1.5, 2.5])
    assert oa.atomic_add(cell, "count", 3) == 5
    assert oa.atomic_sub(cell, "count", 1) == 8
    assert oa.atomic_min(cell, "count", 2) == 7
    assert oa.atomic_max(cell, "count", 4) == 2
    assert oa.atomic_exch(cell, "count", 9) == 4
    assert oa.atomic_cas(cell, "count", 1, 0) == 9
    assert oa.atomic_cas(cell, "count", 9, 6) == 9
    assert cell.count == 6 and type(cell.count) is np.int32
    assert oa.atomic_add(array, 1, 1) == 2.5 and array[1] == 3.5
    assert oa.atomic_add(cell.bins, 2, 4) == 0 and cell.bins[2] == 4
    assert oa.atomic_cas(cell, "next", None, cell) is None
    assert oa.atomic_exch(cell, "next", None) == cell


@pytest.mark.parametrize(
    ("place", "value"), [("name", 1), ("bins", 1), ("next", None), ("flag", True), ("count", 0.5)]
)
def test_host_atomics_refuse_what_kernels_refuse(small, place, value):
    with pytest.raises(oa.ArgumentError) as caught:
        oa.atomic_add(Cell(), place, value)
    assert caught.value.help


@oa.kernel
def count(cell: Cell, total: oa.Array[i32]):
    i = oa.grid(1)
    oa.atomic_add(cell, "count", 1)
    oa.atomic_add(total, i % 2, i32(i))
    oa.atomic_max(cell.bins, 1, i32(i))


def test_atomics_in_kernels(small):
    cell, total = Cell(), oa.zeros(2, i32)
    count[200](cell, total)
    assert cell.count == 200 and cell.bins[1] == 199
    assert total.numpy().tolist() == [9900, 10000]


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([2**32 - 1] * 4, [2**32 - 1] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_is_the_published_one(counter, key, expected):
    """The known-answer vectors of the Random123 library."""
    assert list(map(int, philox(*counter, *key))) == expected


@oa.kernel
def draw(seed: u64, bits: oa.Array[u32], numbers: oa.Array[f32]):
    i = oa.grid(1)
    bits[i] = oa.random_bits(seed, u64(i))
    numbers[i] = oa.random(seed, u64(i))


def test_random_numbers_are_the_same_everywhere(small):
    bits, numbers = oa.zeros(64, u32), oa.zeros(64, f32)
    seed = 0x299F31D0A4093822
    draw[64](seed, bits, numbers)
    assert [int(oa.random_bits(seed, i)) for i in range(64)] == bits.numpy().tolist()
    assert [float(oa.random(seed, i)) for i in range(64)] == numbers.numpy().tolist()
    assert 0 <= numbers.numpy().min() < 0.1 and 0.9 < numbers.numpy().max() < 1
