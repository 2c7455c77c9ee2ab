"""Heaps on two GPUs in one process. The driver only pretends, and refuses what comes while the
other device is current; at the end the same with two GPUs."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, later_parts
from sharedoa.backends import Availability, available, cuda_device, open_backend
from sharedoa.errors import BackendError, ConfigurationError, DeviceError
from sharedoa.runtime import knobs

from .pretend_driver import APART, FUNCTION, STREAM, PretendDriver

bindings = pytest.importorskip("cuda.bindings.driver")
#: Functions of the driver that act on whatever device is current.
ACT_ON_CURRENT = (
    "cuMemAllocManaged", "cuMemHostAlloc", "cuModuleLoadDataEx", "cuStreamCreate", "cuEventCreate",
    "cuMemGetInfo", "cuCtxSetLimit", "cuGraphInstantiate", "cuMemsetD8Async", "cuGraphLaunch",
    "cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", "cuMemcpyHtoDAsync", "cuStreamQuery",
)  # fmt: skip


class Walker(oa.Object):
    place: f32
    steps: i32

    def step(self, by: f32) -> None:
        self.place += by
        self.steps += 1

    def breed(self) -> None:
        if self.steps % 2 == 0:
            oa.new(Walker, place=self.place + 0.5, steps=self.steps + 1)


@oa.kernel
def double(numbers: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(numbers):
        numbers[i] *= 2


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch):
    pretended = PretendDriver(devices=2)
    monkeypatch.setattr(cuda_device, "load_driver", lambda: pretended)
    monkeypatch.setattr(later_parts, "_opened", {})
    cuda_device.cuda_device.cache_clear()
    yield pretended
    cuda_device.cuda_device.cache_clear()


@pytest.fixture
def heaps(driver: PretendDriver) -> list[oa.Heap]:
    return [oa.Heap(backend=name, capacity="256MiB") for name in ("cuda", "cuda:1")]


def test_each_heap_has_its_device(driver, heaps):
    first, second = heaps
    assert [heap.backend.label for heap in heaps] == ["cuda:0", "cuda:1"]
    assert [heap.backend.name for heap in heaps] == ["cuda", "cuda"]
    assert first.backend.device is not second.backend.device
    for name, heap in (("cuda:0", first), (" CUDA ", first), ("cuda:01", second), ("auto", first)):
        assert oa.Heap(backend=name, capacity="64MiB").backend is heap.backend
    with knobs.scope(backend="cuda:1"):
        assert oa.Heap(capacity="64MiB").backend is second.backend
    # Code for one is code for all that are alike, and is loaded on each.
    assert first.backend.target.fingerprint == second.backend.target.fingerprint


def test_whatever_is_asked_for_goes_to_the_device_of_the_heap(driver, heaps):
    """In turns, in one thread: each call that acts on the current device finds the right one."""
    everything = [(heap, heap.zeros(64, f32), heap.new(Walker, 32)) for heap in heaps]
    steps = []
    for heap, numbers, walkers in everything:
        with heap, oa.capture() as step:
            double[64](numbers)
            walkers.step(1.0)
        steps.append(step)
    for turn in range(3):
        for device, (heap, numbers, walkers) in enumerate(everything):
            driver.forget()
            double[64](numbers)
            walkers.step(0.5)
            steps[device].run(2)
            heap.zeros(1 << 16, f32)[turn] = 1.0
            heap.backend.stopwatch().time("double", lambda n=numbers: double[64](n))
            heap.synchronize()
            done = driver.devices_of("cuLaunchKernel")
            assert done[-1] == device and done.count(device) >= 3
            launched = [call[0] for call in driver.called("cuLaunchKernel")]
            assert set(launched) == {FUNCTION + APART * device}
            for name in ACT_ON_CURRENT:
                assert set(driver.devices_of(name)) <= {device}, name
            assert {call[0] for call in driver.called("cuStreamQuery")} == {STREAM + APART * device}
            assert driver.called("cuGraphLaunch") == [("executable", STREAM + APART * device)] * 2
            for name in ("cuMemPrefetchAsync", "cuMemPrefetchAsync_v2"):
                assert {c[2].id for c in driver.called(name) if c[2].type == 1} <= {device}


def test_threads_have_devices_of_their_own(driver, heaps):
    arrays = [heap.zeros(64, f32) for heap in heaps]
    problems: list[BaseException] = []
    meet = threading.Barrier(2)

    def work(device: int) -> None:
        try:
            for _ in range(20):
                meet.wait(10)
                double[64](arrays[device])
                heaps[device].synchronize()
                assert driver.current == device
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(device,)) for device in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_garbage_of_one_device_is_collected_in_the_middle_of_work_on_the_other(driver, heaps):
    first, second = (heap.backend for heap in heaps)
    ask = driver.answer

    class Dropped:
        def __init__(self) -> None:
            self.itself, self.heap = self, oa.Heap(backend="cuda:1", capacity="128MiB")
            self.numbers = self.heap.zeros(64, f32)

    def collecting(name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        if name == "cuCtxSetCurrent" and driver.called("cuMemGetInfo") and not collected:
            answer = ask(name, arguments)  # the next call is what allocates
            collected.append(driver.current)
            gc.collect()
            return answer
        return ask(name, arguments)

    collected: list[int] = []
    gc.disable()
    try:
        Dropped()
        driver.forget()
        driver.answer = collecting
        slab = first.provider.allocate(1 << 20)
    finally:
        gc.enable()
    assert collected == [0] and 1 in driver.devices_of("cuMemFree")
    assert set(driver.devices_of("cuMemAllocManaged")) == {0}
    first.provider.free(slab)


def test_a_lost_device_costs_the_other_nothing(driver, heaps):
    first, second = heaps
    lost, kept = (heap.array(f32, np.arange(8)) for heap in heaps)
    walkers = second.new(Walker, 32)
    for numbers in (lost, kept):
        double[8](numbers)
    fault = bindings.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    driver.failures["cuStreamQuery", 0] = driver.failures["cuLaunchKernel", 0] = fault
    with pytest.raises(DeviceError, match=r"in kernel_double.* has lost cuda:0") as caught:
        first.synchronize()
    assert "other devices go on" in caught.value.help
    driver.forget()
    uses = lambda: double[8](lost), lambda: oa.Heap(backend="cuda:0"), first.synchronize
    for use in uses:
        with pytest.raises(DeviceError, match="cuda:0 was lost to this process in kernel_double"):
            use()
    assert 0 not in driver.devices_of("cuMemAllocManaged")
    double[8](kept)
    walkers.step(1.0)
    second.synchronize()
    assert kept.numpy().tolist() == list(range(8))
    assert oa.Heap(backend="cuda:1").zeros(8, f32)[7] == 0
    # What the driver refuses of the other device after all tells of the first.
    driver.failures["cuStreamQuery", 1] = fault
    double[8](kept)
    with pytest.raises(DeviceError, match=r"in kernel_d.*, after cuda:0 was lost in kernel_d"):
        second.synchronize()


def test_an_ordinal_that_there_is_not(driver):
    with pytest.raises(BackendError, match=r"no device cuda:2: .* sees 2 of NVIDIA's") as caught:
        oa.Heap(backend="cuda:2")
    assert "cuda:0, cuda:1" in caught.value.message
    assert "CUDA_VISIBLE_DEVICES" in caught.value.help
    for name in ("cuda:", "cuda:-1", "cuda:x", "cpu:1", "auto:1"):
        with pytest.raises(ConfigurationError, match="backend"):
            oa.Heap(backend=name)
        with pytest.raises(ConfigurationError, match="no backend"):
            open_backend(name)


def test_all_devices_are_listed_and_the_first_alone_is_opened(driver):
    driver.answers["cuDriverGetVersion"] = 13_000
    first, second = (found for found in available() if found.name.startswith("cuda"))
    text = "Pretended GPU, sm_90, 16 multiprocessors, 8 GiB"
    assert first == Availability("cuda", True, f"{text}, driver for CUDA 13.0")
    assert second == Availability("cuda:1", True, text)
    assert driver.called("cuDevicePrimaryCtxRetain") == [(0,)]
    driver.failures["cuDeviceGetCount"] = bindings.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    assert [found.name for found in available() if found.name.startswith("cuda")] == ["cuda"]
    driver.failures.clear()
    driver.attributes[bindings.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 0
    refused = [found for found in available() if found.name == "cuda:1"]
    assert not refused[0].ok and "no managed memory" in refused[0].reason


# ------------------------------------------------------------------ with two GPUs


def results(heap: oa.Heap, count: int) -> list[Any]:
    """Of launches, captured steps, births and transfers in both ways."""
    with heap:
        walkers = oa.new(Walker, count, place=np.arange(count, dtype=np.float32))
        numbers = oa.array(f32, np.arange(count))
        with oa.capture() as step:
            double[count](numbers)
            walkers.step(0.25)
        step.run(4)
        oa.all(Walker).breed()
        oa.all(Walker).step(0.5)
        population = oa.all(Walker)
        return [
            numbers.numpy().tolist(),
            len(population),
            sorted(population.place.numpy().tolist()),
            sorted(population.steps.numpy().tolist()),
        ]


@pytest.mark.gpu(2)
@pytest.mark.parametrize("mode", ["auto", "coal", "cuda"])
def test_two_gpus_compute_the_same_side_by_side(mode):
    count = 200_000 if mode != "cuda" else 2000
    expected = results(oa.Heap(mode, "cpu", capacity="256MiB"), count)
    heaps = [oa.Heap(mode, f"cuda:{device}", capacity="1GiB") for device in (0, 1)]
    for heap in heaps:
        assert results(heap, count) == expected
    # In turns, in one thread, and in one thread each.
    arrays = [heap.array(f32, np.ones(1000)) for heap in heaps]
    for _ in range(10):
        for numbers in arrays:
            double[1000](numbers)
    assert [numbers.numpy().tolist() for numbers in arrays] == [[1024.0] * 1000] * 2
    found: list[Any] = [None, None]

    def work(device: int) -> None:
        found[device] = results(oa.Heap(mode, f"cuda:{device}", capacity="1GiB"), count)

    threads = [threading.Thread(target=work, args=(device,)) for device in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected, expected]


@pytest.mark.gpu(2)
def test_kernels_run_on_the_device_of_their_heap():
    """What launches touch comes to the memory of that device, and to no other's."""
    heaps = [oa.Heap(backend=f"cuda:{device}", capacity="2GiB") for device in (0, 1)]
    for device, heap in enumerate(heaps):
        before = [each.backend.device.memory()[0] for each in heaps]
        numbers = heap.zeros(1 << 28, f32)
        double[1 << 28](numbers)
        heap.synchronize()
        after = [each.backend.device.memory()[0] for each in heaps]
        assert before[device] - after[device] >= 1 << 30
        assert before[1 - device] - after[1 - device] < 1 << 30
        heap.backend.prefetch(numbers.address, 1 << 30, to_device=False)
        heap.synchronize()


_LOSES = """
import numpy as np
import sharedoa as oa
from sharedoa import f32


@oa.kernel
def store_far(numbers: oa.Array[f32]):
    numbers[1 << 40] = 1.0


@oa.kernel
def double(numbers: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(numbers):
        numbers[i] *= 2.0


heaps = [oa.Heap(backend=f"cuda:{device}") for device in (0, 1)]
lost, kept = (heap.array(f32, np.arange(1000)) for heap in heaps)
double[1000](kept)
store_far[1](lost)
try:
    heaps[0].synchronize()
except oa.DeviceError as problem:
    assert "store_far" in str(problem) and "lost cuda:0" in str(problem), problem
else:
    raise AssertionError("nothing was lost")
try:
    double[1000](kept)
    assert kept[999] == 3996.0
    fresh = oa.Heap(backend="cuda:1").array(f32, np.arange(1000))
    double[1000](fresh)
    assert fresh[999] == 1998.0
except oa.DeviceError as problem:
    assert "after cuda:0 was lost in kernel_store_far" in str(problem), problem
    assert "lost cuda:1" in str(problem), problem
here = oa.Heap(backend="cpu").array(f32, np.arange(1000))
double[1000](here)
assert here[999] == 1998.0
print("alive")
"""


@pytest.mark.gpu(2)
def test_a_gpu_that_is_lost_is_named_by_the_other(tmp_path: Path):
    """Drivers may refuse all devices of a process after a fault on one (580 does): then what is
    said of the other names the kernel that did it."""
    file = tmp_path / "program.py"
    file.write_text(_LOSES)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
