"""The backend that runs kernels in CPython: faults there are Python's own."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32

from .catalogue import CPU, case
from .verdicts import check_equal, may_refuse, refuses


class A(oa.Object):
    x: i32
    next: A

    def get(self) -> i32:
        return self.x

    def deep(self) -> i32:
        return self.next.deep() + 1


@oa.kernel
def add(many: oa.Array[A], n: i32):
    i = oa.grid(1)
    if i < len(many):
        many[i].x += n


def heap() -> oa.Heap:
    return oa.Heap(backend="python")


@case(debug=False, backends=CPU, sample=True)
def plain() -> None:
    """Objects, kernels, methods, captures."""
    with heap():
        many = oa.new(A, 10, x=1)
        add[10](many, 2)
        check_equal(many.get().numpy(), [3] * 10)
        with oa.capture() as step:
            add[10](many, 1)
        step.run(4)
        check_equal(many.x.numpy(), [7] * 10)


@case(debug=False, backends=CPU)
def null() -> None:
    """A field of None is Python's own error."""

    @oa.kernel
    def k(a: A):
        a.next.x = 1

    with heap():
        with refuses((AttributeError, oa.DeviceError), "None"):
            k[1](oa.new(A))
            oa.synchronize()
        many = oa.new(A, 10, x=1)
        check_equal(many.get().numpy(), [1] * 10)


@case(debug=False, backends=CPU)
def recursion() -> None:
    """Recursion without end is Python's own error."""

    @oa.kernel
    def k(a: A, out: oa.Array[i32]):
        out[0] = a.deep()

    with heap():
        a = oa.new(A)
        a.next = a
        with refuses((RecursionError, oa.DeviceError), "recursion"):
            k[1](a, oa.zeros(1, i32))
            oa.synchronize()


@case(debug=False, backends=CPU)
def outside() -> None:
    """An index outside an array."""

    @oa.kernel
    def k(out: oa.Array[i32]):
        out[5] = 1

    with heap():
        with refuses((IndexError, oa.DeviceError), "5"):
            k[1](oa.zeros(4, i32))
            oa.synchronize()


@case(debug=False, backends=CPU)
def failed_assert() -> None:
    """A failed assert is reported as on other backends."""

    @oa.kernel
    def k(out: oa.Array[i32]):
        i = oa.grid(1)
        out[i] = 1
        assert i != 2

    with heap():
        out = oa.zeros(4, i32)
        with refuses((oa.DeviceError, AssertionError), "assert"):
            k[4](out)
            oa.synchronize()
        check_equal(out.numpy()[:3], [1] * 3)


@case(debug=False, backends=CPU)
def wrong_arguments() -> None:
    """Arguments are checked as on other backends."""
    with heap():
        many = oa.new(A, 3)
        for arguments in ((many,), (many, 1.5), (many, 2**40), (oa.zeros(3, f32), 1), (many, None)):
            with refuses(oa.ArgumentError, "argument|n|many"):
                add[3](*arguments)
        check_equal(many.x.numpy(), [0] * 3)


@case(debug=False, backends=CPU)
def outside_the_subset() -> None:
    """A kernel that other backends refuse is Python, and may run."""

    @oa.kernel
    def k(out: oa.Array[i32]):
        out[0] = [1, 2][0]

    with heap():
        out = oa.zeros(1, i32)
        with may_refuse(oa.CompileError, "list"):
            k[1](out)
            check_equal(out.numpy(), [1])
