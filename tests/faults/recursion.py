"""Recursion without end, and deep recursion that is none."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import i32, i64

from .catalogue import CPU, case
from .probe import still_works
from .verdicts import check_equal, may_refuse, refuses


class Tree(oa.Object):
    number: i32
    left: Tree

    def depth(self) -> i32:
        return 1 + (0 if self.left is None else self.left.depth())

    def around(self) -> i32:
        # No sum: LLVM would make a loop without end of it, which Ctrl-C ends.
        return self.number - self.left.around() * 3


class Leafy(Tree):
    def depth(self) -> i32:
        return 2 + (0 if self.left is None else self.left.depth())

    def around(self) -> i32:
        return self.number - self.left.around() * 2


@oa.func
def endless(n: i64) -> i64:
    return endless(n + 1) * 3 + n


@oa.func
def ping(n: i64) -> i64:
    return pong(n + 1) * 3 + n


@oa.func
def pong(n: i64) -> i64:
    return ping(n + 2) * 5 - n


@case(backends=CPU)
def function_without_end() -> None:
    """A function calls itself for ever."""

    @oa.kernel
    def run(out: oa.Array[i64]):
        out[0] = endless(1)

    with refuses(oa.DeviceError, "recursion|stack", "run"):
        run[1](oa.zeros(1, i64))
        oa.synchronize()
    still_works()


@case(backends=CPU)
def functions_without_end() -> None:
    """Two functions call each other for ever."""

    @oa.kernel
    def run(out: oa.Array[i64]):
        out[0] = ping(1)

    with refuses(oa.DeviceError, "recursion|stack"):
        run[1](oa.zeros(1, i64))
        oa.synchronize()
    still_works()


@case(backends=CPU)
def cycle_of_objects() -> None:
    """A virtual method walks a list that is a cycle."""

    @oa.kernel
    def run(tree: Tree, out: oa.Array[i32]):
        out[0] = tree.around()

    a, b = oa.new(Tree, number=1), oa.new(Leafy, number=2)
    a.left, b.left = b, a
    with refuses(oa.DeviceError, "recursion|stack"):
        run[1](a, oa.zeros(1, i32))
        oa.synchronize()
    still_works()


@case(backends=CPU)
def on_every_worker() -> None:
    """A hundred thousand threads recurse for ever, on all cores."""

    @oa.kernel
    def run(out: oa.Array[i64]):
        i = oa.grid(1)
        if i > 50_000:
            out[i] = endless(i)
        else:
            out[i] = 1

    with refuses(oa.DeviceError, "recursion|stack"):
        run[100_000](oa.zeros(100_000, i64))
        oa.synchronize()
    still_works()


@case(backends=CPU)
def again_and_again() -> None:
    """Twenty launches in turn recurse for ever."""

    @oa.kernel
    def run(out: oa.Array[i64]):
        out[0] = endless(1)

    out = oa.zeros(1, i64)
    for _ in range(20):
        with refuses(oa.DeviceError, "recursion|stack"):
            run[1](out)
            oa.synchronize()
    still_works()


@case(backends=CPU)
def in_a_vectorised_call() -> None:
    """A vectorised call recurses for ever."""
    trees = oa.new(Tree, 100, number=1)
    trees.left = oa.concat(trees[1:], trees[:1])
    with refuses(oa.DeviceError, "recursion|stack"):
        trees.around()
        oa.synchronize()
    still_works()


@case(backends=CPU)
def in_a_thread_of_python() -> None:
    """A Python thread, whose stack is smaller, launches it."""
    import threading

    @oa.kernel
    def run(out: oa.Array[i64]):
        out[0] = endless(1)

    out = oa.zeros(1, i64)
    heap = oa.current_heap()
    found = []

    def launch() -> None:
        with heap:
            try:
                run[1](out)
                oa.synchronize()
            except oa.DeviceError as error:
                found.append(str(error))

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    check_equal(len(found), 1, "the number of errors")
    still_works()


@case(backends=CPU)
def in_a_barrier_kernel() -> None:
    """A kernel with barriers, which has a thread of the system for each of its threads."""

    @oa.kernel
    def run(out: oa.Array[i64]):
        i = oa.grid(1)
        oa.syncthreads()
        out[i] = endless(i)
        oa.syncthreads()

    with refuses(oa.DeviceError, "recursion|stack"):
        run[64, 64](oa.zeros(64, i64))
        oa.synchronize()
    still_works()


@case(backends=CPU)
def large_frames() -> None:
    """Each call keeps many numbers, so that the stack ends far behind its last page."""

    @oa.func
    def wide(n: i64, a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64) -> i64:
        found = wide(n + 1, b * 3, c + a, d ^ b, e - c, f * d, g + e, a * f)
        return found * 3 ^ a * b + c * d + e * f + g + n

    @oa.kernel
    def run(out: oa.Array[i64]):
        out[0] = wide(1, 2, 3, 4, 5, 6, 7, 8)

    with refuses(oa.DeviceError, "recursion|stack"):
        run[1](oa.zeros(1, i64))
        oa.synchronize()
    still_works()


@case(backends=CPU, sample=True)
def deep_but_finite() -> None:
    """A list of 5,000 objects is walked by recursion."""

    @oa.kernel
    def run(tree: Tree, out: oa.Array[i32]):
        out[0] = tree.depth()

    trees = oa.new(Tree, 5000)
    trees[:-1].left = trees[1:]
    out = oa.zeros(1, i32)
    run[1](trees[0], out)
    check_equal(out.numpy(), [5000])


@case(backends=CPU)
def deep_on_the_host() -> None:
    """The same list is walked by the method as Python runs it."""
    trees = oa.new(Tree, 5000)
    trees[:-1].left = trees[1:]
    with refuses(RecursionError, "recursion"):
        trees[0].depth()
    still_works()


@case(backends=CPU)
def tail_call_without_end() -> None:
    """Recursion without end that a compiler may turn into a loop: told, or interrupted."""
    from .programs import interrupted, start, written

    file = written(
        """
        import sharedoa as oa
        from sharedoa import i64

        @oa.func
        def down(n: i64) -> i64:
            return down(n + 1)

        @oa.kernel
        def run(out: oa.Array[i64]):
            out[0] = down(1)

        out = oa.zeros(1, i64)
        print("begun", flush=True)
        try:
            run[1](out)
            oa.synchronize()
        except (oa.DeviceError, oa.CompileError) as error:
            print("refused", error)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    interrupted(start(file), "begun", pause=3.0).well("ed")


@case(backends=CPU)
def beside_a_good_launch() -> None:
    """A launch that recurses for ever leaves the results of the one before alone."""

    @oa.kernel
    def good(out: oa.Array[i64]):
        out[oa.grid(1)] = oa.grid(1)

    @oa.kernel
    def bad(out: oa.Array[i64]):
        out[0] = endless(1)

    first, second = oa.zeros(1000, i64), oa.zeros(1, i64)
    good[1000](first)
    with refuses(oa.DeviceError, "recursion|stack"):
        bad[1](second)
        oa.synchronize()
    check_equal(first.numpy(), np.arange(1000))
    good[1000](first)
    check_equal(first.numpy(), np.arange(1000))


@case(backends=CPU)
def of_a_value_method() -> None:
    """A method of a value struct recurses for ever."""

    @oa.value
    class Pair:
        x: i64
        y: i64

        def swirl(self) -> i64:
            return Pair(self.y, self.x + 1).swirl() * 3 + 1

    @oa.kernel
    def run(out: oa.Array[i64]):
        out[0] = Pair(1, 2).swirl()

    with may_refuse((oa.CompileError, oa.DeviceError), "recursion|stack|calls itself"):
        run[1](oa.zeros(1, i64))
        oa.synchronize()
        raise AssertionError("it ended")
    still_works()
