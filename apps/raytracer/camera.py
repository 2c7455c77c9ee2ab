"""Cameras, vectors and pixels on the host."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.space import Vec3
from .rays import Camera

Array = np.ndarray[Any, Any]

#: How NumPy sees a Vec3.
VECTOR = np.dtype([("x", np.float32), ("y", np.float32), ("z", np.float32)])
#: Pixels of the longer side, at most.
LARGEST_SIDE = 16_384


def require_side(pixels: int) -> None:
    """Raise ArgumentError unless pictures can have sides of so many pixels."""
    if not 1 <= pixels <= LARGEST_SIDE:
        raise ArgumentError(
            f"a picture cannot have {pixels} pixels a side", f"give 1 to {LARGEST_SIDE}"
        )


def as_vectors(rows: Any) -> Array:
    """Rows of three numbers as fields of many objects take them."""
    return np.ascontiguousarray(rows, np.float32).reshape(-1, 3).view(VECTOR)[:, 0]


def vec3(numbers: Sequence[float] | Array) -> Vec3:
    return Vec3(*(float(number) for number in numbers))


def make_camera(
    eye: Sequence[float],
    forward: Sequence[float] | Array,
    up: Sequence[float],
    angle: float,
    size: tuple[int, int],
) -> Camera:
    """At ``eye``, looking along ``forward``; ``angle``, in degrees, is between the edges of the
    shorter side of a picture of ``size`` (width, height) pixels."""
    ahead = _unit(np.asarray(forward, float))
    above = _unit(np.asarray(up, float) - ahead * (ahead @ np.asarray(up, float)))
    right = _unit(np.cross(ahead, above))
    pixel = 2 / min(size)
    focus = 1 / math.tan(math.radians(angle) / 2)
    return Camera(vec3(eye), vec3(ahead * focus), vec3(right * pixel), vec3(above * pixel))


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))
