"""What ``oa.HashGrid`` is to find, by comparing everything with everything in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, Any]


def in_box(points: Floats, size: tuple[float, ...], periodic: bool) -> Floats:
    """Positions of shape (objects, dimensions); in a periodic box the images inside of it."""
    if not periodic:
        return points
    box = np.array(size, points.dtype).astype(np.float64)
    wide = points.astype(np.float64)
    with np.errstate(invalid="ignore"):
        moved = wide - np.floor(wide / box) * box
    moved = np.where((moved < 0) | (moved >= box), 0, moved)
    found = np.where((wide >= 0) & (wide < box), wide, moved).astype(points.dtype)
    found[found == box.astype(points.dtype)] = 0
    return found


def cell_numbers(points: Floats, cell: float, size: tuple[float, ...]) -> Any:
    """The cell of each position inside of the box, numbered along x, then y, then z."""
    number = np.zeros(len(points), np.int64)
    for axis in reversed(range(len(size))):
        count = max(1, int(size[axis] / cell))
        length = float(points.dtype.type(size[axis]))
        with np.errstate(invalid="ignore"):
            place = np.floor(points[:, axis].astype(np.float64) * (count / length))
        place = np.nan_to_num(place, nan=0, posinf=count - 1, neginf=0)
        number = number * count + np.clip(place, 0, count - 1).astype(np.int64)
    return number


def near(
    points: Floats,
    queries: Floats,
    radius: float,
    cell: float,
    size: tuple[float, ...],
    periodic: bool,
) -> list[list[int]]:
    """For each query the numbers of the objects within ``radius``, in the order of their cells. All
    is computed in the precision of the positions."""
    real = points.dtype.type
    found, asked = in_box(points, size, periodic), in_box(queries, size, periodic)
    order = np.argsort(cell_numbers(found, cell, size), kind="stable")
    square = real(radius) * real(radius)
    result = []
    for query in asked:
        with np.errstate(all="ignore"):
            apart = np.abs(found - query)
            if periodic:
                apart = np.minimum(apart, np.array(size, real) - apart)
            total = apart[:, 0] * apart[:, 0]
            for axis in range(1, len(size)):
                total = total + apart[:, axis] * apart[:, axis]
            is_near = total <= square
        is_near &= np.isfinite(found).all(axis=1) & np.isfinite(query).all() & (radius >= 0)
        result.append([int(number) for number in order if is_near[number]])
    return result
