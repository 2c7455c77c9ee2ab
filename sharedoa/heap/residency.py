"""Where memory is now: what the host has used moves back to the device before the next launch.

Managed memory moves page by page when it is touched on the other side; that costs a fault a page.
So a bulk access by the host first fetches all that it is going to read or write, and a launch first
sends back all that the host used. One value that the host reads or writes after a launch is copied,
as a page that comes and goes would take longer than the launch. Many values that go to memory which
is on the device, or come from there, are moved by the device itself, and the memory stays where it
is.
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

BLOCK = 256 << 10
"""Scattered accesses are fetched in one go if they lie in half of the blocks of so many bytes. A
fault takes about as long as moving a block, and moves neighbours that later launches have to fault
back."""

#: address, size in bytes, whether to the device
Prefetch = Callable[[int, int, bool], None]


class Residency:
    """Ranges of memory that the host has used since they were last sent to the device."""

    def __init__(self, prefetch: Prefetch | None, transfer: Transfer | None = None) -> None:
        """``prefetch`` is None where host and device are one; ``transfer`` where the device moves
        nothing by itself."""
        self._prefetch = prefetch
        self._transfer = transfer
        self.moves = prefetch is not None
        """Whether host and device are two."""
        #: All that is to be sent back lies in these, by extent; stays empty where host and
        #: device are one.
        self.on_host: dict[int, tuple[int, int]] = {}
        #: A part of each that is on the host for certain.
        self._fetched: dict[int, tuple[int, int]] = {}
        #: Extents of which something was copied since the last launch.
        self._copied: set[int] = set()

    def copies_one(self, extent: int) -> bool:
        """Whether the host is to copy the few bytes of an extent that it reads or writes now: the
        first ones after a launch. It had better use the memory itself where it has done so since,
        or has something else to do there."""
        if extent in self.on_host or extent in self._copied:
            return False
        self._copied.add(extent)
        return True

    def host_uses(self, extent: int, start: int, end: int, blocks: int | None = None) -> None:
        """The host is about to read or write [start, end) of the extent that begins at ``extent``,
        or only something in so many ``blocks`` (``BLOCK``) of it."""
        if self._prefetch is None:
            return
        fetched = self._fetched.get(extent)
        if fetched is not None and fetched[0] <= start and end <= fetched[1]:
            return
        known = self.on_host.get(extent)
        self.on_host[extent] = (
            (start, end) if known is None else (min(start, known[0]), max(end, known[1]))
        )
        is_bulk = end - start >= BULK
        if not is_bulk or blocks is None or 2 * blocks * BLOCK >= end - start:
            if is_bulk:
                self._prefetch(start, end - start, False)
            self._fetched[extent] = _joined(fetched, start, end)

    def transfer_between(self, start: int, end: int) -> Transfer | None:
        """What moves values to and from [start, end) on the device; None where the host had better
        do it: for little memory, and where it has most of it already."""
        transfer = self._transfer
        if transfer is None or self._prefetch is None or end - start < DEVICE_BULK:
            return None
        fetched = list(self._fetched.values())
        if 2 * sum(max(0, min(high, end) - max(low, start)) for low, high in fetched) > end - start:
            return None
        if not transfer.ready():
            return None
        for extent, (low, high) in list(self.on_host.items()):
            if low < end and start < high:
                self._prefetch(low, high - low, True)
                self._forget_extent(extent)
        return transfer

    def send(self, start: int, end: int) -> None:
        """Move [start, end), all of which the device is about to overwrite, there in one go,
        wherever it was before it was handed out."""
        if self._prefetch is not None:
            self._prefetch(start, end - start, True)
            self.forget(start, end)

    def before_launch(self) -> None:
        if self._prefetch is None:
            return
        self._copied.clear()
        # One at a time: other threads may use more memory meanwhile.
        for extent in list(self.on_host):
            self._fetched.pop(extent, None)
            known = self.on_host.pop(extent, None)
            if known is None:
                continue
            start, end = known
            try:
                self._prefetch(start, end - start, True)
            except BaseException:
                self.on_host.setdefault(extent, known)
                raise

    def forget(self, start: int, end: int) -> None:
        """The memory was freed: nothing in it is worth moving."""
        for extent, (low, high) in list(self.on_host.items()):
            if start <= low and high <= end:
                self._forget_extent(extent)

    def _forget_extent(self, extent: int) -> None:
        self._fetched.pop(extent, None)
        self.on_host.pop(extent, None)
        self._copied.discard(extent)


def _joined(known: tuple[int, int] | None, start: int, end: int) -> tuple[int, int]:
    """Both ranges as one where they touch, else the longer one."""
    if known is None:
        return start, end
    if start <= known[1] and known[0] <= end:
        return min(start, known[0]), max(end, known[1])
    return known if known[1] - known[0] >= end - start else (start, end)
