"""What the CUDA backend decides by itself: limits, counts, errors. The driver only pretends."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import ir

from sharedoa.backends import available, cuda_device, open_backend
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.cuda import CudaBackend
from sharedoa.backends.cuda_device import CudaDevice
from sharedoa.backends.gpu import GpuKernel
from sharedoa.backends.gpu_device import INDIRECT_STACK, RECURSIVE_STACK
from sharedoa.backends.gpu_launch import PreparedLaunch
from sharedoa.backends.pinned_memory import PinnedStaging
from sharedoa.errors import ArgumentError, BackendError, DeviceError, HeapError

from .. import card_memory
from ..targets.hand_written import kernel_text, store_coordinates
from .pretend_driver import FIRST_EVENT, FUNCTION, GIB, STREAM, PretendDriver

bindings = pytest.importorskip("cuda.bindings.driver")

Shape = tuple[int, int]
NO_SLOTS = (ctypes.c_uint64 * 1)()


def in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch):
    pretended = PretendDriver()
    monkeypatch.setattr(cuda_device, "load_driver", lambda: pretended)
    cuda_device.cuda_device.cache_clear()
    yield pretended
    cuda_device.cuda_device.cache_clear()


def prepared(threads: Shape, block: Shape, slots: ctypes.Array[ctypes.c_uint64]) -> PreparedLaunch:
    kernel = GpuKernel("kernel", FUNCTION, 0x5000, 1024, False)
    return PreparedLaunch(KernelLaunch(kernel, threads, block, slots, len(slots)))


def parameters(address: int, count: int) -> list[int]:
    """What the driver finds: ``count`` leaves and the numbers of threads."""
    pointers = (ctypes.c_uint64 * (count + 2)).from_address(address)
    return [ctypes.c_uint64.from_address(pointer).value for pointer in pointers]


def test_parameters_point_into_the_slots():
    slots = (ctypes.c_uint64 * 2)(7, 8)
    many, few = prepared((1000, 3), (256, 2), slots), prepared((5, 1), (5, 1), slots)
    assert parameters(many.parameters, 2) == [7, 8, 1000, 3]
    assert many.shape == (4, 2, 1, 256, 2, 1)
    slots[0] = 9
    assert parameters(many.parameters, 2) == [9, 8, 1000, 3]
    assert parameters(few.parameters, 2) == [9, 8, 5, 1]


@pytest.mark.parametrize("block", [(0, 1), (1025, 1), (64, 32), (-4, -4)])
def test_impossible_blocks(block):
    with pytest.raises(ArgumentError, match="at most 1024 fit"):
        prepared((100, 1), block, NO_SLOTS)


@pytest.mark.parametrize("threads", [(1 << 31, 1), (1, 65_536 * 4)])
def test_impossible_grids(threads):
    with pytest.raises(ArgumentError, match="loop over several items"):
        prepared(threads, (64, 4), NO_SLOTS)


def stages(emit=store_coordinates):
    target = CudaBackend().target
    return target.compile(kernel_text(target, emit))


def test_launches(driver):
    backend = CudaBackend()
    handle = backend.load("kernel", stages(), False, False)
    slots = (ctypes.c_uint64 * 1)(1234)
    start = backend.prepare(KernelLaunch(handle, (1000, 1), (128, 1), slots, 1))
    for _ in range(2):
        start()
    assert list(backend.device.launched) == ["kernel"]
    launched = driver.called("cuLaunchKernel")
    address = launched[0][9]
    expected = (FUNCTION, 8, 1, 1, 128, 1, 1, 0, STREAM, address, 0)
    assert launched == [expected, expected]
    assert parameters(address, 1) == [1234, 1000, 1]


def test_launches_of_no_threads_are_none(driver):
    backend = CudaBackend()
    handle = backend.load("kernel", stages(), False, False)
    backend.prepare(KernelLaunch(handle, (0, 1), (128, 1), NO_SLOTS, 0))()
    assert not driver.called("cuLaunchKernel")


def test_launches_that_fail_are_errors(driver):
    backend = CudaBackend()
    handle = backend.load("kernel", stages(), False, False)
    start = backend.prepare(KernelLaunch(handle, (8, 1), (8, 1), NO_SLOTS, 0))
    driver.failures["cuLaunchKernel"] = bindings.CUresult.CUDA_ERROR_LAUNCH_FAILED
    with pytest.raises(DeviceError, match="in kernel: the device stopped"):
        start()
    assert len(driver.called("cuLaunchKernel")) == 1


def test_launches_that_are_refused_are_errors(driver):
    backend = CudaBackend()
    handle = backend.load("kernel", stages(), False, False)
    start = backend.prepare(KernelLaunch(handle, (8, 1), (8, 1), NO_SLOTS, 0))
    driver.failures["cuLaunchKernel"] = bindings.CUresult.CUDA_ERROR_NOT_SUPPORTED
    with pytest.raises(BackendError, match="launching kernel"):
        start()
    del driver.failures["cuLaunchKernel"]
    start()


@pytest.mark.parametrize("refusal", ["CUDA_ERROR_INVALID_CONTEXT", "CUDA_ERROR_INVALID_HANDLE"])
def test_launches_make_the_context_current_where_it_is_not(driver, refusal):
    backend = CudaBackend()
    handle = backend.load("kernel", stages(), False, False)
    start = backend.prepare(KernelLaunch(handle, (8, 1), (8, 1), NO_SLOTS, 0))
    driver.forget()
    current: list[str] = []

    def answer(name: str, arguments: tuple[Any, ...], answer=driver.answer) -> tuple[Any, ...]:
        if name == "cuCtxSetCurrent":
            current.append(threading.current_thread().name)
        if name == "cuLaunchKernel" and threading.current_thread().name not in current:
            return getattr(bindings.CUresult, refusal), None
        return answer(name, arguments)

    driver.answer = answer

    def work() -> None:
        start()
        start()
        backend.synchronize()

    in_a_thread(work)
    assert len(driver.called("cuLaunchKernel")) == 2
    assert driver.called("cuCtxSetCurrent") == [("context",)]


def test_every_thread_makes_the_context_current_once(driver):
    """Also where it has the identity of a thread that has ended, as these have."""
    backend = CudaBackend()
    driver.forget()

    def wait_twice() -> None:
        backend.synchronize()
        backend.synchronize()

    for _ in range(3):
        in_a_thread(wait_twice)
    assert driver.called("cuCtxSetCurrent") == [("context",)] * 3
    driver.forget()
    backend.synchronize()
    assert not driver.called("cuCtxSetCurrent")


def test_devices_whose_managed_memory_is_not_shared_are_refused(driver):
    attribute = bindings.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
    driver.attributes[attribute] = 0
    with pytest.raises(BackendError, match=r"Pretended GPU has .* CPU cannot use while") as caught:
        open_backend("cuda")
    assert "SHAREDOA_BACKEND=cpu" in caught.value.help
    assert open_backend("auto").name == "cpu"
    (cuda,) = (entry for entry in available() if entry.name == "cuda")
    assert not cuda.ok and "WSL" in cuda.reason


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


def emit_call(target, builder, leaves, thread):
    callee = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), []), "callee")
    builder.call(callee, [])


@pytest.mark.parametrize(
    "emit, local_bytes, tried",
    [
        pytest.param(store_coordinates, [0], [48], id="it fits"),
        pytest.param(store_coordinates, [8, 0], [48, 64], id="too tight"),
        pytest.param(store_coordinates, [16, 8], [48, 64], id="next to nothing"),
        pytest.param(store_coordinates, [16, 16], [48, 64, None], id="some are in memory"),
        pytest.param(store_coordinates, [24], [48, None], id="most are in memory"),
        pytest.param(emit_call, [], [None], id="calls"),
    ],
)
def test_registers_are_bounded_where_next_to_nothing_spills(
    driver, monkeypatch, emit, local_bytes, tried
):
    ask, sizes = CudaDevice.function_attribute, iter(local_bytes)
    monkeypatch.setattr(
        CudaDevice,
        "function_attribute",
        lambda self, function, name: (
            next(sizes) if name == "LOCAL_SIZE_BYTES" else ask(self, function, name)
        ),
    )
    loaded = CudaBackend().load("kernel", stages(emit), False, False)
    key = bindings.CUjit_option.CU_JIT_MAX_REGISTERS
    calls = driver.called("cuModuleLoadDataEx")
    assert [dict(zip(keys, values, strict=True)).get(key) for _, _, keys, values in calls] == tried
    assert len(driver.called("cuModuleUnload")) == len(tried) - 1
    del loaded


def test_stack_leaves_most_of_the_memory(driver):
    driver.answers["cuMemGetInfo"] = (GIB, 8 * GIB)
    CudaDevice().raise_stack(RECURSIVE_STACK)
    assert driver.limits["STACK_SIZE"] == GIB // 8 // (16 * 2048)


@pytest.mark.parametrize(
    ("capacity", "expected"), [((), 4 * GIB), ((1 * GIB,), GIB), ((100 * GIB,), 4 * GIB)]
)
def test_malloc_heap_is_sized_once(driver, capacity, expected):
    context = CudaDevice()
    context.open_malloc_heap(*capacity)
    context.open_malloc_heap(3 * GIB)
    assert driver.limits["MALLOC_HEAP_SIZE"] == expected
    assert len(driver.called("cuCtxSetLimit")) == 1


def test_processes_of_tests_that_share_a_card_take_less_each(driver):
    context = CudaDevice()
    card_memory.share(context)
    context.raise_stack(INDIRECT_STACK)
    assert driver.limits["STACK_SIZE"] == INDIRECT_STACK
    context.raise_stack(RECURSIVE_STACK)
    context.open_malloc_heap()
    assert driver.limits["STACK_SIZE"] == card_memory.STACK < RECURSIVE_STACK
    assert driver.limits["MALLOC_HEAP_SIZE"] == card_memory.MALLOC_HEAP


def test_what_a_test_leaves_in_a_cycle_does_not_wait_for_a_collection(driver):
    class Heap:
        def __init__(self, size: int) -> None:
            context.reserve_managed(size)
            self.itself = self
            weakref.finalize(self, context.release_managed, size)

    context = CudaDevice()
    Heap(GIB)
    card_memory.give_back(context)
    assert context.managed_bytes == GIB
    Heap(2 * GIB)
    card_memory.give_back(context)
    assert context.managed_bytes == 0


def test_managed_memory_is_never_more_than_the_card(driver):
    context = CudaDevice()
    context.reserve_managed(5 * GIB)
    with pytest.raises(HeapError, match="holds 5,368,709,120 and the card has room for 3,221,2"):
        context.reserve_managed(4 * GIB)
    context.reserve_managed(3 * GIB)
    assert context.free_managed() == 0


def test_threads_do_not_reserve_the_same_memory(driver, monkeypatch):
    context, refused = CudaDevice(), []
    memory = context.memory

    def slow_memory() -> tuple[int, int]:
        time.sleep(0.05)
        return memory()

    def reserve() -> None:
        try:
            context.reserve_managed(5 * GIB)
        except HeapError as problem:
            refused.append(problem)

    monkeypatch.setattr(context, "memory", slow_memory)
    threads = [threading.Thread(target=reserve) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert context.managed_bytes == 5 * GIB


def test_a_finalizer_gives_memory_back_while_more_is_reserved(driver, monkeypatch):
    context = CudaDevice()
    context.reserve_managed(GIB)
    memory = context.memory

    def memory_with_finalizer() -> tuple[int, int]:
        context.release_managed(GIB)
        return memory()

    monkeypatch.setattr(context, "memory", memory_with_finalizer)
    context.reserve_managed(3 * GIB)
    assert context.managed_bytes == 3 * GIB


def test_dropped_memory_in_cycles_is_collected_before_more_is_refused(driver):
    class Owner:
        def __init__(self) -> None:
            self.itself = self
            context.reserve_managed(5 * GIB)
            weakref.finalize(self, context.release_managed, 5 * GIB)

    context = CudaDevice()
    gc.disable()
    try:
        Owner()
        context.reserve_managed(4 * GIB)
    finally:
        gc.enable()
    assert context.managed_bytes == 4 * GIB


@pytest.mark.parametrize(
    "failing", ["cuMemAllocManaged", "cuMemPrefetchAsync", "cuMemsetD8Async", "cuStreamQuery"]
)
def test_slabs_that_cannot_be_made_ready_are_given_back(driver, failing):
    backend = CudaBackend()
    for name in (failing, f"{failing}_v2"):
        driver.failures[name] = bindings.CUresult.CUDA_ERROR_NOT_SUPPORTED
    with pytest.raises(BackendError, match="NOT_SUPPORTED"):
        backend.provider.allocate(1 << 20)
    made = [(memory.ctypes.data,) for memory in driver.memory]
    assert driver.called("cuMemFree") == made
    assert backend.device.managed_bytes == 0


def test_pinned_memory_whose_events_fail_is_given_back(driver, monkeypatch):
    context, create = CudaDevice(), driver.cuEventCreate

    def create_two(flags: int) -> tuple[object, ...]:
        if len(driver.called("cuEventCreate")) == 2:
            return bindings.CUresult.CUDA_ERROR_OUT_OF_MEMORY, None
        return create(flags)

    monkeypatch.setattr(driver, "cuEventCreate", create_two, raising=False)
    with pytest.raises(HeapError, match="cuEventCreate"):
        PinnedStaging(context, 3, 4096)
    assert sorted(driver.called("cuEventDestroy")) == [(FIRST_EVENT + 1,), (FIRST_EVENT + 2,)]
    assert driver.called("cuMemFreeHost") == [(driver.memory[0].ctypes.data,)]


@pytest.mark.parametrize(
    ("error", "expected"),
    [("CUDA_ERROR_OUT_OF_MEMORY", HeapError), ("CUDA_ERROR_NOT_SUPPORTED", BackendError)],
)
def test_driver_errors_have_words(driver, error, expected):
    answer = (getattr(bindings.CUresult, error),)
    with pytest.raises(expected, match=rf"cuSomething: pretended \({error}, \d+\)") as caught:
        CudaDevice().checked(answer, "cuSomething")
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
