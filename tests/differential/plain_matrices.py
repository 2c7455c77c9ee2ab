"""Matrices and quaternions for programs that run without sharedoa's compiler: written anew, of
vectors of NumPy scalars. The order of operations is what ``oa`` says that it is, as floats are
compared bit by bit."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from . import plain
from .matrices import MATRICES, QUATERNION


def _item(self: Any, index: Any) -> Any:
    first, *rest = index if isinstance(index, tuple) else (index,)
    return [*self][first][rest[0]] if rest else [*self][first]


def _elementwise(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Of each component of matrices; numbers are those of all components."""

    def method(self: Any, *others: Any) -> Any:
        def of(other: Any, row: int, column: int) -> Any:
            return other[row, column] if isinstance(other, type(self)) else other

        places = range(len(self))
        return type(self)(
            *(apply(self[i, j], *(of(o, i, j) for o in others)) for i in places for j in places)
        )

    return method


def _dot(left: Any, right: Any) -> Any:
    return reduce(operator.add, map(operator.mul, left, right))


def _columns(self: Any) -> Any:
    return [[row[k] for row in self] for k in range(len(self))]


def _matmul(self: Any, other: Any) -> Any:
    if isinstance(other, type(self)):
        columns = _columns(other)
        return type(self)(*(_dot(row, column) for row in self for column in columns))
    return type(other)(*(_dot(row, other) for row in self))


def _cross(a: Any, b: Any) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _determinant(self: Any) -> Any:
    if len(self) == 2:
        return self[0, 0] * self[1, 1] - self[0, 1] * self[1, 0]
    return _dot(self[0], _cross(self[1], self[2]))


def _inverse(self: Any) -> Any:
    if len(self) == 2:
        turned = type(self)(self[1, 1], -self[0, 1], -self[1, 0], self[0, 0])
    else:
        a, b, c = self
        parts = zip(_cross(b, c), _cross(c, a), _cross(a, b), strict=True)
        turned = type(self)(*(part for row in parts for part in row))
    return turned / _determinant(self)


def _matrix(name: str, vector: type, count: int) -> type:
    body: dict[str, Any] = {
        "__array_ufunc__": None,  # NumPy's numbers leave operators to it
        "__annotations__": {f"r{k}": vector.__name__ for k in range(count)},
        "__iter__": lambda self: iter([getattr(self, f"r{k}") for k in range(count)]),
        "__len__": lambda self: count,
        "__getitem__": _item,
        "__matmul__": _matmul,
        "__abs__": _elementwise(abs),
        "minimum": lambda self, other: _elementwise(min)(self, other),
        "maximum": lambda self, other: _elementwise(max)(self, other),
        "transpose": lambda self: type(self)(*(part for row in _columns(self) for part in row)),
        "determinant": _determinant,
        "inverse": _inverse,
    }
    for method in ("add", "sub", "mul", "truediv", "neg"):
        apply = getattr(operator, method)
        body[f"__{method}__"] = _elementwise(apply)
        body[f"__r{method}__"] = _elementwise(lambda a, b, apply=apply: apply(b, a))
    cls: Any = plain.value(type(name, (), body))
    of_rows = cls.__init__

    def initialise(self: Any, *parts: Any) -> None:
        if len(parts) == count * count:
            parts = tuple(vector(*parts[k * count : (k + 1) * count]) for k in range(count))
        of_rows(self, *parts)

    cls.__init__ = initialise
    made: type = cls
    return made


def _row_times(self: Any, matrix: Any) -> Any:
    if isinstance(matrix, type(self)):
        return _dot(self, matrix)
    return type(self)(*(_dot(self, column) for column in _columns(matrix)))


def _outer(name: str) -> Callable[[Any, Any], Any]:
    """The matrix of that name."""
    return lambda self, other: _made[name](*(a * b for a in self for b in other))


_made: dict[str, Any] = {}


def _quaternion(vec3: Any) -> type:
    def times(a: Any, b: Any) -> Any:
        if not isinstance(b, cls):
            return cls(*(part * b for part in a))
        return cls(
            a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
            a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
        )

    def rotate(self: Any, v: Any) -> Any:
        axis = [self.x, self.y, self.z]
        twice = [part * np.float32(2) for part in _cross(axis, v)]
        more = _cross(axis, twice)
        return vec3(*(v[k] + twice[k] * self.w + more[k] for k in range(3)))

    def matrix(self: Any) -> Any:
        x, y, z, w = self
        one, two = np.float32(1), np.float32(2)
        return _made["mat33"](
            one - two * (y * y + z * z), two * (x * y - z * w), two * (x * z + y * w),
            two * (x * y + z * w), one - two * (x * x + z * z), two * (y * z - x * w),
            two * (x * z - y * w), two * (y * z + x * w), one - two * (x * x + y * y),
        )  # fmt: skip

    def conjugate(self: Any) -> Any:
        return cls(-self.x, -self.y, -self.z, self.w)

    body: dict[str, Any] = {
        "__array_ufunc__": None,
        "__annotations__": dict.fromkeys("xyzw", "f32"),
        "__iter__": lambda self: iter([self.x, self.y, self.z, self.w]),
        "__len__": lambda self: 4,
        "__getitem__": _item,
        "__add__": lambda self, other: cls(*map(operator.add, self, other)),
        "__sub__": lambda self, other: cls(*map(operator.sub, self, other)),
        "__neg__": lambda self: cls(*map(operator.neg, self)),
        "__mul__": times,
        "__rmul__": lambda self, factor: cls(*(factor * part for part in self)),
        "__truediv__": lambda self, divisor: cls(*(part / divisor for part in self)),
        "dot": lambda self, other: _dot(self, other),
        "length": lambda self: np.sqrt(_dot(self, self)),
        "normalize": lambda self: self / np.sqrt(_dot(self, self)),
        "conjugate": conjugate,
        "inverse": lambda self: conjugate(self) / _dot(self, self),
        "rotate": rotate,
        "matrix": matrix,
    }
    cls: Any = plain.value(type(QUATERNION, (), body))
    made: type = cls
    return made


def with_matrices(vectors: dict[str, Any]) -> dict[str, Any]:
    """Matrices and quaternions by name; vectors learn what they do with them."""
    for name, (row, count) in MATRICES.items():
        vector = vectors[row]
        _made[name] = _matrix(name, vector, count)
        vector.__matmul__ = _row_times
        vector.outer = _outer(name)
    return {**_made, QUATERNION: _quaternion(vectors["vec3"])}
