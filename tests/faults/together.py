"""All elements at once: reductions, scans, sorting, selection, random numbers."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import f32, f64, i8, i32, i64, u8

from .catalogue import CPU, add, case
from .texts import Entry, described, entries
from .verdicts import check, check_equal, may_refuse, refuses

#: Beyond this many elements kernels compute, and not NumPy.
MANY = 100_003
NAN = float("nan")


class P(oa.Object):
    x: i32
    w: f32
    v: oa.vec3
    n: P

    def key(self) -> i32:
        return -self.x

    def pair(self) -> oa.vec2:
        return oa.vec2(self.w, self.w)


@oa.value
class Both:
    a: i32
    b: f32


@oa.func
def plus(a: i32, b: i32) -> i32:
    return a + b


@oa.func
def of_one(a: i32) -> i32:
    return a


@oa.func
def of_another_type(a: i32, b: i32) -> f32:
    return f32(a + b)


_REFUSED = """
minimum_of_nothing: no elements
    oa.zeros(0, f32).min()
argmax_of_nothing: no elements
    oa.new(P, 0).x.argmax()
argmin_of_an_empty_population: no elements
    oa.all(Nobody).x.argmin()
reduce_of_nothing: initial|no elements
    oa.reduce(plus, oa.zeros(0, i32))
reduce_by_a_python_function: oa.func
    oa.reduce(lambda a, b: a + b, oa.zeros(3, i32))
reduce_by_one_parameter: of_one|two
    oa.reduce(of_one, oa.zeros(3, i32))
reduce_to_another_type: f32|i32
    oa.reduce(of_another_type, oa.zeros(3, i32))
reduce_of_other_elements: f32|i32
    oa.reduce(plus, oa.zeros(3, f32))
reduce_of_a_list: list|array
    oa.reduce(plus, [1, 2, 3])
reduce_from_text: initial|i32
    oa.reduce(plus, oa.zeros(3, i32), "a")
scan_by_a_kernel: oa.func|function
    oa.scan(a_kernel, oa.zeros(3, i32))
scan_of_a_number: array|int
    oa.scan(plus, 5)
sum_of_objects: numbers, field
    oa.new(P, 3).n.sum()
sum_of_structs: numbers
    oa.zeros(3, Both).sum()
sum_of_a_method: call|method|P
    oa.new(P, 3).key.sum()
sort_of_objects: oa.sort
    oa.array(P, oa.new(P, 3)).sort()
sum_of_an_axis_too_many: axis
    oa.zeros(3, f32).sum(axis=1)
sum_of_an_axis_of_text (TypeError): axis|str|integer
    oa.zeros((3, 3), f32).sum(axis="x")
sum_with_unknown_option (TypeError): wheer
    oa.zeros(3, f32).sum(wheer=True)
where_of_other_lengths: 3|4|length|shape
    oa.where(oa.zeros(3, bool), oa.zeros(4, i32), oa.zeros(4, i32))
where_with_one_choice: where
    oa.where(oa.zeros(3, bool), 1)
where_of_objects: P|number|reference
    oa.where(oa.zeros(3, bool), oa.new(P, 3), oa.new(P, 3))
count_of_objects: P|number
    oa.count_nonzero(oa.new(P, 3))
random_of_a_fraction: integer
    oa.random(1.5)
random_without_a_seed (TypeError): seed
    oa.random()
randint_of_an_empty_range: 5|empty|low
    oa.randint(5, 5, 1)
randint_of_a_reversed_range: 5|empty|low
    oa.randint(5, -5, 1)
randint_of_fractions: integer
    oa.randint(0.5, 2, 1)
randint_beyond_64_bits: 64|range
    oa.randint(0, 2**70, 1)
normal_of_text: integer
    oa.normal("seed")
"""


class Nobody(P):
    pass


@oa.kernel
def a_kernel(n: i32):
    pass


def _add(entry: Entry) -> None:
    def run() -> None:
        kinds = (oa.ArgumentError, oa.ClassError, ValueError, AttributeError)
        with refuses(TypeError if entry.head else kinds, *entry.words, cure=not entry.head):
            exec(entry.body, {**globals()})

    run.__doc__ = described("Of many", entry)
    add(f"together.{entry.name}", run, debug=False, backends=CPU)


for _entry in entries(_REFUSED):
    _add(_entry)


@case()
def sums_of_small_types() -> None:
    """Sums that their elements' type would not hold."""
    check_equal(int(oa.array(i8, [100] * 50).sum()), 5000)
    check_equal(int(oa.array(u8, [255] * MANY).sum()), 255 * MANY)
    check_equal(int(oa.array(bool, [True] * MANY).sum()), MANY)
    check_equal(oa.array(i8, [100] * MANY).cumsum().numpy()[-1], 100 * MANY)
    check_equal(float(oa.array(i8, [100] * MANY).mean()), 100.0)
    many = oa.new(P, MANY, x=2**31 - 1)
    check_equal(int(many.x.sum()), (2**31 - 1) * MANY)


@case()
def nan_among_numbers() -> None:
    """NaN in reductions and sorting, wherever it is: what NumPy gives."""
    for place in (0, 7, MANY - 1):
        for count in (8, MANY):
            data = np.linspace(1, 2, count).astype(np.float32)
            data[place % count] = np.nan
            a = oa.array(f32, data)
            check(np.isnan(a.min()) and np.isnan(a.max()) and np.isnan(a.sum()), "NaN is lost")
            check_equal(int(a.argmin()), int(np.argmin(data)), "argmin")
            check_equal(int(a.argmax()), int(np.argmax(data)), "argmax")
            check_equal(a.argsort().numpy().tolist(), np.argsort(data, kind="stable").tolist())
            a.sort()
            check(np.isnan(a.numpy()[-1]) and not np.isnan(a.numpy()[:-1]).any(), "NaN's place")


@case()
def zeros_with_signs() -> None:
    """Sorting by bits would part 0.0 from -0.0: equal keys keep their order."""
    data = np.zeros(MANY, np.float64)
    data[::3] = -0.0
    a = oa.array(f64, data)
    check((a.argsort().numpy() == np.arange(MANY)).all(), "equal numbers changed places")
    check_equal(np.signbit(a.numpy()[:4]).tolist(), [True, False, False, True])


@case()
def extremes_of_types() -> None:
    """The smallest and largest numbers of types."""
    data = np.array([-(2**63), 2**63 - 1, 0, -1], np.int64)
    a = oa.array(i64, np.tile(data, MANY // 4))
    check_equal((int(a.min()), int(a.max())), (-(2**63), 2**63 - 1))
    order = a.argsort().numpy()
    check((np.diff(a.numpy()[order]) >= 0).all(), "another order")
    inf = oa.array(f32, [np.inf, -np.inf, 1.0])
    check_equal((float(inf.min()), float(inf.max())), (-np.inf, np.inf))
    check(np.isnan(inf.sum()), "the sum of both infinities")


@case()
def of_nothing() -> None:
    """Reductions of nothing that are something, as in NumPy."""
    none = oa.zeros(0, f32)
    check_equal((float(none.sum()), bool(none.any()), bool(none.all())), (0.0, False, True))
    check_equal(len(none.argsort()), 0)
    check_equal(len(none.cumsum()), 0)
    none.sort()
    check_equal(int(oa.count_nonzero(none)), 0)
    check_equal(int(oa.reduce(plus, oa.zeros(0, i32), 7)), 7)
    check_equal(len(oa.scan(plus, oa.zeros(0, i32))), 0)
    check_equal(float(oa.all(Nobody).w.sum()), 0.0)
    with may_refuse((oa.ArgumentError, RuntimeWarning), "mean|empty"):
        check(np.isnan(none.mean()), "the mean of nothing")


@case()
def after_launches_and_deletions() -> None:
    """What is computed of a field sees the launch before it and nobody who was deleted."""

    @oa.kernel
    def rise(many: oa.Array[P]):
        i = oa.grid(1)
        many[i].x += 1

    many = oa.new(P, 5000, x=range(5000))
    for turn in range(1, 5):
        rise[5000](many)
        check_equal(int(many.x.sum()), 5000 * 4999 // 2 + 5000 * turn)
    oa.delete(many[1::2])
    check_equal(int(oa.all(P).x.max()), 4998 + 4)
    check_equal(int(oa.all(P).x.sum()), sum(range(4, 5004, 2)))
    with refuses(oa.HeapError, "deleted"):
        many.x.sum()


@case()
def parts_of_arrays() -> None:
    """Views with a step, rows, columns and components are not taken for all of memory."""
    data = np.arange(3 * 40_000, dtype=np.int32)
    a = oa.array(i32, data)
    check_equal(int(a[::3].sum()), int(data[::3].sum()))
    check_equal(int(a[5:-5].max()), int(data[5:-5].max()))
    rows = oa.array(i32, data.reshape(3, -1))
    check_equal(rows.sum(axis=1), data.reshape(3, -1).sum(axis=1))
    check_equal(int(rows[1].argmax()), 39_999)
    check_equal(int(rows.argmax()), len(data) - 1)
    a[::2].sort()
    check_equal(a.numpy()[:6], data[:6])
    many = oa.new(P, 1000, v=np.arange(3000.0).reshape(1000, 3))
    check_equal(float(many.v[:, 1].sum()), float(np.arange(1, 3000, 3).sum()))
    check_equal(float(many.v.max()), 2999.0)


@case()
def sorting_what_is_used_elsewhere() -> None:
    """Sorted in place: views, fields and captured launches see the same array."""
    a = oa.array(i32, np.arange(MANY)[::-1].copy())
    view = a[10:20]

    @oa.kernel
    def negate(a: oa.Array[i32]):
        i = oa.grid(1)
        a[i] = -a[i]

    with oa.capture() as step:
        negate[MANY](a)
    a.sort()
    check_equal(view.numpy(), range(10, 20))
    step.run(1)
    check_equal(view.numpy(), range(-10, -20, -1))
    a.sort()
    check_equal((int(a[0]), int(a[MANY - 1])), (-(MANY - 1), 0))


@case(backends=CPU)
def in_a_capture() -> None:
    """Results for the host within a capture would come before anything has run."""
    a = oa.array(i32, range(10))
    with oa.capture():
        for call in (a.sum, a.argsort, a.cumsum, a.sort, lambda: oa.count_nonzero(a)):
            with refuses(oa.HeapError, "capture"):
                call()
    check_equal(a.numpy(), range(10))


@case()
def random_numbers_of_odd_counters() -> None:
    """Seeds and counters that are negative or large: the same on the host and in kernels."""

    @oa.kernel
    def draw(seeds: oa.Array[i64], out: oa.Array[f64]):
        i = oa.grid(1)
        out[i] = f64(oa.random64(seeds[i], -i, i - 3)) + f64(oa.randint(-(2**40), 2**40, i))

    seeds = [0, -1, 2**63 - 1, -(2**63), 5]
    out = oa.zeros(5, f64)
    draw[5](oa.array(i64, seeds), out)
    here = [
        float(oa.random64(seed, -i, i - 3)) + float(oa.randint(-(2**40), 2**40, i))
        for i, seed in enumerate(seeds)
    ]
    check_equal(out.numpy(), here)
    check_equal(float(oa.random64(-1, 3)), float(oa.random64(2**64 - 1, 3)))


@case()
def random_range_of_nothing_in_a_kernel() -> None:
    """A range that is empty when the kernel runs."""

    @oa.kernel
    def draw(low: i32, out: oa.Array[i64]):
        out[0] = oa.randint(low, 3, 1)

    out = oa.zeros(1, i64)
    with may_refuse(oa.DeviceError, "empty|range|low"):
        draw[1](3, out)
        oa.synchronize()
        check(3 <= int(out[0]) <= 3, "a number that is in no range")
