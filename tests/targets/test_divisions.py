"""The quotient of two f32 on NVIDIA's GPUs, made of other instructions than elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from tests.codegen.interpreted import InterpretedGpu

Array = np.ndarray[Any, Any]

SPECIAL = np.array(
    [
        0x0000_0000, 0x0000_0001, 0x0000_0002, 0x0000_0003, 0x003F_FFFF, 0x0040_0000, 0x0040_0001,
        0x007F_FFFE, 0x007F_FFFF, 0x0080_0000, 0x0080_0001, 0x00FF_FFFF, 0x0100_0000, 0x1A00_0000,
        0x19FF_FFFF, 0x1A00_0001, 0x3400_0000, 0x3F00_0000, 0x3F7F_FFFF, 0x3F80_0000, 0x3F80_0001,
        0x3FFF_FFFF, 0x4000_0000, 0x4040_0000, 0x4B80_0000, 0x5800_0000, 0x5800_0001, 0x57FF_FFFF,
        0x7E80_0000, 0x7E80_0001, 0x7E80_0002, 0x7F00_0000, 0x7F7F_FFFF, 0x7F80_0000, 0x7FC0_0000,
    ],
    np.uint32,
)  # fmt: skip
"""Zero, subnormal numbers, powers of two, the bounds of usual operands, all digits 1, infinity."""


@oa.kernel
def divide(a: oa.Array[f32], b: oa.Array[f32], quotients: oa.Array[f32]) -> None:
    i = oa.grid(1)
    quotients[i] = a[i] / b[i]


def special_pairs() -> tuple[Array, Array]:
    signed = np.concatenate([SPECIAL, SPECIAL | np.uint32(1 << 31)]).view(np.float32)
    a, b = np.meshgrid(signed, signed)
    return a.ravel(), b.ravel()


def random_pairs(seed: int, count: int) -> tuple[Array, Array]:
    """A third of any bits, a third with usual quotients, a third with quotients about the least."""
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 1 << 32, (2, count), np.uint32)
    third = count // 3
    for part, way in ((slice(third), 127), (slice(third, 2 * third), 0)):
        exponents = (b[part] >> 23 & 0xFF).astype(np.int64)
        spread = random.integers(-26, 3, third) if way == 0 else random.integers(-20, 20, third)
        wanted = np.clip(exponents - 127 + way + spread, 0, 254).astype(np.uint32)
        a[part] = a[part] & np.uint32(0x807F_FFFF) | wanted << 23
    return a.view(np.float32), b.view(np.float32)


def ties(seed: int, count: int) -> tuple[Array, Array]:
    """Subnormal quotients that are midpoints of two f32, and pairs beside them."""
    random = np.random.default_rng(seed)
    digits = random.integers(1, 24, count)
    b = random.integers(1 << (digits - 1), 1 << digits)
    odd = random.integers(0, 1 << (24 - digits)) | 1
    up = random.integers(0, 60, count)
    beside = random.integers(-1, 2, count)
    a = np.ldexp(((b * odd).astype(np.float64)), up - 149).astype(np.float32)
    a = (a.view(np.int32) + beside.astype(np.int32)).view(np.float32)
    return a, np.ldexp(b.astype(np.float64), up + 1).astype(np.float32)


def check(backend: Any, a: Array, b: Array) -> None:
    with oa.Heap("auto", backend):
        quotients = oa.zeros(len(a), f32)
        divide[len(a)](oa.array(f32, a), oa.array(f32, b), quotients)
        found = quotients.numpy()
    with np.errstate(all="ignore"):
        expected = a / b
    real = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), ~real)
    np.testing.assert_array_equal(found[real].view(np.uint32), expected[real].view(np.uint32))


def test_special_operands() -> None:
    check(InterpretedGpu(), *special_pairs())


def test_random_operands() -> None:
    check(InterpretedGpu(), *random_pairs(1, 3000))


def test_midpoints() -> None:
    check(InterpretedGpu(), *ties(2, 1000))


def test_hard_quotients() -> None:
    """Quotients next to midpoints of two f32."""
    divisors = np.random.default_rng(3).integers(1 << 23, 1 << 24, 500)
    check(InterpretedGpu(), *hard_pairs(divisors))


@pytest.mark.gpu
def test_quotients_are_those_of_numpy() -> None:
    check("cuda", *special_pairs())
    check("cuda", *ties(4, 1 << 20))
    for seed in range(8):
        check("cuda", *random_pairs(seed, 1 << 22))
    random = np.random.default_rng(5)
    for _ in range(4):
        check("cuda", *hard_pairs(random.integers(1 << 23, 1 << 24, 1 << 20)))


@pytest.mark.gpu
def test_divisors_with_all_digits_1() -> None:
    """Of which the approximate inverse has to be the nearest f32."""
    exponents = np.arange(1, 255, dtype=np.uint32) << 23
    a, b = np.meshgrid(exponents, exponents | np.uint32(0x7F_FFFF))
    check("cuda", a.ravel().view(np.float32), b.ravel().view(np.float32))


# ------------------------------------------------------------------ pairs that decide, in integers

_Case = tuple[int, Array, Array, Array]


def near_midpoints(divisors: Array, is_less: bool, farthest: int) -> Iterator[_Case]:
    """``(k, place, a, m)``: dividends a (of 24 digits, as the divisors b have) with a quotient near
    a midpoint, ``a * 2**digits - b * m == k`` with m odd and k to ``farthest``, for the divisor in
    ``place``; quotients below 1 (``is_less``, 25 digits) or from 1 (24)."""
    digits = 25 if is_less else 24
    for k in range(-farthest, farthest + 1):
        twos = (k & -k).bit_length() - 1
        if k == 0:
            continue
        # b * m = -k (mod 2**digits): with m odd, b has as many factors 2 as k.
        place = np.flatnonzero((divisors & ((2 << twos) - 1)) == 1 << twos)
        odd, mask = divisors[place] >> twos, (1 << (digits - twos)) - 1
        inverse = odd.copy()
        for _ in range(5):
            inverse = inverse * (2 - odd * inverse) & mask
        least = -(k >> twos) * inverse & mask
        for more in range(1 << (25 - digits + twos)):
            m = least + (more << (digits - twos))
            a = (divisors[place] * m + k) >> digits
            fits = (m >> 24 == 1) & (a >> 23 == 1) & ((a < divisors[place]) == is_less)
            yield k, place[fits], a[fits], m[fits]


def hard_pairs(divisors: Array) -> tuple[Array, Array]:
    pairs = [
        (a, divisors[place])
        for is_less in (False, True)
        for _, place, a, _ in near_midpoints(divisors, is_less, 2)
    ]
    a, b = (np.concatenate(each).astype(np.float32) for each in zip(*pairs, strict=True))
    return a, b


def halved(value: Array, times: int) -> Array:
    """``value / 2**times`` as the nearest integer, of two the even one."""
    whole, rest = value >> times, value & ((1 << times) - 1)
    half = 1 << (times - 1)
    return whole + ((rest > half) | ((rest == half) & (whole & 1 == 1)))


def of_24_digits(value: Array) -> Array:
    """Rounded to as many digits."""
    for times in (1, 2, 3):
        is_long = (np.abs(value) >> (23 + times)) == 1
        value = np.where(is_long, np.sign(value) * (halved(np.abs(value), times) << times), value)
    return value


def refined(divisors: Array, near: Array) -> Array:
    """Inverses of ``b / 2**23`` in units of ``2**-24``, after a step from ``near``."""
    error = (1 << 47) - divisors * near
    assert (np.abs(error) <= 1 << 24).all()  # it is exact
    return near + halved(near * error, 47)


def is_right(is_less: bool, case: _Case, divisors: Array, inverses: Array) -> Array:
    """Whether the last sum of the quick way is on the same side of the midpoint as the quotient."""
    k, place, a, m = case
    b, inverse = divisors[place], inverses[place]
    product = a * inverse
    above_1 = product >> 47 == 1
    quotient = np.where(above_1, halved(product, 24) << 1, halved(product, 23))
    rest = of_24_digits((a << 24) - b * quotient)
    away = (2 * quotient - m) << 46 if is_less else (quotient - m) << 47
    return np.sign(away + inverse * rest) == np.sign(k)


def wrong_pairs(divisors: Array) -> list[tuple[int, int]]:
    """Pairs that the quick way gets wrong with an inverse within one unit, of all that it might."""
    found = []
    for step in (-1, 0, 1, 2):
        near = (1 << 47) // divisors + step
        allowed = (np.abs((1 << 47) - divisors * near) <= divisors) & (near <= 1 << 24)
        chosen = divisors[allowed]
        inverses = refined(chosen, near[allowed])
        # The bounds are 5 and 2, as the docstring of ``nvptx_division`` has them.
        for is_less, farthest in ((True, 6), (False, 4)):
            for case in near_midpoints(chosen, is_less, farthest):
                wrong = ~is_right(is_less, case, chosen, inverses)
                found += [(int(case[2][n]), int(chosen[case[1][n]])) for n in np.flatnonzero(wrong)]
    return found


def test_pairs_that_decide() -> None:
    first, end = 1 << 23, 1 << 24
    random = np.random.default_rng(6).integers(first, end, 100_000)
    ends = np.concatenate([np.arange(first, first + 1000), np.arange(end - 1000, end - 1)])
    assert wrong_pairs(np.concatenate([random[random != end - 1], ends])) == []
    # All digits 1, with an inverse that is not the nearest.
    assert wrong_pairs(np.array([end - 1])) == [(first, end - 1)]


@pytest.mark.slow
def test_all_pairs_that_decide() -> None:
    piece = 1 << 20
    wrong = [
        pair
        for start in range(1 << 23, 1 << 24, piece)
        for pair in wrong_pairs(np.arange(start, start + piece))
    ]
    assert wrong == [(1 << 23, (1 << 24) - 1)]
