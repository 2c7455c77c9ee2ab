"""What a heap asks of a device that keeps copies of its memory, so that they do not go through the
host."""

from __future__ import annotations

from typing import Protocol


class DeviceCopies(Protocol):
    """Memory that the device alone reaches. Copies happen in the order of launches, and nobody
    waits for them."""

    def reserve(self, size: int) -> int | None:
        """The address of so many bytes; None where that is more than half of what is free, as what
        runs between copies needs memory, too."""
        ...

    def release(self, address: int, size: int) -> None:
        """Give back what ``reserve`` gave, after everything that was launched."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy between memory that ``reserve`` gave and the provider's."""
        ...
