"""What happens to a process whose kernel stopped the device, that is interrupted while it waits for
the device, or that was forked. The driver only pretends."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.backends import cuda_device, forked, open_backend
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.cuda import CudaBackend
from sharedoa.backends.cuda_device import CudaDevice
from sharedoa.errors import BackendError, DeviceError

from ..targets.hand_written import kernel_text, store_coordinates
from .pretend_driver import BusyDevice, PretendDriver

bindings = pytest.importorskip("cuda.bindings.driver")
FAULT = bindings.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch):
    pretended = PretendDriver()
    monkeypatch.setattr(cuda_device, "load_driver", lambda: pretended)
    cuda_device.cuda_device.cache_clear()
    yield pretended
    cuda_device.cuda_device.cache_clear()


@oa.kernel
def double(numbers: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(numbers):
        numbers[i] *= 2


def lose(driver: PretendDriver, context: CudaDevice) -> DeviceError:
    context.launched = {"first": None, "second": None}
    driver.failures["cuStreamQuery"] = FAULT
    with pytest.raises(DeviceError) as caught:
        context.synchronize()
    return caught.value


def test_a_loss_names_the_kernels_what_is_lost_and_what_helps(driver):
    context = CudaDevice()
    context.reserve_managed(1 << 20)
    told = lose(driver, context)
    assert "in first, second: the device stopped" in told.message
    assert "This process has lost cuda:0" in told.message
    assert "1,048,576 bytes" in told.message
    assert "SHAREDOA_DEBUG=1" in told.help and "backend='cpu'" in told.help


def test_whatever_call_the_driver_tells_a_fault_by_the_kernels_are_named(driver):
    context = CudaDevice()
    context.launched = {"first": None}
    driver.failures["cuMemGetInfo"] = FAULT
    with pytest.raises(DeviceError, match="in first: the device stopped"):
        context.memory()


def test_after_a_loss_every_use_says_which_kernel_it_was(driver):
    backend = CudaBackend()
    stages = backend.target.compile(kernel_text(backend.target, store_coordinates))
    handle = backend.load("kernel", stages, False, False)
    start = backend.prepare(KernelLaunch(handle, (8, 1), (8, 1), (ctypes.c_uint64 * 1)(), 1))
    lose(driver, backend.device)
    driver.failures["cuLaunchKernel"] = FAULT
    for use in (start, backend.synchronize, lambda: backend.provider.allocate(1 << 20)):
        with pytest.raises(DeviceError, match="lost to this process in first, second: pretended"):
            use()
    with pytest.raises(DeviceError, match="lost to this process in first, second"):
        oa.Heap(backend="cuda")


def test_nothing_is_given_back_to_a_driver_that_refuses_everything(driver):
    backend = CudaBackend()
    slab = backend.provider.allocate(1 << 20)
    stages = backend.target.compile(kernel_text(backend.target, store_coordinates))
    handle = backend.load("kernel", stages, False, False)
    lose(driver, backend.device)
    driver.forget()
    backend.provider.free(slab)
    del handle
    backend.close()
    assert driver.calls == []
    assert backend.device.managed_bytes == 0


def test_dumps_wait_for_what_was_launched_since_the_last_wait(driver, monkeypatch):
    heap = oa.Heap(backend=CudaBackend())
    heap.array(f32, np.arange(8))
    heap.synchronize()
    waits = []
    monkeypatch.setattr(heap.backend, "synchronize", lambda: waits.append(heap))
    with heap.lock:
        heap.memory.stand_still(heap._waited_for)
        assert not waits  # a device that was lost meanwhile is not asked
        heap.note_launch()  # by another thread, before the lock was taken
        heap.memory.stand_still(heap._waited_for)
        assert len(waits) == 1
        heap.memory.stand_still()
        assert len(waits) == 2


def test_what_no_launch_was_under_way_on_can_be_read_and_dumped(driver, tmp_path):
    heap, other = (oa.Heap(backend=CudaBackend()) for _ in range(2))
    numbers = heap.array(f32, np.arange(8))
    lost = other.array(f32, np.arange(8))
    heap.synchronize()
    other.note_launch()
    lose(driver, heap.backend.device)
    assert numbers.numpy().tolist() == list(range(8))
    heap.dump(tmp_path / "numbers.oa", numbers=numbers)
    assert oa.Heap(backend="cpu").load(tmp_path / "numbers.oa")["numbers"][7] == 7
    for _ in range(2):
        with pytest.raises(DeviceError, match="lost to this process"):
            lost.numpy()


def test_ctrl_c_ends_a_wait_and_nothing_is_forgotten(driver):
    device, context = BusyDevice(driver), CudaDevice()
    context.launched = {"endless": None}
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        context.synchronize()
    assert time.monotonic() - begun < 5
    assert "endless" in caught.value.__notes__[0]
    assert list(context.launched) == ["endless"]
    device.is_done()
    context.synchronize()
    assert not context.launched


def test_a_wait_ends_when_the_device_is_done(driver):
    device, context = BusyDevice(driver), CudaDevice()
    threading.Timer(0.2, device.is_done).start()
    begun = time.monotonic()
    context.synchronize()
    assert 0.1 < time.monotonic() - begun < 5


def in_a_child(check) -> None:
    """Run ``check`` in a forked process."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            check()
            status = 0
        except BaseException as problem:
            print(repr(problem), file=sys.stderr)
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told_at_its_first_use(driver, monkeypatch):
    monkeypatch.setattr(forked, "_forked", [])
    heap = oa.Heap(backend=CudaBackend())
    numbers = heap.array(f32, np.arange(8))
    double[8](numbers)
    heap.synchronize()

    def check() -> None:
        forked.note_fork("CUDA", lambda: None)
        driver.forget()
        uses = [
            lambda: oa.Heap(backend="cuda"),
            lambda: open_backend("auto"),
            heap.synchronize,
            lambda: heap.zeros(8, f32),
            lambda: numbers[3],
            lambda: numbers.numpy(),
            lambda: numbers.__setitem__(3, 1.0),
            lambda: heap.stats(),
            lambda: double[8](numbers),
        ]
        for number, use in enumerate(uses):
            print("use", number, file=sys.stderr)
            with pytest.raises(BackendError, match="forked from one that uses CUDA") as caught:
                use()
            assert "spawn" in caught.value.help
        assert oa.Heap(backend="cpu").zeros(8, f32)[7] == 0
        assert driver.calls == []

    in_a_child(check)
    assert numbers[7] == 7


LOADS_THE_DRIVER = """
import os, types, sys
from unittest import mock
from sharedoa.backends import cuda_driver
pretended = types.SimpleNamespace(cuInit=lambda flags: (0,))
with mock.patch("importlib.import_module", lambda name: pretended):
    cuda_driver.load_driver()
child = os.fork()
if child == 0:
    try:
        cuda_driver.load_driver()
    except cuda_driver.BackendError as problem:
        os._exit(0 if "forked" in str(problem) else 2)
    os._exit(1)
cuda_driver.load_driver()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_the_driver_notes_forks():
    done = subprocess.run([sys.executable, "-c", LOADS_THE_DRIVER], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
