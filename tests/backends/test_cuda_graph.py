"""What captured steps ask of the CUDA driver, and in which order. The driver only pretends."""

from __future__ import annotations

import ctypes
import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.backends.column_kernels import NUMBER
from sharedoa.backends.cuda import CudaBackend
from sharedoa.backends.cuda_device import CudaDevice
from sharedoa.backends.own_kernels import OwnKernels
from sharedoa.errors import ArgumentError, BackendError
from sharedoa.runtime import knobs

from .pretend_driver import STREAM, PretendDriver, bindings


class Ball(oa.Object):
    height: f32


class Heavy(Ball):
    pass


@oa.kernel
def drop(balls: oa.Array[Ball], by: f32):
    balls[oa.grid(1)].height -= by


@oa.kernel
def copy(source: oa.Array[f32], target: oa.Array[f32]):
    i = oa.grid(1)
    target[i] = source[i]


@oa.kernel
def tell(values: oa.Array[f32]):
    print(values[oa.grid(1)])


@pytest.fixture
def driver():
    return PretendDriver()


@pytest.fixture
def heap(driver):
    backend = CudaBackend(CudaDevice(driver=driver))
    with oa.Heap("auto", backend, capacity="64MiB", initial_region=32) as made:
        yield made


def names(driver: PretendDriver, *wanted: str) -> list[str]:
    """The calls whose names begin as ``wanted``, since the last time; all others are forgotten."""
    found = [name for name, _ in driver.calls if name.startswith(wanted)]
    driver.forget()
    return found


RECORDING = ("cuStream", "cuGraph", "cuLaunch", "cuModuleLoad", "cuMem")


def test_only_launches_are_captured(driver, heap):
    numbers, copies = oa.array(f32, range(64)), oa.zeros(64, f32)
    balls = oa.new(Ball, 3)
    names(driver)
    with knobs.scope(fuse="0"), oa.capture() as step:
        drop[3](balls, 1.0)
        copy[64](numbers, copies)
        drop[3](balls, 2.0)
    calls = names(driver, *RECORDING)
    begin, end = calls.index("cuStreamBeginCapture"), calls.index("cuStreamEndCapture")
    assert calls[begin + 1 : end] == ["cuLaunchKernel"] * 3
    assert calls[end + 1 :] == ["cuStreamDestroy", "cuGraphInstantiate", "cuGraphDestroy"]
    # Code is loaded and state blocks are filled before; nothing has run, so nothing was moved.
    before = calls[:begin]
    # One kernel is compiled for each of the numbers that it is given.
    assert before.count("cuModuleLoadDataEx") == before.count("cuMemcpyHtoDAsync") == 3
    assert "cuLaunchKernel" not in before
    step.run(3)
    calls = names(driver, *RECORDING)
    prefetches = [name for name in calls if name.startswith("cuMemPrefetchAsync")]
    assert prefetches and calls == [*prefetches, *["cuGraphLaunch"] * 3]


@oa.kernel
def square(source: oa.Array[f32], target: oa.Array[f32]):
    i = oa.grid(1)
    target[i] = source[i] * source[i]


def test_ways_back_are_captured_with_their_copies(driver, heap):
    driver.answers["cuMemAlloc"] = 0x7000
    numbers, squares = oa.array(f32, range(64)), oa.zeros(64, f32)
    calls = []
    for _ in range(4):
        with oa.tape() as tape:
            square[64](numbers, squares)
            square[64](squares, numbers)  # over which what the first one has read is put back
        names(driver)
        tape.backward(squares, 1.0)
        calls.append(names(driver, *RECORDING))
        tape.zero()
    begin, end = calls[2].index("cuStreamBeginCapture"), calls[2].index("cuStreamEndCapture")
    around = ["cuMemcpyDtoDAsync"] * 2
    # What there is is kept, what the block left is put back; and in the end what there was.
    captured = [*around, "cuMemcpyDtoDAsync", "cuLaunchKernel", "cuMemcpyDtoDAsync"]
    assert calls[2][begin + 1 : end] == [*captured, "cuLaunchKernel", *around]
    assert [name for name in calls[3] if name.startswith(("cuLaunch", "cuGraph", "cuMemcpyD"))] == [
        "cuGraphLaunch"
    ]


def test_kernels_are_captured_from_a_stream_of_their_own(driver, heap):
    capturing, later = 0x58000, 0x59000
    streams = iter([capturing, later])
    answer = driver.answer
    driver.answer = lambda name, arguments: (
        (bindings.CUresult.CUDA_SUCCESS, next(streams))
        if name == "cuStreamCreate"
        else answer(name, arguments)
    )
    balls = oa.new(Ball, 3)
    with oa.capture() as step:
        drop[3, 64](balls, 1.0)
    assert [call[8] for call in driver.called("cuLaunchKernel")] == [capturing]
    assert [call[0] for call in driver.called("cuStreamBeginCapture")] == [capturing]
    assert driver.called("cuStreamDestroy") == [(capturing,)]
    step.run()
    assert driver.called("cuGraphLaunch") == [("executable", STREAM)]


def test_arguments_are_those_of_each_launch(driver, heap):
    given = []
    answer = driver.answer

    def noting(name, arguments):
        if name == "cuLaunchKernel":
            pointers = (ctypes.c_uint64 * 4).from_address(arguments[9])
            words = [ctypes.c_uint64.from_address(pointer).value for pointer in pointers]
            given.append((words[0], words[1], arguments[1], arguments[4]))
        return answer(name, arguments)

    driver.answer = noting
    numbers, more = oa.zeros(1000, f32), oa.zeros(64, f32)
    with oa.capture() as step:
        copy[1000](numbers, numbers)
        copy[64, 32](more, numbers)
        copy[0](numbers, more)
    first, second = given
    assert first == (numbers.address, 1000, 16, 64)
    assert second == (more.address, 64, 2, 32)
    # A launch by hand neither changes the step nor is changed by it.
    copy[64, 32](more, more)
    step.run()
    copy[1000](more, more)
    assert [words[:2] for words in given[2:]] == [(more.address, 64)] * 2
    assert len(driver.called("cuStreamBeginCapture")) == 1


def test_the_host_changes_numbers_between_runs(driver, heap):
    numbers = oa.zeros(64, f32)
    with oa.capture() as step:
        copy[64](numbers, numbers)
    step.run()
    names(driver)
    step.run()
    assert names(driver, *RECORDING) == ["cuGraphLaunch"]
    numbers[3] = 1.0  # one number is copied, and no page moves
    names(driver)
    step.run()
    assert names(driver, *RECORDING) == ["cuGraphLaunch"]
    numbers.numpy()[3] = 2.0
    names(driver)
    step.run()
    prefetch, launch = names(driver, *RECORDING)
    assert prefetch.startswith("cuMemPrefetchAsync") and launch == "cuGraphLaunch"


def test_a_new_layout_fills_state_blocks_and_keeps_the_graph(driver, heap):
    balls = oa.new(Ball, 3)
    with oa.capture() as step:
        drop[3](balls, 1.0)
    step.run()
    oa.new(Heavy, 100)
    names(driver)
    step.run()
    calls = names(driver, "cuMemcpy", "cuGraph", "cuStreamBegin", "cuModule")
    assert calls == ["cuMemcpyHtoDAsync", "cuGraphLaunch"]


def test_other_references_make_another_graph(driver, heap):
    balls = oa.new(Ball, 3)
    with oa.capture() as step:
        drop[3](balls, 1.0)
    step.run()
    balls[1] = balls[0]
    names(driver)
    step.run()
    calls = names(driver, "cuGraph", "cuStreamBegin", "cuModule")
    assert calls.index("cuModuleLoadDataEx") < calls.index("cuStreamBeginCapture")
    # The new graph is ready before the old one goes.
    assert calls[-4:] == [
        "cuGraphInstantiate",
        "cuGraphDestroy",
        "cuGraphExecDestroy",
        "cuGraphLaunch",
    ]


def test_graphs_go_with_their_steps(driver, heap):
    numbers = oa.zeros(64, f32)
    with oa.capture() as step:
        copy[64](numbers, numbers)
    step.run()
    assert not driver.called("cuGraphExecDestroy")
    del step
    gc.collect()
    assert driver.called("cuGraphExecDestroy") == [("executable",)]


def test_a_launch_that_the_driver_refuses_ends_the_capture(driver, heap):
    numbers = oa.zeros(64, f32)
    driver.failures["cuLaunchKernel"] = bindings.CUresult.CUDA_ERROR_NOT_SUPPORTED
    with pytest.raises(BackendError, match="capturing kernel_copy"):
        with oa.capture() as step:
            copy[64](numbers, numbers)
    calls = names(driver, "cuStream", "cuGraph")
    assert calls[-3:] == ["cuStreamEndCapture", "cuGraphDestroy", "cuStreamDestroy"]
    with pytest.raises(oa.HeapError, match="block ended with an error"):
        step.run()


def test_blocks_too_large_are_refused(driver, heap):
    driver.of_functions["MAX_THREADS_PER_BLOCK"] = 128
    numbers = oa.zeros(64, f32)
    with pytest.raises(ArgumentError, match="at most 128 fit"):
        with oa.capture():
            copy[64, 256](numbers, numbers)
    assert names(driver, "cuStreamEnd") == ["cuStreamEndCapture"]


@contextmanager
def heap_that_is_lost(driver: PretendDriver) -> Iterator[None]:
    """A heap whose device is lost in the block, as its end finds, too."""
    with pytest.raises(oa.DeviceError, match=r"lost to this process in .*copy: pretended"):
        with oa.Heap(backend=CudaBackend(CudaDevice(driver=driver))):
            yield


def test_failures_name_the_kernels(driver):
    with heap_that_is_lost(driver):
        numbers = oa.zeros(64, f32)
        with oa.capture() as step:
            copy[64](numbers, numbers)
        step.run()
        driver.failures["cuStreamQuery"] = bindings.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
        with pytest.raises(oa.DeviceError, match=r"in .*copy: the device stopped"):
            oa.synchronize()


def test_starts_that_fail_name_the_kernels(driver):
    with heap_that_is_lost(driver):
        numbers = oa.zeros(64, f32)
        with oa.capture() as step:
            copy[64](numbers, numbers)
        driver.failures["cuGraphLaunch"] = bindings.CUresult.CUDA_ERROR_NOT_SUPPORTED
        with pytest.raises(oa.BackendError, match=r"launching .*copy"):
            step.run()
        driver.failures["cuGraphLaunch"] = bindings.CUresult.CUDA_ERROR_LAUNCH_FAILED
        with pytest.raises(oa.DeviceError, match=r"in .*copy: the device stopped"):
            step.run()


def test_printing_kernels_flush_what_python_has_printed(driver, heap, monkeypatch):
    numbers = oa.zeros(1, f32)
    with oa.capture() as step:
        tell[1](numbers)
    flushed = []
    monkeypatch.setattr("sys.stdout.flush", lambda: flushed.append(1), raising=False)
    step.run(2)
    assert flushed == [1]
    assert heap.backend.device._printing


def test_a_stopwatch_leaves_out_kernels_of_the_backend_itself(driver, heap):
    numbers = oa.zeros(64, f32)
    watch = heap.backend.stopwatch()
    kernels = OwnKernels(heap.backend)
    copy[64](numbers, numbers)
    names(driver)

    def launch() -> None:
        kernels.launch(NUMBER, 8, [4, 0, numbers.address, 4, 0, 0, 0, 0, 0, 0, 0])
        copy[64](numbers, numbers)

    watch.time("copy", launch)
    calls = names(driver, "cuEventRecord", "cuLaunchKernel")
    place = calls.index("cuEventRecord")
    assert calls[place:] == ["cuEventRecord", "cuLaunchKernel", "cuEventRecord"]
    assert calls[:place] == ["cuLaunchKernel"] * place and place >= 1


def test_a_stopwatch_times_each_run(driver, heap):
    numbers = oa.zeros(64, f32)
    with oa.capture() as step:
        copy[64](numbers, numbers)
    watch = heap.backend.stopwatch()
    names(driver)
    heap.backend.device.stopwatch_running = watch
    step.run(2)
    heap.backend.device.stopwatch_running = None
    calls = names(driver, "cuEventRecord", "cuGraph")
    assert calls == ["cuEventRecord", "cuGraphLaunch", "cuEventRecord"] * 2


def test_launches_are_timed_without_waiting(driver, heap):
    numbers = oa.zeros(64, f32)
    copy[64](numbers, numbers)
    names(driver)
    driver.answers["cuEventElapsedTime"] = 2.5
    timing = heap.backend.timed(lambda: copy[64](numbers, numbers))
    calls = names(driver, "cuEventRecord", "cuLaunchKernel", "cuStreamSynchronize")
    assert calls == ["cuEventRecord", "cuLaunchKernel", "cuEventRecord"]
    driver.failures["cuEventQuery"] = bindings.CUresult.CUDA_ERROR_NOT_READY
    assert timing() is None
    del driver.failures["cuEventQuery"]
    assert timing() == 0.0025
    del timing  # whose events others have then
    names(driver)
    heap.backend.timed(lambda: copy[64](numbers, numbers))
    assert "cuEventCreate" not in names(driver, "cuEvent")


def test_launches_in_streams_of_others_are_not_timed(driver, heap):
    numbers = oa.zeros(64, f32)
    copy[64](numbers, numbers)
    with oa.stream(0x1234):
        names(driver)
        timing = heap.backend.timed(lambda: copy[64](numbers, numbers))
        assert names(driver, "cuEventRecord", "cuLaunch") == ["cuLaunchKernel"]
    assert math.isnan(timing())


def test_launches_that_cannot_meet_are_one(driver, heap):
    a, b, c = (oa.zeros(64, f32) for _ in range(3))
    with knobs.scope(fuse="always"), oa.capture() as step:
        copy[64](a, b)
        copy[32](a, c)
        copy[16](c, b)  # which meets both
    names(driver)
    step.run()
    calls = names(driver, "cuStream", "cuLaunchKernel")
    begin, end = calls.index("cuStreamBeginCapture"), calls.index("cuStreamEndCapture")
    assert calls[begin + 1 : end] == ["cuLaunchKernel"] * 2
    assert "in threads of their own" in step.explain()


def test_launches_that_meet_stay_in_their_order(driver, heap):
    a, b = oa.zeros(64, f32), oa.zeros(64, f32)
    names(driver)
    with knobs.scope(fuse="always"), oa.capture() as step:
        copy[64](a, b)
        copy[32](b, a)
    step.run()
    assert names(driver, "cuLaunchKernel") == ["cuLaunchKernel"] * 2
    assert "in threads of their own" not in step.explain()
