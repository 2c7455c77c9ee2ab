"""Vectors, matrices and quaternions: value structs whose methods are kernel code.

To NumPy a vector is an array of its components, a matrix one of rows: fields and arrays of
``oa.vec3`` have the shape (n, 3), of ``oa.mat33`` (n, 3, 3).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .model.annotations import Scope
from .model.functions import DeviceFunction, func
from .model.scalars import ScalarType, f32, f64, i32
from .model.shown import shown
from .model.structs import define, form_of
from .model.types import ValueType

Methods = dict[str, Callable[..., Any]]


def _vectors(
    T: ScalarType, suffix: str, quotients: Sequence[Any] = (), outer: Sequence[Any] = ()
) -> list[Any]:
    """The vectors of two, three and four components of type T. ``quotients``: what ``/`` makes of
    each; they themselves if not given. ``outer``: the methods of that name."""

    class Vec2:
        x: T
        y: T

        def __add__(self, other: Vec) -> Vec:
            return Vec2(self.x + other.x, self.y + other.y)

        def __sub__(self, other: Vec) -> Vec:
            return Vec2(self.x - other.x, self.y - other.y)

        def __mul__(self, other: Vec) -> Vec:
            return Vec2(self.x * other.x, self.y * other.y)

        def __truediv__(self, other: Vec) -> Quotient:
            return Quotient2(self.x / other.x, self.y / other.y)

        def __floordiv__(self, other: Vec) -> Vec:
            return Vec2(self.x // other.x, self.y // other.y)

        def __mod__(self, other: Vec) -> Vec:
            return Vec2(self.x % other.x, self.y % other.y)

        def __neg__(self) -> Vec:
            return Vec2(-self.x, -self.y)

        def __abs__(self) -> Vec:
            return Vec2(abs(self.x), abs(self.y))

        def minimum(self, other: Vec) -> Vec:
            return Vec2(min(self.x, other.x), min(self.y, other.y))

        def maximum(self, other: Vec) -> Vec:
            return Vec2(max(self.x, other.x), max(self.y, other.y))

        def sum(self) -> T:
            return self.x + self.y

        def dot(self, other: Vec) -> T:
            return self.x * other.x + self.y * other.y

        def cross(self, other: Vec) -> T:
            return self.x * other.y - self.y * other.x

    class Vec3:
        x: T
        y: T
        z: T

        def __add__(self, other: Vec) -> Vec:
            return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

        def __sub__(self, other: Vec) -> Vec:
            return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

        def __mul__(self, other: Vec) -> Vec:
            return Vec3(self.x * other.x, self.y * other.y, self.z * other.z)

        def __truediv__(self, other: Vec) -> Quotient:
            return Quotient3(self.x / other.x, self.y / other.y, self.z / other.z)

        def __floordiv__(self, other: Vec) -> Vec:
            return Vec3(self.x // other.x, self.y // other.y, self.z // other.z)

        def __mod__(self, other: Vec) -> Vec:
            return Vec3(self.x % other.x, self.y % other.y, self.z % other.z)

        def __neg__(self) -> Vec:
            return Vec3(-self.x, -self.y, -self.z)

        def __abs__(self) -> Vec:
            return Vec3(abs(self.x), abs(self.y), abs(self.z))

        def minimum(self, other: Vec) -> Vec:
            return Vec3(min(self.x, other.x), min(self.y, other.y), min(self.z, other.z))

        def maximum(self, other: Vec) -> Vec:
            return Vec3(max(self.x, other.x), max(self.y, other.y), max(self.z, other.z))

        def sum(self) -> T:
            return self.x + self.y + self.z

        def dot(self, other: Vec) -> T:
            return self.x * other.x + self.y * other.y + self.z * other.z

        def cross(self, other: Vec) -> Vec:
            return Vec3(
                self.y * other.z - self.z * other.y,
                self.z * other.x - self.x * other.z,
                self.x * other.y - self.y * other.x,
            )

    class Vec4:
        x: T
        y: T
        z: T
        w: T

        def __add__(self, other: Vec) -> Vec:
            return Vec4(self.x + other.x, self.y + other.y, self.z + other.z, self.w + other.w)

        def __sub__(self, other: Vec) -> Vec:
            return Vec4(self.x - other.x, self.y - other.y, self.z - other.z, self.w - other.w)

        def __mul__(self, other: Vec) -> Vec:
            return Vec4(self.x * other.x, self.y * other.y, self.z * other.z, self.w * other.w)

        def __truediv__(self, other: Vec) -> Quotient:
            return Quotient4(self.x / other.x, self.y / other.y, self.z / other.z, self.w / other.w)

        def __floordiv__(self, other: Vec) -> Vec:
            return Vec4(self.x // other.x, self.y // other.y, self.z // other.z, self.w // other.w)

        def __mod__(self, other: Vec) -> Vec:
            return Vec4(self.x % other.x, self.y % other.y, self.z % other.z, self.w % other.w)

        def __neg__(self) -> Vec:
            return Vec4(-self.x, -self.y, -self.z, -self.w)

        def __abs__(self) -> Vec:
            return Vec4(abs(self.x), abs(self.y), abs(self.z), abs(self.w))

        def minimum(self, other: Vec) -> Vec:
            return Vec4(
                min(self.x, other.x), min(self.y, other.y), min(self.z, other.z),
                min(self.w, other.w),
            )  # fmt: skip

        def maximum(self, other: Vec) -> Vec:
            return Vec4(
                max(self.x, other.x), max(self.y, other.y), max(self.z, other.z),
                max(self.w, other.w),
            )  # fmt: skip

        def sum(self) -> T:
            return self.x + self.y + self.z + self.w

        def dot(self, other: Vec) -> T:
            return self.x * other.x + self.y * other.y + self.z * other.z + self.w * other.w

    def filled2(value: T) -> Vec:
        return Vec2(value, value)

    def filled3(value: T) -> Vec:
        return Vec3(value, value, value)

    def filled4(value: T) -> Vec:
        return Vec4(value, value, value, value)

    classes = [Vec2, Vec3, Vec4]
    Quotient2, Quotient3, Quotient4 = made = quotients or classes
    for index, (cls, fill) in enumerate(zip(classes, (filled2, filled3, filled4), strict=True)):
        real = T if T.is_float else f64
        scope = {"T": T, "Vec": cls, "Quotient": made[index], "Real": real, "Same": cls}
        filled = DeviceFunction(fill, scope)
        methods = {**_with_numbers(filled), **_of_vectors(filled, T)}
        if outer:
            methods["outer"] = outer[index]
        count = 2 + index
        _finish(cls, f"vec{count}{suffix}", scope, T, (count,), methods, {1: filled})
    return classes


def _with_numbers(filled: DeviceFunction) -> Methods:
    """Operators of vectors and matrices with a number, which stands for one of equal components
    (``filled``)."""

    @form_of("__add__")
    def add_number(self: Same, other: T) -> Same:
        return self + filled(other)

    @form_of("__sub__")
    def sub_number(self: Same, other: T) -> Same:
        return self - filled(other)

    @form_of("__mul__")
    def mul_number(self: Same, other: T) -> Same:
        return self * filled(other)

    @form_of("__truediv__")
    def truediv_number(self: Same, other: T) -> Quotient:
        return self / filled(other)

    @form_of("__floordiv__")
    def floordiv_number(self: Same, other: T) -> Same:
        return self // filled(other)

    @form_of("__mod__")
    def mod_number(self: Same, other: T) -> Same:
        return self % filled(other)

    def __radd__(self: Same, other: T) -> Same:
        return filled(other) + self

    def __rsub__(self: Same, other: T) -> Same:
        return filled(other) - self

    def __rmul__(self: Same, other: T) -> Same:
        return filled(other) * self

    def __rtruediv__(self: Same, other: T) -> Quotient:
        return filled(other) / self

    def __rfloordiv__(self: Same, other: T) -> Same:
        return filled(other) // self

    def __rmod__(self: Same, other: T) -> Same:
        return filled(other) % self

    return _by_name(
        add_number, sub_number, mul_number, truediv_number, floordiv_number, mod_number, __radd__,
        __rsub__, __rmul__, __rtruediv__, __rfloordiv__, __rmod__,
    )  # fmt: skip


def _of_vectors(filled: DeviceFunction, T: ScalarType) -> Methods:
    """What vectors of any length have."""

    def __matmul__(self: Vec, other: Vec) -> T:
        return self.dot(other)

    def length(self: Vec) -> Real:
        return np.sqrt(self.dot(self))

    def normalize(self: Vec) -> Vec:
        return self / filled(np.sqrt(self.dot(self)))

    found = _by_name(__matmul__, length, normalize)
    if not T.is_float:
        del found["normalize"]
    return found


def _by_name(*functions: Callable[..., Any]) -> Methods:
    return {function.__name__: function for function in functions}


# -------------------------------------------------------------------- outer products


def _outer2(self: vec2, other: vec2) -> mat22:
    return mat22(other * self.x, other * self.y)


def _outer3(self: vec3, other: vec3) -> mat33:
    return mat33(other * self.x, other * self.y, other * self.z)


def _outer4(self: vec4, other: vec4) -> mat44:
    return mat44(other * self.x, other * self.y, other * self.z, other * self.w)


# -------------------------------------------------------------------- matrices


def _matrices(T: ScalarType, vectors: Sequence[Any]) -> list[Any]:
    """The matrices whose rows are vectors of two, three and four components."""
    Vec2, Vec3, Vec4 = vectors

    class Mat2:
        r0: Vec
        r1: Vec

        def __add__(self, other: Mat) -> Mat:
            return Mat2(self.r0 + other.r0, self.r1 + other.r1)

        def __sub__(self, other: Mat) -> Mat:
            return Mat2(self.r0 - other.r0, self.r1 - other.r1)

        def __mul__(self, other: Mat) -> Mat:
            return Mat2(self.r0 * other.r0, self.r1 * other.r1)

        def __truediv__(self, other: Mat) -> Mat:
            return Mat2(self.r0 / other.r0, self.r1 / other.r1)

        def __floordiv__(self, other: Mat) -> Mat:
            return Mat2(self.r0 // other.r0, self.r1 // other.r1)

        def __mod__(self, other: Mat) -> Mat:
            return Mat2(self.r0 % other.r0, self.r1 % other.r1)

        def __neg__(self) -> Mat:
            return Mat2(-self.r0, -self.r1)

        def __abs__(self) -> Mat:
            return Mat2(abs(self.r0), abs(self.r1))

        def minimum(self, other: Mat) -> Mat:
            return Mat2(self.r0.minimum(other.r0), self.r1.minimum(other.r1))

        def maximum(self, other: Mat) -> Mat:
            return Mat2(self.r0.maximum(other.r0), self.r1.maximum(other.r1))

        def __matmul__(self, other: Mat) -> Mat:
            return Mat2(self.r0 @ other, self.r1 @ other)

        @form_of("__matmul__")
        def times(self, other: Vec) -> Vec:
            return Vec2(self.r0 @ other, self.r1 @ other)

        def __rmatmul__(self, other: Vec) -> Vec:
            return self.r0 * other.x + self.r1 * other.y

        def transpose(self) -> Mat:
            return Mat2(Vec2(self.r0.x, self.r1.x), Vec2(self.r0.y, self.r1.y))

        def determinant(self) -> T:
            return self.r0.cross(self.r1)

        def inverse(self) -> Mat:
            turned = Mat2(Vec2(self.r1.y, -self.r0.y), Vec2(-self.r1.x, self.r0.x))
            return turned / self.determinant()

    class Mat3:
        r0: Vec
        r1: Vec
        r2: Vec

        def __add__(self, other: Mat) -> Mat:
            return Mat3(self.r0 + other.r0, self.r1 + other.r1, self.r2 + other.r2)

        def __sub__(self, other: Mat) -> Mat:
            return Mat3(self.r0 - other.r0, self.r1 - other.r1, self.r2 - other.r2)

        def __mul__(self, other: Mat) -> Mat:
            return Mat3(self.r0 * other.r0, self.r1 * other.r1, self.r2 * other.r2)

        def __truediv__(self, other: Mat) -> Mat:
            return Mat3(self.r0 / other.r0, self.r1 / other.r1, self.r2 / other.r2)

        def __floordiv__(self, other: Mat) -> Mat:
            return Mat3(self.r0 // other.r0, self.r1 // other.r1, self.r2 // other.r2)

        def __mod__(self, other: Mat) -> Mat:
            return Mat3(self.r0 % other.r0, self.r1 % other.r1, self.r2 % other.r2)

        def __neg__(self) -> Mat:
            return Mat3(-self.r0, -self.r1, -self.r2)

        def __abs__(self) -> Mat:
            return Mat3(abs(self.r0), abs(self.r1), abs(self.r2))

        def minimum(self, other: Mat) -> Mat:
            return Mat3(
                self.r0.minimum(other.r0), self.r1.minimum(other.r1), self.r2.minimum(other.r2)
            )

        def maximum(self, other: Mat) -> Mat:
            return Mat3(
                self.r0.maximum(other.r0), self.r1.maximum(other.r1), self.r2.maximum(other.r2)
            )

        def __matmul__(self, other: Mat) -> Mat:
            return Mat3(self.r0 @ other, self.r1 @ other, self.r2 @ other)

        @form_of("__matmul__")
        def times(self, other: Vec) -> Vec:
            return Vec3(self.r0 @ other, self.r1 @ other, self.r2 @ other)

        def __rmatmul__(self, other: Vec) -> Vec:
            return self.r0 * other.x + self.r1 * other.y + self.r2 * other.z

        def transpose(self) -> Mat:
            return Mat3(
                Vec3(self.r0.x, self.r1.x, self.r2.x),
                Vec3(self.r0.y, self.r1.y, self.r2.y),
                Vec3(self.r0.z, self.r1.z, self.r2.z),
            )

        def determinant(self) -> T:
            return self.r0 @ self.r1.cross(self.r2)

        def inverse(self) -> Mat:
            cofactors = Mat3(self.r1.cross(self.r2), self.r2.cross(self.r0), self.r0.cross(self.r1))
            return cofactors.transpose() / self.determinant()

    class Mat4:
        r0: Vec
        r1: Vec
        r2: Vec
        r3: Vec

        def __add__(self, other: Mat) -> Mat:
            return Mat4(
                self.r0 + other.r0, self.r1 + other.r1, self.r2 + other.r2, self.r3 + other.r3
            )

        def __sub__(self, other: Mat) -> Mat:
            return Mat4(
                self.r0 - other.r0, self.r1 - other.r1, self.r2 - other.r2, self.r3 - other.r3
            )

        def __mul__(self, other: Mat) -> Mat:
            return Mat4(
                self.r0 * other.r0, self.r1 * other.r1, self.r2 * other.r2, self.r3 * other.r3
            )

        def __truediv__(self, other: Mat) -> Mat:
            return Mat4(
                self.r0 / other.r0, self.r1 / other.r1, self.r2 / other.r2, self.r3 / other.r3
            )

        def __floordiv__(self, other: Mat) -> Mat:
            return Mat4(
                self.r0 // other.r0, self.r1 // other.r1, self.r2 // other.r2, self.r3 // other.r3
            )

        def __mod__(self, other: Mat) -> Mat:
            return Mat4(
                self.r0 % other.r0, self.r1 % other.r1, self.r2 % other.r2, self.r3 % other.r3
            )

        def __neg__(self) -> Mat:
            return Mat4(-self.r0, -self.r1, -self.r2, -self.r3)

        def __abs__(self) -> Mat:
            return Mat4(abs(self.r0), abs(self.r1), abs(self.r2), abs(self.r3))

        def minimum(self, other: Mat) -> Mat:
            return Mat4(
                self.r0.minimum(other.r0), self.r1.minimum(other.r1),
                self.r2.minimum(other.r2), self.r3.minimum(other.r3),
            )  # fmt: skip

        def maximum(self, other: Mat) -> Mat:
            return Mat4(
                self.r0.maximum(other.r0), self.r1.maximum(other.r1),
                self.r2.maximum(other.r2), self.r3.maximum(other.r3),
            )  # fmt: skip

        def __matmul__(self, other: Mat) -> Mat:
            return Mat4(self.r0 @ other, self.r1 @ other, self.r2 @ other, self.r3 @ other)

        @form_of("__matmul__")
        def times(self, other: Vec) -> Vec:
            return Vec4(self.r0 @ other, self.r1 @ other, self.r2 @ other, self.r3 @ other)

        def __rmatmul__(self, other: Vec) -> Vec:
            return self.r0 * other.x + self.r1 * other.y + self.r2 * other.z + self.r3 * other.w

        def transpose(self) -> Mat:
            return Mat4(
                Vec4(self.r0.x, self.r1.x, self.r2.x, self.r3.x),
                Vec4(self.r0.y, self.r1.y, self.r2.y, self.r3.y),
                Vec4(self.r0.z, self.r1.z, self.r2.z, self.r3.z),
                Vec4(self.r0.w, self.r1.w, self.r2.w, self.r3.w),
            )

        def determinant(self) -> T:
            s0, s1, s2, s3, s4, s5 = _minors(self.r0, self.r1)
            c0, c1, c2, c3, c4, c5 = _minors(self.r2, self.r3)
            return s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0

        def inverse(self) -> Mat:
            s0, s1, s2, s3, s4, s5 = _minors(self.r0, self.r1)
            c0, c1, c2, c3, c4, c5 = _minors(self.r2, self.r3)
            cofactors = Mat4(
                _cofactors(self.r1, c0, c1, c2, c3, c4, c5),
                -_cofactors(self.r0, c0, c1, c2, c3, c4, c5),
                _cofactors(self.r3, s0, s1, s2, s3, s4, s5),
                -_cofactors(self.r2, s0, s1, s2, s3, s4, s5),
            )
            return cofactors.transpose() / self.determinant()

    def numbers2(a: T, b: T, c: T, d: T) -> Mat:
        return Mat2(Vec2(a, b), Vec2(c, d))

    def numbers3(a: T, b: T, c: T, d: T, e: T, f: T, g: T, h: T, i: T) -> Mat:
        return Mat3(Vec3(a, b, c), Vec3(d, e, f), Vec3(g, h, i))

    def numbers4(
        a: T, b: T, c: T, d: T, e: T, f: T, g: T, h: T, i: T, j: T, k: T, l: T, m: T, n: T, o: T,
        p: T,
    ) -> Mat:  # fmt: skip
        return Mat4(Vec4(a, b, c, d), Vec4(e, f, g, h), Vec4(i, j, k, l), Vec4(m, n, o, p))

    def filled2(value: T) -> Mat:
        return Mat2(Vec2(value), Vec2(value))

    def filled3(value: T) -> Mat:
        return Mat3(Vec3(value), Vec3(value), Vec3(value))

    def filled4(value: T) -> Mat:
        return Mat4(Vec4(value), Vec4(value), Vec4(value), Vec4(value))

    classes = [Mat2, Mat3, Mat4]
    numbers, fills = (numbers2, numbers3, numbers4), (filled2, filled3, filled4)
    for index, cls in enumerate(classes):
        scope = {"T": T, "Mat": cls, "Quotient": cls, "Vec": vectors[index], "Same": cls}
        filled = DeviceFunction(fills[index], scope)
        count = 2 + index
        constructors = {count * count: DeviceFunction(numbers[index], scope)}
        methods = _with_numbers(filled)
        _finish(cls, f"mat{count}{count}", scope, T, (count, count), methods, constructors)
    return classes


@func
def _minors(a: vec4, b: vec4) -> tuple[f32, f32, f32, f32, f32, f32]:
    """The determinants of two columns each of two rows of a matrix."""
    return (
        a.x * b.y - b.x * a.y, a.x * b.z - b.x * a.z, a.x * b.w - b.x * a.w,
        a.y * b.z - b.y * a.z, a.y * b.w - b.y * a.w, a.z * b.w - b.z * a.w,
    )  # fmt: skip


@func
def _cofactors(row: vec4, m0: f32, m1: f32, m2: f32, m3: f32, m4: f32, m5: f32) -> vec4:
    """Of the elements of a row, but for the sign, from the minors of two other rows and of its
    own."""
    return vec4(
        row.y * m5 - row.z * m4 + row.w * m3,
        -row.x * m5 + row.z * m2 - row.w * m1,
        row.x * m4 - row.y * m2 + row.w * m0,
        -row.x * m3 + row.y * m1 - row.z * m0,
    )


# -------------------------------------------------------------------- quaternions


class quat:
    """x i + y j + z k + w."""

    x: f32
    y: f32
    z: f32
    w: f32

    def __add__(self, other: quat) -> quat:
        return quat(self.x + other.x, self.y + other.y, self.z + other.z, self.w + other.w)

    def __sub__(self, other: quat) -> quat:
        return quat(self.x - other.x, self.y - other.y, self.z - other.z, self.w - other.w)

    def __neg__(self) -> quat:
        return quat(-self.x, -self.y, -self.z, -self.w)

    def __mul__(self, other: quat) -> quat:
        return quat(
            self.w * other.x + self.x * other.w + self.y * other.z - self.z * other.y,
            self.w * other.y - self.x * other.z + self.y * other.w + self.z * other.x,
            self.w * other.z + self.x * other.y - self.y * other.x + self.z * other.w,
            self.w * other.w - self.x * other.x - self.y * other.y - self.z * other.z,
        )

    @form_of("__mul__")
    def times(self, factor: f32) -> quat:
        return quat(self.x * factor, self.y * factor, self.z * factor, self.w * factor)

    def __rmul__(self, factor: f32) -> quat:
        return quat(factor * self.x, factor * self.y, factor * self.z, factor * self.w)

    def __truediv__(self, divisor: f32) -> quat:
        return quat(self.x / divisor, self.y / divisor, self.z / divisor, self.w / divisor)

    def dot(self, other: quat) -> f32:
        return self.x * other.x + self.y * other.y + self.z * other.z + self.w * other.w

    def length(self) -> f32:
        return np.sqrt(self.dot(self))

    def normalize(self) -> quat:
        return self / self.length()

    def conjugate(self) -> quat:
        return quat(-self.x, -self.y, -self.z, self.w)

    def inverse(self) -> quat:
        return self.conjugate() / self.dot(self)

    def rotate(self, v: vec3) -> vec3:
        """The vector turned, by a quaternion of length 1."""
        axis = vec3(self.x, self.y, self.z)
        twice = axis.cross(v) * 2.0
        return v + twice * self.w + axis.cross(twice)

    def matrix(self) -> mat33:
        """The matrix that turns vectors as a quaternion of length 1 does."""
        x, y, z, w = self.x, self.y, self.z, self.w
        return mat33(
            1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w),
            2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w),
            2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y),
        )  # fmt: skip


def _around(axis: vec3, angle: f32) -> quat:
    """The turn around an axis of length 1, by an angle in radians."""
    half = angle * 0.5
    s = np.sin(half)
    return quat(axis.x * s, axis.y * s, axis.z * s, np.cos(half))


# -------------------------------------------------------------------- host


def _finish(
    cls: Any,
    name: str,
    scope: dict[str, Any],
    component: ScalarType,
    shape: tuple[int, ...],
    methods: Methods,
    constructors: dict[int, DeviceFunction],
) -> None:
    """Make a class a vector or a matrix, of that name and with these methods, too."""
    cls.__name__ = cls.__qualname__ = name
    cls.__module__ = "sharedoa"
    for each, function in methods.items():
        setattr(cls, each, function)
    dtype = np.dtype((component.dtype, shape))
    struct = define(cls, Scope(globals(), __name__, scope), dtype, constructors)
    for function in (_array, _array_ufunc, _getitem, _iter, _len, _repr):
        setattr(cls, f"_{function.__name__}__", function)
    assert struct.shape == shape


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    struct: ValueType = self.__sharedoa_value__
    parts = [getattr(self, name) for name in struct.fields]
    return np.array(parts, dtype or struct.component.dtype)


#: By NumPy's functions, the operators that they stand for.
_OPERATORS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "truediv",
    np.floor_divide: "floordiv", np.remainder: "mod", np.matmul: "matmul",
}  # fmt: skip


def _array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """With arrays a vector is one itself; with NumPy's numbers it does what operators do."""
    if any(np.ndim(each) for each in inputs if not _is_struct(each)):
        plain = (np.asarray(each) if _is_struct(each) else each for each in inputs)
        return getattr(ufunc, method)(*plain, **options)
    name = _OPERATORS.get(ufunc)
    if name is None or method != "__call__" or options:
        return NotImplemented
    left, right = inputs
    if _is_struct(left):
        return getattr(operator, name)(left, right)
    return getattr(right, f"__r{name}__")(left)


def _is_struct(value: Any) -> bool:
    return hasattr(type(value), "__sharedoa_value__")


def _getitem(self: Any, index: Any) -> Any:
    first, *rest = index if isinstance(index, tuple) else (index,)
    names = list(self.__sharedoa_value__.fields)
    place = operator.index(first)
    if not -len(names) <= place < len(names):
        raise IndexError(f"index {place} is outside of {type(self).__name__}")
    part = getattr(self, names[place])
    return part[tuple(rest)] if rest else part


def _iter(self: Any) -> Iterator[Any]:
    return (getattr(self, name) for name in self.__sharedoa_value__.fields)


def _len(self: Any) -> int:
    return len(self.__sharedoa_value__.fields)


def _repr(self: Any) -> str:
    parts = (shown(getattr(self, name)) for name in self.__sharedoa_value__.fields)
    return f"{type(self).__name__}({', '.join(parts)})"


vec2d, vec3d, vec4d = _doubles = _vectors(f64, "d")
vec2i, vec3i, vec4i = _vectors(i32, "i", _doubles)
vec2, vec3, vec4 = _singles = _vectors(f32, "", outer=(_outer2, _outer3, _outer4))
mat22, mat33, mat44 = _matrices(f32, _singles)
_finish(quat, "quat", {}, f32, (4,), {}, {2: DeviceFunction(_around, {})})
