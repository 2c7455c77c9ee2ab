"""What sums, minima and the like make of two numbers, as functions of the kernel language."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..model.functions import DeviceFunction, func
from ..model.scalars import ScalarType, boolean, f64, i64, u64
from ..model.types import Type, ValueType


class Operator(NamedTuple):
    """``combine(combine(lift(a), lift(b)), ...)``, in numbers of type ``total``."""

    total: ScalarType
    lift: DeviceFunction
    combine: DeviceFunction


def annotation(type: Type) -> Any:
    """What annotations say for it."""
    return type.python_class if isinstance(type, ValueType) else type


@cache
def same(type: Type) -> DeviceFunction:
    """Gives what it is given."""
    T = annotation(type)

    @func
    def same(x: T) -> T:
        return x

    return same


@cache
def operator(name: str, element: ScalarType) -> Operator:
    """One of sum, mean (a sum), min, max, any, all and count (of those that are not 0)."""
    total = _total(name, element)
    if name in ("any", "all", "count"):
        return Operator(total, _tested(element, total), _COMBINE[name](total))
    return Operator(total, converted(element, total), _COMBINE[name](total))


def _total(name: str, element: ScalarType) -> ScalarType:
    """As in NumPy."""
    if name in ("min", "max") or (element.is_float and name in ("sum", "mean")):
        return element
    if name in ("any", "all"):
        return boolean
    if name == "mean":
        return f64
    return u64 if element.kind == "uint" and name == "sum" else i64


@cache
def converted(E: ScalarType, T: ScalarType) -> DeviceFunction:
    """Makes a T of an E."""

    @func
    def converted(x: E) -> T:
        return T(x)

    return converted


def _tested(E: ScalarType, T: ScalarType) -> DeviceFunction:
    @func
    def is_not_zero(x: E) -> T:
        return T(x != E(0))

    return is_not_zero


def _add(T: ScalarType) -> DeviceFunction:
    @func
    def add(a: T, b: T) -> T:
        return a + b

    return add


def _smaller(T: ScalarType) -> DeviceFunction:
    @func
    def smaller(a: T, b: T) -> T:
        return b if b < a or b != b else a

    return smaller


def _larger(T: ScalarType) -> DeviceFunction:
    @func
    def larger(a: T, b: T) -> T:
        return b if b > a or b != b else a

    return larger


def _either(T: ScalarType) -> DeviceFunction:
    @func
    def either(a: T, b: T) -> T:
        return a or b

    return either


def _both(T: ScalarType) -> DeviceFunction:
    @func
    def both(a: T, b: T) -> T:
        return a and b

    return both


_COMBINE: dict[str, Any] = {
    "sum": _add, "mean": _add, "count": _add, "min": _smaller, "max": _larger, "any": _either,
    "all": _both,
}  # fmt: skip
