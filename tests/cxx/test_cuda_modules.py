"""Modules of several kernels in the CUDA backend. The driver only pretends."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.cuda import CudaBackend
from sharedoa.backends.gpu_device import INDIRECT_STACK, RECURSIVE_STACK

# The module that is imported next is skipped without them.
pytest.importorskip("cuda.bindings.driver")
from ..backends.test_cuda_bookkeeping import STREAM, PretendDriver, driver  # noqa: F401


def pointed_to(parameters: int, count: int) -> list[int]:
    pointers = (ctypes.c_uint64 * count).from_address(parameters)
    return [ctypes.c_uint64.from_address(pointer).value for pointer in pointers]


def test_two_kernels_of_one_module(driver: PretendDriver):  # noqa: F811
    backend = CudaBackend()
    module = backend.load_module("ptx", recursive=False)
    first = backend.kernel(module, "first", words=(0, 1, 4))
    second = backend.kernel(module, "_Z6secondv", words=(), name="second")
    assert len(driver.called("cuModuleLoadDataEx")) == 1
    slots = (ctypes.c_uint64 * 5)(7, 8, 0, 0, 9)
    launches = (
        KernelLaunch(first, (1000, 3), (64, 1), slots, 3),
        KernelLaunch(second, (1000, 3), (64, 1), (ctypes.c_uint64 * 1)(), 0),
    )
    starts = [backend.prepare(launch) for launch in launches]
    for start in starts:
        start()
    assert pointed_to(driver.called("cuLaunchKernel")[0][9], 3) == [7, 8, 9]
    assert list(slots) == [7, 8, 0, 0, 9]
    assert list(backend.device.launched) == ["first", "second"]
    for words in ([1] * 16, [1] * 16, [2] * 16):
        backend.set_module_state(module, words)
    assert len(driver.called("cuMemcpyHtoDAsync")) == 2
    del module, first, launches, starts, start
    assert not driver.called("cuModuleUnload")
    del second
    assert driver.called("cuModuleUnload") == [("module",)]


def test_stack(driver: PretendDriver):  # noqa: F811
    backend = CudaBackend()
    backend.load_module("ptx", recursive=False)
    assert driver.limits["STACK_SIZE"] == 1024
    backend.load_module(".callprototype", recursive=False)
    assert driver.limits["STACK_SIZE"] == INDIRECT_STACK
    backend.load_module("ptx", recursive=True)
    assert driver.limits["STACK_SIZE"] == RECURSIVE_STACK


def test_variables_are_read_whole(driver: PretendDriver):  # noqa: F811
    backend = CudaBackend()
    module = backend.load_module("ptx", recursive=False)
    assert backend.read_global(module, "sharedoa_vtables") == bytes(128)
    ((target, source, size, stream),) = driver.called("cuMemcpyDtoHAsync")
    assert (source, size, stream) == (0x5000, 128, STREAM)


def test_it_is_imported_only_when_asked_for():
    code = "import sharedoa, sys; print('sharedoa.cxx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
