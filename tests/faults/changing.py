"""Objects that kernels make and delete, that move, and that are found by their place."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, i32

from .catalogue import CPU, add, case
from .probe import still_works
from .texts import Entry, described, entries
from .verdicts import check, check_equal, may_refuse, refuses

NAN = float("nan")


class P(oa.Object):
    x: i32
    w: f32
    pos: oa.vec2
    next: P

    def key(self) -> f32:
        return -self.w

    def none(self) -> None:
        self.x += 1

    def pair(self) -> oa.vec2:
        return self.pos


class Q(P):
    y: i32


class Apart(oa.Object):
    held: P
    many: oa.Array[P]


def made(n: int = 10) -> Any:
    return oa.new(P, n, x=np.arange(n), w=np.arange(n), pos=np.zeros((n, 2)) + 0.5)


def grid(**named: Any) -> oa.HashGrid[P]:
    options: dict[str, Any] = {"cell": 0.25, "size": (1.0, 1.0), **named}
    return oa.HashGrid(**options)


@oa.kernel
def neighbours(many: oa.Array[P], near: oa.HashGrid[P], radius: f32, out: oa.Array[i32]):
    i = oa.grid(1)
    if i < len(many):
        out[i] = 0
        for _ in near.near(many[i].pos, radius):
            out[i] += 1


@oa.kernel
def bear(many: oa.Array[P], each: i32):
    i = oa.grid(1)
    if i < len(many):
        for k in range(each):
            P(x=100 * (many[i].x + 1) + k)


@oa.kernel
def end(many: oa.Array[P]):
    i = oa.grid(1)
    if i < len(many):
        oa.delete(many[i])


_REFUSED = """
sort_by_numbers_of_another_length: 10|number
    oa.sort(made(), np.arange(9))
sort_by_two_columns: one number
    oa.sort(made(), np.zeros((10, 2)))
sort_by_text: number
    oa.sort(made(), list("abcdefghij"))
sort_by_an_unknown_field: missing
    oa.sort(made(), "missing")
sort_by_a_reference: number
    oa.sort(made(), "next")
sort_by_a_vector: number
    oa.sort(made(), "pos")
sort_by_a_method_without_a_result: number
    oa.sort(made(), "none")
sort_by_a_method_with_vectors: number
    oa.sort(made(), "pair")
sort_by_a_lambda: number
    oa.sort(made(), lambda p: p.x)
sort_a_list: oa.all
    oa.sort(list(made()), "x")
sort_a_class: oa.all
    oa.sort(P, "x")
sort_numbers: array|objects
    oa.sort(oa.zeros(3, i32), "x")
sort_repeated_objects: repeated|twice
    one = made()
    oa.sort(oa.concat(one, one), "x")
sort_with_null: null|None
    oa.sort(oa.zeros(3, P), [1, 2, 3])
compact_a_number: shared class
    oa.compact(5)
compact_objects: shared class
    oa.compact(made())
reserve_negative: -5
    oa.reserve(P, -5)
reserve_huge: room|fit|large
    oa.reserve(P, 2**50)
reserve_beyond_64_bits: number|large|room
    oa.reserve(P, 2**70)
reserve_a_fraction: 1.5
    oa.reserve(P, 1.5)
reserve_abstract: abstract, m
    class A(oa.Object):
        def m(self) -> i32: ...
    oa.reserve(A, 5)
reserve_numbers: shared class
    oa.reserve(i32, 5)
delete_twice: repeated|twice
    one = made()
    oa.delete(oa.concat(one, one[:1]))
delete_a_number: object
    oa.delete(5)
is_alive_of_many: one object
    oa.is_alive(made())
grid_with_cells_of_nothing: cell, 0
    grid(cell=0)
grid_with_negative_cells: cell, -1
    grid(cell=-1)
grid_with_nan_cells: cell, nan
    grid(cell=NAN)
grid_of_infinite_size: inf
    grid(size=(float("inf"), 1.0))
grid_of_no_size: box|size|length
    grid(size=(0.0, 1.0))
grid_of_one_axis: two or three
    grid(size=(1.0,))
grid_with_too_many_cells: 2^31
    grid(cell=1e-9)
grid_of_numbers: objects|array|P
    grid().build(oa.zeros(3, f32), "pos")
grid_of_a_field_of_numbers: w
    grid().build(made(), "w")
grid_of_an_unknown_field: missing
    grid().build(made(), "missing")
grid_of_positions_in_space: pos|2|3
    grid(size=(1.0, 1.0, 1.0)).build(made(), "pos")
grid_not_built: build
    neighbours[10](made(), grid(), 0.1, oa.zeros(10, i32))
grid_with_null: null|None
    grid().build(oa.zeros(3, P), "pos")
grid_of_other_objects: Apart|P
    near = grid()
    near.build(made(), "missing" if False else "pos")
    of_apart[1](near, oa.zeros(1, i32))
"""


@oa.kernel
def of_apart(near: oa.HashGrid[Apart], out: oa.Array[i32]):
    for _ in near.near(oa.vec2(0.0, 0.0), 1.0):
        out[0] += 1


def _add(entry: Entry) -> None:
    def run() -> None:
        kinds = (oa.ArgumentError, oa.ClassError, oa.HeapError, oa.CompileError)
        with refuses(kinds, *entry.words):
            exec(entry.body, {**globals()})
        still_works()

    run.__doc__ = described("Objects that change", entry)
    add(f"changing.{entry.name}", run, debug=False, backends=CPU)


for _entry in entries(_REFUSED):
    _add(_entry)


# ------------------------------------------------------------------ made and deleted in kernels


@case()
def deleted_while_near() -> None:
    """A kernel deletes the objects that it goes through with near(): each once, by one thread."""
    many = made(200)
    near = grid()
    near.build(many, "pos")

    @oa.kernel
    def eat(many: oa.Array[P], near: oa.HashGrid[P], out: oa.Array[i32]):
        i = oa.grid(1)
        if i < 8:
            for other in near.near(oa.vec2(0.5, 0.5), 0.5):
                if oa.delete(other):
                    out[i] += 1

    out = oa.zeros(8, i32)
    eat[8](many, near, out)
    check_equal(int(out.sum()), 200, "how often somebody was deleted")
    check_equal(len(oa.all(P)), 0)
    with refuses(oa.HeapError, "deleted|build"):
        eat[8](oa.zeros(1, P), near, out)
    still_works()


@case()
def grid_after_deletion() -> None:
    """A grid that was built before objects were deleted, and after they moved."""
    many, out = made(20), oa.zeros(20, i32)
    near = grid()
    near.build(many, "pos")
    neighbours[20](many, near, 0.1, out)
    check_equal(set(out.numpy().tolist()), {20})
    kept = many[:10]
    oa.delete(many[10:])
    oa.new(P, 10, x=99)  # in the places of those that went
    with refuses(oa.HeapError, "deleted|build"):
        neighbours[10](kept, near, 0.1, out)
    near.build(kept, "pos")
    oa.compact()
    with may_refuse(oa.HeapError, "build|moved"):
        neighbours[10](kept, near, 0.1, out)
        check_equal(out.numpy()[:10], [10] * 10)
    near.build(kept, "pos")
    neighbours[10](kept, near, 0.1, out)
    check_equal(out.numpy()[:10], [10] * 10)


@case()
def grid_of_odd_positions() -> None:
    """Positions that are not finite, far outside, and at the border; radii that are odd."""
    for periodic in (False, True):
        where = [[NAN, 0.5], [np.inf, 0.5], [0.5, -np.inf], [1e30, 0.5], [1.0, 1.0], [0.0, 0.0]]
        many = oa.new(P, 6, pos=np.array(where, np.float32))
        near, out = grid(periodic=periodic), oa.zeros(6, i32)
        near.build(many, "pos")
        for radius in (0.0, -1.0, NAN):
            neighbours[6](many, near, radius, out)
            check_equal(out.numpy()[:3], [0, 0, 0], f"found at no place, radius {radius}")
            if radius != 0.0:
                check_equal(out.numpy(), [0] * 6, f"found within {radius}")
        neighbours[6](many, near, float("inf"), out)
        check_equal(out.numpy()[:3], [0, 0, 0], "found from no place")
        oa.delete(many)


@case()
def births_without_end() -> None:
    """A kernel that makes more than there is room for: null for those, and an error that says so;
    later launches work."""
    with oa.Heap(capacity="4MiB"):
        many = made(50)

        @oa.kernel
        def flood(many: oa.Array[P], each: i32, out: oa.Array[i32]):
            i = oa.grid(1)
            k = 0
            while k < each:
                one = P(x=k)
                if one is None:
                    out[i] += 1
                k += 1

        out = oa.zeros(50, i32)
        with refuses((oa.HeapError, oa.DeviceError), "room", "reserve"):
            flood[50](many, 100_000, out)
            oa.synchronize()
        made_now = len(oa.all(P)) - 50
        check_equal(int(out.sum()) + made_now, 50 * 100_000, "made and refused")
        check_equal(many.x.numpy(), range(50))
        oa.reserve(P, 100)
        flood[50](many, 2, oa.zeros(50, i32))
        still_works()


@case()
def births_in_order() -> None:
    """Objects that many threads make stand in the order of the threads, however many each makes."""
    many = oa.new(P, 300, x=np.arange(300) % 7)

    @oa.kernel
    def some(many: oa.Array[P]):
        i = oa.grid(1)
        for k in range(many[i].x):
            P(x=1000 * i + k, next=many[i])

    oa.reserve(P, 2000)
    some[300](many)
    born = oa.all(P)[300:]
    check_equal(born.x.numpy().tolist(), [1000 * i + k for i in range(300) for k in range(i % 7)])
    check((born.next.x.numpy() == (born.x.numpy() // 1000) % 7).all(), "other parents")


@case()
def born_and_deleted_at_once() -> None:
    """A thread makes objects and deletes them in the same launch; another deletes itself twice."""
    many = made(100)

    @oa.kernel
    def both(many: oa.Array[P], out: oa.Array[i32]):
        i = oa.grid(1)
        one = P(x=-1)
        other = P(x=-2, next=one)
        if oa.delete(one):
            out[i] += 1
        if oa.delete(one):
            out[i] += 100
        if i % 2 == 0 and oa.delete(many[i]) and oa.delete(many[i]):
            out[i] += 100
        other.w = 3.0

    out = oa.zeros(100, i32)
    both[100](many, out)
    check_equal(set(out.numpy().tolist()), {1})
    left = oa.all(P)
    check_equal(len(left), 150)
    check_equal(int((left.x == -2).sum()), 100)
    for each in left:
        with may_refuse(oa.HeapError, "deleted"):
            check(each.next is None, "somebody who was deleted lives")


@case()
def deleted_objects_in_arrays() -> None:
    """Arrays with objects that a kernel has deleted: said at the first use that matters."""
    many = made(20)
    end[5](many)
    check_equal(len(oa.all(P)), 15)
    with refuses(oa.HeapError, "deleted"):
        many.x.numpy()
    with refuses((oa.HeapError, oa.DeviceError), "deleted"):
        many.key().numpy()
    with refuses(oa.HeapError, "deleted"):
        oa.delete(many)
    check_equal(len(oa.all(P)), 15)
    check_equal(many[5:].x.numpy(), range(5, 20))


@case()
def proxies_of_the_deleted() -> None:
    """Python's objects for what a kernel deleted say so, also where others live there now."""
    many = made(20)
    held = list(many)
    end[10](many)
    oa.new(P, 10, x=77)
    for number, one in enumerate(held):
        check_equal(oa.is_alive(one), number >= 10, f"object {number} lives")
        if number < 10:
            with refuses(oa.HeapError, "deleted"):
                one.x
            with refuses(oa.HeapError, "deleted"):
                one.x = 5
    check_equal(sorted(oa.all(P).x.numpy()), [*range(10, 20), *[77] * 10])


@case()
def host_objects_amid_births() -> None:
    """The host makes and deletes objects between launches that do so, too."""
    many, expected = made(40), 40
    for turn in range(12):
        oa.reserve(P, 120)
        bear[40](many, 3)
        expected += 120
        some = oa.all(P)[45:60]
        oa.delete(some)
        expected -= 15
        oa.new(Q, 2, x=turn)
        expected += 2
        check_equal(len(oa.all(P)), expected)
    check_equal(many.x.numpy(), range(40))
    still_works()


@case(backends=CPU)
def births_in_a_capture() -> None:
    """Objects made, deleted and moved around and in captured steps."""
    many = made(30)
    oa.reserve(P, 60)
    with oa.capture() as step:
        bear[30](many, 2)
        oa.all(P).none()
    step.run(2)
    check_equal(len(oa.all(P)), 30 + 4 * 30)
    oa.compact()
    oa.sort(oa.all(P), "x")
    step.run(1)
    check_equal(len(oa.all(P)), 30 + 6 * 30)
    with oa.capture():
        for call in (oa.compact, lambda: oa.sort(many, "x"), lambda: oa.reserve(P, 5)):
            with refuses(oa.HeapError, "capture"):
                call()
        with refuses(oa.HeapError, "capture"):
            oa.delete(many)
    oa.delete(many)
    with may_refuse((oa.HeapError, oa.DeviceError), "deleted"):
        step.run(1)
        oa.synchronize()
    still_works()


# ------------------------------------------------------------------ moved


@case()
def everything_follows_a_sort() -> None:
    """Proxies, arrays, views, fields and arrays in fields lead to the same objects as before."""
    many = made(100)
    many.next = many[::-1]
    holder = Apart(held=many[3], many=many[::5])
    one, part, view = many[7], many[10:20], many.w
    held = {id(each): int(each.x) for each in list(many)}
    oa.sort(many, np.arange(100)[::-1].copy())
    check_equal((one.x, part.x.numpy().tolist()), (7, [*range(10, 20)]))
    check_equal(many.x.numpy(), range(100))
    check_equal(many.next.x.numpy(), range(99, -1, -1))
    check_equal((holder.held.x, holder.many.x.numpy().tolist()), (3, [*range(0, 100, 5)]))
    check_equal(oa.all(P).x.numpy(), range(99, -1, -1))
    with may_refuse(oa.HeapError, "moved|again"):
        check_equal(view.numpy(), range(100))
        view[0] = 55.0
        check_equal(float(many[0].w), 55.0)
    check(len(held) >= 1, "proxies")


@case()
def numpy_views_kept_across_moves() -> None:
    """What NumPy has of a field is memory that was: nothing else is written through it."""
    many = made(100)
    array = np.asarray(many.w)
    before = array.copy()
    oa.sort(many, np.arange(100)[::-1].copy())
    oa.delete(many[50:])
    oa.compact()
    other = oa.new(Apart, 500)
    try:
        array[:] = 7.0
    except ValueError:
        check_equal(array, before)
    check(all(each.held is None for each in other[:50]), "other objects were written to")
    check_equal(many[:50].x.numpy(), range(50))
    check(set(many[:50].w.numpy().tolist()) <= {7.0, *range(50)}, "other numbers")


@case()
def sort_by_nan_and_equal_keys() -> None:
    """NaN comes last and equal keys keep their order."""
    many = made(6)
    oa.sort(many, [2.0, NAN, 1.0, 2.0, NAN, 1.0])
    check_equal(oa.all(P).x.numpy(), [2, 5, 0, 3, 1, 4])
    oa.sort(oa.all(P), np.zeros(6))
    check_equal(oa.all(P).x.numpy(), [2, 5, 0, 3, 1, 4])
    oa.sort(oa.all(P), np.array([2**63, 0, 2**64 - 1, 1, 2, 3], np.uint64))
    check_equal(oa.all(P).x.numpy(), [5, 3, 1, 4, 2, 0])


@case()
def sort_of_some_and_of_none() -> None:
    """A part of a class in order; nothing at all; objects of several classes."""
    many = made(10)
    oa.sort(many[2:8], -np.arange(6))
    check_equal(oa.all(P).x.numpy(), [0, 1, 7, 6, 5, 4, 3, 2, 8, 9])
    oa.sort(oa.all(Q), "y")
    oa.sort(oa.new(Q, 0), [])
    oa.new(Q, 5, x=[5, 3, 1, 4, 2], y=0)
    oa.sort(oa.all(P), "x")
    check_equal(oa.all(P).x.numpy().tolist(), [*range(10), 1, 2, 3, 4, 5])
    oa.compact(Q)
    oa.compact(Apart)
    check_equal(many.x.numpy(), range(10))


@case()
def moved_while_launches_are_under_way() -> None:
    """Objects move right after launches, and launches come right after: each counts."""
    many = made(2000)

    @oa.kernel
    def rise(many: oa.Array[P]):
        i = oa.grid(1)
        many[i].w += 1.0

    for _ in range(10):
        rise[2000](many)
        oa.sort(many, np.random.default_rng(5).permutation(2000))
        rise[2000](many)
        oa.compact()
    check_equal(many.w.numpy(), np.arange(2000) + 20.0)
    check_equal(many.x.numpy(), range(2000))


@case()
def moved_without_room() -> None:
    """A heap without room for a second place: nothing moved, and that is said."""
    with oa.Heap(capacity="4MiB"):
        many = oa.new(P, 60_000, x=np.arange(60_000))
        with may_refuse(oa.HeapError, "room"):
            oa.sort(many, -np.arange(60_000))
        check_equal(many.x.numpy(), range(60_000))
        oa.delete(many[10:])
        oa.compact()
        check_equal(many[:10].x.numpy(), range(10))
        still_works()


@case()
def references_to_the_deleted_after_a_move() -> None:
    """References to deleted objects do not lead to whoever lives there after objects moved."""
    many = made(64)
    holder = oa.new(Apart, 32, held=many[32:])
    oa.delete(many[32:])
    oa.compact()
    oa.new(P, 200, x=99)
    for each in holder:
        with may_refuse(oa.HeapError, "deleted"):
            found = each.held
            check(found is None, f"a deleted object became {found!r}")
    gc.collect()
    check_equal(many[:32].x.numpy(), range(32))
