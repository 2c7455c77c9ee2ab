"""What both flavours of the ray tracer offer to the code that runs, checks and draws them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

Pixels = np.ndarray[Any, np.dtype[np.uint8]]

CHANNELS = ("red", "green", "blue")


class Rendering(Protocol):
    """A picture in the making, in one heap."""

    def advance(self) -> None:
        """Launch the kernel once."""
        ...

    def counts(self) -> dict[str, int]:
        """Exact results so far."""
        ...

    def pixels(self) -> Pixels:
        """The picture so far, of shape (height, width, 3), the top row first."""
        ...

    def check(self) -> Iterator[str]:
        """Compare with the reference so far; the name of what holds. Raises CheckFailed."""
        ...


def channel_sums(pixels: Pixels) -> dict[str, int]:
    sums = pixels.reshape(-1, len(CHANNELS)).sum(axis=0, dtype=np.int64)
    return dict(zip(CHANNELS, sums.tolist(), strict=True))
