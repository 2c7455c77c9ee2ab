"""Value structs and tuples: at the edges of what they hold."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import sharedoa as oa
from sharedoa import f32, f64, i8, i32, i64

from .catalogue import case
from .verdicts import check, check_equal, may_refuse, refuses


@oa.value
class V:
    x: f32
    y: f32

    def __add__(self, other: V) -> V:
        return V(self.x + other.x, self.y + other.y)

    def __neg__(self) -> V:
        return V(-self.x, -self.y)

    def __eq__(self, other: V) -> bool:  # type: ignore[override]
        return self.x == other.x and self.y == other.y

    def length(self) -> f32:
        return math.sqrt(self.x * self.x + self.y * self.y)


@oa.value
class Mixed:
    a: i8
    v: V
    b: f64
    c: bool
    d: i64


class Thing(oa.Object):
    v: V
    m: Mixed
    many: oa.inline[Mixed, 3]
    items: oa.Array[Mixed]
    back: Thing


@oa.value
class Named:
    who: Thing
    n: i32


OURS = (oa.ArgumentError, oa.ClassError, oa.CompileError)


@case(sample=True)
def through_memory() -> None:
    """Values of mixed widths go through fields, arrays, inline arrays, arguments and results."""

    @oa.kernel
    def k(t: Thing, m: Mixed, out: oa.Array[Mixed]):
        t.m = m
        t.many[1] = t.m
        out[0] = t.many[1]
        out[1] = Mixed(i8(1), -m.v, m.b * 2.0, not m.c, m.d + 1)

    thing, out = oa.new(Thing), oa.zeros(2, Mixed)
    given = Mixed(-7, V(1.5, -2.5), 1e300, True, -(2**62))
    k[1](thing, given, out)
    check(thing.m == given and out[0] == given, f"{out[0]} is not {given}")
    check_equal((out[1].v.x, out[1].b, out[1].c, out[1].d), (-1.5, 2e300, False, -(2**62) + 1))
    array = oa.array(Mixed, [given] * 5)
    check(all(one == given for one in array), "elements")
    thing.items = array
    check(thing.items[4] == given, "an element through a field")


@case()
def of_wrong_types() -> None:
    """Values made of, compared with, and assigned from other things."""
    thing = oa.new(Thing)
    wrong: tuple[Callable[[], object], ...] = (
        lambda: V("a", 1.0),
        lambda: V(None, 1.0),
        lambda: V(1.0),
        lambda: V(1.0, 2.0, 3.0),
        lambda: V(x=1.0, z=2.0),
        lambda: V(1.0, x=2.0),
        lambda: Mixed(1, 5, 1.0, True, 2),
        lambda: Mixed(1000, V(1, 2), 1.0, True, 2),
        lambda: setattr(thing, "v", Mixed(1, V(1, 2), 1.0, True, 2)),
        lambda: setattr(thing, "v", None),
        lambda: setattr(thing, "v", 3),
        lambda: setattr(thing.v, "x", 3.0),
        lambda: oa.array(V, [1, 2]),
        lambda: oa.array(V, np.zeros(3, np.float32)),
        lambda: oa.array(V, np.zeros(3, [("x", np.float32), ("z", np.float32)])),
        lambda: oa.array(V, np.zeros((3, 2), np.float32)[:, :1]),
        lambda: oa.new(Thing, 3, v=[V(1, 2), V(3, 4)]),
        lambda: oa.zeros(3, V).__setitem__(0, 5),
    )
    for bad in wrong:
        with refuses((*OURS, TypeError), "V|Mixed|values|x|fit"):
            bad()
    check_equal((thing.v.x, thing.v.y), (0.0, 0.0))


@case()
def hashing_and_equality() -> None:
    """Values in sets; NaN; a value beside a number."""
    check(V(1, 2) == V(1, 2) and V(1, 2) != V(1, 3), "equality")
    check(len({Mixed(1, V(1, 2), 3.0, True, 4), Mixed(1, V(1, 2), 3.0, True, 4)}) == 1, "a set")
    check(V(math.nan, 1) != V(math.nan, 1), "NaN is equal to itself")
    check(Mixed(1, V(1, 2), 3.0, True, 4) != 5, "equal to a number")
    with refuses(oa.ArgumentError, "V"):
        check(V(1, 2) != 5, "equal to a number")


@case()
def with_references() -> None:
    """Values with references: None, other heaps, deleted objects."""

    @oa.kernel
    def k(n: Named, out: oa.Array[i32]):
        out[0] = 1 if n.who is None else 2

    thing, out = oa.new(Thing), oa.zeros(1, i32)
    k[1](Named(None, 1), out)
    check_equal(out[0], 1)
    k[1](Named(thing, 1), out)
    check_equal(out[0], 2)
    with oa.Heap():
        other = oa.new(Thing)
    with refuses((*OURS, oa.HeapError), "heap"):
        k[1](Named(other, 1), out)
    with refuses((*OURS, oa.HeapError), "heap"):
        oa.array(Named, [Named(other, 1)])
    with refuses(OURS, "Thing|who"):
        Named(5, 1)


@case()
def components_of_views() -> None:
    """Components of a field of many objects."""
    many = oa.new(Thing, 4, v=V(1, 2))
    many.v["x"] = [1, 2, 3, 4]
    many.v["y"] += 10
    check_equal(many.v["x"].numpy(), [1, 2, 3, 4])
    check_equal([one.v.y for one in many], [12.0] * 4)
    many.m["v"] = V(5, 6)
    check_equal(many.m["v"]["y"].numpy(), [6.0] * 4)
    with refuses((*OURS, KeyError), "z"):
        many.v["z"]


@case()
def large() -> None:
    """A value of two hundred fields, and values nested thirty deep."""
    from .programs import module

    fields = "\n".join(f"    f{i}: i32" for i in range(200))
    levels = "\n".join(f"@oa.value\nclass N{i}:\n    n: N{i - 1}\n    k: i32" for i in range(1, 30))
    mine = module(
        "from __future__ import annotations\nimport sharedoa as oa\nfrom sharedoa import i32\n"
        f"@oa.value\nclass W:\n{fields}\n@oa.value\nclass N0:\n    k: i32\n{levels}\n"
        "class Holder(oa.Object):\n    w: W\n    n: N29\n"
        "@oa.kernel\ndef k(h: Holder, out: oa.Array[i32]):\n"
        "    w = h.w\n    h.w = w\n    out[0] = w.f199\n    out[1] = h.n.n.n.k\n"
    )
    holder, out = oa.new(mine.Holder), oa.zeros(2, i32)
    holder.w = mine.W(*range(200))
    mine.k[1](holder, out)
    check_equal(out.numpy(), [199, 0])
    check_equal(holder.w.f150, 150)


@case()
def tuples() -> None:
    """Tuples as arguments and results; of other lengths."""

    @oa.func
    def both(n: i32) -> tuple[i32, f32]:
        return n + 1, f32(n) / 2

    @oa.kernel
    def k(p: tuple[i32, f32], out: oa.Array[f32]):
        a, b = both(p[0])
        out[0] = f32(a)
        out[1] = b + p[1]

    out = oa.zeros(2, f32)
    k[1]((3, 0.25), out)
    check_equal(out.numpy(), [4.0, 1.75])
    for bad in ((3,), (3, 1.0, 2), 3, (3.5, 1.0), ("a", 1.0), None):
        with refuses(OURS, "p|tuple|i32"):
            k[1](bad, out)


@case()
def equality_of_a_users_own() -> None:
    """``__eq__`` of the user's in kernels and on the host, and with None."""

    @oa.kernel
    def k(a: oa.Array[V], out: oa.Array[i32]):
        out[0] = 1 if a[0] == a[1] else 0
        out[1] = 1 if a[0] == a[2] else 0
        out[2] = 1 if a[0] != a[2] else 0

    out = oa.zeros(3, i32)
    with may_refuse(oa.CompileError, "!=|__ne__"):
        k[1](oa.array(V, [V(1, 2), V(1, 2), V(1, 3)]), out)
        check_equal(out.numpy(), [1, 0, 1])
