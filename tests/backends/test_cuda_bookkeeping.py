"""What the CUDA backend decides by itself: limits, counts, errors. The driver only pretends."""

from __future__ import annotations

import ctypes

import pytest

from sharedoa.backends import cuda_context
from sharedoa.backends.cuda import CudaBackend, CudaKernel
from sharedoa.backends.cuda_context import INDIRECT_STACK, RECURSIVE_STACK, CudaContext
from sharedoa.backends.cuda_driver import check
from sharedoa.errors import ArgumentError, BackendError, DeviceError, HeapError

from ..targets.hand_written import kernel_text, store_coordinates
from .pretend_driver import FUNCTION, GIB, STREAM, PretendDriver

bindings = pytest.importorskip("cuda.bindings.driver")


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch):
    pretended = PretendDriver()
    monkeypatch.setattr(cuda_context, "load_driver", lambda: pretended)
    cuda_context.cuda_context.cache_clear()
    yield pretended
    cuda_context.cuda_context.cache_clear()


def kernel() -> CudaKernel:
    return CudaKernel("kernel", "function", 0x5000, 1024, False)


def parameters(prepared: CudaKernel, count: int) -> list[int]:
    """What the driver finds: ``count`` leaves and the numbers of threads."""
    pointers = (ctypes.c_uint64 * (count + 2)).from_address(prepared.parameters_address)
    return [ctypes.c_uint64.from_address(pointer).value for pointer in pointers]


def test_parameters_point_into_the_slots():
    slots = (ctypes.c_uint64 * 2)(7, 8)
    prepared = kernel()
    prepared.prepare_shape((1000, 3), (256, 2))
    prepared.prepare_slots(slots, 2)
    assert parameters(prepared, 2) == [7, 8, 1000, 3]
    assert prepared.grid == (4, 2)
    slots[0] = 9
    prepared.prepare_shape((5, 1), (5, 1))
    assert parameters(prepared, 2) == [9, 8, 5, 1]


def test_kernels_with_the_same_slots_have_threads_of_their_own(driver):
    """A program has one buffer of slots and a kernel for each mode, heap and form of runs."""
    backend, slots = CudaBackend(), (ctypes.c_uint64 * 1)(1234)
    kernels = {n: backend.load("kernel", stages(), False, False) for n in (1000, 20)}
    for threads in (1000, 20, 1000, 20):
        handle = kernels[threads]
        backend.launch(handle, (threads, 1), (128, 1), slots, 1)
        assert parameters(handle, 1) == [1234, threads, 1]


@pytest.mark.parametrize("block", [(0, 1), (1025, 1), (64, 32), (-4, -4)])
def test_impossible_blocks(block):
    with pytest.raises(ArgumentError, match="at most 1024 fit"):
        kernel().prepare_shape((100, 1), block)


@pytest.mark.parametrize("threads", [(1 << 31, 1), (1, 65_536 * 4)])
def test_impossible_grids(threads):
    with pytest.raises(ArgumentError, match="loop over several items"):
        kernel().prepare_shape(threads, (64, 4))


def stages(emit=store_coordinates):
    target = CudaBackend().target
    return target.compile(kernel_text(target, emit))


def test_launches(driver):
    backend = CudaBackend()
    handle = backend.load("kernel", stages(), False, False)
    slots = (ctypes.c_uint64 * 3)(1234)
    for _ in range(2):
        backend.launch(handle, (1000, 1), (128, 1), slots, 1)
    address = handle.parameters_address
    expected = (FUNCTION, 8, 1, 1, 128, 1, 1, 0, STREAM, address, 0)
    assert driver.called("cuLaunchKernel") == [expected, expected]


def test_small_launches_come_in_small_blocks(driver):
    backend = CudaBackend()
    assert backend.usual_block((1000, 1), (256, 1)) == (64, 1)
    assert backend.usual_block((2 * 16 * 256, 1), (256, 1)) == (64, 1)
    assert backend.usual_block((2 * 16 * 256 + 1, 1), (256, 1)) == (256, 1)
    assert backend.usual_block((30, 20), (32, 8)) == (32, 2)
    assert backend.usual_block((3000, 2000), (32, 8)) == (32, 8)


def test_state_is_copied_only_when_it_changed(driver):
    backend = CudaBackend()
    handle = backend.load("kernel", stages(), False, False)
    for words in ([1] * 16, [1] * 16, [2] * 16):
        backend.set_state(handle, words)
    copies = driver.called("cuMemcpyHtoDAsync")
    assert [(target, size, stream) for target, _, size, stream in copies] == [
        (0x5000, 128, STREAM)
    ] * 2


def test_stack_is_raised_for_recursion_and_indirect_calls(driver):
    backend = CudaBackend()
    plain = stages()
    backend.load("kernel", plain, False, False)
    assert driver.limits["STACK_SIZE"] == 1024
    backend.load("kernel", {"ptx": f"{plain['ptx']}// .callprototype"}, False, False)
    assert driver.limits["STACK_SIZE"] == INDIRECT_STACK
    backend.load("kernel", plain, False, True)
    assert driver.limits["STACK_SIZE"] == RECURSIVE_STACK
    backend.load("kernel", {"ptx": f"{plain['ptx']}// .callprototype"}, False, False)
    assert driver.limits["STACK_SIZE"] == RECURSIVE_STACK


def test_stack_leaves_most_of_the_memory(driver):
    driver.answers["cuMemGetInfo"] = (GIB, 8 * GIB)
    CudaContext().raise_stack(RECURSIVE_STACK)
    assert driver.limits["STACK_SIZE"] == GIB // 8 // (16 * 2048)


@pytest.mark.parametrize(
    ("capacity", "expected"), [(None, 4 * GIB), (1 * GIB, GIB), (100 * GIB, 4 * GIB)]
)
def test_malloc_heap_is_sized_once(driver, capacity, expected):
    context = CudaContext()
    context.open_malloc_heap(capacity)
    context.open_malloc_heap(3 * GIB)
    assert driver.limits["MALLOC_HEAP_SIZE"] == expected
    assert len(driver.called("cuCtxSetLimit")) == 1


def test_managed_memory_is_never_more_than_the_card(driver):
    context = CudaContext()
    context.reserve_managed(5 * GIB)
    with pytest.raises(HeapError, match="holds 5,368,709,120 and the card has room for 3,221,2"):
        context.reserve_managed(4 * GIB)
    context.reserve_managed(3 * GIB)
    assert context.free_managed() == 0


def test_failure_at_synchronisation_names_the_kernels(driver):
    context = CudaContext()
    context.launched = {"first": None, "second": None}
    driver.failures["cuStreamSynchronize"] = bindings.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceError, match=r"in first, second: .*context of this process is lost"):
        context.synchronize()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("CUDA_ERROR_OUT_OF_MEMORY", HeapError),
        ("CUDA_ERROR_LAUNCH_FAILED", DeviceError),
        ("CUDA_ERROR_NOT_SUPPORTED", BackendError),
    ],
)
def test_driver_errors_have_words(driver, error, expected):
    answer = (getattr(bindings.CUresult, error),)
    with pytest.raises(expected, match=rf"cuSomething: pretended \({error}, \d+\)") as caught:
        check(driver, answer, "cuSomething")
    assert caught.value.help


def test_a_driver_too_old_is_the_machines_fault(driver):
    driver.answers["cuDriverGetVersion"] = 11_080
    driver.failures["cuModuleLoadDataEx"] = bindings.CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    with pytest.raises(BackendError, match=r"driver \(CUDA 11.8\) is too old") as caught:
        CudaBackend().load("kernel", stages(), False, False)
    assert "newer NVIDIA driver" in caught.value.help


def test_modules_are_unloaded_with_their_kernels(driver):
    backend = CudaBackend()
    handle = backend.load("kernel", stages(), False, False)
    assert not driver.called("cuModuleUnload")
    del handle
    assert driver.called("cuModuleUnload") == [("module",)]


def test_prefetch(driver):
    backend = CudaBackend()
    backend.prefetch(0x10000, 4096, True)
    backend.prefetch(0x10000, 4096, False)
    name = "cuMemPrefetchAsync"
    calls = driver.called(f"{name}_v2") or driver.called(name)
    kinds = bindings.CUmemLocationType
    assert [(c[0], c[1], c[2].type, c[4]) for c in calls] == [
        (0x10000, 4096, kinds.CU_MEM_LOCATION_TYPE_DEVICE, STREAM),
        (0x10000, 4096, kinds.CU_MEM_LOCATION_TYPE_HOST, STREAM),
    ]
