"""Exports of GPU memory, arrays of others on a GPU, and their streams: what the driver is asked.

The driver pretends here; the tests marked ``gpu`` are for one that does it.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.backends import cuda_device
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.cuda import CudaBackend
from sharedoa.backends.cuda_device import CudaDevice
from sharedoa.backends.gpu import GpuKernel
from sharedoa.heap import foreign
from sharedoa.heap.array_memory import ArrayStorage
from sharedoa.heap.element_access import element_at
from sharedoa.heap.export import cuda_array_interface, device_of, dlpack
from sharedoa.runtime import streams

from ..heap.invariants import KeptInterruption
from .pretend_driver import FIRST_EVENT, FUNCTION, STREAM, PretendDriver

ROOT = Path(__file__).parents[2]
OURS, THEIRS, EVENT = STREAM, 0x99, FIRST_EVENT + 1
python = ctypes.PyDLL(None)
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendDriver]:
    pretended = PretendDriver()
    monkeypatch.setattr(cuda_device, "load_driver", lambda: pretended)
    cuda_device.cuda_device.cache_clear()
    yield pretended
    cuda_device.cuda_device.cache_clear()


@pytest.fixture
def heap(driver: PretendDriver, monkeypatch: pytest.MonkeyPatch) -> Any:
    """As much of a heap as exports ask for."""
    device = cuda_device.cuda_device(0)
    made = SimpleNamespace(
        backend=SimpleNamespace(device=device), placement=SimpleNamespace(ranges=list)
    )
    monkeypatch.setattr(streams, "current_heap", lambda: made)
    return made


class Shared:
    """An exported array of a heap on the pretended GPU."""

    def __init__(self, heap: Any, values: np.ndarray[Any, Any]) -> None:
        self._heap, self.values = heap, values

    def _shared(self) -> np.ndarray[Any, Any]:
        return self.values

    def _numpy(self) -> np.ndarray[Any, Any]:
        raise AssertionError("the host looked")


def orders(driver: PretendDriver) -> list[tuple[int, int]]:
    """(first, then) of streams that were made to wait, oldest first."""
    recorded: dict[int, int] = {}
    found = []
    for name, given in driver.calls:
        if name == "cuEventRecord":
            recorded[int(given[0])] = int(given[1])
        elif name == "cuStreamWaitEvent":
            found.append((recorded[int(given[1])], int(given[0])))
    assert len(driver.called("cuEventDestroy")) == len(driver.called("cuEventCreate"))
    return found


@pytest.mark.parametrize("version", [None, (1, 1)])
@pytest.mark.parametrize(("stream", "waits"), [(None, 1), (THEIRS, THEIRS), (2, 2), (-1, None)])
def test_capsules_name_the_gpu(
    driver: PretendDriver, heap: Any, version: Any, stream: Any, waits: Any
) -> None:
    if version and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this NumPy makes none")
    values = np.arange(12, dtype=np.float32).reshape(3, 4)[:, 1]
    capsule = dlpack(Shared(heap, values), stream, version, None, None)
    name = b"dltensor_versioned" if version else b"dltensor"
    at = python.PyCapsule_GetPointer(capsule, name)
    # dlpack.h: version, context, deleter and flags come first where there is a version.
    start = at + 32 if version else at
    assert ctypes.c_uint64.from_address(start).value == values.ctypes.data
    kind, number, dimensions = (ctypes.c_int32 * 3).from_address(start + 8)
    assert (kind, number, dimensions) == (2, 0, 1) == (*device_of(heap), 1)
    code, bits = (ctypes.c_uint8 * 2).from_address(start + 20)
    assert (code, bits) == (2, 32)  # kDLFloat
    shape, strides, offset = (ctypes.c_uint64 * 3).from_address(start + 24)
    assert ctypes.c_int64.from_address(shape).value == 3
    assert ctypes.c_int64.from_address(strides).value == 4 and offset == 0
    assert orders(driver) == ([] if waits is None else [(OURS, waits)])


def test_the_array_interface_names_our_stream(driver: PretendDriver, heap: Any) -> None:
    values = np.zeros((4, 6), np.int32)
    found = cuda_array_interface(Shared(heap, values[:, 2:4]))
    assert found == {
        "shape": (4, 2), "strides": (24, 4), "typestr": "<i4", "version": 3, "stream": OURS,
        "data": (values.ctypes.data + 8, False),
    }  # fmt: skip
    values.flags.writeable = False
    whole = cuda_array_interface(Shared(heap, values))
    assert whole["strides"] is None and whole["data"] == (values.ctypes.data, True)
    assert cuda_array_interface(Shared(heap, values[:0]))["data"][0] == 0


def test_launches_go_through_the_stream_of_others(driver: PretendDriver, heap: Any) -> None:
    backend = CudaBackend(CudaDevice(0, driver))
    device = heap.backend.device = backend.device
    kernel = GpuKernel("kernel", FUNCTION, 0x5000, 1024, False)
    slots = (ctypes.c_uint64 * 1)()
    start = backend.prepare(KernelLaunch(kernel, (1, 1), (1, 1), slots, 1))
    driver.calls.clear()
    start()
    with oa.stream(SimpleNamespace(cuda_stream=THEIRS)):
        start()
        with oa.stream(SimpleNamespace(__cuda_stream__=lambda: (0, 0x77))):
            start()
            device.synchronize()
        start()
    start()
    launched = [int(given[8]) for name, given in driver.calls if name == "cuLaunchKernel"]
    assert launched == [OURS, THEIRS, 0x77, THEIRS, OURS]
    assert orders(driver) == [(OURS, THEIRS), (THEIRS, 0x77), (0x77, THEIRS), (THEIRS, OURS)]
    assert [int(given[0]) for given in driver.called("cuStreamQuery")] == [0x77]
    device.stream_taken_by = 1
    with pytest.raises(oa.ArgumentError, match="another thread"), oa.stream(THEIRS):
        pass


@pytest.mark.skipif(sys.gettrace() is not None, reason="somebody else looks at calls")
def test_after_ctrl_c_launches_go_through_our_stream(driver: PretendDriver, heap: Any) -> None:
    """While a notebook has the error."""
    device = heap.backend.device

    def launch() -> None:
        with oa.stream(THEIRS):
            assert device.stream == THEIRS

    moments = KeptInterruption(1 << 60).during(launch).moments
    for moment in range(1, moments):
        found = KeptInterruption(moment).during(launch)
        assert (int(device.stream), device.stream_taken_by) == (OURS, None), moment
        assert found.error is not None


class OnGpu:
    """As CuPy, PyTorch and Numba have it."""

    def __init__(self, values: np.ndarray[Any, Any], **others: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": values.shape, "typestr": values.dtype.str, "version": 3,
            "data": (values.ctypes.data, False), **others,
        }  # fmt: skip


def test_arrays_of_others_on_a_gpu(driver: PretendDriver, heap: Any) -> None:
    values = np.arange(6, dtype=np.float32)
    heap.layout = SimpleNamespace(dtype=lambda type: type.dtype)
    taken = foreign.adopt(heap, OnGpu(values, stream=THEIRS), "argument")
    assert taken._address == values.ctypes.data and taken.shape == (6,)
    assert not orders(driver)
    given = foreign.plain(taken)
    foreign.let_go(given)
    assert orders(driver) == [(THEIRS, OURS), (OURS, THEIRS)]
    assert given._packed and not hasattr(taken, "_packed")
    with pytest.raises(oa.HeapError, match="the host does not read"):
        np.asarray(taken._storage)
    heap.residency = SimpleNamespace(moves=False)
    for array in (taken, given):
        with pytest.raises(oa.HeapError, match="the host does not read"):
            element_at(array, 0)
    assert isinstance(taken._storage, ArrayStorage)
    with pytest.raises(oa.ArgumentError, match="gaps"):
        foreign.adopt(heap, OnGpu(values, strides=(8,)), "argument")
    with pytest.raises(oa.ArgumentError, match="does not lie on"):
        foreign.adopt(heap, values, "argument")
    # A dimension of one element has any stride.
    assert foreign.adopt(heap, OnGpu(values.reshape(1, 6), strides=(999, 4)), "a").shape == (1, 6)


@oa.kernel
def twice(a: oa.Array[f32]) -> None:
    i = oa.grid(1)
    if i < len(a):
        a[i] *= 2.0


class Walker(oa.Object, layout="aos"):
    x: f32
    wanted: f32

    def step(self, weight: oa.Array[f32]) -> None:
        self.x = self.x * 0.5 + weight[0]


@pytest.mark.gpu
def test_there_and_back_without_a_copy() -> None:
    torch = pytest.importorskip("torch")
    with oa.Heap(backend="cuda"):
        array = oa.array(f32, range(1000))
        tensor = torch.from_dlpack(array)
        assert tensor.data_ptr() == array.address and tensor.device.type == "cuda"
        tensor *= 3
        torch.cuda.synchronize()
        assert array[7] == 21
        back = torch.arange(1000, device="cuda", dtype=torch.float32)
        twice[1000](back)
        assert back[7].item() == 14


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore")
def test_numba_works_on_ours_and_we_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """On our array, on a field of records, whose elements lie apart, and on an array of Numba's."""
    # numba-cuda 0.30 names this when it compiles; NumPy 2.5 has it no longer.
    monkeypatch.setattr(np, "row_stack", np.vstack, raising=False)
    try:
        from numba import cuda

        if not cuda.is_available():
            pytest.skip("Numba finds no GPU")
        cuda.jit("void(float32[:])")(lambda values: None)
    except (ImportError, AttributeError) as error:  # of a Numba that is older than this NumPy
        pytest.skip(f"Numba does not work here: {error}")

    @cuda.jit
    def add(values: Any, by: Any) -> None:
        i = cuda.grid(1)
        if i < values.size:
            values[i] += by

    with oa.Heap(backend="cuda"):
        array, walkers = oa.array(f32, range(1000)), oa.new(Walker, 1000, x=1.0)
        for ours in (array, walkers.x):
            theirs = cuda.as_cuda_array(ours)
            assert (
                theirs.gpu_data.device_ctypes_pointer.value
                == ours.__cuda_array_interface__["data"][0]
            )
            add[8, 128](theirs, np.float32(2.0))
        cuda.synchronize()
        assert array[7] == 9.0 and walkers.x.numpy().tolist() == [3.0] * 1000
        back = cuda.to_device(np.arange(1000, dtype=np.float32))
        twice[1000](back)
        assert back.copy_to_host()[7] == 14.0


@pytest.mark.gpu
def test_order_in_a_stream_of_others_with_delays() -> None:
    torch = pytest.importorskip("torch")
    with oa.Heap(backend="cuda"), torch.cuda.stream(torch.cuda.Stream()):
        tensor = torch.ones(1 << 20, device="cuda")
        with oa.stream(torch.cuda.current_stream()):
            for _ in range(5):
                torch.cuda._sleep(10_000_000)
                tensor += 1
                twice[len(tensor)](tensor)
        assert tensor[-1].item() == 94  # ((((1 + 1) * 2 + 1) * 2 ...


@oa.kernel
def set_all(a: oa.Array[f32], value: f32) -> None:
    a[oa.grid(1)] = value


@pytest.mark.gpu
def test_a_gibibyte_there_and_back_stays_on_the_card() -> None:
    for library in ("torch", "cupy"):
        pytest.importorskip(library)
    command = [sys.executable, "-m", "tests.backends.round_trip"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["same"] and found["values"] == [6.0, 6.0, 6.0]
    assert found["kernels"] >= 3 and not found["gaps"]
    if found["refused"]:
        pytest.skip(f"copies: {found['copied']} bytes; of pages: {found['refused']}")
    assert (found["copied"], found["moved"]) == (0, 0)


@pytest.mark.gpu
def test_training_that_reads_fields_each_step() -> None:
    """What PyTorch learns of fields that kernels change in between: the order of its work and ours
    decides what it sees, and each tensor is the objects' own memory."""
    torch = pytest.importorskip("torch")
    count, steps, rate = 1 << 16, 20, 0.3
    with oa.Heap(backend="cuda"):
        walkers = oa.new(Walker, count, x=0.0, wanted=2.0)
        weight = torch.zeros(1, device="cuda", requires_grad=True)
        expected, x = 0.0, 0.0
        for _ in range(steps):
            walkers.step(weight.detach())
            inputs, target = torch.from_dlpack(walkers.x), torch.from_dlpack(walkers.wanted)
            assert inputs.device.type == "cuda" and inputs.shape == (count,)
            loss = ((inputs + weight - target) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                weight -= rate * weight.grad
                weight.grad.zero_()
            x = x * 0.5 + expected
            expected -= rate * 2 * (x + expected - 2.0)
        assert weight.item() == pytest.approx(expected, rel=1e-4)
        assert float(walkers.x[count - 1]) == pytest.approx(x, rel=1e-4)
