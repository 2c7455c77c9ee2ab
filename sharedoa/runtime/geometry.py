"""How many threads a launch has, and in which blocks: ``kernel[threads, block]``."""

from __future__ import annotations

from typing import Any

from dispatch.dataclass import dataclass

from ..errors import ArgumentError
from ..model.extent import Extent
from ..model.scalars import u32

Pair = tuple[int, int]

DEFAULT_BLOCK: dict[int, Pair] = {1: (256, 1), 2: (32, 8)}
BLOCK_LIMIT = 1024
"""Threads of a block: the most that CUDA and HIP take."""
AXIS_LIMIT = 2**31 - 1
"""Threads along one axis: kernels compute their index in 32 bits."""
_HELP = (
    "write kernel[threads] or kernel[threads, block]; for a kernel of two axes "
    "kernel[nx, ny] or kernel[(nx, ny), (bx, by)]"
)

_HELP_3 = "write kernel[nx, ny, nz] or kernel[(nx, ny, nz), (bx, by, bz)]"


@dataclass(frozen=True)
class Geometry:
    """Threads and threads of a block along x and y; ``is_usual``: nobody asked for that block, so
    the backend may take a smaller one."""

    threads: Pair
    block: Pair
    is_usual: bool = False

    @property
    def is_empty(self) -> bool:
        return 0 in self.threads


def parse_solid(item: Any) -> tuple[Geometry, Extent]:
    """What is written between the brackets of a launch of a kernel that asks for ``oa.grid(3)``:
    ``kernel[nx, ny, nz]`` or ``kernel[(nx, ny, nz), (bx, by, bz)]``.

    Raises ArgumentError for anything but whole numbers in range.
    """
    threads, block = item, None
    if isinstance(item, tuple) and item and isinstance(item[0], tuple):
        if len(item) != 2:
            raise ArgumentError(f"{len(item)} launch sizes are given", _HELP_3)
        threads, block = item
    nx, ny, nz = _three(threads, "threads", 0)
    bx, by, bz = (*DEFAULT_BLOCK[2], 1) if block is None else _three(block, "block", 1)
    # Nobody sees in which block a thread is if nobody asked for one.
    height, depth = (1, 1) if block is None else (by, bz)
    rows = -(-ny // height) * height * -(-nz // depth) * depth
    if rows > AXIS_LIMIT:
        raise ArgumentError(
            f"{ny} x {nz} threads along y and z are more than {AXIS_LIMIT}",
            "launch in several parts, or with more of them along x",
        )
    found = parse_geometry(((nx, rows), (bx, by * bz)), 2)
    geometry = Geometry(found.threads, found.block, is_usual=block is None)
    return geometry, Extent(*map(u32, (ny, nz, height, depth, max(1, -(-ny // height)))))


def _three(value: Any, what: str, least: int) -> tuple[int, int, int]:
    parts = value if isinstance(value, tuple) else (value,)
    if len(parts) > 3:
        raise ArgumentError(f"{what} has {len(parts)} axes", _HELP_3)
    x, y, z = (_size(part, what, least) for part in (*parts, 1, 1)[:3])
    return x, y, z


def parse_geometry(item: Any, axes: int, default_block: Pair | None = None) -> Geometry:
    """What is written between the brackets of a launch.

    Python does not tell ``kernel[a, b]`` from ``kernel[(a, b)]``: two numbers are threads and block
    for a kernel of one axis, and nx and ny for one that asks for ``oa.grid(2)``. Without a block
    it is ``default_block``, else ``DEFAULT_BLOCK``.
    Raises ArgumentError for anything but whole numbers in range.
    """
    if not isinstance(item, tuple):
        threads, block = item, None
    elif len(item) != 2:
        help = (
            "three are for kernels that ask for x, y, z = oa.grid(3)" if len(item) == 3 else _HELP
        )
        raise ArgumentError(f"{len(item)} launch sizes are given", help)
    elif axes == 2 and not any(isinstance(part, tuple) for part in item):
        threads, block = item, None
    else:
        threads, block = item
    is_usual = block is None and default_block is None
    if block is None:
        block = default_block or DEFAULT_BLOCK[axes]
    found = Geometry(_pair(threads, "threads", 0), _pair(block, "block", 1), is_usual)
    if max(found.threads) > AXIS_LIMIT:
        raise ArgumentError(
            f"{max(found.threads)} threads along one axis are more than {AXIS_LIMIT}",
            "launch in several parts, or along two axes",
        )
    if found.block[0] * found.block[1] > BLOCK_LIMIT:
        raise ArgumentError(
            f"a block of {found.block[0]} x {found.block[1]} threads is larger than {BLOCK_LIMIT}",
            "use 32 to 1024 threads a block",
        )
    return found


def _pair(value: Any, what: str, least: int) -> Pair:
    parts = value if isinstance(value, tuple) else (value, 1)
    if len(parts) != 2:
        raise ArgumentError(f"{what} has {len(parts)} axes", _HELP)
    return _size(parts[0], what, least), _size(parts[1], what, least)


def _size(value: Any, what: str, least: int) -> int:
    try:
        size = int(value.__index__())
    except (AttributeError, TypeError):  # an array of several numbers has the method
        size = None
    if size is None or isinstance(value, bool):
        raise ArgumentError(f"{what} is {value!r}, not a whole number", _HELP)
    if size < least:
        raise ArgumentError(f"{what} is {size}; it must be at least {least}", _HELP)
    return size
