"""Columns that the device moves: what the driver is asked for, and in which order."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.backends import bulk_transfer, cuda_device
from sharedoa.backends.bulk_transfer import PIECES, BulkTransfer
from sharedoa.backends.cuda import CudaBackend
from sharedoa.backends.pinned_memory import PinnedStaging
from sharedoa.heap import residency
from sharedoa.heap.placement import FieldPath

from .pretend_driver import PretendDriver

bindings = pytest.importorskip("cuda.bindings.driver")
#: Small, so that few objects go several times around the buffer.
PIECE_BYTES = 1 << 16
COUNT = 3 * PIECES * PIECE_BYTES // 8


class Grain(oa.Object):
    x: f32
    number: i32

    def heavier(self) -> f32:
        return self.x + f32(self.number)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch):
    pretended = PretendDriver()
    monkeypatch.setattr(cuda_device, "load_driver", lambda: pretended)
    monkeypatch.setattr(residency, "DEVICE_BULK", 1 << 20)
    cuda_device.cuda_device.cache_clear()
    yield pretended
    cuda_device.cuda_device.cache_clear()


def open_backend() -> CudaBackend:
    backend = CudaBackend()
    backend._transfer = BulkTransfer(
        backend, lambda: PinnedStaging(backend.device, PIECES, PIECE_BYTES)
    )
    return backend


@pytest.fixture
def heap(driver: PretendDriver):
    backend = open_backend()
    with oa.Heap("sharedoa", backend, capacity="1GiB") as made:
        yield made
    backend.close()


def names(driver: PretendDriver, *wanted: str) -> list[str]:
    return [name for name, _ in driver.calls if name in wanted]


def prefetched(driver: PretendDriver) -> list[tuple[int, int, bool]]:
    to_device = bindings.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    return [
        (arguments[0], arguments[1], arguments[2].type == to_device)
        for name, arguments in driver.calls
        if name.startswith("cuMemPrefetchAsync")
    ]


def test_each_piece_is_waited_for_before_it_is_filled_again(heap, driver):
    objects = oa.new(Grain, COUNT)
    driver.forget()
    objects.x = np.ones(COUNT, np.float32)
    pieces = COUNT * 4 // PIECE_BYTES
    used = names(driver, "cuEventQuery", "cuLaunchKernel", "cuEventRecord")
    assert used.count("cuLaunchKernel") == used.count("cuEventRecord") == pieces
    assert used.count("cuEventQuery") == pieces
    waits = [event for (event,) in driver.called("cuEventQuery")]
    records = [event for event, _ in driver.called("cuEventRecord")]
    assert waits == records and len(set(records)) == PIECES
    for place in range(PIECES, pieces):
        wait, begun = [
            [at for at, (name, _) in enumerate(driver.calls) if name == wanted]
            for wanted in ("cuEventQuery", "cuEventRecord")
        ]
        assert wait[place] > begun[place - PIECES]
    assert driver.calls[-1][0] == "cuStreamQuery"
    assert prefetched(driver) == []


def test_another_thread_has_the_context_first(heap, driver):
    objects = oa.new(Grain, COUNT)
    driver.forget()
    values = np.ones(COUNT, np.float32)
    thread = threading.Thread(target=lambda: objects.selection().write(FieldPath("x"), values))
    thread.start()
    thread.join()
    assert driver.called("cuLaunchKernel")
    assert driver.calls[0] == ("cuCtxSetCurrent", ("context",))


def test_new_objects_stay_on_the_device(heap, driver):
    driver.forget()
    oa.new(Grain, COUNT, x=np.ones(COUNT, np.float32), number=3)
    assert all(to_device for _, size, to_device in prefetched(driver) if size >= residency.BULK)
    # A launch for each piece of x, and one each for header, number and references.
    launches = len(driver.called("cuLaunchKernel"))
    assert launches == COUNT * 4 // PIECE_BYTES + 3
    before = len(prefetched(driver))
    heap.before_launch()
    assert all(size < residency.BULK for _, size, _ in prefetched(driver)[before:])


def test_references_are_numbers_that_the_device_computes(heap, driver, monkeypatch):
    transfer, seen = heap.backend.transfer, []
    launch = transfer._kernels.launch

    def noted(*given: Any) -> None:
        seen.append(given)
        launch(*given)

    monkeypatch.setattr(transfer._kernels, "launch", noted)
    objects = oa.new(Grain, COUNT)
    (start, _, _) = heap.ranges()[0]
    kernel, threads, leaves = seen[-1]
    assert (kernel.symbol, threads) == ("sharedoa_column_number", COUNT)
    size = heap.layout.record(Grain.__sharedoa__).size
    assert leaves == (8, 0, objects.address, 8, 0, 0, 0, start, size, 0, 4)


def test_small_work_asks_for_no_buffer(heap, driver):
    oa.new(Grain, residency.DEVICE_BULK // 16 - 1, x=1.0)
    assert driver.called("cuMemHostAlloc") == []


def test_without_page_locked_memory_the_host_writes(driver):
    backend = open_backend()
    driver.failures["cuMemHostAlloc"] = bindings.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with oa.Heap("sharedoa", backend, "aos", capacity="1GiB") as heap:
        objects = oa.new(Grain, COUNT, number=np.arange(COUNT))
        np.testing.assert_array_equal(objects.number, np.arange(COUNT))
        assert any(not to_device for *_, to_device in prefetched(driver))
        assert heap.residency.on_host
    backend.close()


def test_the_buffer_is_given_back(driver):
    backend = open_backend()
    with oa.Heap("auto", backend, capacity="1GiB"):
        oa.new(Grain, COUNT, number=np.arange(COUNT))
    assert driver.called("cuMemHostAlloc") == [(PIECES * PIECE_BYTES, 0)]
    backend.close()
    ((address,),) = driver.called("cuMemFreeHost")
    assert address in [memory.ctypes.data for memory in driver.memory]
    assert len(driver.called("cuEventDestroy")) == PIECES


@pytest.mark.gpu
def test_page_locked_memory_is_reached_by_both_sides():
    context = cuda_device.cuda_device(0)
    staging = PinnedStaging(context, 2, 1 << 16)
    try:
        for piece in (0, 1):
            staging.wait(piece)
            staging.memory(piece)[...] = piece + 1
        source, target = staging.address(0), staging.address(1)
        context.call("MemcpyDtoDAsync", target, source, 1 << 15, context.stream)
        staging.mark(1)
        staging.wait(1)
        assert (staging.memory(1)[: 1 << 15] == 1).all()
        assert (staging.memory(1)[1 << 15 :] == 2).all()
        assert ctypes.c_uint8.from_address(target).value == 1
    finally:
        staging.close()


@pytest.mark.gpu
@pytest.mark.parametrize("layout", ["aos", "tile"])
@pytest.mark.parametrize("mode", ["auto", "sharedoa", "typepointer", "tag+switch"])
def test_at_full_size(mode, layout):
    """Pieces and threshold as they are, several times around the buffer."""
    generator = np.random.default_rng(0)
    largest = 3 * PIECES * bulk_transfer.PIECE_BYTES // 8 + 17
    for count in (residency.DEVICE_BULK // 16, largest):
        x = generator.random(count, np.float32)
        number = generator.integers(-1000, 1000, count, np.int32)
        with oa.Heap(mode, "cuda", layout) as heap:
            objects = heap.new(Grain, count, x=x, number=number)
            sums = objects.heavier()
            np.testing.assert_array_equal(sums, x + number.astype(np.float32))
            objects.number = number[::-1]
            objects.number += 1
            after = (number[::-1] + 1).astype(np.float32)
            np.testing.assert_array_equal(objects.heavier(), x + after)
            np.testing.assert_array_equal(objects.number, number[::-1] + 1)
            np.testing.assert_array_equal(objects.x, x)
            references = objects.references()
            np.testing.assert_array_equal(references, objects.selection().references)
            np.testing.assert_array_equal(heap.array(f32, x), x)
