"""What only the CUDA backend has; needs a device."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from llvmlite import ir

from sharedoa.backends import Backend
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.cuda_device import cuda_device
from sharedoa.errors import ArgumentError, HeapError, InternalError
from sharedoa.targets.base import F64, I64

from ..targets.hand_written import kernel_text, place, store_coordinates
from .launching import Launcher, address_of, shared_words

pytestmark = pytest.mark.gpu


def test_attributes(cuda_backend: Backend):
    kernel = Launcher(cuda_backend, store_coordinates)
    found = cuda_backend.attributes(kernel.handle)
    assert found["registers"] > 0
    assert found["stack"] == 0
    assert found["max_threads"] == 1024


def test_slabs_are_zero_and_counted(cuda_backend: Backend):
    context = cuda_device(0)
    before = context.managed_bytes
    slab = cuda_backend.provider.allocate(64 << 20)
    assert not slab.memory.any()
    assert slab.memory.nbytes == 64 << 20
    assert context.managed_bytes == before + (64 << 20)
    cuda_backend.provider.free(slab)
    assert context.managed_bytes == before


def test_more_than_the_card_has_is_refused(cuda_backend: Backend):
    with pytest.raises(HeapError, match="managed memory were asked for"):
        cuda_backend.provider.allocate(cuda_backend.free_memory() + (1 << 30))
    slab = cuda_backend.provider.allocate(1 << 20)
    cuda_backend.provider.free(slab)


def test_prefetch_both_ways_keeps_the_data(cuda_backend: Backend):
    words = shared_words(cuda_backend, np.arange(1 << 20))
    for to_device in (True, False, True):
        cuda_backend.prefetch(address_of(words), words.nbytes, to_device)
    cuda_backend.synchronize()
    np.testing.assert_array_equal(words, np.arange(1 << 20))


def test_deep_recursion_has_the_stack_it_needs(cuda_backend: Backend):
    def emit(target, builder, leaves, thread):
        function = ir.Function(builder.module, ir.FunctionType(F64, [F64]), "recursive")
        function.linkage = "internal"
        function.attributes.add("noinline")
        inside = ir.IRBuilder(function.append_basic_block())
        (depth,) = function.args
        with inside.if_then(inside.fcmp_ordered("<", depth, F64(1.0))):
            inside.ret(F64(0.0))
        below = inside.call(function, [inside.fsub(depth, F64(1.0))])
        inside.ret(inside.fadd(inside.fmul(below, F64(0.5)), depth))
        result = builder.call(function, [F64(100.0)])
        builder.store(result, place(target, builder, leaves[0], thread[0], F64))

    out = shared_words(cuda_backend, np.zeros(4096))
    Launcher(cuda_backend, emit, recursive=True)(address_of(out), threads=4096)
    expected = 0.0
    for depth in range(1, 101):
        expected = expected * 0.5 + depth
    np.testing.assert_allclose(out.view(np.float64), expected, rtol=1e-12)


def test_a_block_too_large_is_refused(cuda_backend: Backend):
    kernel = Launcher(cuda_backend, store_coordinates)
    with pytest.raises(ArgumentError, match="at most 1024 fit"):
        kernel(0, threads=4096, block=(64, 32))
    with pytest.raises(ArgumentError, match="launch several times"):
        kernel(0, threads=(1, 1 << 20), block=(1, 1))


def test_broken_ptx_shows_the_drivers_words(cuda_backend: Backend):
    stages = cuda_backend.target.compile(kernel_text(cuda_backend.target, store_coordinates))
    ptx = stages["ptx"]
    assert isinstance(ptx, str)
    broken = {**stages, "ptx": ptx.replace("mad.lo.s32", "mad.wrong.s32")}
    with pytest.raises(InternalError, match=r"(?s)refuses the PTX of a kernel: .*mad"):
        cuda_backend.load("kernel", broken, False, False)


def test_print(cuda_backend: Backend, capfd):
    def emit(target, builder, leaves, thread):
        truth = builder.icmp_signed("==", thread[0], I64(0))
        half = builder.sitofp(thread[0], F64)
        target.emit_print(builder, ["100% ", thread[0], " ", half, " ", truth, "\n"])

    print("before")
    Launcher(cuda_backend, emit)(0, threads=1)
    print("after", flush=True)
    assert capfd.readouterr().out == "before\n100% 0 0 True\nafter\n"


def test_threads_launch_what_another_has_prepared(cuda_backend: Backend):
    """Where nobody has made the context current, too."""
    out = shared_words(cuda_backend, np.full(256, -1))
    kernel = Launcher(cuda_backend, store_coordinates)
    kernel.slots[0] = address_of(out)
    start = cuda_backend.prepare(KernelLaunch(kernel.handle, (256, 1), (64, 1), kernel.slots, 1))
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert list(cuda_device(0).launched) == ["kernel"]
    cuda_backend.synchronize()
    np.testing.assert_array_equal(out, np.arange(256))
