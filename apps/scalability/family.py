"""The classes Class0 to Class31, each with a body of its own, and the kernels that call them.

All bodies compute the same: n times c + a. They are told apart by ``zero``, which is 0 at run time,
so that no compiler makes one body of them: class k adds ``a + (k + 1) * zero`` if k is even, and
subtracts ``(k + 1) * zero - a`` if it is odd. (Bodies that differ in a constant alone become one
body and a table of constants.) Neither changes a bit of the sums, since ``a`` is not negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import sharedoa as oa
from sharedoa import f32, i32

MOST_CLASSES = 32


@dataclass(frozen=True)
class Family:
    """An abstract class with as many subclasses as were asked for, so that a call can meet no
    others, and the kernels."""

    base: type
    classes: tuple[type, ...]
    #: ``ooVectorAdd(classes, a, c, n, zero)``: thread i calls method ``doTheMath`` of object i.
    virtual: Any
    #: ``branch(block, a, c, n, zero)``: the same bodies, told apart by the thread's index.
    branch: Any


@cache
def family(count: int) -> Family:
    """``count`` classes, 1 to MOST_CLASSES."""
    bodies = [_body(k) for k in range(count)]

    class BaseClass(oa.Object):
        def do_the_math(self, c: f32, a: f32, n: i32, zero: f32) -> f32: ...

    @oa.kernel
    def ooVectorAdd(
        classes: oa.Array[BaseClass], a: oa.Array[f32], c: oa.Array[f32], n: i32, zero: f32
    ) -> None:
        i = oa.grid(1)
        c[i] = classes[i].do_the_math(c[i], a[i], n, zero)

    choose = _choice(bodies)

    @oa.kernel
    def branch(block: i32, a: oa.Array[f32], c: oa.Array[f32], n: i32, zero: f32) -> None:
        i = oa.grid(1)
        c[i] = choose(i % block % count, c[i], a[i], n, zero)

    classes = tuple(_subclass(BaseClass, k, body) for k, body in enumerate(bodies))
    return Family(BaseClass, classes, ooVectorAdd, branch)


def _body(k: int) -> Callable[..., Any]:
    number = k + 1

    @oa.func
    def add(c: f32, a: f32, n: i32, zero: f32) -> f32:
        step = a + number * zero
        for _ in range(n):
            c = c + step
        return c

    @oa.func
    def subtract(c: f32, a: f32, n: i32, zero: f32) -> f32:
        step = number * zero - a
        for _ in range(n):
            c = c - step
        return c

    return add if k % 2 == 0 else subtract


def _subclass(base: type, k: int, body: Callable[..., Any]) -> type:
    def do_the_math(self: Any, c: f32, a: f32, n: i32, zero: f32) -> f32:
        return body(c, a, n, zero)

    return type(f"Class{k}", (base,), {"__module__": __name__, "do_the_math": do_the_math})


def _choice(bodies: list[Callable[..., Any]]) -> Callable[..., Any]:
    """A function that runs the body with the number ``kind``, by one comparison after another."""
    choose: Callable[..., Any] | None = None
    for k, body in reversed(list(enumerate(bodies))):
        choose = _link(k, body, choose)
    assert choose is not None
    return choose


def _link(k: int, body: Callable[..., Any], others: Callable[..., Any] | None) -> Any:
    @oa.func
    def last(kind: i32, c: f32, a: f32, n: i32, zero: f32) -> f32:
        return body(c, a, n, zero)

    @oa.func
    def choose(kind: i32, c: f32, a: f32, n: i32, zero: f32) -> f32:
        if kind == k:
            return body(c, a, n, zero)
        return others(kind, c, a, n, zero)

    return last if others is None else choose
