"""Arithmetic of the interpreter, on Python's own numbers, as kernels compute it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from sharedoa.model.scalars import ScalarType

_INTEGERS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "floordiv": lambda a, b: a // b if b else 0, "mod": lambda a, b: a % b if b else 0,
}  # fmt: skip
_FLOATS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power,
}  # fmt: skip
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
_NUMPY_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip


def convert(value: Any, type: ScalarType) -> Any:
    """A number as one of another type."""
    if value.__class__ is int and type.is_integer:
        low, high = _range(type)
        if low <= value <= high:
            return value
    with np.errstate(all="ignore"):
        return _plain(type(value))


@cache
def _range(type: ScalarType) -> tuple[int, int]:
    return type.range


def binary(operator: str, type: ScalarType, left: Any, right: Any) -> Any:
    if type.is_float:
        with np.errstate(all="ignore"):
            return float(_FLOATS[operator](type.dtype.type(left), type.dtype.type(right)))
    if operator == "pow":
        return convert(pow(left, right, 1 << type.bits) if right >= 0 else 0, type)
    if operator in ("lshift", "rshift"):
        return convert(_shifted(operator, type, left, right), type)
    return convert(_INTEGERS[operator](left, right), type)


def _shifted(operator: str, type: ScalarType, left: int, right: int) -> int:
    fits = 0 <= right < type.bits
    if operator == "lshift":
        return left << right if fits else 0
    return left >> right if fits else -(left < 0)


def unary(operator: str, type: ScalarType, value: Any) -> Any:
    if type.kind == "bool":
        return not value
    changed = {"neg": lambda: -value, "invert": lambda: ~value, "abs": lambda: abs(value)}
    return convert(changed[operator](), type)


def compare(operator: str, left: Any, right: Any) -> bool:
    """Identity is that of objects, which are Python's."""
    if operator in ("is", "is_not") or not isinstance(left, (int, float)):
        return (left is right) == (operator in ("is", "eq"))
    return _COMPARE[operator](left, right)


def mathematics(name: str, result: ScalarType, arguments: list[float], type: ScalarType) -> Any:
    """A function of ``tree.MATH_FUNCTIONS``, of arguments of one type."""
    given = [type.dtype.type(argument) for argument in arguments]
    with np.errstate(all="ignore"):
        if name in ("erf", "erfc", "gamma", "lgamma"):
            return convert(getattr(math, name)(arguments[0]), result)
        if name == "fma":
            return convert(given[0] * given[1] + given[2], result)
        return convert(getattr(np, _NUMPY_NAMES.get(name, name))(*given), result)


def _plain(number: Any) -> Any:
    return number.item() if isinstance(number, np.generic) else number
