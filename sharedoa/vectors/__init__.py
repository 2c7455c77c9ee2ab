"""Vectors, matrices and quaternions: value structs whose methods are kernel code.

To NumPy a vector is an array of its components, a matrix one of rows: fields and arrays of
``oa.vec3`` have the shape (n, 3), of ``oa.mat33`` (n, 3, 3).
"""

from __future__ import annotations

from .matrices import mat22, mat33, mat44, vec2, vec3, vec4
from .quaternions import quat
from .vectors import vec2d, vec2i, vec3d, vec3i, vec4d, vec4i

__all__ = [
    "mat22", "mat33", "mat44", "quat", "vec2", "vec2d", "vec2i", "vec3", "vec3d", "vec3i", "vec4",
    "vec4d", "vec4i",
]  # fmt: skip
