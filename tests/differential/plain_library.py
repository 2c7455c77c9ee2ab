"""Vectors and random numbers for programs that run without sharedoa's compiler.

Vectors are written anew, of NumPy scalars. Random numbers are those that the host gets, which NumPy
computes; kernels have another implementation, in the kernel language.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import sharedoa as oa

from . import plain
from .library import VECTORS
from .plain_matrices import with_matrices

_METHODS = ("dot", "cross", "length", "normalize", "inverse", "outer", "transpose", "determinant")
_FUNCTIONS = dict(zip(_METHODS, _METHODS, strict=True)) | {"min": "minimum", "max": "maximum"}
RANDOM = ("random", "random64", "randint", "normal", "exponential")


def _vector(name: str, element: str, letters: str) -> type:
    def of_each(apply: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, *others: Any) -> Any:
            operands = [o if isinstance(o, cls) else [o] * len(letters) for o in others]
            return cls(*(apply(*parts) for parts in zip(self, *operands, strict=True)))

        return method

    def dot(self: Any, other: Any) -> Any:
        return reduce(operator.add, map(operator.mul, self, other))

    def cross(self: Any, other: Any) -> Any:
        if len(letters) == 2:
            return self.x * other.y - self.y * other.x
        return cls(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    body: dict[str, Any] = {
        "__array_ufunc__": None,  # NumPy's numbers leave operators to it
        "__annotations__": dict.fromkeys(letters, element),
        "__iter__": lambda self: iter([getattr(self, letter) for letter in letters]),
        "__len__": lambda self: len(letters),
        "__getitem__": lambda self, index: [*self][index],
        "dot": dot,
        "cross": cross,
        "length": lambda self: np.sqrt(dot(self, self)),
    }
    for method in ("add", "sub", "mul", "truediv", "neg"):
        body[f"__{method}__"] = of_each(getattr(operator, method))
    cls = plain.value(type(name, (), body))
    return cls


def _call_of(name: str) -> Callable[..., Any]:
    return lambda value, *others: getattr(value, name)(*others)


def _drawn(name: str) -> Callable[..., Any]:
    draw = getattr(oa, name)
    return lambda *given: draw(*(each if type(each) is int else int(each) for each in given))


def names() -> dict[str, Any]:
    """What ``oa`` has of these in such a program."""
    vectors = {name: _vector(name, *what) for name, what in VECTORS.items()}
    return {
        **vectors,
        **with_matrices(vectors),
        **{name: _call_of(method) for name, method in _FUNCTIONS.items()},
        **{name: _drawn(name) for name in RANDOM},
    }
