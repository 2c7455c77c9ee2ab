"""Recorded steps: what may be in them, and what changes around them."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import i32

from .catalogue import case
from .probe import still_works
from .verdicts import check_equal, refuses


class C(oa.Object):
    x: i32
    next: C

    def bump(self) -> i32:
        self.x += 1
        return self.x


@oa.kernel
def add(many: oa.Array[C], n: i32):
    i = oa.grid(1)
    if i < len(many):
        many[i].x += n


@oa.kernel
def fails(many: oa.Array[C]):
    i = oa.grid(1)
    many[i].x += 1
    assert many[i].x < 3


@case()
def host_access() -> None:
    """The host reads, writes, makes, deletes, dumps inside the block."""
    many = oa.new(C, 4, x=1)
    one = many[0]
    array = oa.zeros(3, i32)
    for access in (
        lambda: one.x,
        lambda: setattr(one, "x", 5),
        lambda: many.x.numpy(),
        lambda: setattr(many, "x", 5),
        lambda: array.numpy(),
        lambda: array.__setitem__(0, 1),
        lambda: oa.new(C),
        lambda: oa.zeros(3, i32),
        lambda: oa.delete(one),
        lambda: oa.dump("heap.dump"),
        lambda: oa.synchronize(),
        lambda: oa.concat(many, many),
    ):
        with refuses(oa.HeapError, "record|capture"):
            with oa.capture():
                add[4](many, 1)
                access()
    check_equal(many.x.numpy(), [1] * 4, "fields: nothing may have run")
    still_works()


@case()
def run_too_early() -> None:
    """A step is run inside its block, and after a block that failed."""
    many = oa.new(C, 4)
    with refuses(oa.HeapError, "block"):
        with oa.capture() as step:
            step.run()
    with refuses(oa.HeapError, "dropped|again"):
        step.run()
    try:
        with oa.capture() as other:
            add[4](many, 1)
            raise ValueError
    except ValueError:
        pass
    with refuses(oa.HeapError, "dropped|again"):
        other.run()
    check_equal(many.x.numpy(), [0] * 4)


@case()
def odd_counts() -> None:
    """Runs of no, negative, fractional, huge and worded numbers of times."""
    many = oa.new(C, 4)
    with oa.capture() as step:
        add[4](many, 1)
    step.run(0)
    step.run(np.int32(2))
    for bad in (-1, 1.5, "2", None, [1]):
        with refuses(oa.ArgumentError, "run"):
            step.run(bad)
    check_equal(many.x.numpy(), [2] * 4)


@case()
def nothing_recorded() -> None:
    """An empty step is run."""
    with oa.capture() as step:
        pass
    step.run(1000)
    still_works()


@case()
def nested() -> None:
    """A capture in a capture, and a step in a capture."""
    many = oa.new(C, 4)
    with oa.capture() as inner:
        add[4](many, 1)
    with refuses(oa.HeapError, "record|capture|block"):
        with oa.capture():
            with oa.capture():
                add[4](many, 1)
    with refuses(oa.HeapError, "record|capture|block"):
        with oa.capture():
            inner.run()
    check_equal(many.x.numpy(), [0] * 4)
    inner.run()
    check_equal(many.x.numpy(), [1] * 4)


@case()
def of_two_heaps() -> None:
    """Launches on two heaps in one block."""
    many = oa.new(C, 4)
    with oa.Heap():
        others = oa.new(C, 4)
    with refuses((oa.HeapError, oa.ArgumentError), "heap"):
        with oa.capture():
            add[4](many, 1)
            add[4](others, 1)
    check_equal(many.x.numpy(), [0] * 4)
    check_equal(others.x.numpy(), [0] * 4)


@case()
def changed_between_runs() -> None:
    """Fields, elements, new and deleted objects, a new subclass and a redefined method."""
    many = oa.new(C, 4)
    with oa.capture() as step:
        many.bump()
        add[4](many, 10)
    step.run()
    check_equal(many.x.numpy(), [11] * 4)
    many.x = 0
    step.run()
    check_equal(many.x.numpy(), [11] * 4)
    oa.new(C, 10_000)
    step.run()
    check_equal(many.x.numpy(), [22] * 4)

    def bump(self: C) -> i32:
        self.x += 100
        return self.x

    C.bump = bump
    step.run()
    check_equal(many.x.numpy(), [132] * 4)

    class D(C):
        def bump(self) -> i32:
            self.x -= 1000
            return self.x

    many[1] = oa.new(D)
    step.run()
    check_equal(many.x.numpy(), [242, -990, 242, 242])


@case()
def failing_launch() -> None:
    """An assert fails in the third run."""
    many = oa.new(C, 4)
    with oa.capture() as step:
        fails[4](many)
    with refuses(oa.DeviceError, "assert", "fails"):
        step.run(5)
        oa.synchronize()
    check_equal(many.x.numpy(), [5] * 4)
    still_works()


@case()
def arguments_dropped() -> None:
    """The arrays that a step was given are dropped by the program."""
    many = oa.new(C, 1000)
    with oa.capture() as step:
        add[1000](many, 1)
    view = oa.all(C)
    del many
    oa.zeros(100_000, i32).numpy()[:] = -1
    step.run(3)
    check_equal(set(view.x.numpy().tolist()), {3})


@case(normal=False)
def objects_deleted() -> None:
    """The objects of a step are deleted: told in debug mode."""
    many = oa.new(C, 100)
    with oa.capture() as step:
        add[100](many, 1)
    step.run()
    oa.delete(many)
    with refuses((oa.DeviceError, oa.HeapError), "deleted|freed"):
        step.run()
        oa.synchronize()


@case()
def bad_launch_in_the_block() -> None:
    """A launch in the block has wrong arguments, or does not compile."""

    @oa.kernel
    def bad(many: oa.Array[C]):
        many[0].missing = 1

    many = oa.new(C, 4)
    with refuses(oa.CompileError, "missing"):
        with oa.capture():
            add[4](many, 1)
            bad[4](many)
    with refuses(oa.ArgumentError, "n"):
        with oa.capture():
            add[4](many, "x")
    check_equal(many.x.numpy(), [0] * 4)
    still_works()


@case()
def results_of_methods() -> None:
    """What a recorded call of a method gives has the values of the last run."""
    many = oa.new(C, 4)
    with oa.capture() as step:
        found = many.bump()
    step.run(3)
    check_equal(found.numpy(), [3] * 4)
    step.run(2)
    check_equal(found.numpy(), [5] * 4)
