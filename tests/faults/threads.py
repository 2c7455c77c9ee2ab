"""Threads of Python that use heaps at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import i32

from .catalogue import CPU, case
from .probe import still_works
from .verdicts import check, check_equal


class A(oa.Object):
    x: i32
    next: A

    def get(self) -> i32:
        return self.x


class B(oa.Object):
    y: i32


@oa.kernel
def add(many: oa.Array[A], n: i32):
    i = oa.grid(1)
    if i < len(many):
        many[i].x += n


def together(*works: Callable[[], Any], times: int = 30) -> None:
    """Do these things again and again, each in a thread of its own, on the current heap."""
    heap = oa.current_heap()
    errors: list[str] = []
    ready = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> None:
        try:
            with heap:
                ready.wait()
                for _ in range(times):
                    work()
        except BaseException as error:
            errors.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not errors, f"{len(errors)} threads failed, first with {errors[:1]}")


def one_life() -> None:
    many = oa.new(A, 500, x=1)
    add[500](many, 2)
    check((many.x.numpy() == 3).all(), "objects of one thread were changed by another")
    check((many.get().numpy() == 3).all(), "a result of one thread was changed by another")
    oa.delete(many)


@case(sample=True)
def own_objects() -> None:
    """Eight threads make, launch on, read and delete objects of their own."""
    together(*[one_life] * 8)
    check_equal(len(oa.all(A)), 0)
    still_works()


@case()
def one_array() -> None:
    """Four threads launch on one array; every launch counts."""
    many = oa.new(A, 1000)
    together(*[lambda: add[1000](many, 1)] * 4, times=50)
    check_equal(set(many.x.numpy().tolist()), {200})


@case()
def launches_beside_allocation() -> None:
    """One thread launches, one makes and deletes, one reads views, one dumps."""
    many = oa.new(A, 5000, x=0)

    def make() -> None:
        oa.delete(oa.new(B, 300, y=5))
        one_life()

    together(
        lambda: add[5000](many, 1),
        make,
        lambda: check(len(set(many.x.numpy().tolist())) <= 2, "half a launch was seen"),
        lambda: oa.dump("heap.dump", many=many),
        times=20,
    )
    check_equal(set(many.x.numpy().tolist()), {20})
    with oa.Heap():
        loaded = oa.load("heap.dump")["many"]
        check_equal(len(set(loaded.x.numpy().tolist())), 1, "numbers of one dumped launch")


@case()
def first_launches() -> None:
    """Eight threads launch a kernel for the first time at once."""

    @oa.kernel
    def fresh(out: oa.Array[i32]):
        i = oa.grid(1)
        out[i] = i * 3

    def work() -> None:
        out = oa.zeros(100, i32)
        fresh[100](out)
        check((out.numpy() == np.arange(100) * 3).all(), "another result")

    together(*[work] * 8, times=3)


@case()
def a_heap_each() -> None:
    """Eight threads have a heap each."""

    def work() -> None:
        with oa.Heap(capacity="64MiB"):
            one_life()

    together(*[work] * 8, times=10)


@case()
def one_failing_kernel() -> None:
    """A kernel fails in one thread while others work: one error, and it comes once."""
    with oa.Heap():
        _one_failing_kernel()


def _one_failing_kernel() -> None:
    @oa.kernel
    def fails(out: oa.Array[i32]):
        assert out[0] == 1

    told: list[str] = []

    def fail() -> None:
        try:
            fails[1](oa.zeros(1, i32))
            oa.synchronize()
        except oa.DeviceError as error:
            told.append(str(error))

    def work() -> None:
        try:
            oa.new(A, 10).x.numpy()
        except oa.DeviceError as error:
            told.append(str(error))

    together(fail, work, work, times=10)
    check(1 <= len(told) <= 10, f"{len(told)} errors of ten failures")


@case()
def defining_classes() -> None:
    """Threads define classes and kernels while others launch."""
    many = oa.new(A, 100)

    def define() -> None:
        class Kind(A):
            def get(self) -> i32:
                return self.x + 5

        objects = oa.new(Kind, 10, x=1)
        check((objects.get().numpy() == 6).all(), "a method of a new class")
        oa.delete(objects)

    together(define, define, lambda: add[100](many, 1), times=6)
    check_equal(set(many.x.numpy().tolist()), {6})


@case()
def populations() -> None:
    """``oa.all`` while objects come and go."""
    oa.new(A, 100, x=1)

    def change() -> None:
        oa.delete(oa.new(A, 50, x=1))

    def look() -> None:
        found = set(oa.all(A).get().numpy().tolist())
        check(found <= {0, 1}, f"other numbers: {found}")

    together(change, look, look, times=20)
    check_equal(len(oa.all(A)), 100)


@case()
def arrays_dropped() -> None:
    """Arrays are made and dropped by many threads, with the collector at work."""
    import gc

    def work() -> None:
        arrays = [oa.array(i32, range(n)) for n in range(1, 40)]
        for n, array in enumerate(arrays, 1):
            check(array.numpy().sum() == n * (n - 1) // 2, "an array of another thread")
        arrays.append(arrays)  # type: ignore[arg-type]

    together(*[work] * 4, gc.collect, times=10)


@case(backends=CPU)
def captures() -> None:
    """Threads record and run steps on one heap."""
    many = oa.new(A, 100)
    lock = threading.Lock()
    done = [0]

    def work() -> None:
        with oa.capture() as step:
            add[100](many, 1)
        step.run(5)
        with lock:
            done[0] += 5

    together(work, work, one_life, times=10)
    check_equal(set(many.x.numpy().tolist()), {done[0]})


@case(backends=CPU)
def nested_launch_from_print() -> None:
    """``sys.stdout`` launches a kernel when a kernel prints."""
    import contextlib
    import io

    class Odd(io.StringIO):
        def write(self, text: str) -> int:
            add[10](many, 1)
            return super().write(text)

    @oa.kernel
    def talk(n: i32):
        print("n", n)

    many = oa.new(A, 10)
    add[10](many, 0)
    with contextlib.redirect_stdout(Odd()) as caught:
        talk[1](7)
        oa.synchronize()
    check_equal(caught.getvalue(), "n 7\n")
    check(int(many.x.numpy()[0]) >= 1, "the launch is lost")


@case(backends=CPU)
def asyncio_tasks() -> None:
    """Heaps entered by tasks that take turns."""
    import asyncio

    async def task(n: int) -> None:
        with oa.Heap(capacity="64MiB") as heap:
            many = oa.new(A, 10, x=n)
            for _ in range(5):
                await asyncio.sleep(0)
                check(oa.current_heap() is heap, "the heap of another task")
                add[10](many, 1)
            check_equal(many.x.numpy(), [n + 5] * 10)

    async def main() -> None:
        await asyncio.gather(*(task(n) for n in range(10)))

    asyncio.run(main())
