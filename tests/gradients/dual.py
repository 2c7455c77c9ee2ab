"""Dual numbers: a value with its derivatives by every input at once (forward mode).

Beside each derivative goes its *weight*, the sum of the absolute values of all products of local
derivatives that it is the sum of. However these are summed, rounding changes the derivative by a
small multiple of the weight, so it says what equal means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

Number = Union["Dual", int, float]


class Dual:
    """``parts``: derivatives by all inputs, and their weights, as two rows. What is infinite has
    none: a way back multiplies by it where nobody uses it, too, and 0 times infinity is no number.
    """

    __slots__ = ("parts", "value")

    def __init__(self, value: float, parts: NDArray[np.float64]) -> None:
        self.value, self.parts = float(value), parts
        if math.isinf(self.value):
            raise OverflowError("a number is infinite on the way")

    @property
    def derivatives(self) -> NDArray[np.float64]:
        return self.parts[0]

    @property
    def weights(self) -> NDArray[np.float64]:
        return self.parts[1]

    def __repr__(self) -> str:
        return f"Dual({self.value!r})"

    # ------------------------------------------------------------- arithmetic

    def __add__(self, other: Number) -> Dual:
        return _join(self.value + value_of(other), self, 1.0, other, 1.0)

    __radd__ = __add__

    def __sub__(self, other: Number) -> Dual:
        return _join(self.value - value_of(other), self, 1.0, other, -1.0)

    def __rsub__(self, other: Number) -> Dual:
        return _join(value_of(other) - self.value, self, -1.0, other, 1.0)

    def __mul__(self, other: Number) -> Dual:
        right = value_of(other)
        return _join(self.value * right, self, right, other, self.value)

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> Dual:
        right = value_of(other)
        return _join(self.value / right, self, 1 / right, other, -self.value / (right * right))

    def __rtruediv__(self, other: Number) -> Dual:
        left = value_of(other)
        return _chain(self, left / self.value, -left / (self.value * self.value))

    def __pow__(self, other: Number) -> Dual:
        right = value_of(other)
        by_left = right * self.value ** (right - 1) if right else 0.0
        result = self.value**right
        by_right = result * math.log(self.value) if isinstance(other, Dual) else 0.0
        return _join(result, self, by_left, other, by_right)

    def __rpow__(self, other: Number) -> Dual:
        left = value_of(other)
        result = left**self.value
        return _chain(self, result, result * math.log(left))

    def __neg__(self) -> Dual:
        return _chain(self, -self.value, -1.0)

    def __pos__(self) -> Dual:
        return self

    def __abs__(self) -> Dual:
        return self if self.value >= 0 else -self

    def __mod__(self, other: Number) -> Dual:
        right = value_of(other)
        return _join(self.value % right, self, 1.0, other, -math.floor(self.value / right))

    # ------------------------------------------- questions, which have no derivative

    def __lt__(self, other: Number) -> bool:
        return self.value < value_of(other)

    def __le__(self, other: Number) -> bool:
        return self.value <= value_of(other)

    def __gt__(self, other: Number) -> bool:
        return self.value > value_of(other)

    def __ge__(self, other: Number) -> bool:
        return self.value >= value_of(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Dual, int, float)) and self.value == value_of(other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __floor__(self) -> int:
        return math.floor(self.value)

    def __ceil__(self) -> int:
        return math.ceil(self.value)

    def __round__(self) -> int:
        return round(self.value)


def value_of(number: Number) -> float:
    return number.value if isinstance(number, Dual) else number


def _chain(one: Dual, value: float, by_one: float) -> Dual:
    parts = one.parts * by_one
    np.abs(parts[1], out=parts[1])
    return Dual(value, parts)


def _join(value: float, one: Dual, by_one: float, other: Number, by_other: float) -> Dual:
    if not isinstance(other, Dual):
        return _chain(one, value, by_one)
    left, right = one.parts * by_one, other.parts * by_other
    np.abs(left[1], out=left[1])
    np.abs(right[1], out=right[1])
    return Dual(value, left + right)


# -------------------------------------------------------------------- functions


def _of_one(
    function: Callable[[float], float], derivative: Callable[[float, float], float]
) -> Callable[[Number], Any]:
    """``derivative`` is given the argument and the result."""

    def call(x: Number) -> Any:
        if not isinstance(x, Dual):
            return function(x)
        result = function(x.value)
        return _chain(x, result, derivative(x.value, result))

    return call


def _of_two(
    function: Callable[[float, float], float],
    derivatives: Callable[[float, float, float], tuple[float, float]],
) -> Callable[[Number, Number], Any]:
    def call(x: Number, y: Number) -> Any:
        left, right = value_of(x), value_of(y)
        result = function(left, right)
        by_left, by_right = derivatives(left, right, result)
        if isinstance(x, Dual):
            return _join(result, x, by_left, y, by_right)
        return _chain(y, result, by_right) if isinstance(y, Dual) else result

    return call


_ROOT_PI = math.sqrt(math.pi)

#: What ``math`` means to programs that run with dual numbers.
MATH = SimpleNamespace(
    pi=math.pi, e=math.e, inf=math.inf, nan=math.nan, tau=math.tau,
    sqrt=_of_one(math.sqrt, lambda x, r: 0.5 / r),
    cbrt=_of_one(math.cbrt, lambda x, r: 1 / (3 * r * r)),
    exp=_of_one(math.exp, lambda x, r: r),
    expm1=_of_one(math.expm1, lambda x, r: r + 1),
    log=_of_one(math.log, lambda x, r: 1 / x),
    log1p=_of_one(math.log1p, lambda x, r: 1 / (1 + x)),
    log2=_of_one(math.log2, lambda x, r: 1 / (x * math.log(2))),
    log10=_of_one(math.log10, lambda x, r: 1 / (x * math.log(10))),
    sin=_of_one(math.sin, lambda x, r: math.cos(x)),
    cos=_of_one(math.cos, lambda x, r: -math.sin(x)),
    tan=_of_one(math.tan, lambda x, r: 1 + r * r),
    asin=_of_one(math.asin, lambda x, r: 1 / math.sqrt(1 - x * x)),
    acos=_of_one(math.acos, lambda x, r: -1 / math.sqrt(1 - x * x)),
    atan=_of_one(math.atan, lambda x, r: 1 / (1 + x * x)),
    sinh=_of_one(math.sinh, lambda x, r: math.cosh(x)),
    cosh=_of_one(math.cosh, lambda x, r: math.sinh(x)),
    tanh=_of_one(math.tanh, lambda x, r: 1 - r * r),
    asinh=_of_one(math.asinh, lambda x, r: 1 / math.sqrt(x * x + 1)),
    acosh=_of_one(math.acosh, lambda x, r: 1 / math.sqrt(x * x - 1)),
    atanh=_of_one(math.atanh, lambda x, r: 1 / (1 - x * x)),
    erf=_of_one(math.erf, lambda x, r: 2 / _ROOT_PI * math.exp(-x * x)),
    erfc=_of_one(math.erfc, lambda x, r: -2 / _ROOT_PI * math.exp(-x * x)),
    radians=_of_one(math.radians, lambda x, r: math.pi / 180),
    degrees=_of_one(math.degrees, lambda x, r: 180 / math.pi),
    fabs=lambda x: abs(x),
    floor=math.floor, ceil=math.ceil, trunc=lambda x: math.trunc(value_of(x)),
    hypot=_of_two(math.hypot, lambda x, y, r: (x / r, y / r)),
    atan2=_of_two(math.atan2, lambda y, x, r: (x / (x * x + y * y), -y / (x * x + y * y))),
    fmod=_of_two(math.fmod, lambda x, y, r: (1.0, -math.trunc(x / y))),
    copysign=_of_two(
        math.copysign, lambda x, y, r: (math.copysign(1, x) * math.copysign(1, y), 0.0)
    ),
    pow=lambda x, y: x**y,
)  # fmt: skip
