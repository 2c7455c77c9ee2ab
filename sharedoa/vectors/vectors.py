"""Vectors of two, three and four components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model.annotations import Scope
from ..model.functions import DeviceFunction
from ..model.scalars import ScalarType, f64, i32
from ..model.structs import form_of
from .structs import Methods, finish


def vectors(
    T: ScalarType,
    suffix: str,
    quotients: Sequence[Any] = (),
    outer: Sequence[Any] = (),
    names: dict[str, Any] | None = None,
) -> list[Any]:
    """The vectors of two, three and four components of type T. ``quotients``: what ``/`` makes of
    each; they themselves if not given. ``outer``: the methods of that name, with annotations of
    ``names``."""

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
        methods = {**with_numbers(filled), **_of_vectors(filled, T)}
        if outer:
            methods["outer"] = outer[index]
        count = 2 + index
        names_of = Scope(names or {}, __name__, scope)
        finish(cls, f"vec{count}{suffix}", names_of, T, (count,), methods, {1: filled})
    return classes


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


def with_numbers(filled: DeviceFunction) -> Methods:
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


def _by_name(*functions: Callable[..., Any]) -> Methods:
    return {function.__name__: function for function in functions}


vec2d, vec3d, vec4d = _doubles = vectors(f64, "d")
vec2i, vec3i, vec4i = vectors(i32, "i", _doubles)
