"""Quaternions, which turn vectors."""

from __future__ import annotations

import numpy as np

from ..model.annotations import Scope
from ..model.functions import DeviceFunction
from ..model.scalars import f32
from ..model.structs import form_of
from .matrices import mat33, vec3
from .structs import finish


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


finish(quat, "quat", Scope(globals(), __name__), f32, (4,), {}, {2: DeviceFunction(_around, {})})
