"""One object or array under two names: results that were wrong in silence."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import i32

from .catalogue import case
from .verdicts import check, check_equal, may_refuse, refuses


class M(oa.Object):
    x: i32

    def get(self) -> i32:
        return self.x


class N(M):
    pad: oa.inline[i32, 3]
    q: i32


class Other(oa.Object):
    a: i32
    b: i32
    c: i32


@oa.value
class V:
    p: i32
    q: i32


class Holder(oa.Object):
    iv: oa.inline[V, 4]
    x: i32
    items: oa.Array[M]

    def shift(self, k: i32) -> None:
        self.iv[1] = V(11, 12)
        self.x = self.iv[k].p


@case()
def array_passed_twice() -> None:
    """One array as two parameters: stored to by one name, read by the other."""

    @oa.kernel
    def move(a: oa.Array[M], b: oa.Array[M], c: oa.Array[M], out: oa.Array[i32]):
        i = oa.grid(1)
        b[i] = c[i]
        out[i] = a[i].x

    a, c = oa.new(M, 4, x=[1, 2, 3, 4]), oa.new(M, 4, x=[10, 20, 30, 40])
    out = oa.zeros(4, i32)
    move[4](a, a, c, out)
    check_equal(out.numpy(), [10, 20, 30, 40])
    move[4](a, a, c, out)
    check_equal(out.numpy(), [10, 20, 30, 40])


@case()
def view_passed_beside_its_array() -> None:
    """An array and a slice of it as two parameters."""

    @oa.kernel
    def move(a: oa.Array[M], b: oa.Array[M], c: oa.Array[M], out: oa.Array[i32]):
        b[0] = c[0]
        out[0] = a[2].x

    a, c = oa.new(M, 4, x=[1, 2, 3, 4]), oa.new(M, 4, x=[10, 20, 30, 40])
    out = oa.zeros(1, i32)
    move[1](a, a[2:], c, out)
    check_equal(out.numpy(), [10])


@case()
def elements_exchanged() -> None:
    """``oa.atomic_exch`` on elements of an array of objects."""

    @oa.kernel
    def exchange(a: oa.Array[M], b: oa.Array[M], c: oa.Array[M], out: oa.Array[i32]):
        i = oa.grid(1)
        old = oa.atomic_exch(b, i, c[i])
        out[i] = a[i].x + old.x

    a, c = oa.new(M, 4, x=[1, 2, 3, 4]), oa.new(M, 4, x=[10, 20, 30, 40])
    out = oa.zeros(4, i32)
    with may_refuse(oa.CompileError, "atomic"):
        exchange[4](a, a, c, out)
        check_equal(out.numpy(), [11, 22, 33, 44])


@case()
def elements_swapped() -> None:
    """Two elements of an array of objects change places."""

    @oa.kernel
    def swap(a: oa.Array[M], b: oa.Array[M], out: oa.Array[i32]):
        i = 2 * oa.grid(1)
        a[i], a[i + 1] = a[i + 1], a[i]
        out[i] = b[i].x
        out[i + 1] = b[i + 1].x

    a = oa.new(M, 4, x=[1, 2, 3, 4])
    out = oa.zeros(4, i32)
    swap[2](a, a, out)
    check_equal(out.numpy(), [2, 1, 4, 3])


@case()
def piece_beside_its_array() -> None:
    """A field holds a piece of the array that the kernel stores to."""

    @oa.kernel
    def move(h: Holder, b: oa.Array[M], c: oa.Array[M], out: oa.Array[i32]):
        b[0] = c[0]
        out[0] = h.items[0].x

    a, c = oa.new(M, 4, x=[1, 2, 3, 4]), oa.new(M, 4, x=[10, 20, 30, 40])
    holders = oa.new(Holder, 2, items=oa.split(a, [2, 2]))
    out = oa.zeros(1, i32)
    move[1](holders[0], a, c, out)
    check_equal(out.numpy(), [10])


@case()
def object_passed_twice() -> None:
    """One object as two parameters."""

    @oa.kernel
    def both(a: M, b: M, out: oa.Array[i32]):
        a.x = 5
        b.x = b.x + 1
        out[0] = a.x

    m, out = oa.new(M, x=1), oa.zeros(1, i32)
    both[1](m, m, out)
    check_equal(out.numpy(), [6])


@case(sample=True)
def numbers_passed_twice() -> None:
    """One array of numbers as input and output."""

    @oa.kernel
    def add(a: oa.Array[i32], b: oa.Array[i32]):
        i = oa.grid(1)
        b[i] = a[i] + 1
        b[i] = a[i] + 1

    a = oa.array(i32, list(range(1000)))
    add[1000](a, a)
    check_equal(a.numpy(), np.arange(1000) + 2)


@case()
def inline_value_stored_and_read() -> None:
    """An element of an inline array of values is stored with a constant index and read with a
    variable one."""

    @oa.kernel
    def run(h: Holder, k: i32, out: oa.Array[i32]):
        h.shift(k)
        out[0] = h.x

    h, out = oa.new(Holder), oa.zeros(1, i32)
    run[1](h, 1, out)
    check_equal(out.numpy(), [11])


@case()
def branch_around_a_loop() -> None:
    """A variable assigned before, in and behind a loop in a branch that some threads skip."""

    @oa.kernel
    def run(
        flag: oa.Array[i32], b: oa.Array[i32], e: oa.Array[i32], v: oa.Array[i32],
        out: oa.Array[i32],
    ):  # fmt: skip
        i = oa.grid(1)
        s = 0
        x = 1
        if flag[i] != 0:
            for j in range(b[i], e[i]):
                x = v[j] * 3
                s += x
            x = 5
        out[i] = s + x

    n = 64
    flags = np.arange(n, dtype=np.int32) % 3
    begins = np.arange(n, dtype=np.int32)
    ends = begins + 4
    values = np.arange(n + 8, dtype=np.int32)
    expected = [
        sum(3 * values[j] for j in range(begins[i], ends[i])) + 5 if flags[i] else 1
        for i in range(n)
    ]
    out = oa.zeros(n, i32)
    arrays = [oa.array(i32, each) for each in (flags, begins, ends, values)]
    run[n](*arrays, out)
    check_equal(out.numpy().tolist(), [int(e) for e in expected])


@case()
def array_of_a_base_class() -> None:
    """An array of a base class is passed where one of a subclass is declared."""

    @oa.kernel
    def store(a: oa.Array[N]):
        a[oa.grid(1)].q = 99

    many = oa.new(M, 4, x=[1, 2, 3, 4])
    others = oa.new(M, 4, x=[5, 6, 7, 8])
    with refuses(oa.ArgumentError, "M", "N"):
        store[4](many)
    check_equal(others.x.numpy(), [5, 6, 7, 8])
    check_equal(many.x.numpy(), [1, 2, 3, 4])


@case()
def array_of_a_subclass_stored_to() -> None:
    """An ``Array[N]`` is passed as ``Array[M]``, and an M is stored to it."""

    @oa.kernel
    def put(a: oa.Array[M], m: M):
        a[0] = m

    @oa.kernel
    def store(a: oa.Array[N]):
        a[0].q = 99

    n, m = oa.new(N, 4, x=1), oa.new(M, 4, x=[5, 6, 7, 8])
    with may_refuse((oa.ArgumentError, oa.CompileError), "N", "M"):
        put[1](n, m[0])
        oa.synchronize()
        with may_refuse((oa.ArgumentError, oa.HeapError, oa.DeviceError), "N|class|type"):
            store[1](n)
            oa.synchronize()
    check_equal(m.x.numpy(), [5, 6, 7, 8], "objects of the base class")


@case()
def view_with_an_object_twice() -> None:
    """In-place operators on selections with an object twice do what NumPy does."""
    for indices in ([0, 2, 0, 3], [0, 0, 1, 1], [1, 0, 1, 0], [3, 3, 3, 3], [0, 1, 2, 0]):
        many = oa.new(M, 4, x=[1, 2, 3, 4])
        many[indices].x += 1
        expected = np.array([1, 2, 3, 4])
        expected[indices] += 1
        check_equal(many.x.numpy(), expected, f"fields after {indices}")


@case()
def values_for_an_object_twice() -> None:
    """A value each for a selection with an object twice: the last one stays, as in NumPy."""
    for indices in ([0, 2, 0, 3], [0, 0, 1, 1], [3, 2, 1, 3]):
        many = oa.new(M, 4, x=[1, 2, 3, 4])
        many[indices].x = [10, 20, 30, 40]
        expected = np.array([1, 2, 3, 4])
        expected[indices] = [10, 20, 30, 40]
        check_equal(many.x.numpy(), expected, f"fields after {indices}")


@case()
def vectorised_call_with_an_object_twice() -> None:
    """A method on a selection with an object twice gives a result for each element."""
    many = oa.new(M, 4, x=[1, 2, 3, 4])
    check_equal(many[[0, 2, 0, 3]].get().numpy(), [1, 3, 1, 4])


@case(sample=True)
def overlapping_slices() -> None:
    """A slice of an array is assigned to an overlapping one."""
    array = oa.array(i32, list(range(10)))
    array[2:] = array[:-2]
    expected = np.arange(10)
    expected[2:] = expected[:-2].copy()
    check_equal(array.numpy(), expected)
    many = oa.new(M, 10, x=list(range(10)))
    many[2:].x = many[:-2].x
    check_equal(many.x.numpy(), expected)


@case()
def dump_after_a_piece_was_replaced() -> None:
    """A heap in which a piece of an array was replaced, and what it held deleted, is dumped."""
    a = oa.new(M, 4, x=[1, 2, 3, 4])
    holders = oa.new(Holder, 2, items=oa.split(oa.concat(a[:2], a[2:]), [2, 2]))
    fresh = oa.new(M, 2, x=[7, 8])
    holders[0].items = oa.concat(fresh)
    oa.delete(a[:2])
    oa.dump("heap.dump", holders=holders)
    with oa.Heap():
        loaded = oa.load("heap.dump")["holders"]
        check_equal([m.x for m in loaded[0].items], [7, 8])
        check_equal([m.x for m in loaded[1].items], [3, 4])


@case()
def two_heaps_in_one_launch() -> None:
    """Arrays of two heaps are passed to one launch."""

    @oa.kernel
    def copy(a: oa.Array[i32], b: oa.Array[i32]):
        b[oa.grid(1)] = a[oa.grid(1)]

    mine = oa.zeros(4, i32)
    with oa.Heap():
        other = oa.zeros(4, i32)
        with refuses(oa.ArgumentError, "heap"):
            copy[4](mine, other)


@case()
def object_of_another_heap() -> None:
    """An object of one heap is stored in another: by assignment, in an array, as an argument."""

    @oa.kernel
    def put(a: oa.Array[M], m: M):
        a[0] = m

    m = oa.new(M, x=1)
    with oa.Heap():
        array = oa.zeros(2, M)
        with refuses(oa.ArgumentError, "heap"):
            array[0] = m
        with refuses(oa.ArgumentError, "heap"):
            put[1](array, m)
        check(array[0] is None, "it was stored")
