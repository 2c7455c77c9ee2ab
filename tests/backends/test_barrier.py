"""Barriers: what a block wrote before one is seen after it, also where threads have returned."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from sharedoa.backends import Backend, together
from sharedoa.errors import BackendError
from sharedoa.targets.base import I64

from ..no_threads import no_thread_begins
from ..targets.hand_written import place
from .launching import Launcher, address_of, shared_words


def rotate(rounds: int, leave_after: int | None = None):
    """Each round every thread of a block of 32 takes its right neighbour's word. Threads at or
    above ``leave_after`` return before the first barrier."""

    def emit(target, builder, leaves, thread):
        x = thread[0]
        if leave_after is not None:
            with builder.if_then(builder.icmp_unsigned(">=", x, I64(leave_after))):
                builder.ret_void()
        first = builder.and_(x, I64(~31))
        neighbour = builder.or_(first, builder.and_(builder.add(x, I64(1)), I64(31)))
        for _ in range(rounds):
            value = builder.load(place(target, builder, leaves[0], neighbour))
            target.emit_barrier(builder)
            builder.store(value, place(target, builder, leaves[0], x))
            target.emit_barrier(builder)

    return emit


@pytest.mark.parametrize("blocks", [1, 5])
def test_rotation(backend: Backend, blocks: int):
    words = shared_words(backend, np.arange(32 * blocks))
    kernel = Launcher(backend, rotate(rounds=3), uses_barrier=True)
    kernel(address_of(words), threads=32 * blocks, block=(32, 1))
    expected = np.roll(np.arange(32 * blocks).reshape(blocks, 32), -3, axis=1)
    np.testing.assert_array_equal(words.reshape(blocks, 32), expected)


def test_threads_that_return_early_count_as_arrived(backend: Backend):
    words = shared_words(backend, np.arange(32))
    kernel = Launcher(backend, rotate(rounds=1, leave_after=20), uses_barrier=True)
    kernel(address_of(words), threads=32, block=(32, 1))
    np.testing.assert_array_equal(words, [*range(1, 21), *range(20, 32)])


def test_a_block_that_sticks_out_of_the_grid(backend: Backend):
    words = shared_words(backend, np.arange(64))
    kernel = Launcher(backend, rotate(rounds=1), uses_barrier=True)
    kernel(address_of(words), threads=40, block=(32, 1))
    np.testing.assert_array_equal(words[:32], np.roll(np.arange(32), -1))
    np.testing.assert_array_equal(words[32:40], np.arange(33, 41))


def test_two_dimensional_blocks(backend: Backend):
    """Every thread reads what the thread with swapped coordinates of its 4 x 4 block wrote."""

    def emit(target, builder, leaves, thread):
        x, y, nx, _ = thread

        def at(column, row):
            return place(target, builder, leaves[0], builder.add(builder.mul(row, nx), column))

        builder.store(builder.add(builder.mul(y, I64(100)), x), at(x, y))
        target.emit_barrier(builder)
        left, top = builder.and_(x, I64(~3)), builder.and_(y, I64(~3))
        column = builder.or_(left, builder.and_(y, I64(3)))
        row = builder.or_(top, builder.and_(x, I64(3)))
        other = builder.load(at(column, row))
        target.emit_barrier(builder)
        builder.store(other, at(x, y))

    words = shared_words(backend, np.zeros(8 * 8))
    kernel = Launcher(backend, emit, uses_barrier=True)
    kernel(address_of(words), threads=(8, 8), block=(4, 4))
    grid = 100 * np.arange(8)[:, None] + np.arange(8)
    tiles = grid.reshape(2, 4, 2, 4).transpose(0, 3, 2, 1).reshape(8, 8)
    np.testing.assert_array_equal(words.reshape(8, 8), tiles)


def test_a_thread_without_memory_to_begin() -> None:
    with no_thread_begins(), pytest.raises(BackendError, match="smaller block"):
        together.run_together(lambda number: None, 2, lambda threads: None)


def test_too_few_threads_is_an_error_not_a_hang(cpu_backend: Backend, monkeypatch):
    started: list[threading.Thread] = []

    class FewThreads(together.OwnThread):
        def start(self) -> None:
            if len(started) == 5:
                raise RuntimeError("can't start new thread")
            started.append(self)
            super().start()

    words = shared_words(cpu_backend, np.arange(32))
    kernel = Launcher(cpu_backend, rotate(rounds=1), uses_barrier=True)
    monkeypatch.setattr(together, "OwnThread", FewThreads)
    with pytest.raises(BackendError, match="smaller block"):
        kernel(address_of(words), threads=32, block=(32, 1))
    np.testing.assert_array_equal(words, np.arange(32))
    assert not any(thread.is_alive() for thread in started)


def test_what_comes_amid_a_block_is_refused(cpu_backend: Backend, monkeypatch):
    """A handler of signals that launched another one waited for ever; what it raises is that."""
    words = shared_words(cpu_backend, np.arange(32))
    kernel = Launcher(cpu_backend, rotate(rounds=3), uses_barrier=True)
    join = threading.Thread.join

    def interrupted(thread):
        monkeypatch.setattr(threading.Thread, "join", join)
        kernel(address_of(words), threads=32, block=(32, 1))

    said: list[str] = []
    has_ended = threading.Event()

    def launch():
        try:
            kernel(address_of(words), threads=32, block=(32, 1))
        except BackendError as error:
            said.append(str(error))
        has_ended.set()

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    threading.Thread(target=launch, daemon=True).start()
    assert has_ended.wait(20) and "amid another one of the same thread" in said[0]
    words[:] = range(32)
    kernel(address_of(words), threads=32, block=(32, 1))
    np.testing.assert_array_equal(words, np.roll(np.arange(32), -3))


def test_what_a_handler_raises_is_no_lack_of_threads(monkeypatch):
    """It is raised when the threads have ended, which they are told to."""
    is_cancelled, join = threading.Event(), threading.Thread.join
    ended: list[int] = []

    def member(number: int) -> None:
        assert is_cancelled.wait(20)
        ended.append(number)

    def interrupted(thread):
        monkeypatch.setattr(threading.Thread, "join", join)
        raise RuntimeError("of a handler")

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(RuntimeError, match=r"^of a handler$"):
        together.run_together(member, 3, lambda threads: is_cancelled.set())
    assert sorted(ended) == [0, 1, 2]
