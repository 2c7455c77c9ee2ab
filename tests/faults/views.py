"""Views of fields and arrays: selections, conversions, lifetimes, in-place operators."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, f64, i32, u8

from .catalogue import CPU, add, case
from .texts import Entry, described, entries
from .verdicts import backend, check, check_equal, may_refuse, refuses


class P(oa.Object):
    x: i32
    w: f64
    ok: bool
    v: oa.inline[f32, 3]
    next: P
    items: oa.Array[i32]

    def get(self) -> i32:
        return self.x


OURS = (oa.ArgumentError, oa.HeapError, oa.ClassError, IndexError, TypeError, ValueError)

#: ``many`` are five objects with x 0 to 4, ``a`` an array of 0 to 9.
_REFUSED = """
index_past_the_end: 5
    many[5]
index_before_the_start: -6
    many[-6]
index_float: index|slice|integer|float
    many[1.5]
index_text: x, component|integers
    many["x"]
element_past_the_end: 10
    a[10]
element_store_past_the_end: 10
    a.__setitem__(10, 1)
element_huge: index|2**70|1180591620717411303424
    a[2**70]
element_of_two_axes: index|dimension
    a[1, 2]
fancy_past_the_end: 17
    a[[1, 17]]
mask_of_another_length: 3|mask|boolean|dimension
    a[np.array([True, False, True])]
slice_step_zero: step|zero
    a[::0]
store_float: float
    a.__setitem__(0, 1.5)
store_floats: float64
    a.__setitem__(slice(0, 3), np.ones(3))
store_wrong_length: 2
    a.__setitem__(slice(0, 3), [1, 2])
store_object: i32
    a.__setitem__(0, many[0])
store_text: i32
    a.__setitem__(0, "7")
store_large: 4294967296
    a.__setitem__(0, 2**32)
view_store_float: float
    many.x.__setitem__(0, 1.5)
view_store_past_the_end: 5
    many.x.__setitem__(5, 1)
view_store_wrong_length: 2
    many.x.__setitem__(slice(0, 3), [1, 2])
view_component: component|x
    many.x["y"]
view_attribute: missing
    many.x.missing
view_numpy_attribute: numpy()
    many.x.cumprod()
inline_past_the_end: 3
    many.v[:, 3]
inline_wrong_shape: v
    many.v.__setitem__(Ellipsis, np.zeros((5, 2), np.float32))
objects_as_index: index|object|P
    a[many]
true_division_in_place: x|divide
    many.x.__itruediv__(2)
add_float_in_place: x|add
    many.x.__iadd__(1.5)
add_wrong_length_in_place: 5|broadcast|shape
    many.x.__iadd__([1, 2, 3])
add_object_in_place: P|object|x
    many.x.__iadd__(many[0])
reference_plus_one: P|add|field
    many.next + 1
reference_in_place: P|add|field
    many.next.__iadd__(1)
assign_numbers_to_references: P
    setattr(many, "next", np.arange(5))
assign_other_length: 2
    setattr(many, "next", many[:2])
assign_list_to_array_field: items
    setattr(many, "items", [1, 2, 3])
write_into_references: read-only
    many.next.numpy().__setitem__(0, 5)
write_into_array_fields: read-only
    many.items.numpy().__setitem__(0, 5)
dlpack_of_references: P|dlpack|read-only|readonly
    np.from_dlpack(many.next, **_here()).__setitem__(0, 1)
reshape: numpy()
    a.reshape(2, 5)
length_of_an_object: len
    len(many[0])
iterate_an_object: iterable
    list(many[0])
"""


def _here() -> dict[str, Any]:
    """NumPy takes memory of a GPU only if told that the host is where it is wanted."""
    return {"device": "cpu"} if backend() == "cuda" else {}


def _add(entry: Entry) -> None:
    def run() -> None:
        many = oa.new(P, 5, x=range(5))
        a = oa.array(i32, range(10))
        with refuses((*OURS, AttributeError), *entry.words):
            eval(entry.body, globals(), {"many": many, "a": a})
        check_equal(many.x.numpy(), range(5), "fields after a refusal")
        check_equal(a.numpy(), range(10), "elements after a refusal")
        check(all(one.next is None for one in many), "references after a refusal")

    run.__doc__ = described("The host does", entry)
    add(f"views.{entry.name}", run, debug=False)


for _entry in entries(_REFUSED):
    _add(_entry)


@case()
def like_numpy() -> None:
    """Every kind of index reads and writes what NumPy's does, wherever objects lie."""
    rng = np.random.default_rng(1)
    parts = [oa.new(P, n) for n in (3, 50, 1, 200)]
    scattered = oa.concat(*parts)[rng.permutation(254)]
    selections: list[Any] = [
        parts[1], scattered, scattered[::-1], oa.concat(parts[3], parts[0]),
    ]  # fmt: skip
    for many in selections:
        count = len(many)
        model = np.arange(count, dtype=np.int32)
        many.x = model
        keys: list[Any] = [
            slice(None), slice(2, -1), slice(None, None, 3), slice(None, None, -1), slice(5, 2),
            np.arange(count) % 3 == 0, rng.permutation(count)[: count // 2], [0, -1], -1, 0,
            np.array([], int), Ellipsis,
        ]  # fmt: skip
        for key in keys:
            check_equal(np.asarray(many.x[key]).tolist(), model[key].tolist(), f"x[{key}]")
            many.x[key] = 7
            model[key] = 7
            check_equal(many.x.numpy(), model, f"x[{key}] = 7")
            many.x[key] += 3
            model[key] += 3
            check_equal(many.x.numpy(), model, f"x[{key}] += 3")


@case()
def inline_like_numpy() -> None:
    """Inline arrays of many objects, by every kind of index."""
    many = oa.new(P, 20)[np.random.default_rng(2).permutation(20)]
    model = np.arange(60, dtype=np.float32).reshape(20, 3)
    many.v = model
    for key in (
        (slice(None), 0),
        (3, slice(None)),
        (slice(2, 9), 1),
        (slice(None), [0, 2]),
        (5, 1),
    ):
        check_equal(np.asarray(many.v[key]).tolist(), model[key].tolist(), f"v[{key}]")
        many.v[key] = 5
        model[key] = 5
        check_equal(many.v.numpy(), model, f"v[{key}] = 5")
    many.v *= 2
    check_equal(many.v.numpy(), model * 2)
    many[4].v[1] = 77
    check_equal(many.v.numpy()[4, 1], 77)


@case()
def of_itself() -> None:
    """A field is assigned from another selection of itself."""
    many = oa.new(P, 10, x=range(10))
    many.x = many[::-1].x
    check_equal(many.x.numpy(), range(9, -1, -1))
    many.x += many[::-1].x
    check_equal(many.x.numpy(), [9] * 10)
    many.next = many[::-1]
    many.next = many.next
    check(all(many[i].next == many[9 - i] for i in range(10)), "references after a reversal")


@case()
def kept_after_the_heap() -> None:
    """NumPy views, arrays and proxies keep their memory when the heap goes."""
    with oa.Heap():
        many = oa.new(P, 1000, x=5)
        array = oa.array(f64, np.arange(1000.0))
        views = many.x.numpy(), array.numpy(), many[3]
    del many, array
    gc.collect()
    for _ in range(10):
        with oa.Heap():
            oa.zeros(1_000_000, i32).numpy()[:] = 9
    check_equal(views[0].sum(), 5000)
    check_equal(views[1].sum(), 499500.0)
    check_equal(views[2].x, 5)


@case()
def kept_after_the_array() -> None:
    """A NumPy view keeps the memory of an array that is dropped."""
    view = oa.array(i32, range(100_000)).numpy()
    piece = oa.array(i32, range(100_000))[10:20]
    gc.collect()
    for _ in range(20):
        oa.zeros(100_000, i32).numpy()[:] = 9
    check_equal(view[::10_000], range(0, 100_000, 10_000))
    check_equal(piece.numpy(), range(10, 20))


@case(backends=CPU)
def kept_after_deletion() -> None:
    """A NumPy view of a field whose objects are deleted and whose places are used again: the view
    is of memory, which is documented; nothing breaks."""
    many = oa.new(P, 100_000, x=5)
    view = many.x.numpy()
    oa.delete(many)
    del many
    oa.new(P, 100_000, x=6)
    gc.collect()
    check(set(np.unique(view).tolist()) <= {5, 6, -572662307}, "other numbers")


@case()
def odd_numpy_functions() -> None:
    """NumPy functions that take, fill or return arrays, given views."""
    many = oa.new(P, 5, x=range(5), w=np.arange(5.0))
    check_equal(np.add(many.x, 1).tolist(), range(1, 6))
    check_equal(np.where(many.x > 2, many.x, 0).tolist(), [0, 0, 0, 3, 4])
    check_equal(float(np.sum(many.w)), 10.0)
    check_equal(np.concatenate([many.x, many.x]).tolist(), [*range(5), *range(5)])
    out = np.zeros(5)
    np.multiply(many.w, 2, out=out)
    check_equal(out.tolist(), [0, 2, 4, 6, 8])
    with may_refuse((TypeError, oa.ArgumentError), "out|return arrays must be of ArrayType|w"):
        np.multiply(many.w, 2, out=many.w)
        check_equal(many.w.numpy(), [0, 2, 4, 6, 8])
    check_equal(many.x.cumsum().numpy(), [0, 1, 3, 6, 10])
    check_equal(many.x.cumsum().numpy().dtype.str, "<i8")
    many.x[many.x > 2] = 0
    check_equal(many.x.numpy(), [0, 1, 2, 0, 0])


@case()
def bytes_and_bools() -> None:
    """Bools from bytes other than 0 and 1 do not become something else."""

    class Flag(oa.Object):
        ok: bool
        n: u8

    many = oa.new(Flag, 3)
    with may_refuse(oa.ArgumentError, "bool"):
        many.ok = np.array([0, 2, 255], np.uint8)
        check_equal(many.ok.numpy(), [False, True, True])
    with may_refuse(oa.ArgumentError, "bool"):
        many.ok = np.array([0, 2, 255], np.uint8).view(np.bool_)
        check_equal([bool(b) for b in many.ok.numpy()], [False, True, True])
    many.ok = [True, False, True]
    check_equal(many.ok.numpy(), [True, False, True])


@case(backends=CPU)
def hundred_thousand_pieces() -> None:
    """A selection of a hundred thousand objects in no order, with each operation once."""
    many = oa.new(P, 200_000, x=np.arange(200_000))
    some = many[np.random.default_rng(3).permutation(200_000)[:100_000]]
    before = some.x.numpy().copy()
    some.x += 1
    check_equal((some.x.numpy() == before + 1).all(), True)
    check_equal(int(many.x.numpy().sum()), 199_999 * 100_000 + 100_000)
    oa.delete(some)
    check_equal(len(oa.all(P)), 100_000)


@case()
def iteration_while_changed() -> None:
    """Objects are made and deleted while a population is iterated."""
    oa.new(P, 10, x=1)
    with may_refuse((oa.HeapError, RuntimeError), "deleted|changed|freed"):
        for number, one in enumerate(oa.all(P)):
            check(number < 1000, "it does not end")
            if number % 2:
                oa.delete(one)
            else:
                oa.new(P, x=2)
    check(len(oa.all(P)) > 0, "nothing is left")
