"""What a device does with the bytes that say which slots of a region live (``dispatch.births``), so
that these stay where kernels have left them.

To list slots in order, threads must know how many come before theirs. Each counts a *chunk* of the
bytes; these counts are the first *level* of sums, and each level is as many sums of groups of the
one below, until there are few (Merrill and Grimshaw, "Parallel Scan for Stream Architectures",
2009: reduce, then scan). Sums stay from launch to launch: whose count has changed adds the
difference to those above, so that one launch settles and counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol
from weakref import finalize

import numpy as np

from dispatch.dataclass import dataclass

CHUNK = 32
"""Slots that one thread looks at."""
GROUP = 64
"""Sums of a level that one sum of the next one adds up."""
TOP = 256
"""Sums of the last level at most: threads that have changed what lives meet there."""
MOST_LEVELS = 5
"""Of a region with 2**32 slots."""
REPORT_GONE, REPORT_LAST, REPORT_USED, REPORT_DELETION = 0, 4, 8, 12
"""Where in a report on a region (``SlotLists.settle``) the numbers of 32 bits are."""
REPORT_BYTES = 16
_SUM_BYTES = 4
Words = np.ndarray[Any, np.dtype[np.uint32]]


@dataclass(frozen=True)
class SlotBytes:
    """One byte a slot of a region of ``capacity`` slots, from address ``live`` on, and after them
    room for sums. All that lies between is zero at first. Only the first ``slots`` are looked at:
    in those behind them there has never been anything."""

    live: int
    capacity: int
    slots: int

    @classmethod
    def of_all(cls, live: int, capacity: int) -> SlotBytes:
        return cls(live, capacity, capacity)

    def first(self, slots: int) -> SlotBytes:
        """A look at so many only."""
        return SlotBytes(self.live, self.capacity, slots)

    @cached_property
    def chunks(self) -> int:
        return -(-self.slots // CHUNK)

    @cached_property
    def levels(self) -> list[tuple[int, int]]:
        """The address of each level of sums, and how many it has. Those of the first level are
        bytes, others have 32 bits each."""
        room, count, bytes = -(-self.capacity // CHUNK), self.chunks, 1
        found, address = [], self.live + room * CHUNK
        while True:
            found.append((address, count))
            if bytes > 1 and room <= TOP:
                return found
            # What a group lacks is zero.
            address += -(-room // GROUP) * GROUP * bytes
            room, count, bytes = -(-room // GROUP), -(-count // GROUP), _SUM_BYTES

    @cached_property
    def size(self) -> int:
        """Bytes of all of it."""
        address, count = self.first(self.capacity).levels[-1]
        return address + -(-count // GROUP) * GROUP * _SUM_BYTES - self.live


@dataclass(frozen=True)
class Numbering:
    """A number for each slot: those of neighbours in a block of 2**``shift`` slots differ by
    ``lane``, those of the first ones of neighbouring blocks by ``block``; ``first`` is slot 0's."""

    first: int
    shift: int
    block: int
    lane: int


SLOT_NUMBERS = Numbering(0, 0, 1, 0)


@dataclass(frozen=True)
class Settling:
    """A region that a launch may have changed. ``freed`` is the address of one u32 a slot, or 0:
    those of slots whose objects had lived before and were ended become what the report says at
    REPORT_DELETION. At REPORT_GONE it says 1 if there were such, and at REPORT_LAST the number
    after the last slot in which an object was made, if that is more than ``used`` and than what it
    said before. ``counts``: the sums may not have been right before; ``makes``: the launch may have
    made objects there."""

    slots: SlotBytes
    freed: int
    used: int
    report: int
    counts: bool = False
    makes: bool = True


@dataclass(frozen=True)
class Listing:
    """The numbers of slots that live, or that are free, for a list at ``to``, in order, each as
    ``item`` bytes (4 or 8); those that the list has no room for, as it takes ``most``, are left
    out, and with a ``limit`` those after so many times the word of 64 bits at that address.
    ``before`` is the address of a word of 64 bits that says how many the list has already,
    ``after`` of one that is to say how many it has then; 0 for none of them."""

    slots: SlotBytes
    live: bool
    most: int
    numbers: Numbering
    to: int
    item: int
    before: int = 0
    after: int = 0
    limit: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Also:
    """What is written by the way: ``words`` of 64 bits to an address, but for those that the lists
    write themselves, and zeros, as addresses and bytes, multiples of 8."""

    address: int = 0
    words: Sequence[int] = ()
    zeros: Sequence[tuple[int, int]] = ()


NOTHING = Also()


class ReportStaging(Protocol):
    """Pieces of memory that host and device both reach."""

    piece_bytes: int

    def address(self, piece: int) -> int: ...

    def memory(self, piece: int) -> np.ndarray[Any, np.dtype[np.uint8]]: ...

    def mark(self, piece: int) -> None:
        """Everything launched so far may use the piece."""
        ...

    def has_ended(self, piece: int) -> bool:
        """Whether what ``mark`` meant has."""
        ...

    def wait(self, piece: int) -> None:
        """Wait until it has."""
        ...

    def close(self) -> None: ...


class SlotLists(Protocol):
    """In order with launches; returns at once where the device can, but for ``read``."""

    def settle(self, regions: Sequence[Settling]) -> None:
        """After a launch: who was made lives, who was ended does not. The sums are right then."""
        ...

    def count(self, slots: Sequence[SlotBytes]) -> None:
        """Make the sums right, of whatever lives. No launch changes that meanwhile."""
        ...

    def total(self, slots: Sequence[SlotBytes], at: Sequence[int]) -> None:
        """Write how many live, as the sums say, to these addresses, in 32 bits."""
        ...

    def list_slots(self, listings: Sequence[Listing], also: Also = NOTHING) -> None:
        """Write lists. The sums are right. Where a list goes on, the next one's ``before`` is the
        ``after`` of the one before it; a limit may be the ``after`` of a list before."""
        ...

    def write_headers(
        self, most: int, numbers: Numbering, header: bytes, at: int, before: int, after: int
    ) -> None:
        """Write a header of 4 or 8 bytes to slots of a list of u32 at ``at``, ``most`` at most:
        those between two places in it that words of 64 bits say, whose addresses are as for
        ``list_slots``. The header of each slot lies at the address that is its number."""
        ...

    def store(self, address: int, words: Sequence[int]) -> None:
        """Write words of 64 bits."""
        ...

    def clear(self, address: int, size: int) -> None:
        """Zero bytes, a multiple of 8."""
        ...

    def copy(self, source: int, target: int, count: int) -> None:
        """Copy numbers of 32 bits."""
        ...

    def read(self, address: int, count: int) -> Words:
        """Numbers of 32 bits, after everything launched before. Raises DeviceError."""
        ...

    def staging(self, pieces: int, piece_bytes: int) -> ReportStaging:
        """Memory that ``copy`` can write to and the host read while launches go on."""
        ...

    def make_ready(self) -> None:
        """Make code for more regions at a time than were listed yet, if there is any: who needs it
        waits for a compiler else. Any thread may."""
        ...

    def recorder(self) -> tuple[SlotLists, list[Any]]:
        """What launches nothing, and the list that it appends its launches to, each with arguments
        of its own (``backends.base.KernelLaunch``). It cannot ``read``."""
        ...


def staging_of(owner: object, backend: Any, pieces: int, piece_bytes: int) -> ReportStaging:
    """Pieces that go with ``owner``, after what is under way, which may still write to them."""
    staging: ReportStaging = backend.slot_lists.staging(pieces, piece_bytes)
    finalize(owner, _close, backend, staging).atexit = False
    return staging


def _close(backend: Any, staging: ReportStaging) -> None:
    if not backend.is_lost:
        backend.synchronize()
        staging.close()
