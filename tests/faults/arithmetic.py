"""Arithmetic at its edges, beside what CPython makes of it."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

from .catalogue import CPU, case
from .programs import program
from .verdicts import check, check_equal, in_debug, refuses

BIG = (-(2**31), -(2**31) + 1, -7, -2, -1, 0, 1, 2, 3, 7, 2**31 - 2, 2**31 - 1)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan)


def pairs(numbers: tuple[float, ...]) -> tuple[list[float], list[float]]:
    return [a for a in numbers for _ in numbers], [b for _ in numbers for b in numbers]


def wrapped(value: int, bits: int = 32) -> int:
    value &= 2**bits - 1
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def check_floats(found: np.ndarray, expected: list[float], what: str) -> None:
    due = np.array(expected, found.dtype)
    same = (found == due) | (np.isnan(found) & np.isnan(due))
    same &= np.isnan(due) | (np.signbit(found) == np.signbit(due))
    wrong = np.flatnonzero(~same)
    if len(wrong):
        place = wrong[0]
        check(False, f"{what}: number {place} is {found[place]!r}, not {due[place]!r}")


@case(sample=True)
def division_of_integers() -> None:
    """``//`` and ``%`` of all signs and limits; by zero 0, and told in debug mode."""

    @oa.kernel
    def k(a: oa.Array[i32], b: oa.Array[i32], q: oa.Array[i32], r: oa.Array[i32]):
        i = oa.grid(1)
        q[i] = a[i] // b[i]
        r[i] = a[i] % b[i]

    left, right = pairs(BIG)
    if in_debug():
        left, right = map(
            list, zip(*((a, b) for a, b in zip(left, right, strict=True) if b), strict=True)
        )
    a, b = oa.array(i32, left), oa.array(i32, right)
    q, r = oa.zeros(len(left), i32), oa.zeros(len(left), i32)
    k[len(left)](a, b, q, r)
    quotients = [wrapped(x // y) if y else 0 for x, y in zip(left, right, strict=True)]
    rests = [x % y if y else 0 for x, y in zip(left, right, strict=True)]
    check_equal(q.numpy(), quotients)
    check_equal(r.numpy(), rests)


@case()
def division_of_wide_integers() -> None:
    """The smallest i64 by minus one, and large u64."""

    @oa.kernel
    def k(a: oa.Array[i64], b: oa.Array[i64], u: oa.Array[u64], out: oa.Array[i64]):
        out[0] = a[0] // b[0]
        out[1] = a[0] % b[0]
        u[1] = u[0] // 3
        u[2] = u[0] % 10

    a, b = oa.array(i64, [-(2**63)]), oa.array(i64, [-1])
    u = oa.array(u64, np.array([2**64 - 1, 0, 0], np.uint64))
    out = oa.zeros(2, i64)
    k[1](a, b, u, out)
    check_equal(out.numpy(), [-(2**63), 0])
    check_equal(u.numpy()[1:], [(2**64 - 1) // 3, (2**64 - 1) % 10])


@case()
def division_of_floats() -> None:
    """``/``, ``//`` and ``%`` of infinities, NaN and zeros."""

    @oa.kernel
    def k(a: oa.Array[f64], b: oa.Array[f64], d: oa.Array[f64], q: oa.Array[f64], r: oa.Array[f64]):
        i = oa.grid(1)
        d[i] = a[i] / b[i]
        q[i] = a[i] // b[i]
        r[i] = a[i] % b[i]

    left, right = pairs(FLOATS)
    arrays = [oa.array(f64, left), oa.array(f64, right), *(oa.zeros(len(left), f64) for _ in "123")]
    k[len(left)](*arrays)
    with np.errstate(all="ignore"):
        x, y = np.array(left), np.array(right)
        check_floats(arrays[2].numpy(), (x / y).tolist(), "/")
        finite = [(a, b) for a, b in zip(left, right, strict=True) if b and math.isfinite(a)]
    found = dict(
        zip(zip(map(repr, left), map(repr, right), strict=True), arrays[4].numpy(), strict=True)
    )
    for a, b in finite:
        if not math.isnan(b):
            check_floats(np.array([found[repr(a), repr(b)]]), [a % b], f"{a} % {b}")


@case()
def overflow_of_integers() -> None:
    """Sums, differences and products wrap in the width of their type."""

    @oa.kernel
    def k(a: oa.Array[i32], b: oa.Array[i32], s: oa.Array[i32], d: oa.Array[i32], p: oa.Array[i32]):
        i = oa.grid(1)
        s[i] = a[i] + b[i]
        d[i] = a[i] - b[i]
        p[i] = a[i] * b[i]

    left, right = pairs(BIG)
    arrays = [oa.array(i32, left), oa.array(i32, right), *(oa.zeros(len(left), i32) for _ in "123")]
    k[len(left)](*arrays)
    both = list(zip(left, right, strict=True))
    check_equal(arrays[2].numpy(), [wrapped(x + y) for x, y in both])
    check_equal(arrays[3].numpy(), [wrapped(x - y) for x, y in both])
    check_equal(arrays[4].numpy(), [wrapped(x * y) for x, y in both])


@case()
def shifts_too_far() -> None:
    """Shifts by the width, by more, and by negative numbers."""

    @oa.kernel
    def k(n: oa.Array[i32], a: oa.Array[i32], b: oa.Array[i32]):
        i = oa.grid(1)
        a[i] = 5 << n[i]
        b[i] = -5 >> n[i]

    shifts = [0, 1, 31, 32, 33, 64, 1000]
    n = oa.array(i32, shifts)
    a, b = oa.zeros(len(shifts), i32), oa.zeros(len(shifts), i32)
    k[len(shifts)](n, a, b)
    check_equal(a.numpy(), [wrapped(5 << s) if s < 64 else 0 for s in shifts])
    check_equal(b.numpy(), [-5 >> s for s in shifts])


@case()
def shifts_by_negative_numbers() -> None:
    """Shifts by negative numbers give 0."""

    @oa.kernel
    def k(n: i32, a: oa.Array[i32]):
        a[0] = 5 << n
        a[1] = 5 >> n

    a = oa.zeros(2, i32)
    k[1](-1, a)
    check_equal(a.numpy(), [0, 0])


@case()
def powers() -> None:
    """Powers of integers and floats, with exponents of every kind."""

    @oa.kernel
    def k(x: oa.Array[f64], n: oa.Array[i32], p: oa.Array[f64], q: oa.Array[i64]):
        i = oa.grid(1)
        p[i] = x[i] ** n[i]
        q[i] = i64(n[i]) ** 3

    exponents = [0, 1, 2, 3, 10, -1, -2, 31]
    numbers = [2.5, -1.5, 0.0, 1e10, -2.0, 4.0, -0.5, 1.0]
    x, n = oa.array(f64, numbers), oa.array(i32, exponents)
    p, q = oa.zeros(8, f64), oa.zeros(8, i64)
    k[8](x, n, p, q)
    due = [a**b if a or b >= 0 else math.inf for a, b in zip(numbers, exponents, strict=True)]
    check(np.allclose(p.numpy(), due, rtol=1e-14), f"powers are {p.numpy().tolist()}, not {due}")
    check_equal(q.numpy(), [e**3 for e in exponents])


@case(debug=False, backends=CPU)
def powers_with_fastmath() -> None:
    """Powers with SHAREDOA_FASTMATH=1, for which LLVM may want a helper."""
    program(
        """
import sharedoa as oa
from sharedoa import f32, f64, i32
@oa.kernel
def k(x: oa.Array[f32], y: oa.Array[f64], n: i32):
    i = oa.grid(1)
    x[i] = x[i] ** n
    y[i] = y[i] ** n
x, y = oa.array(f32, [2.0, 3.0]), oa.array(f64, [2.0, 3.0])
k[2](x, y, 5)
assert x.numpy().tolist() == [32.0, 243.0] and y.numpy().tolist() == [32.0, 243.0]
print("good")
""",
        SHAREDOA_FASTMATH="1",
    ).well("good")


@case()
def functions_outside_their_domain() -> None:
    """Roots, logarithms and arcs where CPython raises: NaN or infinity."""

    @oa.kernel
    def k(x: oa.Array[f64], out: oa.Array[f64]):
        out[0] = math.sqrt(x[0])
        out[1] = math.log(x[1])
        out[2] = math.log(x[0])
        out[3] = math.acos(x[2])
        out[4] = math.exp(x[3])
        out[5] = math.sin(x[4])
        out[6] = math.fmod(x[2], x[1])

    x = oa.array(f64, [-1.0, 0.0, 2.0, 1000.0, math.inf])
    out = oa.zeros(7, f64)
    k[1](x, out)
    nan = math.nan
    check_floats(np.abs(out.numpy()), [nan, math.inf, nan, nan, math.inf, nan, nan], "functions")


@case()
def conversions_of_floats() -> None:
    """Floats that no integer holds, converted to integers: defined, the same each time."""

    @oa.kernel
    def k(x: oa.Array[f64], a: oa.Array[i32], b: oa.Array[i64], c: oa.Array[u8]):
        i = oa.grid(1)
        a[i] = i32(x[i])
        b[i] = i64(x[i])
        c[i] = u8(x[i])

    numbers = [2.9, -2.9, 0.0, -0.0, 255.0, 1e9]
    count = len(numbers)
    x, a, b, c = (
        oa.array(f64, numbers),
        oa.zeros(count, i32),
        oa.zeros(count, i64),
        oa.zeros(count, u8),
    )
    k[count](x, a, b, c)
    check_equal(a.numpy(), [int(n) for n in numbers])
    check_equal(b.numpy(), [int(n) for n in numbers])
    check_equal(c.numpy()[[0, 2, 3, 4]], [2, 0, 0, 255])


@case()
def conversions_of_integers() -> None:
    """Integers that narrower types do not hold wrap."""

    @oa.kernel
    def k(n: oa.Array[i64], a: oa.Array[i8], b: oa.Array[u8], c: oa.Array[i16], d: oa.Array[u32]):
        i = oa.grid(1)
        a[i] = i8(n[i])
        b[i] = u8(n[i])
        c[i] = i16(n[i])
        d[i] = u32(n[i])

    numbers = [0, 127, 128, 255, 256, -1, -129, 2**31, 2**40 + 5, -(2**63), 2**63 - 1]
    n = oa.array(i64, numbers)
    outs = [oa.zeros(len(numbers), t) for t in (i8, u8, i16, u32)]
    k[len(numbers)](n, *outs)
    array = np.array(numbers)
    for out, dtype in zip(outs, (np.int8, np.uint8, np.int16, np.uint32), strict=True):
        check_equal(out.numpy(), array.astype(dtype), str(dtype))


@case()
def comparison_of_int_and_float() -> None:
    """Arrays of integers beyond 2**53 compared with arrays of floats, as NumPy does: as floats."""

    @oa.kernel
    def k(n: oa.Array[i64], x: oa.Array[f64], e: oa.Array[i32], s: oa.Array[i32]):
        i = oa.grid(1)
        e[i] = 1 if n[i] == x[i] else 0
        s[i] = 1 if n[i] < x[i] else 0

    big = [2**53, 2**53 + 1, 2**62 + 1, -(2**53) - 1, 2**63 - 1]
    floats = [float(2**53), float(2**53), float(2**62), -float(2**53), float(2**63)]
    n, x = oa.array(i64, big), oa.array(f64, floats)
    e, less = oa.zeros(5, i32), oa.zeros(5, i32)
    k[5](n, x, e, less)
    check_equal(e.numpy(), (np.array(big) == np.array(floats)).astype(np.int32))
    check_equal(less.numpy(), (np.array(big) < np.array(floats)).astype(np.int32))


@case()
def comparison_of_signs() -> None:
    """Signed with unsigned numbers."""

    @oa.kernel
    def k(a: oa.Array[i32], b: oa.Array[u32], out: oa.Array[i32]):
        i = oa.grid(1)
        out[i] = 1 if a[i] < b[i] else 0

    a, b = oa.array(i32, [-1, 5, -(2**31)]), oa.array(u32, [1, 4, 2**32 - 1])
    out = oa.zeros(3, i32)
    k[3](a, b, out)
    check_equal(out.numpy(), [1, 0, 1])


@case()
def minimum_of_nan() -> None:
    """``min`` and ``max`` with NaN, as CPython: the first, where no comparison holds."""

    @oa.kernel
    def k(a: oa.Array[f64], b: oa.Array[f64], low: oa.Array[f64], high: oa.Array[f64]):
        i = oa.grid(1)
        low[i] = min(a[i], b[i])
        high[i] = max(a[i], b[i])

    left, right = pairs((0.0, -0.0, 1.0, math.nan, math.inf))
    arrays = [oa.array(f64, left), oa.array(f64, right), *(oa.zeros(len(left), f64) for _ in "12")]
    k[len(left)](*arrays)
    both = list(zip(left, right, strict=True))
    check_floats(arrays[2].numpy(), [min(a, b) for a, b in both], "min")
    check_floats(arrays[3].numpy(), [max(a, b) for a, b in both], "max")


@case()
def rounding() -> None:
    """``floor``, ``ceil``, ``trunc`` of halves and large numbers."""

    @oa.kernel
    def k(x: oa.Array[f64], f: oa.Array[i64], c: oa.Array[i64], t: oa.Array[i64]):
        i = oa.grid(1)
        f[i] = math.floor(x[i])
        c[i] = math.ceil(x[i])
        t[i] = math.trunc(x[i])

    numbers = [0.5, -0.5, 1.5, -1.5, 2.0**52 + 0.5, -(2.0**52) - 0.5, 1e15, -0.0]
    x = oa.array(f64, numbers)
    outs = [oa.zeros(len(numbers), i64) for _ in "123"]
    k[len(numbers)](x, *outs)
    works: list[Any] = [math.floor, math.ceil, math.trunc]
    for out, work in zip(outs, works, strict=True):
        check_equal(out.numpy(), [work(n) for n in numbers], work.__name__)


@case()
def small_types() -> None:
    """Arithmetic of 8 and 16 bits wraps in that width."""

    @oa.kernel
    def k(a: oa.Array[u8], b: oa.Array[u8], s: oa.Array[u8], p: oa.Array[u16]):
        i = oa.grid(1)
        s[i] = a[i] + b[i]
        p[i] = u16(a[i]) * u16(b[i])

    a, b = oa.array(u8, [200, 255, 1]), oa.array(u8, [100, 255, 255])
    s, p = oa.zeros(3, u8), oa.zeros(3, u16)
    k[3](a, b, s, p)
    check_equal(s.numpy(), [44, 254, 0])
    check_equal(p.numpy(), [20000, 65025, 255])


@case()
def constants_too_large() -> None:
    """Constants that do not fit where they are used."""

    @oa.kernel
    def k(a: oa.Array[u8]):
        a[0] = 256

    @oa.kernel
    def j(a: oa.Array[i32]):
        a[0] = 1 << 40

    with refuses(oa.CompileError, "256"):
        k[1](oa.zeros(1, u8))
    with refuses(oa.CompileError, "fit|1099511627776"):
        j[1](oa.zeros(1, i32))


@case()
def negative_zero_and_sign() -> None:
    """Minus zero survives negation, products and ``abs``."""

    @oa.kernel
    def k(x: oa.Array[f64], out: oa.Array[f64]):
        out[0] = -x[0]
        out[1] = x[0] * -1.0
        out[2] = abs(-x[0])
        out[3] = x[0] - x[0]
        out[4] = math.copysign(1.0, -x[0])

    x, out = oa.array(f64, [0.0]), oa.zeros(5, f64)
    k[1](x, out)
    check_floats(out.numpy(), [-0.0, -0.0, 0.0, 0.0, -1.0], "signs")


@case()
def subnormal_numbers() -> None:
    """Numbers below the smallest normal one are not flushed to zero."""

    @oa.kernel
    def k(x: oa.Array[f32], y: oa.Array[f64]):
        i = oa.grid(1)
        x[i] = x[i] * f32(0.5)
        y[i] = y[i] * 0.5

    x = oa.array(f32, np.array([2e-38, 1e-44], np.float32))
    y = oa.array(f64, [sys.float_info.min, 1e-323])
    expected = x.numpy() * np.float32(0.5), y.numpy() * 0.5
    k[2](x, y)
    check_floats(x.numpy(), expected[0].tolist(), "f32")
    check_floats(y.numpy(), expected[1].tolist(), "f64")


@case()
def contraction_of_products() -> None:
    """``a * b + c`` is rounded twice, as in CPython."""

    @oa.kernel
    def k(a: f64, b: f64, c: f64, out: oa.Array[f64]):
        out[0] = a * b + c

    a = 1.0 + 2.0**-30
    out = oa.zeros(1, f64)
    k[1](a, a, -1.0 - 2.0**-29, out)
    check_equal(out.numpy(), [a * a + (-1.0 - 2.0**-29)])


@case()
def random_numbers() -> None:
    """``oa.random`` gives the same numbers on the host and in kernels, in [0, 1)."""

    @oa.kernel
    def k(out: oa.Array[f32]):
        i = oa.grid(1)
        out[i] = oa.random(7, u64(i))

    out = oa.zeros(10_000, f32)
    k[10_000](out)
    found = out.numpy()
    check(bool((found >= 0).all() and (found < 1).all()), "a number outside [0, 1)")
    check_equal(found[:50], [np.float32(oa.random(7, i)) for i in range(50)])
