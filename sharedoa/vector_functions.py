"""Functions of vectors, matrices and quaternions: ``oa.dot(a, b)`` is ``a.dot(b)``."""

from __future__ import annotations

import builtins
from typing import Any

from .errors import ArgumentError
from .model.intrinsics import known_in_kernels

#: By name, the method that each is, and the number of arguments.
FUNCTIONS = {
    "abs": ("__abs__", 1),
    "cross": ("cross", 2),
    "determinant": ("determinant", 1),
    "dot": ("dot", 2),
    "inverse": ("inverse", 1),
    "length": ("length", 1),
    "max": ("maximum", 2),
    "min": ("minimum", 2),
    "normalize": ("normalize", 1),
    "outer": ("outer", 2),
    "transpose": ("transpose", 1),
}


def _call(name: str, *values: Any) -> Any:
    method, _ = FUNCTIONS[name]
    struct = getattr(type(values[0]), "__sharedoa_value__", None)
    if struct is not None and method in struct.methods:
        return getattr(values[0], method)(*values[1:])
    of_numbers = getattr(builtins, name, None)
    if of_numbers is not None:
        return of_numbers(*values)
    raise ArgumentError(
        f"oa.{name} does not take {type(values[0]).__name__}",
        "it takes vectors, matrices or quaternions",
    )


@known_in_kernels("abs")
def abs(value: Any, /) -> Any:
    """The absolute value of a number, or of each component."""
    return _call("abs", value)


@known_in_kernels("cross")
def cross(left: Any, right: Any, /) -> Any:
    """The cross product of two vectors; of two components a number."""
    return _call("cross", left, right)


@known_in_kernels("determinant")
def determinant(value: Any, /) -> Any:
    """Of a matrix."""
    return _call("determinant", value)


@known_in_kernels("dot")
def dot(left: Any, right: Any, /) -> Any:
    """The sum of the products of components."""
    return _call("dot", left, right)


@known_in_kernels("inverse")
def inverse(value: Any, /) -> Any:
    """Of a matrix, or a quaternion."""
    return _call("inverse", value)


@known_in_kernels("length")
def length(value: Any, /) -> Any:
    """The root of the sum of the squares of components."""
    return _call("length", value)


@known_in_kernels("max")
def max(left: Any, right: Any, /) -> Any:
    """The larger of two numbers, or of each two components."""
    return _call("max", left, right)


@known_in_kernels("min")
def min(left: Any, right: Any, /) -> Any:
    """The smaller of two numbers, or of each two components."""
    return _call("min", left, right)


@known_in_kernels("normalize")
def normalize(value: Any, /) -> Any:
    """The vector divided by its length: not a number where that is 0."""
    return _call("normalize", value)


@known_in_kernels("outer")
def outer(left: Any, right: Any, /) -> Any:
    """The matrix of the products of each component with each of the other vector."""
    return _call("outer", left, right)


@known_in_kernels("transpose")
def transpose(value: Any, /) -> Any:
    """The matrix with rows for columns."""
    return _call("transpose", value)
