"""``oa.random`` and its relatives: in kernels functions of ``random``, on the host the same numbers
for NumPy arrays of counters.

A seed names a sequence; counters, as many as one likes, say which number of it. All are integers,
taken modulo 2**64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from .errors import ArgumentError
from .model.intrinsics import known_in_kernels
from .philox import (
    ATANH,
    COS,
    LN2,
    MULTIPLIER_0,
    MULTIPLIER_1,
    ROOT_HALF,
    ROUNDS,
    SIN,
    WEYL_0,
    WEYL_1,
)

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ALL = 2**64 - 1
_MOST = np.uint64(2**63 - 1)
_TOGETHER = 1 << 14
"""Numbers that are computed at a time, so that they stay in the cache."""

Words = tuple[Any, Any, Any, Any]


def _integers(value: Any, what: str) -> Any:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return np.array(int(value) & _ALL, np.uint64)
    found = np.asarray(value)
    if found.dtype.kind in "fO" and not hasattr(value, "dtype"):
        # Of ints that no one type of 64 bits holds NumPy makes floats.
        exact = np.asarray(value, object)
        if exact.size and all(isinstance(each, (int, np.integer)) for each in exact.flat):
            found = np.array([int(each) & _ALL for each in exact.flat], np.uint64)
            return found.reshape(exact.shape)
    if found.dtype.kind not in "iu":
        raise ArgumentError(f"{what} takes integers, not {value!r}", "number what it is about")
    return found.astype(np.uint64)


def _philox(words: Words, seed: Any, number: Callable[[int], Any]) -> Words:
    low, half, weyl_0, weyl_1 = number(0xFFFFFFFF), number(32), number(WEYL_0), number(WEYL_1)
    multiplier_0, multiplier_1 = number(MULTIPLIER_0), number(MULTIPLIER_1)
    c0, c1, c2, c3 = words
    k0, k1 = seed & low, seed >> half
    for _ in range(ROUNDS):
        product_0, product_1 = c0 * multiplier_0, c2 * multiplier_1
        c0, c2 = (product_1 >> half) ^ c1 ^ k0, (product_0 >> half) ^ c3 ^ k1
        c1, c3 = product_1 & low, product_0 & low
        k0, k1 = (k0 + weyl_0) & low, (k1 + weyl_1) & low
    return c0, c1, c2, c3


def _words(seed: Any, counters: list[Any], zero: Any, number: Callable[[int], Any]) -> Words:
    low, half = number(0xFFFFFFFF), number(32)
    counters = counters + [zero] * ((len(counters) % 2) or 2 * (not counters))
    words = seed, seed, seed, seed
    for k in range(0, len(counters), 2):
        if k:
            seed = words[0] | (words[1] << half)
        first, second = counters[k : k + 2]
        words = _philox((first & low, first >> half, second & low, second >> half), seed, number)
    return words


def _numbers(what: str, make: Callable[..., Any], given: tuple[Any, ...], *more: Any) -> Any:
    """``make`` of the words for a seed and counters, and of ``more``, broadcast together."""
    if all(isinstance(each, (int, np.integer)) and not isinstance(each, bool) for each in given):
        # One, as CPython's kernels ask for: Python's integers are faster than NumPy's.
        seed, *counters = (int(each) & _ALL for each in given)
        words = (np.array(word, np.uint64) for word in _words(seed, counters, 0, int))
        with np.errstate(all="ignore"):
            return make(tuple(words), *more)[()]
    seed, *counters = (_integers(each, what) for each in given)
    whole = np.broadcast_arrays(seed, *counters, *more)
    shape = whole[0].shape
    flat = [each.ravel() for each in whole]
    with np.errstate(all="ignore"):
        parts = [
            _of_part(make, [each[k : k + _TOGETHER] for each in flat], 1 + len(counters))
            for k in range(0, max(1, flat[0].size), _TOGETHER)
        ]
    return np.concatenate(parts).reshape(shape)


def _of_part(make: Callable[..., Any], given: list[Any], count: int) -> Any:
    seed, *counters = given[:count]
    return make(_words(seed, counters, np.zeros_like(seed), np.uint64), *given[count:])


def _half_open(a: Any, b: Any) -> Any:
    whole = (a >> np.uint64(5)).astype(np.float64) * 67108864.0
    return (whole + (b >> np.uint64(6)).astype(np.float64)) * 2.0**-53


def _open(a: Any, b: Any) -> Any:
    whole = (a >> np.uint64(6)).astype(np.float64) * 134217728.0
    return (whole + (b >> np.uint64(6)).astype(np.float64) * 2.0 + 1.0) * 2.0**-53


def _series(z: Any, factors: tuple[float, ...]) -> Any:
    total = np.zeros_like(z)
    for factor in factors:
        total = total * z + factor
    return total


def _log(x: Any) -> Any:
    x, exponent = np.frexp(x)
    is_small = x < ROOT_HALF
    x, exponent = np.where(is_small, x * 2.0, x), exponent - is_small
    t = (x - 1.0) / (x + 1.0)
    return exponent.astype(np.float64) * LN2 + 2.0 * t * _series(t * t, ATANH)


def _cosine(turns: Any) -> Any:
    a = np.abs(turns - 0.5)
    is_far = a > 0.25
    a, sign = np.where(is_far, 0.5 - a, a), np.where(is_far, 1.0, -1.0)
    is_sine = a > 0.125
    y = 2.0 * np.pi * np.where(is_sine, 0.25 - a, a)
    sine, cosine = _series(y * y, SIN) * y, _series(y * y, COS)
    return sign * np.where(is_sine, sine, cosine)


@overload
def random(seed: int, *counters: int) -> float: ...
@overload
def random(seed: Any, *counters: Any) -> Any: ...
@known_in_kernels("random")
def random(seed: Any, *counters: Any) -> Any:
    """An f32 in [0, 1), a multiple of 2**-24. Of arrays of counters an array."""
    scale = np.float32(2.0**-24)
    return _numbers(
        "oa.random",
        lambda words: (words[0] >> np.uint64(8)).astype(np.float32) * scale,
        (seed, *counters),
    )


@overload
def random64(seed: int, *counters: int) -> float: ...
@overload
def random64(seed: Any, *counters: Any) -> Any: ...
@known_in_kernels("random64")
def random64(seed: Any, *counters: Any) -> Any:
    """An f64 in [0, 1), a multiple of 2**-53."""
    return _numbers("oa.random64", lambda words: _half_open(*words[:2]), (seed, *counters))


@overload
def randint(low: int, high: int, seed: int, *counters: int) -> int: ...
@overload
def randint(low: Any, high: Any, seed: Any, *counters: Any) -> Any: ...
@known_in_kernels("randint")
def randint(low: Any, high: Any, seed: Any, *counters: Any) -> Any:
    """An i64 from ``low`` to ``high``, which is not among them. Raises ArgumentError where there is
    none between them; compiled kernels give any number then."""

    def make(words: Words, low: Any, high: Any) -> Any:
        a, b = words[:2]
        count = high.view(np.uint64) - low.view(np.uint64)
        above, below = count >> _HALF, count & _LOW
        middle = a * below + ((b * below) >> _HALF)
        more = b * above + (middle & _LOW)
        found = low.view(np.uint64) + a * above + (middle >> _HALF) + (more >> _HALF)
        return found.view(np.int64)

    first, end = _end(low), _end(high)
    if not np.all(first < end):
        raise ArgumentError(
            f"oa.randint: there is no integer from {low} on below {high}",
            "give a larger end: it is not among the results",
        )
    return _numbers("oa.randint", make, (seed, *counters), first, end)


def _end(value: Any) -> Any:
    found = np.asarray(value)
    if found.dtype.kind not in "iu" or (found.dtype == np.uint64 and np.any(found > _MOST)):
        raise ArgumentError(
            f"oa.randint takes integers of 64 bits as ends, not {value!r}",
            "convert them, or scale oa.random64",
        )
    return found.astype(np.int64)


@overload
def exponential(seed: int, *counters: int) -> float: ...
@overload
def exponential(seed: Any, *counters: Any) -> Any: ...
@known_in_kernels("exponential")
def exponential(seed: Any, *counters: Any) -> Any:
    """An f32 of the exponential distribution with mean 1."""
    return _numbers(
        "oa.exponential",
        lambda words: (-_log(_open(*words[:2]))).astype(np.float32),
        (seed, *counters),
    )


@overload
def normal(seed: int, *counters: int) -> float: ...
@overload
def normal(seed: Any, *counters: Any) -> Any: ...
@known_in_kernels("normal")
def normal(seed: Any, *counters: Any) -> Any:
    """An f32 of the normal distribution with mean 0 and variance 1."""

    def make(words: Words) -> Any:
        radius = np.sqrt(-2.0 * _log(_open(*words[:2])))
        return (radius * _cosine(_half_open(*words[2:]))).astype(np.float32)

    return _numbers("oa.normal", make, (seed, *counters))
