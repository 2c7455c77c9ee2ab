"""Processes that fork: what the child has, and what it is told."""

from __future__ import annotations

from .catalogue import CPU, case
from .programs import program
from .verdicts import Hang

_HEAD = """
import os, sys, threading, time
import numpy as np
import sharedoa as oa
from sharedoa import i32, i64

class A(oa.Object):
    x: i32
    def get(self) -> i32:
        return self.x

@oa.kernel
def add(many: oa.Array[A], n: i32):
    i = oa.grid(1)
    many[i].x += n

@oa.kernel
def slow(out: oa.Array[i64], rounds: i64):
    i = oa.grid(1)
    seed = i64(i)
    for _ in range(rounds):
        seed = seed * 6364136223846793005 + 1442695040888963407
    out[i] = seed

def child(work):
    pid = os.fork()
    if pid == 0:
        status = 9
        try:
            work()
            status = 0
        except oa.SharedOAError as error:
            print("told:", error, flush=True)
            status = 7
        finally:
            sys.stdout.flush()
            os._exit(status)
    for _ in range(2000):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            if code not in (0, 7):
                print("child ended with", code, flush=True)
                os._exit(3)
            return code
        time.sleep(0.01)
    os.kill(pid, 9)
    print("the child hangs", flush=True)
    os._exit(4)
"""

_WORK = """
def work():
    many = oa.new(A, 1000, x=1)
    add[1000](many, 2)
    assert (many.x.numpy() == 3).all()
    assert (many.get().numpy() == 3).all()
    oa.delete(many)
"""


def run(text: str) -> None:
    ended = program(_HEAD + _WORK + text, seconds=80)
    if "the child hangs" in ended.out:
        raise Hang("a child does not end")
    ended.well("good")


@case(backends=CPU, limit=100, sample=True)
def before_the_first_use() -> None:
    """A child makes the first heap."""
    run("child(work); work(); print('good')")


@case(backends=CPU, limit=100)
def after_launches() -> None:
    """A child goes on where the parent was, and neither sees the other."""
    run(
        """
many = oa.new(A, 100_000, x=1)
add[100_000](many, 1)
def more():
    work()
    add[100_000](many, 5)
    assert (many.x.numpy() == 7).all()
child(more)
assert (many.x.numpy() == 2).all()
work()
print('good')
"""
    )


@case(backends=CPU, limit=100)
def while_a_thread_launches() -> None:
    """Forks, ten of them, while another thread launches all the time."""
    run(
        """
many = oa.new(A, 200_000, x=0)
out = oa.zeros(64, i64)
heap = oa.current_heap()
stop = False
def busy():
    with heap:
        while not stop:
            slow[64](out, 20_000)
            add[200_000](many, 1)
thread = threading.Thread(target=busy)
thread.start()
for _ in range(10):
    child(work)
stop = True
thread.join()
work()
print('good')
"""
    )


@case(backends=CPU, limit=100)
def while_a_thread_allocates() -> None:
    """Forks while another thread makes and deletes objects all the time."""
    run(
        """
heap = oa.current_heap()
work()
stop = False
def busy():
    with heap:
        while not stop:
            oa.delete(oa.new(A, 100, x=1))
            oa.zeros(1000, i32)
thread = threading.Thread(target=busy)
thread.start()
for _ in range(10):
    child(work)
stop = True
thread.join()
print('good')
"""
    )


@case(backends=CPU, limit=100)
def while_a_thread_compiles() -> None:
    """Forks while another thread compiles kernels."""
    run(
        """
def make(n):
    @oa.kernel
    def k(out: oa.Array[i32]):
        out[oa.grid(1)] = n
    return k
heap = oa.current_heap()
out = oa.zeros(10, i32)
stop = False
def busy():
    n = 0
    with heap:
        while not stop:
            n += 1
            make(n)[10](out)
thread = threading.Thread(target=busy)
thread.start()
for _ in range(8):
    time.sleep(0.02)
    child(work)
stop = True
thread.join()
print('good')
"""
    )


@case(backends=CPU, limit=100)
def while_a_thread_is_in_a_long_launch() -> None:
    """A fork in the middle of one long launch that uses all workers."""
    run(
        """
out = oa.zeros(10_000, i64)
slow[10_000](out, 10)
heap = oa.current_heap()
def busy():
    with heap:
        slow[10_000](out, 100_000)
thread = threading.Thread(target=busy)
thread.start()
time.sleep(0.2)
def big():
    work()
    slow[10_000](out, 5_000)
child(big)
thread.join()
big()
print('good')
"""
    )


@case(backends=CPU, limit=100)
def child_of_a_child() -> None:
    """A child forks again."""
    run("work()\ndef again():\n    work()\n    child(work)\nchild(again)\nwork()\nprint('good')")


@case(backends=CPU, limit=100)
def pool_of_processes() -> None:
    """``multiprocessing`` with the start method fork."""
    run(
        """
import multiprocessing
def one(n):
    many = oa.new(A, n, x=1)
    add[n](many, 2)
    return int(many.x.numpy().sum())
work()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(one, [10, 20, 30]) == [30, 60, 90]
work()
print('good')
"""
    )


@case(backends=CPU, limit=100)
def spawned_processes() -> None:
    """``multiprocessing`` with the start method spawn."""
    program(
        """
import multiprocessing
import sharedoa as oa
from sharedoa import i32
class A(oa.Object):
    x: i32
@oa.kernel
def add(many: oa.Array[A], n: i32):
    many[oa.grid(1)].x += n
def one(n):
    many = oa.new(A, n, x=1)
    add[n](many, 2)
    return int(many.x.numpy().sum())
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(one, [10, 20, 30]) == [30, 60, 90]
    print("good")
"""
    ).well("good")


@case(backends=CPU, limit=100)
def in_a_capture() -> None:
    """A child runs a step that the parent has recorded."""
    run(
        """
many = oa.new(A, 1000, x=0)
with oa.capture() as step:
    add[1000](many, 1)
step.run(2)
def more():
    step.run(3)
    assert (many.x.numpy() == 5).all()
child(more)
step.run(1)
assert (many.x.numpy() == 3).all()
print('good')
"""
    )


@case(backends=("cuda",))
def with_a_device() -> None:
    """The child of a process that has used a GPU is told so at its first use."""
    run(
        """
work()
assert child(work) == 7
work()
print('good')
"""
    )


@case(backends=CPU, limit=100)
def while_a_thread_dumps() -> None:
    """Forks while another thread dumps the heap."""
    run(
        """
many = oa.new(A, 10_000, x=1)
heap = oa.current_heap()
stop = False
def busy():
    with heap:
        while not stop:
            oa.dump("heap.dump", many=many)
thread = threading.Thread(target=busy)
thread.start()
for _ in range(10):
    time.sleep(0.01)
    child(work)
stop = True
thread.join()
with oa.Heap():
    assert len(oa.load("heap.dump")["many"]) == 10_000
print('good')
"""
    )
