"""Classes, methods and functions that change while programs run."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, i32

from .catalogue import CPU, case
from .verdicts import check, check_equal, refuses


class Base(oa.Object):
    x: i32

    def get(self) -> i32:
        return self.x

    def twice(self) -> i32:
        return self.get() * 2


class Leaf(Base):
    def get(self) -> i32:
        return self.x + 100


@oa.kernel
def collect(many: oa.Array[Base], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = many[i].get()


def mixed() -> Any:
    return oa.concat(oa.new(Base, 2, x=1), oa.new(Leaf, 2, x=2))


@case(sample=True)
def method_replaced() -> None:
    """A method is replaced between launches, and an override is deleted."""
    many, out = mixed(), oa.zeros(4, i32)
    collect[4](many, out)
    check_equal(out.numpy(), [1, 1, 102, 102])

    def get(self: Base) -> i32:
        return self.x * 1000

    Base.get = get
    collect[4](many, out)
    check_equal(out.numpy(), [1000, 1000, 102, 102])
    check_equal(many.twice().numpy(), [2000, 2000, 204, 204])
    check_equal([one.get() for one in many], [1000, 1000, 102, 102])
    del Leaf.get
    collect[4](many, out)
    check_equal(out.numpy(), [1000, 1000, 2000, 2000])
    check_equal([one.get() for one in many], [1000, 1000, 2000, 2000])


@case()
def method_of_another_signature() -> None:
    """A method is replaced by one of another signature, by a number, by None."""
    many, out = mixed(), oa.zeros(4, i32)

    def other(self: Base) -> f32:
        return 1.0

    def more(self: Base, n: i32) -> i32:
        return n

    bad: Any
    for bad in (other, more, 5, None, lambda self: 1, len, staticmethod(other)):
        with refuses((oa.ClassError, oa.CompileError), "get"):
            Base.get = bad
    collect[4](many, out)
    check_equal(out.numpy(), [1, 1, 102, 102])


@case()
def method_that_does_not_compile() -> None:
    """A method is replaced by one that no kernel can run; then by a good one."""
    many, out = mixed(), oa.zeros(4, i32)

    def bad(self: Base) -> i32:
        return {self.x}.pop()

    def good(self: Base) -> i32:
        return self.x + 7

    Base.get = bad
    with refuses(oa.CompileError, "set"):
        collect[4](many, out)
    Base.get = good
    collect[4](many, out)
    check_equal(out.numpy(), [8, 8, 102, 102])


@case()
def method_that_makes_a_list() -> None:
    """A method is replaced by one with a list, which kernels know."""
    many, out = mixed(), oa.zeros(4, i32)
    collect[4](many, out)
    before = out.numpy().tolist()

    def by_list(self: Base) -> i32:
        found = [self.x, 100, self.x]
        found[1] = self.x
        return sum(found) + len(found)

    Base.get = by_list
    collect[4](many, out)
    here = [3 * x + 3 for x in many.x.numpy().tolist()]
    check_equal(out.numpy()[:2], here[:2])
    check_equal(out.numpy()[2:], before[2:])


@case()
def class_defined_again() -> None:
    """A class is defined again, as in a notebook: old objects keep the old class."""

    def define(by: int) -> Any:
        if by == 1:

            class Cell(oa.Object):
                x: i32

                def get(self) -> i32:
                    return self.x + 1

            return Cell

        class Cell(oa.Object):  # type: ignore[no-redef]
            y: f32
            x: i32

            def get(self) -> i32:
                return self.x + 2

        return Cell

    first = define(1)
    old = oa.new(first, 3, x=10)
    second = define(2)
    new = oa.new(second, 3, x=10)
    check_equal(old.get().numpy(), [11] * 3)
    check_equal(new.get().numpy(), [12] * 3)
    with refuses((oa.ArgumentError, oa.HeapError), "Cell|base"):
        oa.concat(old, new)
    with refuses(oa.ClassError, "method|laid out"):
        first.y = f32


@case()
def subclass_added() -> None:
    """Two hundred subclasses come one after another, each with objects and a launch."""
    kinds, out = [oa.new(Base, 1, x=1)], oa.zeros(60, i32)
    for number in range(50):

        class Kind(Base):
            extra: i32

            def get(self) -> i32:
                return self.x + self.extra

        kinds.append(oa.new(Kind, 1, x=number, extra=1000))
        if number % 10 == 9:
            many = oa.concat(*kinds)
            collect[len(many)](many, out)
            check_equal(out.numpy()[: len(many)], [1, *(1000 + n for n in range(number + 1))])


@case()
def class_dropped() -> None:
    """A class and its objects are dropped, and what rests on them still works."""
    import gc

    def passing() -> None:
        class Passing(Base):
            def get(self) -> i32:
                return -1

        many = oa.concat(oa.new(Passing, 2), oa.new(Leaf, 1, x=5))
        check_equal(many.get().numpy(), [-1, -1, 105])
        oa.delete(many)

    for _ in range(5):
        passing()
        gc.collect()
    many, out = mixed(), oa.zeros(4, i32)
    collect[4](many, out)
    check_equal(out.numpy(), [1, 1, 102, 102])


@case(backends=CPU)
def by_another_thread() -> None:
    """A thread replaces a method while another launches: each launch sees one or the other."""
    many, out = oa.new(Base, 1000, x=1), oa.zeros(1000, i32)
    heap = oa.current_heap()

    def one(self: Base) -> i32:
        return 1

    def two(self: Base) -> i32:
        return 2

    done = threading.Event()
    wrong: list[Any] = []

    def launch() -> None:
        try:
            with heap:
                while not done.is_set():
                    collect[1000](many, out)
                    values = set(out.numpy().tolist())
                    if len(values) != 1 or not values <= {1, 2}:
                        wrong.append(values)
        except BaseException as error:
            wrong.append(repr(error))

    Base.get = one
    thread = threading.Thread(target=launch)
    thread.start()
    for number in range(40):
        Base.get = (one, two)[number % 2]
    done.set()
    thread.join()
    check(not wrong, f"a launch saw {wrong[:3]}")


@case()
def function_redefined() -> None:
    """An ``@oa.func`` is defined again under its name."""
    names: dict[str, Any] = {}
    from .programs import module

    mine = module(
        """
        import sharedoa as oa
        from sharedoa import i32

        @oa.func
        def step(n: i32) -> i32:
            return n + 1

        @oa.kernel
        def k(out: oa.Array[i32]):
            out[0] = step(1)
        """
    )
    other = module(
        """
        import sharedoa as oa
        from sharedoa import i32

        @oa.func
        def step(n: i32) -> i32:
            return n + 50
        """,
        "other",
    )
    out = oa.zeros(1, i32)
    mine.k[1](out)
    check_equal(out.numpy(), [2])
    mine.step = other.step
    mine.k[1](out)
    check_equal(out.numpy(), [51])
    mine.step = lambda n: n
    with refuses(oa.CompileError, "step|lambda"):
        mine.k[1](out)
    names.clear()


@case()
def layouts_changed_by_growth() -> None:
    """Objects come and go until regions move, between launches that keep arrays."""
    many = oa.new(Base, 10, x=np.arange(10))
    out = oa.zeros(10, i32)
    for round in range(20):
        more = oa.new(Leaf, 1000 * (round + 1))
        collect[10](many, out)
        check_equal(out.numpy(), np.arange(10))
        oa.delete(more)
        collect[10](many, out)
        check_equal(out.numpy(), np.arange(10))
