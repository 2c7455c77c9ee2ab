"""Memory that host and device both reach, where they are one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .base import Bytes


class HostStaging:
    """``heap.slot_lists.ReportStaging`` of a backend whose ``synchronize`` waits for everything."""

    def __init__(self, synchronize: Callable[[], None], pieces: int, piece_bytes: int) -> None:
        self.piece_bytes = piece_bytes
        self._synchronize = synchronize
        self._memory = [np.zeros(piece_bytes, np.uint8) for _ in range(pieces)]

    def address(self, piece: int) -> int:
        return int(self._memory[piece].ctypes.data)

    def memory(self, piece: int) -> Bytes:
        return self._memory[piece]

    def mark(self, piece: int) -> None:
        """Everything is waited for anyway."""

    def has_ended(self, piece: int) -> bool:
        return False

    def wait(self, piece: int) -> None:
        self._synchronize()

    def close(self) -> None:
        """It goes with its last user."""
