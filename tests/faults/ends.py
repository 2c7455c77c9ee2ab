"""How programs end: status, last words, what is left behind."""

from __future__ import annotations

from .catalogue import CPU, case
from .programs import program
from .verdicts import Unclear

_HEAD = """
import sys, os
import numpy as np
import sharedoa as oa
from sharedoa import i32, i64

class A(oa.Object):
    x: i32
    next: "A"

@oa.kernel
def wrong(out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = i
    assert i < 5

@oa.kernel
def good(out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = i
out = oa.zeros(10, i32)
"""


@case()
def failed_assert_in_the_last_launch() -> None:
    """An assert fails in the last launch of a program, which nobody waits for."""
    program(_HEAD + "wrong[10](out)\n").refused("assert", traceback=True)


@case()
def failed_assert_of_a_dropped_heap() -> None:
    """An assert fails in a heap that goes before anybody waits for it."""
    program(
        _HEAD
        + """
heap = oa.Heap()
heap.__enter__()
wrong[10](oa.zeros(10, i32))
heap.__exit__(ValueError, ValueError(), None)
del heap
"""
    ).refused("assert", traceback=True)


@case()
def failed_assert_that_was_told() -> None:
    """A failed assert that the program has caught does not fail its end."""
    program(
        _HEAD
        + """
wrong[10](out)
try:
    oa.synchronize()
except oa.DeviceError:
    print("caught")
"""
    ).well("caught")


@case()
def failed_assert_before_an_exit() -> None:
    """``sys.exit(0)`` behind a launch that failed, and ``sys.exit(3)``, which nobody can know when
    the failure is found: Python has one status of its own for what goes wrong as it ends."""
    program(_HEAD + "wrong[10](out)\nsys.exit(0)\n").refused("assert", traceback=True, status=120)
    program(_HEAD + "wrong[10](out)\nsys.exit(3)\n").refused("assert", traceback=True, status=120)


@case()
def exception_in_a_heap_with_a_failed_launch() -> None:
    """The program's own exception is not hidden by that of a launch."""
    program(
        _HEAD
        + """
with oa.Heap():
    wrong[10](oa.zeros(10, i32))
    raise ValueError("my own mistake")
"""
    ).refused("my own mistake", traceback=True)


@case(sample=True)
def plain_end() -> None:
    """A program with heaps, kernels, captures and views ends without a word."""
    ended = program(
        _HEAD
        + """
good[10](out)
many = oa.new(A, 100, x=1)
view = many.x
with oa.capture() as step:
    good[10](out)
step.run(2)
other = oa.Heap()
kept = other.new(A, 5)
print("good")
"""
    ).well("good")
    if ended.err:
        raise Unclear(f"it said: {ended.err[:500]}")


@case()
def end_in_a_block() -> None:
    """A program ends inside ``with oa.Heap()`` and inside a capture."""
    for text in ("with oa.Heap():\n    sys.exit(5)\n", "with oa.capture():\n    sys.exit(5)\n"):
        ended = program(_HEAD + text)
        if ended.status != 5 or ended.err:
            raise Unclear(f"status {ended.status}: {ended.err[:500]}")


@case()
def heap_used_by_an_exit_handler() -> None:
    """``atexit`` launches kernels."""
    program(
        _HEAD
        + """
import atexit
@atexit.register
def last():
    good[10](out)
    print("sum", out.numpy().sum())
good[10](out)
"""
    ).well("sum 45")


@case()
def heap_used_by_a_destructor() -> None:
    """``__del__`` of a global reads objects while the interpreter goes down."""
    ended = program(
        _HEAD
        + """
class Last:
    def __init__(self):
        self.many = oa.new(A, 10, x=3)
    def __del__(self):
        print("sum", int(self.many.x.numpy().sum()), flush=True)
last = Last()
"""
    )
    # Modules may be gone by then, which Python says; the process ends by itself.
    ended.err = ""
    ended.well()


@case(backends=CPU)
def daemon_thread_at_the_end() -> None:
    """A daemon thread launches while the program ends."""
    for _ in range(3):
        program(
            _HEAD
            + """
import threading, time
heap = oa.current_heap()
good[10](out)
def busy():
    with heap:
        while True:
            good[10](out)
threading.Thread(target=busy, daemon=True).start()
time.sleep(0.05)
print("good")
"""
        ).well("good")


@case(backends=CPU)
def long_launch_of_a_daemon_thread_at_the_end() -> None:
    """A daemon thread is in a launch of many seconds when the program ends."""
    program(
        _HEAD
        + """
import threading, time
@oa.kernel
def slow(out: oa.Array[i64], rounds: i64):
    i = oa.grid(1)
    seed = i64(i)
    for _ in range(rounds):
        seed = seed * 6364136223846793005 + 1442695040888963407
    out[i] = seed
heap = oa.current_heap()
much = oa.zeros(100_000, i64)
slow[100_000](much, 1)
def busy():
    with heap:
        slow[100_000](much, 1_000_000)
threading.Thread(target=busy, daemon=True).start()
time.sleep(0.2)
print("good")
""",
        seconds=15,
    ).well("good")


@case()
def many_heaps() -> None:
    """A thousand heaps are made and dropped."""
    program(
        _HEAD
        + """
for n in range(1000):
    with oa.Heap(capacity="64MiB"):
        oa.new(A, 3, x=n)
print("good")
"""
    ).well("good")


@case()
def cycle_of_garbage() -> None:
    """Heaps, arrays and proxies in cycles are collected while others work."""
    program(
        _HEAD
        + """
import gc
class Box: pass
for n in range(200):
    box = Box()
    box.heap = oa.Heap(capacity="64MiB")
    box.many = box.heap.new(A, 100, x=n)
    box.view = box.many.x
    box.box = box
    if n % 20 == 0:
        gc.collect()
        good[10](out)
gc.collect()
assert out.numpy().tolist() == list(range(10))
print("good")
"""
    ).well("good")


@case(backends=CPU)
def imported_and_unused() -> None:
    """Importing alone starts no thread, makes no file, opens no device."""
    program(
        """
import os, sys, threading
before = set(os.listdir("."))
import sharedoa
assert threading.active_count() == 1
assert len(os.listdir("/proc/self/task")) == 1, os.listdir("/proc/self/task")
assert set(os.listdir(".")) == before
print("good")
""",
        OPENBLAS_NUM_THREADS="1",
    ).well("good")
