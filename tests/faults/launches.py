"""Launches with sizes, arguments and options that cannot be."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import f32, i8, i32, i64  # noqa: F401  the table names them

from .catalogue import add, case
from .texts import Entry, described, entries
from .verdicts import check_equal, in_debug, may_refuse, refuses


class Body(oa.Object):
    x: i32
    next: Body


class Other(oa.Object):
    y: f32


@oa.value
class Pair:
    a: i32
    b: Body


@oa.kernel
def one(n: i32, x: f32, a: oa.Array[i32], body: Body, bodies: oa.Array[Body]):
    i = oa.grid(1)
    if i < len(a):
        a[i] = n


@oa.kernel
def two(a: oa.Array[i32]):
    i, j = oa.grid(2)
    a[j * 4 + i] = i + 10 * j


@oa.kernel
def of_a_pair(p: Pair, a: oa.Array[i32]):
    a[0] = p.a


@oa.kernel
def of_a_byte(n: i8, a: oa.Array[i32]):
    a[0] = n


def launched(threads: object, *arguments: object, **options: object) -> None:
    """Kernel ``one`` with good arguments where none are given."""
    given = list(arguments) or [7, 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3)]
    one[threads](*given, **options)  # type: ignore[index]
    oa.synchronize()


#: With words of the complaint.
_REFUSED = """
no_brackets: threads
    one(7, 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3))
negative: -1
    launched(-1)
float_count: 2.5
    launched(2.5)
text_count: abc
    launched("abc")
none_count: None
    launched(None)
bool_count: True
    launched(True)
list_count: 4
    launched([4])
array_count: 5
    launched(np.array([5, 5]))
huge_count: 2147483648
    launched(2**31)
beyond_64_bits: axis|threads
    launched(2**70)
three_sizes: 3
    launched((4, 4, 4))
no_sizes: 0|sizes
    launched(())
zero_block: 0
    launched((4, 0))
negative_block: -3
    launched((4, -3))
huge_block: 2048
    launched((4, 2048))
float_block: 2.5
    launched((4, 2.5))
block_of_three_axes: 3|axes
    launched((4, (2, 2, 2)))
slice_count: slice|number
    launched(slice(4))
no_arguments: argument|n
    one[4]()
one_argument: argument|x
    one[4](7)
too_many_arguments: 6|argument
    launched(4, 7, 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3), 9)
unknown_name: zzz
    launched(4, 7, 2.5, oa.zeros(4, i32), oa.new(Body), bodies=oa.new(Body, 3), zzz=1)
twice_given: n
    launched(4, 7, 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3), n=5)
unknown_mode: sideways, coal
    launched(4, mode="sideways")
mode_of_other_objects: mode|heap
    launched(4, mode="cuda")
bad_debug: maybe, 0 or 1
    launched(4, debug="maybe")
float_for_int: n, float
    launched(4, 2.5, 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3))
text_for_int: n
    launched(4, "7", 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3))
none_for_int: n, None
    launched(4, None, 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3))
large_for_int: n, 4294967296
    launched(4, 2**32, 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3))
beyond_64_bits_for_int: n
    launched(4, 2**70, 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3))
large_for_a_byte: 200
    of_a_byte[1](200, oa.zeros(1, i32))
array_for_int: n
    launched(4, np.arange(3), 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3))
complex_for_float: x
    launched(4, 7, 1j, oa.zeros(4, i32), oa.new(Body), oa.new(Body, 3))
numpy_for_array: a, oa.array
    launched(4, 7, 2.5, np.zeros(4, np.int32), oa.new(Body), oa.new(Body, 3))
list_for_array: a
    launched(4, 7, 2.5, [1, 2], oa.new(Body), oa.new(Body, 3))
none_for_array: a, None
    launched(4, 7, 2.5, None, oa.new(Body), oa.new(Body, 3))
other_array: a, f32
    launched(4, 7, 2.5, oa.zeros(4, f32), oa.new(Body), oa.new(Body, 3))
wide_array: a, i64
    launched(4, 7, 2.5, oa.zeros(4, i64), oa.new(Body), oa.new(Body, 3))
objects_for_numbers: a
    launched(4, 7, 2.5, oa.new(Body, 3), oa.new(Body), oa.new(Body, 3))
numbers_for_objects: bodies
    launched(4, 7, 2.5, oa.zeros(4, i32), oa.new(Body), oa.zeros(4, i32))
population_for_array: bodies
    launched(4, 7, 2.5, oa.zeros(4, i32), oa.new(Body), oa.all(Body))
view_for_array: a
    launched(4, 7, 2.5, oa.new(Body, 3).x, oa.new(Body), oa.new(Body, 3))
other_object: body, Other
    launched(4, 7, 2.5, oa.zeros(4, i32), oa.new(Other), oa.new(Body, 3))
other_objects: bodies, Other
    launched(4, 7, 2.5, oa.zeros(4, i32), oa.new(Body), oa.new(Other, 3))
number_for_object: body
    launched(4, 7, 2.5, oa.zeros(4, i32), 5, oa.new(Body, 3))
class_for_object: body
    launched(4, 7, 2.5, oa.zeros(4, i32), Body, oa.new(Body, 3))
array_for_object: body
    launched(4, 7, 2.5, oa.zeros(4, i32), oa.new(Body, 3), oa.new(Body, 3))
number_for_a_value: p
    of_a_pair[1](5, oa.zeros(1, i32))
three_sizes_for_two_axes: 3|three, grid
    two[(4, 4, 4)](oa.zeros(16, i32))
index_of_asm: missing|ptx
    one.asm["missing"]
compile_for_nothing: toaster
    one.compile("toaster")
explain_in_no_mode: sideways
    one.explain(mode="sideways")
"""


def _add(entry: Entry) -> None:
    def run() -> None:
        kinds = (oa.ArgumentError, oa.ConfigurationError, oa.ClassError, oa.HeapError, KeyError)
        with refuses(kinds, *entry.words):
            eval(entry.body, globals())
        a = oa.zeros(4, i32)
        one[4](7, 2.5, a, oa.new(Body), oa.new(Body, 3))
        check_equal(a.numpy(), [7] * 4, "a launch after the refused one")

    run.__doc__ = described("A launch", entry)
    add(f"launches.{entry.name}", run, debug=False)


for _entry in entries(_REFUSED):
    _add(_entry)


@case()
def of_no_threads() -> None:
    """No threads at all."""
    a = oa.zeros(4, i32)
    one[0](7, 2.5, a, None, oa.zeros(0, Body))
    two[0, 5](a)
    two[5, 0](a)
    check_equal(a.numpy(), [0] * 4)


@case()
def of_two_axes() -> None:
    """Two axes, in blocks that do not divide them."""
    a = oa.zeros(16, i32)
    two[(4, 4), (3, 5)](a)
    check_equal(a.numpy(), [i + 10 * j for j in range(4) for i in range(4)])


@case()
def of_numpy_sizes() -> None:
    """Sizes that are NumPy's integers."""
    a = oa.zeros(4, i32)
    one[np.int32(4)](7, 2.5, a, None, oa.zeros(0, Body))
    check_equal(a.numpy(), [7] * 4)
    one[np.uint8(2)](8, 2.5, a, None, oa.zeros(0, Body))
    check_equal(a.numpy(), [8, 8, 7, 7])


@case()
def of_numbers_at_their_limits() -> None:
    """The smallest and largest numbers of a type."""
    a = oa.zeros(1, i32)
    for number in (-(2**31), 2**31 - 1, 0, True, np.int32(-5), np.int8(3)):
        one[1](number, 2.5, a, None, oa.zeros(0, Body))
        check_equal(a.numpy(), [int(number)])
    for number in (-128, 127):
        of_a_byte[1](number, a)
        check_equal(a.numpy(), [number])


@case()
def of_named_arguments() -> None:
    """Arguments by name, in another order, and defaults."""

    @oa.kernel
    def k(a: oa.Array[i32], n: i32 = 5, m: i32 = 6):
        a[0] = n * 10 + m

    a = oa.zeros(1, i32)
    k[1](a)
    check_equal(a.numpy(), [56])
    k[1](m=1, a=a)
    check_equal(a.numpy(), [51])
    k[1](a, m=2, n=3)
    check_equal(a.numpy(), [32])


@case()
def of_infinities() -> None:
    """Infinities and numbers beyond f32 as arguments."""

    @oa.kernel
    def k(x: f32, a: oa.Array[f32]):
        a[0] = x

    a = oa.zeros(1, f32)
    for number in (float("inf"), float("-inf"), float("nan"), 1e-50, -0.0):
        k[1](number, a)
        check_equal(a.numpy(), np.array([number], np.float32))
    with may_refuse(oa.ArgumentError, "1e+50|x"):
        k[1](1e50, a)
        check_equal(a.numpy(), [float("inf")])


@case()
def past_the_end() -> None:
    """More threads than elements, in a kernel that does not ask: told in debug mode."""

    @oa.kernel
    def k(a: oa.Array[i32]):
        a[oa.grid(1)] = 5

    if in_debug():
        with refuses(oa.DeviceError, "index", "4"):
            k[64](oa.zeros(4, i32))
            oa.synchronize()


@case(normal=False)
def checks_of_debug_mode() -> None:
    """Debug mode names the line, the thread and the number."""

    @oa.kernel
    def divides(a: oa.Array[i32], b: oa.Array[i32]):
        i = oa.grid(1)
        a[i] = 10 // b[i]

    @oa.kernel
    def reads(a: oa.Array[i32], b: oa.Array[i32]):
        i = oa.grid(1)
        a[i] = a[b[i]]

    @oa.kernel
    def asserts(a: oa.Array[i32]):
        i = oa.grid(1)
        assert a[i] == 0

    a, b = oa.zeros(4, i32), oa.array(i32, [1, 2, 0, 3])
    with refuses(oa.DeviceError, "division|zero", "launches.py", "thread 2"):
        divides[4](a, b)
        oa.synchronize()
    with oa.Heap():
        a, b = oa.zeros(4, i32), oa.array(i32, [1, 2, -9, 3])
        with refuses(oa.DeviceError, "index", "-9", "launches.py"):
            reads[4](a, b)
            oa.synchronize()
    with oa.Heap():
        with refuses(oa.DeviceError, "assert", "launches.py"):
            asserts[4](oa.array(i32, [0, 0, 0, 5]))
            oa.synchronize()


@case()
def first_error_of_several() -> None:
    """Several launches fail before anybody waits: one error, and none later."""

    @oa.kernel
    def first(a: oa.Array[i32]):
        assert a[0] == 1

    @oa.kernel
    def second(a: oa.Array[i32]):
        assert a[0] == 2

    a = oa.zeros(1, i32)
    with refuses(oa.DeviceError, "first|second", "assert"):
        first[1](a)
        second[1](a)
        oa.synchronize()
    with oa.Heap():
        a = oa.zeros(1, i32)
        a[0] = 1
        first[1](a)
        oa.synchronize()


@case()
def error_found_by_a_read() -> None:
    """Reading an array raises what its launch did wrong; the next read gives the values."""

    @oa.kernel
    def k(a: oa.Array[i32]):
        i = oa.grid(1)
        a[i] = i
        assert i != 2

    a = oa.zeros(4, i32)
    with refuses(oa.DeviceError, "assert", "k"):
        k[4](a)
        a.numpy()
    check_equal(a.numpy(), [0, 1, 2, 3])


@case()
def different_sizes_in_turn() -> None:
    """Five hundred sizes, each once and again."""
    a = oa.zeros(600, i32)
    for size in [*range(1, 500), *range(1, 500, 50)]:
        a[:] = 0
        one[size](size, 2.5, a, None, oa.zeros(0, Body))
        if size % 50 == 1:
            check_equal(a.numpy().sum(), size * size, f"the sum of {size} threads")
