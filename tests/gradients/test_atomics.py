"""Which additions of a way back are atomic: those to what other threads may add to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.runtime.assembly import open_target
from sharedoa.runtime.gradients import gradient_of
from sharedoa.runtime.vectorised import planned_launches

from ..backends.pretend_device import PretendDevice


class Point(oa.Object):
    x: f64
    speed: f64
    force: f64

    def move(self, dt: f64) -> None:
        self.speed += self.force * dt
        self.x += self.speed * dt
        self.force = 0.0


class Spring(oa.Object):
    a: Point
    b: Point
    stiffness: f64
    rest: f64

    def pull(self) -> None:
        way = self.b.x - self.a.x
        force = (np.sqrt(way * way + 0.01) - self.rest) * self.stiffness
        oa.atomic_add(self.a, "force", force)
        oa.atomic_add(self.b, "force", -force)


@pytest.mark.parametrize(
    ("cls", "name", "arguments", "atomics", "words"),
    [(Spring, "pull", 0, 2, 6), (Point, "move", 1, 0, 0)],
)
def test_atomics_of_ways_back(
    cls: type, name: str, arguments: int, atomics: int, words: int
) -> None:
    """Fields that threads reach through their own object get plain additions."""
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="64MiB") as heap:
        points, springs = oa.new(Point, 33), oa.new(Spring, 32)
        springs.a, springs.b = points[:32], points[1:]
        method = cls.__sharedoa__.find_method(name)  # type: ignore[attr-defined]
        (planned,) = planned_launches(oa.all(cls), method, (False,) * arguments) or ()
        program = planned.program
        made = gradient_of(program, heap, True, False)
        assert made.reverse is not None
        assert (made.made.words, made.made.grows) == (words, False)
        ptx = made.reverse.compilation(heap, heap.mode, False, open_target("nvptx")).products["ptx"]
        assert isinstance(ptx, str)
        assert ptx.count("atom.global.add.f64") + ptx.count("red.global.add.f64") == atomics


@oa.kernel
def by_own(x: oa.Array[f64], y: oa.Array[f64], n: i32) -> None:
    i = oa.grid(1)
    y[i] = y[i] + x[i] * x[i] * f64(n)


@oa.kernel
def by_first(x: oa.Array[f64], y: oa.Array[f64], n: i32) -> None:
    i = oa.grid(1)
    oa.atomic_add(y, i, x[i] * x[0] * f64(n))


@oa.kernel
def by_flat(x: oa.Array[f64], y: oa.Array[f64], n: i32) -> None:
    i, j = oa.grid(2)
    y[j * n + i] = x[j * n + i] ** 2


def test_who_has_elements_of_arrays() -> None:
    """Elements that a thread's index names get plain additions, if no other array has them."""

    def adds(launched: Any, x: Any, y: Any, n: int) -> bool:
        """Whether threads add to what others may add to."""
        with oa.tape() as tape:
            launched(x, y, n)
        tape.backward(y, np.ones(y.shape))
        shares = {each.gradient.made.shares for each in tape._events if hasattr(each, "gradient")}
        (found,) = shares
        return bool(found)

    with oa.Heap(backend="cpu", capacity="64MiB"):
        x, y = oa.array(f64, [1.0, 2.0, 3.0, 4.0]), oa.zeros(4, f64)
        assert not adds(by_own[4], x, y, 3)
        assert oa.grad(x).tolist() == [6.0, 12.0, 18.0, 24.0]
        assert not adds(by_own[2], x[:2], x[2:], 1)
        assert not adds(by_own[4], x, x, 1)
        assert adds(by_own[1], x[:2], x[1:3], 1)  # of which one thread has no two
        assert adds(by_first[4], x, y, 1)
        assert not adds(by_flat[2, 2], x, y, 2)
        assert adds(by_flat[2, 1], x, y, 1)  # two threads might name one element
