"""Which regions of objects begin at multiples of what, so that classes lie in windows apart.

``dispatch.windows`` tells a class by the number of the window that an object lies in. There are
such windows where no block of 2**k bytes holds objects of two classes: so a class grows side by
side with itself, and its first region begins at a multiple of a power of two above its size. What
that leaves empty has a limit, beyond which regions go to the lowest place that fits.
"""

from __future__ import annotations

from collections.abc import Iterable

from .extents import ALIGNMENT, SLAB_SIZE, Extent, Extents, NoRoom

_LEAST, _LEAST_PART = 2 << 20, 1024
"""Bytes of a window, so that a class that begins small has some to grow in; and the part of a
heap's capacity that it is at most."""
_LARGEST_PART = 64
"""The part of the capacity that a larger window is at most."""
_SPARE, _SPARE_PART = 1 << 30, 16
"""Bytes that windows leave empty, and the part of the capacity that they are at most."""


class ClassWindows:
    """Places regions of objects in ``extents``."""

    def __init__(self, extents: Extents) -> None:
        self._extents = extents
        capacity = extents.capacity
        self._least = min(_LEAST, _power_of_two(capacity // _LEAST_PART))
        self._largest = min(SLAB_SIZE, _power_of_two(capacity // _LARGEST_PART))
        self._spare = min(_SPARE, capacity // _SPARE_PART)

    def allocate(self, size: int, own: Iterable[Extent], all_sizes: Iterable[int]) -> Extent:
        """``size`` bytes for a region of a class that has ``own`` extents; ``all_sizes`` are those
        of every region. Raises NoRoom."""
        for extent in own:
            beside = self._extents.allocate_after(extent, size)
            if beside is not None:
                return beside
        if sum(map(self._empty, all_sizes)) + self._empty(size) <= self._spare:
            try:
                return self._extents.allocate(size, alignment=self._window(size))
            except NoRoom:
                pass  # somewhere between windows there may be room
        return self._extents.allocate(size)

    def _window(self, size: int) -> int:
        return max(ALIGNMENT, self._least, min(1 << (size - 1).bit_length(), self._largest))

    def _empty(self, size: int) -> int:
        """What a region leaves of its last window, at most: its class may grow there."""
        return -size % self._window(size)


def _power_of_two(limit: int) -> int:
    """The largest one up to ``limit``, at least 1."""
    return 1 << max(0, limit.bit_length() - 1)
