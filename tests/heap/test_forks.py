"""A child that is forked while other threads launch, allocate and compile works on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.uninterrupted import BooksLock

from .invariants import check_invariants

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


class Item(oa.Object):
    number: i32

    def double(self) -> i32:
        return self.number * 2


@oa.kernel
def work(items: oa.Array[Item], rounds: i32) -> None:
    i = oa.grid(1)
    if i < len(items):
        for _ in range(rounds):
            items[i].number = items[i].double() // 2 + 1


def child_does(what: Callable[[], None]) -> None:
    """Run ``what`` in a child; it must be through within half a minute."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            what()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    end = time.monotonic() + 30
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child waits for ever")
        time.sleep(0.002)
    assert os.waitstatus_to_exitcode(ended[1]) == 0


def busy(heap: oa.Heap, stop: threading.Event, mine: Callable[[], None]) -> threading.Thread:
    def run() -> None:
        with heap:
            while not stop.is_set():
                mine()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("mode", ["auto", pytest.param("concord", marks=pytest.mark.slow)])
def test_forks_amid_everything(mode: str) -> None:
    with oa.Heap(mode, "cpu", "aos", "256MiB", 8) as heap:
        items = oa.new(Item, 2000, number=3)
        kept = oa.new(Item, 10, number=5)
        work[1](kept, 0)
        stop = threading.Event()

        def allocate() -> None:
            made = oa.new(Item, 3000, number=1)
            oa.zeros(1000, i32)
            oa.delete(made)

        def launch() -> None:
            work[2000](items, 50)

        def define() -> None:
            class Other(Item):
                def double(self) -> i32:
                    return self.number * 2

            Other.__sharedoa__.withdraw()

        threads = [busy(heap, stop, each) for each in (allocate, launch, launch, define)]

        def child() -> None:
            assert not heap.memory.launching
            if mode == "auto":
                check_invariants(heap)
            made = oa.new(Item, 100, number=2)
            work[100](made, 3)
            assert made.number.numpy().tolist() == [5] * 100
            assert kept.number.numpy().tolist() == [5] * 10
            assert (made.double().numpy() == 10).all()
            oa.delete(made)

            class Late(Item):
                def double(self) -> i32:
                    return self.number * 3

            late = oa.new(Late, 5, number=2)
            assert late.double().numpy().tolist() == [6] * 5

        try:
            for _ in range(2):
                child_does(child)
        finally:
            stop.set()
            for thread in threads:
                thread.join(30)
        assert not any(thread.is_alive() for thread in threads)


def test_a_heap_that_a_thread_holds_too_long_is_lost_in_the_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sharedoa.forks._PATIENCE_SECONDS", 0.05)
    held, stop = threading.Event(), threading.Event()
    with oa.Heap("auto", "cpu", "aos", "64MiB", 8) as heap:
        numbers = oa.array(i32, np.arange(5, dtype=np.int32))

        def hold() -> None:
            with heap.lock:
                held.set()
                stop.wait(30)

        holder = threading.Thread(target=hold, daemon=True)
        holder.start()
        held.wait(30)

        def child() -> None:
            with pytest.raises(oa.HeapError, match="forked while another thread was changing"):
                oa.new(Item, 3)
            assert numbers[4] == 4
            with oa.Heap("auto", "cpu", "aos", "64MiB", 8):
                assert oa.new(Item, 3, number=4).number.numpy().tolist() == [4] * 3

        child_does(child)
        stop.set()
        holder.join(30)
        assert type(heap.lock) is BooksLock
        assert len(oa.new(Item, 3)) == 3


def test_a_fork_within_a_launch_keeps_what_its_thread_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with oa.Heap("auto", "cpu", "aos", "64MiB", 8) as heap:
        items = oa.new(Item, 10, number=1)
        work[10](items, 1)
        program = work.program

        def child() -> None:
            assert len(heap.memory.launching) == 1
            assert program.is_launching()

        with program.lock:
            heap.memory.launching[0] = program.is_launching
            child_does(child)
            del heap.memory.launching[0]


def test_a_fork_waits_for_the_import_of_the_compiler(tmp_path: Path) -> None:
    """Else the child would wait for ever for the thread that imported it."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import os, sys, threading
import sharedoa as oa

@oa.kernel
def work(out: oa.Array[oa.i32]):
    out[0] = 5

def launch():
    out = heap.zeros(1, oa.i32)
    work[1](out)
    assert out[0] == 5

heap = oa.current_heap()
thread = threading.Thread(target=launch)
thread.start()
children = []
while thread.is_alive() and len(children) < 20:
    pid = os.fork()
    if not pid:
        import sharedoa.runtime.launch
        os._exit(7)
    children.append(pid)
thread.join()
assert all(os.waitpid(pid, 0)[1] == 7 << 8 for pid in children)
print(len(children))
"""
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and int(done.stdout) > 0, done.stderr


def test_locks_that_are_taken_in_any_order() -> None:
    locks = BooksLock(), BooksLock()
    for outer, inner in (locks, locks[::-1]):
        is_held = threading.Event()

        def nested(outer: BooksLock, inner: BooksLock, is_held: threading.Event) -> None:
            with outer:
                is_held.set()
                time.sleep(0.2)
                with inner:
                    pass

        thread = threading.Thread(target=nested, args=(outer, inner, is_held))
        thread.start()
        is_held.wait()

        def child(outer: BooksLock = outer, inner: BooksLock = inner) -> None:
            with inner, outer:
                pass

        began = time.monotonic()
        child_does(child)
        assert time.monotonic() - began < 5
        thread.join()


def test_locks_of_three_threads() -> None:
    """Each holds one lock and waits for another one, while the thread that forks takes all."""
    locks = [BooksLock() for _ in range(3)]
    stop, begun = threading.Event(), threading.Semaphore(0)

    def work(outer: BooksLock, inner: BooksLock) -> None:
        while not stop.is_set():
            with outer:
                begun.release()
                time.sleep(0.003)
                with inner:
                    pass
            time.sleep(0.003)

    def child() -> None:
        for lock in (*locks, *locks[::-1]):
            with lock:
                pass

    pairs = [(locks[0], locks[1]), (locks[1], locks[2]), (locks[0], locks[2])]
    threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in pairs]
    for thread in threads:
        thread.start()
        assert begun.acquire(timeout=10)
    try:
        for _ in range(10):
            began = time.monotonic()
            child_does(child)
            assert time.monotonic() - began < 9
    finally:
        stop.set()
        for thread in threads:
            thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
