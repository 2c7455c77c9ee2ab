"""Arithmetic on the numbers of all lanes, as kernels compute it (``codegen.integers``). What NumPy
would warn of is as good a result as any other; whoever calls this has it keep quiet."""

from __future__ import annotations

from typing import Any

import numpy as np

from .lanes import Flags, Numbers

_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "truediv": np.true_divide,
}  # fmt: skip
_DIVISIONS = {"floordiv": np.floor_divide, "mod": np.remainder}
_COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "is": np.equal, "is_not": np.not_equal,
}  # fmt: skip
_UNARY = {"neg": np.negative, "invert": np.invert, "not": np.logical_not, "abs": np.abs}
_MATHEMATICS = {
    "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "fabs": np.fabs,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
}  # fmt: skip


def unary(operator: str, value: Numbers) -> Numbers:
    found: Numbers = _UNARY[operator](value)
    return found


def compare(operator: str, left: Numbers, right: Numbers) -> Flags:
    found: Flags = _COMPARE[operator](left, right)
    return found


def mathematics(name: str, value: Numbers) -> Numbers | None:
    """A function of ``tree.MATH_FUNCTIONS``; None for those that nobody branches on."""
    function = _MATHEMATICS.get(name)
    return None if function is None else function(value)


def binary(operator: str, left: Numbers, right: Numbers) -> Numbers | None:
    """None for powers."""
    if operator in _BINARY:
        plain: Numbers = _BINARY[operator](left, right)
        return plain
    if operator in _DIVISIONS:
        divided: Numbers = _DIVISIONS[operator](left, right)
        return divided if left.dtype.kind == "f" else np.where(right == 0, 0, divided)
    return None if operator == "pow" else _shifted(operator, left, right)


def _shifted(operator: str, left: Numbers, right: Numbers) -> Numbers:
    fits = (right >= 0) & (right < 8 * left.dtype.itemsize)
    count = np.where(fits, right, 0).astype(left.dtype)
    if operator == "lshift":
        shifted, beyond = np.left_shift(left, count), np.zeros_like(left)
    else:
        shifted, beyond = np.right_shift(left, count), np.where(left < 0, -1, 0)
    found: Numbers = np.where(fits, shifted, beyond).astype(left.dtype)
    return found


def converted(values: Numbers, dtype: np.dtype[Any]) -> Numbers:
    """Integers wrap; a float becomes the nearest integer towards zero that there is."""
    if dtype.kind == "b":
        is_true: Numbers = values != 0
        return is_true
    if values.dtype.kind == "f" and dtype.kind in "iu":
        return _whole(values.astype(np.float64), dtype)
    found: Numbers = values.astype(dtype)
    return found


def _whole(values: Numbers, dtype: np.dtype[Any]) -> Numbers:
    # As a float the largest number of 64 bits is one more, which does not fit.
    low, high = (dtype.type(limit) for limit in (np.iinfo(dtype).min, np.iinfo(dtype).max))
    is_low, is_high = values <= float(low), values >= float(high)
    inside = np.where(np.isnan(values) | is_low | is_high, 0.0, values).astype(dtype)
    found: Numbers = np.where(is_low, low, np.where(is_high, high, inside))
    return found
