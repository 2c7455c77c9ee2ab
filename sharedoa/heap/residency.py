"""Where memory is now: what the host has used moves back to the device before the next launch.

Managed memory moves page by page when it is touched on the other side; that costs a fault a page.
So a bulk access by the host first fetches all that it is going to read or write, and a launch first
sends back all that the host used. Many values that go to memory which is on the device, or come
from there, are moved by the device itself, and the memory stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable

from .transfer import Transfer

BULK = 1 << 16
"""Bytes from which a host access fetches its memory in one go."""
DEVICE_BULK = 4 << 20
"""Bytes of memory from which the device is asked to move values to or from it. It waits for the
device each time, and for the first time makes a buffer, which takes about as long as moving so much
memory to the host and back."""

#: address, size in bytes, whether to the device
Prefetch = Callable[[int, int, bool], None]


class Residency:
    """Ranges of memory that the host has used since they were last sent to the device."""

    def __init__(self, prefetch: Prefetch | None, transfer: Transfer | None = None) -> None:
        """``prefetch`` is None where host and device are one; ``transfer`` where the device moves
        nothing by itself."""
        self._prefetch = prefetch
        self._transfer = transfer
        #: By block; stays empty where host and device are one.
        self.on_host: dict[int, tuple[int, int]] = {}

    def host_uses(self, block: int, start: int, end: int) -> None:
        """The host is about to read or write [start, end) of the block that begins at ``block``."""
        if self._prefetch is None:
            return
        known = self.on_host.get(block)
        if known is not None and known[0] <= start and end <= known[1]:
            return
        if end - start >= BULK:
            self._prefetch(start, end - start, False)
        if known is not None:
            start, end = min(start, known[0]), max(end, known[1])
        self.on_host[block] = start, end

    def transfer_between(self, start: int, end: int) -> Transfer | None:
        """What moves values to and from [start, end) on the device; None where the host had better
        do it: for little memory, and where it has most of it already."""
        transfer = self._transfer
        if transfer is None or self._prefetch is None or end - start < DEVICE_BULK:
            return None
        held = {b: r for b, r in self._on_host_now() if r[0] < end and start < r[1]}
        if 2 * sum(min(high, end) - max(low, start) for low, high in held.values()) > end - start:
            return None
        if not transfer.ready():
            return None
        for block, (low, high) in held.items():
            self._prefetch(low, high - low, True)
            self.on_host.pop(block, None)
        return transfer

    def _on_host_now(self) -> list[tuple[int, tuple[int, int]]]:
        return list(self.on_host.items())

    def before_launch(self) -> None:
        if self._prefetch is None:
            return
        # One at a time: other threads may use more memory meanwhile.
        for block in list(self.on_host):
            known = self.on_host.pop(block, None)
            if known is None:
                continue
            start, end = known
            try:
                self._prefetch(start, end - start, True)
            except BaseException:
                self.on_host.setdefault(block, known)
                raise

    def forget(self, start: int, end: int) -> None:
        """The memory was freed: nothing in it is worth moving."""
        for block, (low, high) in self._on_host_now():
            if start <= low and high <= end:
                self.on_host.pop(block, None)
