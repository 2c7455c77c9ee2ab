"""Matrices, and the vectors of single precision that are their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model.annotations import Scope
from ..model.functions import DeviceFunction, func
from ..model.scalars import ScalarType, f32
from ..model.structs import form_of
from .structs import finish
from .vectors import vectors, with_numbers


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
        methods, names = with_numbers(filled), Scope(globals(), __name__, scope)
        finish(cls, f"mat{count}{count}", names, T, (count, count), methods, constructors)
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


def _outer2(self: vec2, other: vec2) -> mat22:
    return mat22(other * self.x, other * self.y)


def _outer3(self: vec3, other: vec3) -> mat33:
    return mat33(other * self.x, other * self.y, other * self.z)


def _outer4(self: vec4, other: vec4) -> mat44:
    return mat44(other * self.x, other * self.y, other * self.z, other * self.w)


vec2, vec3, vec4 = _singles = vectors(f32, "", (), (_outer2, _outer3, _outer4), globals())
mat22, mat33, mat44 = _matrices(f32, _singles)
