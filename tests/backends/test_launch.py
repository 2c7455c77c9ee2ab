"""Launches: every thread runs once with its own index, on every backend."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from dispatch import state as state_block
from sharedoa.backends import Backend, thread_pool
from sharedoa.targets.base import F64, I32, I64

from ..source_files import environment
from ..targets.hand_written import place, store_coordinates
from .launching import Launcher, address_of, shared_words


@pytest.mark.parametrize(
    ("threads", "block"),
    [
        ((1, 1), (64, 1)),
        ((64, 1), (64, 1)),
        ((65, 1), (64, 1)),
        ((1000, 1), (128, 1)),
        ((33, 17), (8, 4)),
        ((1, 100), (1, 32)),
        ((300_000, 1), (256, 1)),
        ((500, 600), (16, 16)),
    ],
)
def test_every_thread_runs_once(backend: Backend, threads, block):
    nx, ny = threads
    out = shared_words(backend, np.full(nx * ny, -1))
    kernel = Launcher(backend, store_coordinates)
    kernel(address_of(out), threads=threads, block=block)
    expected = 1_000_000 * np.arange(ny)[:, None] + np.arange(nx)
    np.testing.assert_array_equal(out.reshape(ny, nx), expected)


@pytest.mark.parametrize("threads", [(0, 1), (5, 0), (0, 0)])
def test_no_threads_is_no_launch(backend: Backend, threads):
    out = shared_words(backend, [-1])
    Launcher(backend, store_coordinates)(address_of(out), threads=threads)
    assert out[0] == -1


def test_launches_see_what_earlier_ones_wrote(backend: Backend):
    def emit(target, builder, leaves, thread):
        pointer = place(target, builder, leaves[0], thread[0])
        builder.store(builder.mul(builder.load(pointer), I64(3)), pointer)

    words = shared_words(backend, np.arange(5000))
    kernel = Launcher(backend, emit)
    for _ in range(4):
        kernel(address_of(words), threads=5000)
    np.testing.assert_array_equal(words, np.arange(5000) * 81)


def test_the_same_slots_with_another_size_and_block(backend: Backend):
    kernel = Launcher(backend, store_coordinates)
    out = shared_words(backend, np.full(100, -1))
    kernel(address_of(out), threads=10)
    kernel(address_of(out), threads=(5, 4), block=(5, 2))
    np.testing.assert_array_equal(
        out[:20].reshape(4, 5), 1_000_000 * np.arange(4)[:, None] + np.arange(5)
    )
    kernel(address_of(out), threads=10)
    np.testing.assert_array_equal(out[:10], np.arange(10))


def test_kernels_with_the_same_slots_run_threads_of_their_own(backend: Backend):
    first, second = (Launcher(backend, store_coordinates) for _ in range(2))
    second.slots = first.slots
    for _ in range(2):
        for kernel, threads in ((first, 100), (second, 10)):
            out = shared_words(backend, np.full(200, -1))
            kernel(address_of(out), threads=threads)
            expected = np.where(np.arange(200) < threads, np.arange(200), -1)
            np.testing.assert_array_equal(out, expected)


def test_other_slots_are_read(backend: Backend):
    kernel = Launcher(backend, store_coordinates)
    for _ in range(3):
        out = shared_words(backend, np.full(100, -1))
        kernel.slots = (ctypes.c_uint64 * 1)()
        kernel(address_of(out), threads=100)
        np.testing.assert_array_equal(out, np.arange(100))


def test_atomic_additions_are_not_lost(backend: Backend):
    def emit(target, builder, leaves, thread):
        builder.atomic_rmw("add", place(target, builder, leaves[0], I64(0)), I64(1), "monotonic")

    total = shared_words(backend, [0])
    Launcher(backend, emit)(address_of(total), threads=200_000, block=(256, 1))
    assert total[0] == 200_000


def test_parallel_equals_sequential(cpu_backend: Backend):
    def emit(target, builder, leaves, thread):
        value = builder.uitofp(thread[0], F64)
        for name in ("sin", "exp", "sqrt"):
            value = target.emit_math(builder, name, [value])
        builder.store(value, place(target, builder, leaves[0], thread[0], F64))

    results = []
    for debug in (False, True):
        out = shared_words(cpu_backend, np.zeros(100_000))
        Launcher(cpu_backend, emit, debug=debug)(address_of(out), threads=100_000)
        results.append(out.copy())
    np.testing.assert_array_equal(*results)
    assert np.count_nonzero(results[0]) > 90_000


def test_debug_runs_threads_in_order_and_knows_them(cpu_backend: Backend):
    """Each thread takes a number from a counter that only an order makes equal to its index."""

    def emit(target, builder, leaves, thread):
        counter = place(target, builder, leaves[0], I64(0))
        number = builder.load(counter)
        builder.store(builder.add(number, I64(1)), counter)
        out = builder.add(leaves[0], I64(8))
        triple = builder.mul(number, I64(3))
        known = [target.emit_current_thread(builder, axis) for axis in (0, 1)]
        for position, value in enumerate((thread[0], *known)):
            index = builder.add(triple, I64(position))
            builder.store(value, place(target, builder, out, index))

    words = shared_words(cpu_backend, np.zeros(1 + 3 * 6000))
    Launcher(cpu_backend, emit, debug=True)(address_of(words), threads=(2000, 3))
    x, known_x, known_y = words[1:].reshape(-1, 3).T
    np.testing.assert_array_equal(x, np.tile(np.arange(2000), 3))
    np.testing.assert_array_equal(known_x, x)
    np.testing.assert_array_equal(known_y, np.repeat(np.arange(3), 2000))


def store_state_and_thread(target, builder, leaves, thread):
    block = state_block.state_block(builder.module, target.constant_space)
    for index in range(state_block.WORDS):
        value = builder.load(builder.gep(block, [I32(0), I32(index)]))
        builder.store(value, place(target, builder, leaves[0], I64(index)))


def test_state_reaches_the_module(backend: Backend):
    out = shared_words(backend, np.zeros(state_block.WORDS))
    kernel = Launcher(backend, store_state_and_thread)
    for words in (list(range(100, 116)), list(range(100, 116)), [(1 << 62) + 5] * 16):
        backend.set_state(kernel.handle, words)
        kernel(address_of(out), threads=1)
        kept = [n for n in range(16) if n not in (state_block.THREAD_X, state_block.THREAD_Y)]
        assert [out[n] for n in kept] == [words[n] for n in kept]


def test_modules_have_their_own_state(backend: Backend):
    out = shared_words(backend, np.zeros(state_block.WORDS))
    first, second = (Launcher(backend, store_state_and_thread) for _ in range(2))
    backend.set_state(first.handle, [1] * 16)
    backend.set_state(second.handle, [2] * 16)
    first(address_of(out), threads=1)
    assert out[0] == 1
    second(address_of(out), threads=1)
    assert out[0] == 2


def test_print_keeps_its_place_in_the_output(cpu_backend: Backend, capsys):
    def emit(target, builder, leaves, thread):
        odd = builder.trunc(thread[0], I32(0).type)
        truth = builder.icmp_signed("==", builder.and_(odd, I32(1)), I32(1))
        half = builder.fmul(builder.sitofp(thread[0], F64), F64(0.5))
        target.emit_print(builder, ["é 100% ", thread[0], " ", half, " ", truth, "\n"])

    kernel = Launcher(cpu_backend, emit, debug=True)
    print("before")
    kernel(0, threads=2)
    print("after")
    assert capsys.readouterr().out == "before\né 100% 0 0.0 False\né 100% 1 0.5 True\nafter\n"


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_any_number_of_workers(cpu_backend: Backend, monkeypatch, workers: int):
    """Long threads, so that even few of them are shared out."""

    def emit(target, builder, leaves, thread):
        value = builder.uitofp(thread[0], F64)
        for _ in range(100):
            value = target.emit_math(builder, "sin", [value])
        builder.store(value, place(target, builder, leaves[0], thread[0], F64))

    def run() -> np.ndarray:
        out = shared_words(cpu_backend, np.zeros(20_000))
        Launcher(cpu_backend, emit)(address_of(out), threads=20_000)
        return out.copy()

    expected = run()
    monkeypatch.setattr(thread_pool, "worker_count", lambda: workers)
    thread_pool._pool.cache_clear()
    try:
        np.testing.assert_array_equal(run(), expected)
    finally:
        thread_pool._pool.cache_clear()


def test_few_long_threads_are_shared_out(cpu_backend: Backend, monkeypatch):
    shared = []
    monkeypatch.setattr(thread_pool, "worker_count", lambda: 2)
    original = thread_pool._share

    def note_and_share(*arguments):
        shared.append(arguments)
        original(*arguments)

    monkeypatch.setattr(thread_pool, "_share", note_and_share)

    def emit(target, builder, leaves, thread):
        pointer = place(target, builder, leaves[0], thread[0])
        loop, done = (builder.append_basic_block(name) for name in ("loop", "done"))
        before = builder.block
        builder.branch(loop)
        builder.position_at_end(loop)
        count, value = builder.phi(I64), builder.phi(I64)
        following = builder.add(count, I64(1))
        mixed = builder.add(builder.mul(value, I64(6364136223846793005)), thread[0])
        for phi, start, next_value in ((count, I64(0), following), (value, I64(1), mixed)):
            phi.add_incoming(start, before)
            phi.add_incoming(next_value, loop)
        builder.cbranch(builder.icmp_signed("<", following, I64(1_000_000)), loop, done)
        builder.position_at_end(done)
        builder.store(mixed, pointer)

    out = shared_words(cpu_backend, np.zeros(8))
    Launcher(cpu_backend, emit)(address_of(out), threads=8)
    assert len(shared) == 1
    assert len(np.unique(out)) == 8


def uneven(target, builder, leaves, thread):
    """Threads of very different length: one in 97 takes thousands of times as long as the rest."""
    x, y, nx, _ = thread
    linear = builder.add(builder.mul(y, nx), x)
    pointer = place(target, builder, leaves[0], linear)
    loop, done = (builder.append_basic_block(name) for name in ("loop", "done"))
    is_long = builder.icmp_unsigned("==", builder.urem(linear, I64(97)), I64(0))
    rounds = builder.select(is_long, I64(3000), I64(1))
    before = builder.block
    builder.branch(loop)
    builder.position_at_end(loop)
    count, value = builder.phi(I64), builder.phi(I64)
    following = builder.add(count, I64(1))
    mixed = builder.add(builder.mul(value, I64(6364136223846793005)), linear)
    for phi, start, next_value in ((count, I64(0), following), (value, I64(1), mixed)):
        phi.add_incoming(start, before)
        phi.add_incoming(next_value, loop)
    builder.cbranch(builder.icmp_signed("<", following, rounds), loop, done)
    builder.position_at_end(done)
    builder.store(builder.add(builder.load(pointer), mixed), pointer)


@pytest.mark.parametrize("waking", [-1.0, 40e-6, 1e9])
@pytest.mark.parametrize("threads", [1, 2, 65, 4161, 30_000, (173, 29)])
def test_results_do_not_depend_on_who_is_woken(cpu_backend: Backend, monkeypatch, waking, threads):
    nx, ny = threads if isinstance(threads, tuple) else (threads, 1)
    expected = shared_words(cpu_backend, np.zeros(nx * ny))
    Launcher(cpu_backend, uneven, debug=True)(address_of(expected), threads=threads)
    monkeypatch.setattr(thread_pool, "WAKING_SECONDS", waking)
    monkeypatch.setattr(thread_pool, "worker_count", lambda: 3)
    thread_pool._pool.cache_clear()
    found = shared_words(cpu_backend, np.zeros(nx * ny))
    # Each thread adds to what it finds, so that running one twice shows.
    Launcher(cpu_backend, uneven)(address_of(found), threads=threads)
    thread_pool._pool.cache_clear()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("microseconds", "is_shared"), [(1, False), (100, True)])
def test_workers_are_woken_for_what_takes_long(
    cpu_backend: Backend, monkeypatch, microseconds, is_shared
):
    """By a clock on which every piece of a launch takes as long."""
    shared = []

    def share(launch, first, chunk, total):
        shared.append(first)
        thread_pool.run_alone(launch, first, total)

    monkeypatch.setattr(thread_pool, "worker_count", lambda: 4)
    monkeypatch.setattr(thread_pool, "_share", share)
    readings = itertools.count()
    monkeypatch.setattr(thread_pool, "perf_counter", lambda: next(readings) * microseconds * 1e-6)
    out = shared_words(cpu_backend, np.full(64, -1))
    Launcher(cpu_backend, store_coordinates)(address_of(out), threads=64)
    np.testing.assert_array_equal(out, np.arange(64))
    assert shared == ([1] if is_shared else [])


@pytest.mark.parametrize("threads", [1, thread_pool.FIRST_ALONE, thread_pool.FIRST_ALONE + 1, 5000])
def test_on_one_core(cpu_backend: Backend, monkeypatch, threads):
    monkeypatch.setattr(thread_pool, "worker_count", lambda: 1)
    found = shared_words(cpu_backend, np.full(threads, -1))
    Launcher(cpu_backend, store_coordinates)(address_of(found), threads=threads)
    np.testing.assert_array_equal(found, np.arange(threads))


def test_on_one_core_short_launches_are_one_piece(monkeypatch):
    """Until one takes long: then they can be interrupted again, after as many threads as took no
    longer than a piece."""
    pieces = []
    piece = thread_pool.PIECE_SECONDS
    seconds = iter([0, 1e-3, 0, 1e-6, 0, 3.3 * piece, 0, 1e-3, 0, 1e-6])
    monkeypatch.setattr(thread_pool, "worker_count", lambda: 1)
    monkeypatch.setattr(thread_pool, "perf_counter", lambda: next(seconds))
    monkeypatch.setattr(thread_pool, "run_alone", lambda *_: None)
    run = lambda launch, begin, end: pieces.append(end)
    monkeypatch.setattr(thread_pool, "launch_guard", lambda: SimpleNamespace(run=run))
    start = thread_pool.parallel(b"", 2000, pytest.fail)
    for _ in range(5):
        start()
    few = thread_pool.FIRST_ALONE
    assert pieces == [few, few, 2000, 606, few]


def test_launches_of_several_python_threads(cpu_backend: Backend, monkeypatch):
    monkeypatch.setattr(thread_pool, "worker_count", lambda: 2)
    count, times = 20_000, 5
    outs = [shared_words(cpu_backend, np.zeros(count)) for _ in range(4)]
    kernels = [Launcher(cpu_backend, uneven) for _ in outs]
    expected = shared_words(cpu_backend, np.zeros(count))
    Launcher(cpu_backend, uneven, debug=True)(address_of(expected), threads=count)

    def launch(number: int) -> None:
        for _ in range(times):
            kernels[number](address_of(outs[number]), threads=count)

    with ThreadPoolExecutor(len(outs)) as pool:
        list(pool.map(launch, range(len(outs))))
    for out in outs:
        np.testing.assert_array_equal(out, expected * times)


_FORKING = """
import os
import numpy as np
import sharedoa as oa
from sharedoa import i64
from sharedoa.backends import thread_pool

thread_pool.worker_count = lambda: 2
thread_pool.WAKING_SECONDS = -1.0

@oa.kernel
def double(a: oa.Array[i64]) -> None:
    i = oa.grid(1)
    a[i] = a[i] * 2

with oa.Heap(backend="cpu") as heap:
    numbers = heap.array(i64, np.arange(1_000_000))
    double[len(numbers)](numbers)
    assert thread_pool._pool.is_made
    child = os.fork()
    double[len(numbers)](numbers)
    right = np.array_equal(numbers.numpy(), np.arange(1_000_000) * 4)
    if child == 0:
        os._exit(0 if right else 1)
    assert right and os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_process_has_workers_of_its_own(tmp_path):
    program = tmp_path / "forking.py"
    program.write_text(_FORKING)
    command = [sys.executable, "-W", "ignore", str(program)]
    subprocess.run(command, check=True, timeout=60, env=environment())
