"""Objects that were deleted, and whose places others have."""

from __future__ import annotations

import threading
import time

import numpy as np

import sharedoa as oa
from sharedoa import f32, i32, i64

from .catalogue import CPU, case
from .probe import still_works
from .verdicts import check, check_equal, may_refuse, refuses


class A(oa.Object):
    x: i32
    next: A

    def twice(self) -> i32:
        return self.x * 2


class B(oa.Object):
    y: f32
    other: A


class Sub(A):
    z: i32


@case()
def read() -> None:
    """The host reads a field of a deleted object."""
    a = oa.new(A, x=1)
    oa.delete(a)
    with refuses(oa.HeapError, "deleted|freed"):
        _ = a.x
    still_works()


@case()
def read_after_reuse() -> None:
    """The host reads a field of a deleted object, whose place a newer one has."""
    a = oa.new(A, x=1)
    oa.delete(a)
    newer = oa.new(A, x=2)
    with refuses(oa.HeapError, "deleted|freed"):
        _ = a.x
    check_equal(newer.x, 2)


@case()
def written_after_reuse() -> None:
    """The host writes a field of a deleted object, whose place a newer one has."""
    a = oa.new(A, x=1)
    oa.delete(a)
    newer = oa.new(A, x=2)
    with refuses(oa.HeapError, "deleted|freed"):
        a.x = 9
    check_equal(newer.x, 2, "the newer object")


@case()
def called_after_reuse() -> None:
    """The host calls a method of a deleted object, whose place a newer one has."""
    a = oa.new(A, x=1)
    oa.delete(a)
    newer = oa.new(A, x=2)
    with refuses(oa.HeapError, "deleted|freed"):
        a.twice()
    check_equal(newer.twice(), 4)


@case()
def passed_after_reuse() -> None:
    """A deleted object is passed to a kernel."""

    @oa.kernel
    def store(a: A):
        a.x = 9

    a = oa.new(A, x=1)
    oa.delete(a)
    newer = oa.new(A, x=2)
    with refuses((oa.HeapError, oa.ArgumentError, oa.DeviceError), "deleted|freed"):
        store[1](a)
        oa.synchronize()
    check_equal(newer.x, 2, "the newer object")


@case()
def stored_by_the_host() -> None:
    """A deleted object is assigned to a field, an element, and a field of many."""
    a, b = oa.new(A, x=1), oa.new(A, x=3)
    many = oa.new(A, 4)
    array = oa.zeros(2, A)
    oa.delete(a)
    for assign in (
        lambda: setattr(b, "next", a),
        lambda: array.__setitem__(0, a),
        lambda: setattr(many, "next", a),
        lambda: oa.new(A, next=a),
        lambda: oa.new(A, 2, next=[a, b]),
        lambda: oa.array(A, [b, a]),
    ):
        with refuses((oa.HeapError, oa.ArgumentError), "deleted|freed"):
            assign()
    check(b.next is None and array[0] is None, "a reference to a deleted object was stored")
    still_works()


@case()
def stored_by_the_host_after_reuse() -> None:
    """A deleted object, whose place a newer one has, is assigned to a field."""
    a, b = oa.new(A, x=1), oa.new(A, x=3)
    oa.delete(a)
    newer = oa.new(A, x=2)
    with refuses((oa.HeapError, oa.ArgumentError), "deleted|freed"):
        b.next = a
    check(b.next is None, "it refers to the newer object")
    check_equal(newer.x, 2)


@case()
def field_view_kept() -> None:
    """A view of fields is written to after its objects were deleted and others made."""
    many = oa.new(A, 100, x=1)
    view = many.x
    oa.delete(many)
    newer = oa.new(A, 100, x=2)
    with refuses(oa.HeapError, "deleted|freed"):
        view[...] = 9
    with refuses(oa.HeapError, "deleted|freed"):
        view += 1
    with refuses(oa.HeapError, "deleted|freed"):
        view[3] = 5
    check_equal(newer.x.numpy(), [2] * 100, "newer objects")


@case()
def field_view_kept_while_another_class_takes_the_place() -> None:
    """The same, and objects of another class lie there now."""
    many = oa.new(A, 100_000, x=1)
    view = many.x
    oa.delete(many)
    newer = oa.new(B, 100_000, y=2.0)
    with refuses(oa.HeapError, "deleted|freed"):
        view[...] = 9
    with refuses(oa.HeapError, "deleted|freed"):
        _ = view[3]
    check((newer.y.numpy() == 2.0).all(), "objects of another class have changed")


@case()
def array_of_objects_kept() -> None:
    """Fields through an array of objects that were deleted, with others at their places."""
    many = oa.new(A, 100, x=1)
    oa.delete(many)
    newer = oa.new(A, 100, x=2)
    with refuses(oa.HeapError, "deleted|freed"):
        many.x = 9
    with refuses(oa.HeapError, "deleted|freed"):
        _ = many.x.numpy()
    check_equal(newer.x.numpy(), [2] * 100, "newer objects")


@case()
def array_of_objects_kept_without_reuse() -> None:
    """Fields through an array of objects that were deleted."""
    many = oa.new(A, 100, x=1)
    oa.delete(many)
    with refuses(oa.HeapError, "deleted|freed"):
        many.x = 9
    with refuses((oa.HeapError, oa.DeviceError), "deleted|freed"):
        many.twice()
        oa.synchronize()


@case(normal=False)
def used_by_a_kernel() -> None:
    """A kernel uses deleted objects."""

    @oa.kernel
    def store(many: oa.Array[A]):
        many[oa.grid(1)].x = 9

    many = oa.new(A, 100, x=1)
    oa.delete(many)
    with refuses(oa.DeviceError, "deleted|freed"):
        store[100](many)
        oa.synchronize()
    still_works()


@case(normal=False)
def used_by_a_kernel_after_reuse() -> None:
    """A kernel uses deleted objects whose places newer ones have."""

    @oa.kernel
    def store(many: oa.Array[A]):
        many[oa.grid(1)].x = 9

    many = oa.new(A, 100, x=1)
    oa.delete(many)
    newer = oa.new(A, 100, x=2)
    with refuses((oa.DeviceError, oa.HeapError), "deleted|freed"):
        store[100](many)
        oa.synchronize()
    check_equal(newer.x.numpy(), [2] * 100, "newer objects")


@case(normal=False)
def referred_to_by_a_field() -> None:
    """A kernel goes through a field whose object was deleted, and its place used again."""

    @oa.kernel
    def store(a: A):
        a.next.x = 9

    inner = oa.new(A, x=1)
    outer = oa.new(A, next=inner)
    oa.delete(inner)
    newer = oa.new(A, x=2)
    with refuses(oa.DeviceError, "deleted|freed"):
        store[1](outer)
        oa.synchronize()
    check_equal(newer.x, 2, "the newer object")


@case()
def twice() -> None:
    """An object, and an array, are deleted twice."""
    a = oa.new(A)
    many = oa.new(A, 10)
    oa.delete(a)
    oa.delete(many)
    with refuses(oa.HeapError, "deleted|freed"):
        oa.delete(a)
    with refuses(oa.HeapError, "deleted|freed"):
        oa.delete(many)
    check_equal(len(oa.all(A)), 0, "objects")
    still_works()


@case()
def twice_in_one_call() -> None:
    """An array with one object twice is deleted."""
    many = oa.new(A, 4, x=1)
    with may_refuse((oa.HeapError, oa.ArgumentError), "twice|deleted|several times"):
        oa.delete(many[np.array([0, 1, 1])])
    check(len(oa.all(A)) in (2, 4), "objects are half deleted")
    made = oa.new(A, 10)
    check_equal(len(set(made._references().tolist())), 10, "places of new objects")


@case()
def twice_after_reuse() -> None:
    """A deleted object is deleted again when a newer one lies at its place."""
    a = oa.new(A)
    oa.delete(a)
    newer = oa.new(A, x=2)
    with refuses(oa.HeapError, "deleted|freed"):
        oa.delete(a)
    check_equal(newer.x, 2, "the newer object")
    check_equal(len(oa.all(A)), 1, "objects")


@case()
def a_class() -> None:
    """``oa.delete(C)`` instead of ``oa.delete(oa.all(C))``."""
    oa.new(A, 3)
    with refuses((oa.ArgumentError, oa.ClassError), "class|oa.all"):
        oa.delete(A)
    check_equal(len(oa.all(A)), 3)


@case()
def other_things() -> None:
    """``oa.delete`` of numbers, strings, arrays of numbers, kernels."""
    for thing in (1, "a", 2.5, np.zeros(3), oa.zeros(3, f32), len, object(), {}, (1, 2)):
        with refuses((oa.ArgumentError, oa.HeapError), "oa.delete|delete|object"):
            oa.delete(thing)


@case(backends=CPU)
def while_another_thread_launches() -> None:
    """Objects are deleted and made while a launch of another thread writes to them."""

    @oa.kernel
    def slow(many: oa.Array[A], rounds: i64, out: oa.Array[i64]):
        i = oa.grid(1)
        seed = i64(i)
        for _ in range(rounds):
            seed = seed * 6364136223846793005 + 1442695040888963407
        out[i] = seed
        many[i].x = 77

    many, out = oa.new(A, 4, x=1), oa.zeros(4, i64)
    slow[4](many, 1, out)
    heap = oa.current_heap()
    begun = threading.Event()

    def launch() -> None:
        with heap:
            begun.set()
            slow[4](many, 400_000_000, out)

    thread = threading.Thread(target=launch)
    thread.start()
    begun.wait()
    time.sleep(0.1)
    oa.delete(many)
    newer = oa.new(A, 4, x=2)
    thread.join()
    check_equal(newer.x.numpy(), [2] * 4, "objects made after the deletion")


@case(backends=CPU)
def read_while_another_thread_launches() -> None:
    """The host reads what a launch of another thread is about to write."""

    @oa.kernel
    def slow(a: A, rounds: i64, out: oa.Array[i64]):
        seed = i64(1)
        for _ in range(rounds):
            seed = seed * 6364136223846793005 + 1442695040888963407
        out[0] = seed
        a.x = 77

    a, out = oa.new(A, x=1), oa.zeros(1, i64)
    slow[1](a, 1, out)
    a.x = 1
    heap = oa.current_heap()
    begun = threading.Event()

    def launch() -> None:
        with heap:
            begun.set()
            slow[1](a, 300_000_000, out)

    thread = threading.Thread(target=launch)
    thread.start()
    begun.wait()
    time.sleep(0.1)
    check_equal(a.x, 77, "the field after a launch that had begun")
    thread.join()


@case(sample=True)
def in_a_population() -> None:
    """A population is used after all its objects were deleted."""
    population = oa.all(A)
    oa.new(A, 10, x=1)
    oa.delete(population)
    check_equal(len(population), 0)
    check_equal(population.x.numpy(), [])
    population.x = 5
    population.twice()
    oa.new(Sub, 3, x=4)
    check_equal(population.twice().numpy(), [8] * 3)


@case()
def of_another_heap() -> None:
    """Objects of one heap are deleted from another."""
    a = oa.new(A, x=1)
    with oa.Heap() as other:
        with refuses(oa.HeapError, "other|another|no object of this heap"):
            other.delete(a)
        with refuses(oa.HeapError, "other|another|no object of this heap"):
            other.delete([a])
    check_equal(a.x, 1)
