"""Functions of the package given what they cannot take, by the host."""

from __future__ import annotations

import builtins
import copy  # noqa: F401  the table names it
import pickle  # noqa: F401  the table names it
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, f64, i8, i32, i64, u8, u64  # noqa: F401  the table names them

from .catalogue import CPU, add, case
from .probe import still_works
from .texts import Entry, described, entries
from .verdicts import check, check_equal, may_refuse, refuses


class Point(oa.Object):
    x: i32
    w: f64
    ok: bool
    small: u8
    v: oa.inline[f32, 3]
    next: Point
    items: oa.Array[i32]

    def shift(self, by: i32) -> i32:
        return self.x + by


class Gauge(oa.Object):
    value: f32

    @property
    def double(self) -> f32:
        return self.value * 2

    @property
    def half(self) -> f32:
        return self.value / 2

    @half.setter
    def half(self, half: f32) -> None:
        self.value = half * 2

    def reset(self) -> None:
        self.value = 0.0


class Made(oa.Object):
    x: i32

    def __init__(self, x: int) -> None:
        self.x = x + 1


@oa.value
class Pair:
    a: i32
    b: f32


class Shelf(oa.Object):
    pair: Pair
    who: Point


OURS = (oa.ArgumentError, oa.ClassError, oa.HeapError)
NUMPYS = (*OURS, IndexError, TypeError, AttributeError)

#: With what may be raised, where it is not one of OURS, and words of it.
_REFUSED = """
new_negative: -1
    oa.new(Point, -1)
new_float_count: 2.5
    oa.new(Point, 2.5)
zeros_of_an_array_of_lengths: the length of an array is array([2, 3])
    oa.zeros(np.array([2, 3]), f32)
new_text_count: 3
    oa.new(Point, "3")
new_bool_count: True
    oa.new(Point, True)
new_huge: room|bytes|memory|fit
    oa.new(Point, 10**15)
new_beyond_64_bits: room|bytes|memory|fit|large
    oa.new(Point, 2**70)
new_unknown_field: y, x
    oa.new(Point, 3, y=1)
new_wrong_length: 2, 3
    oa.new(Point, 3, x=[1, 2])
new_two_dimensions: x
    oa.new(Point, 4, x=np.zeros((2, 2), np.int32))
new_float_for_int: x, 1.5|float
    oa.new(Point, 3, x=1.5)
new_floats_for_ints: float64
    oa.new(Point, 3, x=np.ones(3))
new_text_for_int: x
    oa.new(Point, 3, x="abc")
new_none_for_int: x, None
    oa.new(Point, 3, x=None)
new_complex: w, complex
    oa.new(Point, 3, w=1j)
new_too_large: 256
    oa.new(Point, 3, small=256)
new_negative_unsigned: -1
    oa.new(Point, 3, small=-1)
new_list_too_large: 300
    oa.new(Point, 2, small=[1, 300])
new_object_for_number: x
    oa.new(Point, x=oa.new(Point))
new_number_for_object: next
    oa.new(Point, next=5)
new_other_class: next, Made
    oa.new(Point, next=Made(1))
new_inline_length: v
    oa.new(Point, v=[1, 2])
new_inline_text: v
    oa.new(Point, v="abc")
new_ragged: v
    oa.new(Point, 2, v=[[1, 2, 3], [1, 2]])
new_array_for_object: items, oa.array|Array
    oa.new(Point, items=[1, 2])
new_array_of_another_type: items
    oa.new(Point, items=oa.zeros(2, f32))
new_many_positions: by name
    oa.new(Point, 3, 4)
called_with_positions: name
    Point(3)
called_with_unknown: q
    Point(q=3)
instance_of_object: subclass
    oa.Object()
zeros_swapped: oa.zeros
    oa.zeros(f32, 3)
zeros_negative: -3
    oa.zeros(-3, f32)
zeros_huge: room|bytes|memory
    oa.zeros(10**14, f64)
zeros_beyond_64_bits: room|bytes|memory|large|fit
    oa.zeros(2**66, f64)
zeros_of_python_complex: complex, f32
    oa.zeros(3, complex)
zeros_of_text: f32x
    oa.zeros(3, "f32x")
zeros_of_numpy_type: complex64, f32
    oa.zeros(3, np.complex64)
zeros_of_a_record: f32
    oa.zeros(3, np.dtype("i4,f4"))
zeros_of_arrays: Array
    oa.zeros(3, oa.Array[f32])
zeros_of_none: None|array
    oa.zeros(3, None)
hash_grid_without_size (TypeError): size
    oa.HashGrid(cell=1)
hash_grid_by_position (TypeError): positional
    oa.HashGrid(1.0, (2.0, 2.0))
hash_grid_unknown (TypeError): cells
    oa.HashGrid(cell=1.0, cells=1.0, size=(2.0, 2.0))
array_without_data (TypeError): data
    oa.array(f32)
array_swapped: array|type
    oa.array([1, 2], f32)
array_of_a_number: sequence
    oa.array(f32, 3)
array_of_text: f32
    oa.array(f32, "abc")
array_of_mixed: f32
    oa.array(f32, [1, "a"])
array_of_three_dimensions: dimension, 3
    oa.array(f32, np.zeros((2, 2, 2), np.float32))
zeros_of_three_dimensions: dimension|lengths, 3
    oa.zeros((2, 2, 2), f32)
array_of_rows_of_other_lengths: f32
    oa.array(f32, [[1, 2], [3]])
array_of_objects_as_numbers: f64, Point
    oa.array(f64, oa.new(Point, 3))
array_of_object_list_as_numbers: f64
    oa.array(f64, [oa.new(Point)])
array_of_references_as_ints: u64, Point
    oa.array(u64, oa.new(Point, 3))
array_of_addresses_as_objects: Point
    oa.array(Point, np.arange(3, dtype=np.uint64))
array_of_numbers_as_objects: Point
    oa.array(Point, [1, 2])
array_of_nan_for_ints: i32
    oa.array(i32, [float("nan")])
array_of_large_ints: 200
    oa.array(i8, [1, 200])
array_of_dates: datetime|i64
    oa.array(i64, np.array(["2024-01-01"], "M8[D]"))
array_of_foreign_endian: i32
    oa.array(i32, np.array(["a"], object))
concat_nothing: nothing
    oa.concat()
concat_of_types: f32, f64
    oa.concat(oa.zeros(2, f32), oa.zeros(2, f64))
concat_of_lists: list
    oa.concat([1, 2], [3])
concat_of_classes: Point, Made
    oa.concat(oa.new(Point, 2), oa.array(Made, [None]))
concat_of_objects_and_numbers: type
    oa.concat(oa.new(Point, 2), oa.zeros(2, f32))
split_lengths: 5|4
    oa.split(oa.zeros(5, i32), [2, 2])
split_negative: 6|-1
    oa.split(oa.zeros(5, i32), [6, -1])
split_floats: int|whole|float
    oa.split(oa.zeros(5, i32), [2.5, 2.5])
split_overflow: 5|length|piece
    oa.split(oa.zeros(5, i32), np.array([2**63, 2**63 + 5], np.uint64))
split_of_a_list: list|array
    oa.split([1, 2], [1, 1])
all_of_a_number: 5
    oa.all(5)
all_of_python_class: int
    oa.all(int)
all_of_an_iterable: shared class
    oa.all([True, False])
all_of_a_value: Pair
    oa.all(Pair)
field_float_for_int: x
    setattr(oa.new(Point), "x", 1.5)
field_large: 2147483648
    setattr(oa.new(Point), "x", 2**31)
field_text: w
    setattr(oa.new(Point), "w", "a")
field_inline_number: v
    setattr(oa.new(Point), "v", "abc")
field_inline_short: v
    setattr(oa.new(Point), "v", [1])
field_inline_element (any): 3
    oa.new(Point).v.__setitem__(3, 1.0)
field_inline_read (any): 4
    oa.new(Point).v[-4]
field_unknown (AttributeError): missing
    oa.new(Point).missing
field_unknown_set (any): missing
    setattr(oa.new(Point), "missing", 1)
field_deleted (any): x
    delattr(oa.new(Point), "x")
field_of_many_unknown (AttributeError): missing, x
    oa.new(Point, 3).missing
field_of_many_set_unknown (AttributeError): missing
    setattr(oa.new(Point, 3), "missing", 1)
property_of_many_without_setter (AttributeError): double, setter
    setattr(oa.new(Gauge, 3), "double", 1)
method_of_many_assigned (AttributeError): reset, method
    setattr(oa.all(Gauge), "reset", 1)
property_of_many_length: half, 2, 3
    setattr(oa.new(Gauge, 3), "half", [1, 2])
property_of_many_text: half, f32
    setattr(oa.new(Gauge, 3), "half", "abc")
property_of_many_mask: mask
    setattr(oa.new(Gauge, 2), "half", np.ma.array([1.0, 2.0], mask=[0, 1]))
property_text: half, f32
    setattr(oa.new(Gauge), "half", "abc")
field_of_many_length: 2, 3
    setattr(oa.new(Point, 3), "x", [1, 2])
method_of_many_named: no parameter to, by
    oa.new(Point, 3).shift(to=1)
method_of_many_missing: shift
    oa.new(Point, 3).shift()
method_of_many_too_many: shift
    oa.new(Point, 3).shift(1, 2)
method_of_many_length: 4, 3
    oa.new(Point, 3).shift(oa.zeros(4, i32))
method_of_many_type: by|1.5
    oa.new(Point, 3).shift(1.5)
method_of_one_type: by|1.5
    oa.new(Point).shift(1.5)
method_of_one_missing (any): by|shift
    oa.new(Point).shift()
value_missing_part: b
    Pair(1)
value_unknown_part: Pair
    Pair(1, 2.0, c=3)
value_too_large: 1099511627776
    Pair(2**40, 1.0)
value_assigned: values
    setattr(Pair(1, 2.0), "a", 3)
value_field_wrong: pair
    setattr(oa.new(Shelf), "pair", 5)
value_field_tuple: pair
    setattr(oa.new(Shelf), "pair", (1, 2, 3))
dump_root_number: n
    oa.dump("x", n=5)
dump_root_numpy: n
    oa.dump("x", n=np.zeros(3))
dump_root_view: n
    oa.dump("x", n=oa.new(Point, 3).x)
dump_root_population: n
    oa.dump("x", n=oa.all(Point))
dump_into_a_folder (DumpError): ., file
    oa.dump(".")
dump_into_no_folder (DumpError FileNotFoundError): no/such
    oa.dump("no/such/file")
dump_to_a_number (any): 5|int|path
    oa.dump(5)
load_of_nothing (DumpError FileNotFoundError): missing.dump
    oa.load("missing.dump")
load_of_a_folder (DumpError IsADirectoryError): .
    oa.load(".")
pickled_object (TypeError): oa.dump
    pickle.dumps(oa.new(Point))
pickled_array (TypeError): oa.dump
    pickle.dumps(oa.zeros(2, f32))
copied_object (TypeError): oa.new|oa.dump
    copy.copy(oa.new(Point))
copied_view (TypeError): copy
    copy.deepcopy(oa.new(Point, 2).x)
pickled_heap (TypeError HeapError): heap|dump
    pickle.dumps(oa.current_heap())
grid_on_the_host (SharedOAError): grid|kernel
    oa.grid(1)
syncthreads_on_the_host (SharedOAError): syncthreads|kernel
    oa.syncthreads()
atomic_on_a_number_on_the_host (any CompileError): atomic
    oa.atomic_add(5, 1)
synchronize_with_argument (TypeError): argument
    oa.synchronize(5)
array_plus_object (any): Point
    oa.new(Point, 2) + 1
truth_of_an_array (ValueError): ambiguous
    bool(oa.zeros(3, i32) > 1)
"""


def _kind(names: str) -> Any:
    """The exceptions of these names; none: the usual ones of this package."""
    found: list[Any] = [] if names else list(OURS)
    for name in names.split():
        if name == "any":
            found += NUMPYS
        else:
            found.append(getattr(oa, name, None) or getattr(builtins, name))
    return tuple(found)


def _add(entry: Entry) -> None:
    def run() -> None:
        before = oa.new(Point, 5, x=[1, 2, 3, 4, 5])
        with refuses(_kind(entry.head), *entry.words):
            eval(entry.body, globals())
        check_equal(before.x.numpy(), [1, 2, 3, 4, 5], "fields of other objects")
        check_equal(before.shift(1).numpy(), [2, 3, 4, 5, 6])

    run.__doc__ = described("The host does", entry)
    add(f"host_api.{entry.name}", run, debug=False)


for _entry in entries(_REFUSED):
    _add(_entry)


@case()
def nothing_is_left_of_refused_objects() -> None:
    """A refused ``oa.new`` leaves no objects."""
    for bad in ({"x": 1.5}, {"x": [1, 2]}, {"next": 3}, {"v": [1, 2]}, {"items": [1]}):
        with refuses(OURS):
            oa.new(Point, 3, **bad)
        with refuses(OURS):
            oa.new(Point, **bad)
    check_equal(len(oa.all(Point)), 0, "objects")
    still_works()


@case()
def made_with_an_init() -> None:
    """``oa.new(C)`` of a class with an ``__init__`` calls it, or is refused: not without a word."""
    made = Made(5)
    check_equal(made.x, 6)
    with may_refuse((*OURS, TypeError), "__init__"):
        one = oa.new(Made)
        check(one.x != 0, "__init__ was skipped in silence")


@case()
def ids_and_equality() -> None:
    """Proxies of one object are one object, and hash alike."""
    many = oa.new(Point, 3)
    check(many[0] == many[0] and hash(many[0]) == hash(many[0]), "unequal to itself")
    check(many[0] != many[1] and many[0] != 5, "equal to others")
    check(many[0] in {many[0]}, "not found in a set")


@case()
def empty_everything() -> None:
    """No objects, no elements, no threads."""
    none = oa.new(Point, 0)
    check_equal(none.x.numpy(), [])
    none.x = 5
    check_equal(none.shift(1).numpy(), [])
    oa.delete(none)
    empty = oa.zeros(0, i32)
    check_equal(empty.numpy(), [])
    check_equal(len(oa.concat(empty, empty)), 0)
    check_equal(len(oa.split(empty, []).array), 0)
    check_equal(oa.all(Point).shift(1).numpy(), [])


@case()
def numpy_masks() -> None:
    """The mask of a masked array is respected or refused, not ignored."""
    masked = np.ma.array([1, 2, 3], mask=[0, 1, 0], dtype=np.int32)
    many = oa.new(Point, 3, x=[7, 8, 9])
    for assign in (
        lambda: setattr(many, "x", masked),
        lambda: oa.array(i32, masked),
        lambda: oa.new(Point, 3, x=masked),
        lambda: many.x.__setitem__(slice(None), masked),
    ):
        with refuses(OURS, "mask"):
            assign()
    check_equal(many.x.numpy(), [7, 8, 9])


@case()
def numpy_odd_arrays() -> None:
    """Arrays that are reversed, strided, big-endian, read-only, empty-strided, of halves."""
    values = np.arange(10, dtype=np.int32)
    check_equal(oa.array(i32, values[::-1]).numpy(), values[::-1])
    check_equal(oa.array(i32, values[::3]).numpy(), values[::3])
    check_equal(oa.array(i32, np.broadcast_to(np.int32(5), 4)).numpy(), [5] * 4)
    values.flags.writeable = False
    check_equal(oa.array(i32, values).numpy(), values)
    check_equal(oa.array(i32, np.arange(4).astype(">i4")).numpy(), [0, 1, 2, 3])
    check_equal(oa.array(f32, np.arange(4).astype(np.float16)).numpy(), [0, 1, 2, 3])
    with refuses(OURS, "f32|longdouble|float128"):
        oa.array(f32, np.arange(4).astype(np.longdouble))


@case()
def forged_references() -> None:
    """Structured NumPy data for value structs with references do not carry forged ones."""

    @oa.value
    class Link:
        to: Point
        w: i32

    class Holder(oa.Object):
        link: Link

    dtype = oa.array(Link, [Link(None, 1)]).dtype
    forged = np.zeros(3, dtype)
    forged["to"] = [1, 12345, 999999]
    for assign in (
        lambda: oa.array(Link, forged),
        lambda: oa.new(Holder, 3, link=forged),
        lambda: setattr(oa.new(Holder, 3), "link", forged),
        lambda: oa.zeros(3, Link).__setitem__(slice(None), forged),
    ):
        with refuses(OURS, "reference|Point|to"):
            assign()


@case()
def arrays_of_pythons_and_numpys_types() -> None:
    """Types of Python and NumPy as elements, and data of two dimensions: the numbers are right."""
    largest = 2**62 + 1
    whole = oa.array(int, [largest, -1])
    check_equal(whole.numpy(), [largest, -1])
    check_equal(oa.zeros(2, np.float32).numpy().dtype.str, "<f4")
    check_equal(oa.array(float, [1 / 3]).numpy(), [1 / 3])
    check_equal(oa.array(bool, [2 > 1, False]).numpy(), [True, False])
    rows = oa.array(f32, np.arange(6, dtype=np.float32).reshape(2, 3))
    check_equal(rows.numpy(), [[0, 1, 2], [3, 4, 5]])
    check_equal((float(rows[1, 0]), rows.shape), (3.0, (2, 3)))
    check_equal(oa.array(f32, np.arange(6.0).reshape(2, 3).T).numpy(), [[0, 3], [1, 4], [2, 5]])


@case()
def trunc_and_floor_on_the_host() -> None:
    """``math.trunc``, ``floor``, ``ceil`` and ``round`` of fields on the host."""
    import math

    point = oa.new(Point, w=2.7, x=3)
    check_equal(math.trunc(point.w), 2)
    check_equal(math.floor(point.w), 2)
    check_equal(math.ceil(point.x), 3)
    check_equal(round(point.w), 3)
    many = oa.new(Point, 3, w=[1.5, -1.5, 2.0])
    check_equal(np.trunc(many.w).tolist(), [1.0, -1.0, 2.0])


@case(backends=CPU)
def names_that_python_uses() -> None:
    """Fields and methods called like attributes of arrays."""

    class Odd(oa.Object):
        shape: i32
        dtype: f32
        numpy: i32
        heap: i32
        field: i32
        cls: i32
        size: i32
        T: i32

        def copy(self) -> i32:
            return self.shape + self.size

        def references(self) -> i32:
            return 5

    many = oa.new(Odd, 3, shape=[1, 2, 3], size=10, numpy=4, heap=6, field=7, cls=8)
    check_equal(np.asarray(many.shape).tolist(), [1, 2, 3])
    check_equal(np.asarray(many.copy()).tolist(), [11, 12, 13])
    check_equal(np.asarray(many.references()).tolist(), [5] * 3)
    check_equal(np.asarray(many.heap).tolist(), [6] * 3)
    oa.delete(many)
