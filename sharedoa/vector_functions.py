"""Functions of vectors, matrices and quaternions: ``oa.dot(a, b)`` is ``a.dot(b)``."""

from __future__ import annotations

import builtins
from typing import Any, Protocol, TypeVar

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


T = TypeVar("T")
A = TypeVar("A", contravariant=True)
R = TypeVar("R", covariant=True)


class _Cross(Protocol[A, R]):
    def cross(self, other: A) -> R: ...


class _Dot(Protocol[A, R]):
    def dot(self, other: A) -> R: ...


class _Outer(Protocol[A, R]):
    def outer(self, other: A) -> R: ...


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
def abs(value: T, /) -> T:
    """The absolute value of a number, or of each component."""
    found: T = _call("abs", value)
    return found


@known_in_kernels("cross")
def cross(left: _Cross[A, R], right: A, /) -> R:
    """The cross product of two vectors; of two components a number."""
    found: R = _call("cross", left, right)
    return found


@known_in_kernels("determinant")
def determinant(value: Any, /) -> float:
    """Of a matrix."""
    found: float = _call("determinant", value)
    return found


@known_in_kernels("dot")
def dot(left: _Dot[A, R], right: A, /) -> R:
    """The sum of the products of components."""
    found: R = _call("dot", left, right)
    return found


@known_in_kernels("inverse")
def inverse(value: T, /) -> T:
    """Of a matrix, or a quaternion."""
    found: T = _call("inverse", value)
    return found


@known_in_kernels("length")
def length(value: Any, /) -> float:
    """The root of the sum of the squares of components."""
    found: float = _call("length", value)
    return found


@known_in_kernels("max")
def max(left: T, right: T, /) -> T:
    """The larger of two numbers, or of each two components."""
    found: T = _call("max", left, right)
    return found


@known_in_kernels("min")
def min(left: T, right: T, /) -> T:
    """The smaller of two numbers, or of each two components."""
    found: T = _call("min", left, right)
    return found


@known_in_kernels("normalize")
def normalize(value: T, /) -> T:
    """The vector divided by its length: not a number where that is 0."""
    found: T = _call("normalize", value)
    return found


@known_in_kernels("outer")
def outer(left: _Outer[A, R], right: A, /) -> R:
    """The matrix of the products of each component with each of the other vector."""
    found: R = _call("outer", left, right)
    return found


@known_in_kernels("transpose")
def transpose(value: T, /) -> T:
    """The matrix with rows for columns."""
    found: T = _call("transpose", value)
    return found
