"""``heap.slot_lists.SlotLists`` as kernels for any backend (``slot_code``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..forks import renew_in_child
from ..heap.slot_lists import (
    MOST_LEVELS,
    Listing,
    Numbering,
    ReportStaging,
    Settling,
    SlotBytes,
    SlotLists,
    Words,
)
from ..targets.one_thread import OneThread
from .base import KernelLaunch
from .own_kernels import OwnKernel, OwnKernels
from .slot_code import CLEAR, COPY, HEADERS, REGIONS, STORE, STORED, WORD, region_kernels

if TYPE_CHECKING:
    from .base import Backend

T = TypeVar("T")
#: Address, and bytes: what they are after everything launched before.
Read = Callable[[int, int], bytes]
#: Pieces, and bytes of each.
OpenStaging = Callable[[int, int], ReportStaging]


def _levels(slots: SlotBytes) -> list[int]:
    """Their addresses, and 0 for those that there are not."""
    found = [address for address, _ in slots.levels]
    return [*found, *[0] * (MOST_LEVELS - len(found))]


def _batches(regions: Sequence[T]) -> list[Sequence[T]]:
    """What one launch takes each."""
    return [regions[first : first + REGIONS] for first in range(0, len(regions), REGIONS)]


class SlotKernels:
    """``heap.slot_lists.SlotLists``."""

    def __init__(self, backend: Backend, read: Read, open_staging: OpenStaging) -> None:
        self._kernels = OwnKernels(backend)
        self._regions = region_kernels(backend.target.warp or OneThread())
        self._read, self._open_staging = read, open_staging
        #: Threads of several heaps have one set of slots for arguments.
        self._lock = renew_in_child(threading.Lock())

    def _launch(self, kernel: OwnKernel, threads: int, leaves: Sequence[int]) -> None:
        with self._lock:
            self._kernels.launch(kernel, threads, leaves)

    def settle(self, regions: Sequence[Settling]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        self._launch_all(
            self._regions.settle,
            [
                (chunks, [chunks, one.slots.live, one.freed, one.used, one.report, *levels])
                for one in regions
                for chunks, levels in [(one.slots.chunks, _levels(one.slots))]
            ],
        )

    def count(self, slots: Sequence[SlotBytes]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        # Nothing was made or ended, so nothing is reported.
        self.settle([Settling(each, 0, 0, 0) for each in slots])

    def total(self, slots: Sequence[SlotBytes], at: Sequence[int]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        regions = [(1, [*each.levels[-1], to]) for each, to in zip(slots, at, strict=True)]
        self._launch_all(self._regions.total, regions)

    def list_slots(self, listings: Sequence[Listing]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        for some in _batches(listings):
            heads: list[int] = []
            for place, one in enumerate(some):
                goes_on = place and one.before and one.before == some[place - 1].after
                heads.append(heads[-1] if goes_on else place)
            regions = []
            for head, one in zip(heads, some, strict=True):
                slots, how = one.slots, one.numbers
                own = [head, slots.slots, 0 if one.live else 1, *slots.levels[-1]]
                own += [slots.live, one.most, one.to, one.item, some[head].before, one.after]
                own += [*one.limit, how.first, how.shift, how.block, how.lane, *_levels(slots)]
                regions.append((slots.chunks, own))
            self._launch_all(self._regions.list, regions)

    def _launch_all(self, kernel: OwnKernel, regions: Sequence[tuple[int, list[int]]]) -> None:
        """``regions``: threads that each needs, and leaves but for the first one."""
        width = self._regions.warp.width
        for some in _batches(regions):
            leaves, threads = [], 0
            for count, own in some:
                leaves += [threads, *own]
                threads += -(-count // width) * width
            none = [threads, *[0] * (kernel.leaves // REGIONS - 1)]
            self._launch(kernel, threads, [*leaves, *none * (REGIONS - len(some))])

    def write_headers(
        self, most: int, numbers: Numbering, header: bytes, at: int, before: int, after: int
    ) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        how = numbers.first, numbers.shift, numbers.block, numbers.lane
        value = int.from_bytes(header, "little")
        self._launch(HEADERS[len(header)], most, (at, value, before, after, *how))

    def store(self, address: int, words: Sequence[int]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        for first in range(0, len(words), STORED):
            some = words[first : first + STORED]
            rest = [0] * (STORED - len(some))
            self._launch(STORE, 1, (address + first * WORD, len(some), *some, *rest))

    def clear(self, address: int, size: int) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        self._launch(CLEAR, size // WORD, (address,))

    def copy(self, source: int, target: int, count: int) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        self._launch(COPY, count, (source, target))

    def read(self, address: int, count: int) -> Words:
        """See ``heap.slot_lists.SlotLists``."""
        return np.frombuffer(self._read(address, 4 * count), np.uint32)

    def staging(self, pieces: int, piece_bytes: int) -> ReportStaging:
        """See ``heap.slot_lists.SlotLists``."""
        return self._open_staging(pieces, piece_bytes)

    def recorder(self) -> tuple[SlotLists, list[Any]]:
        """See ``heap.slot_lists.SlotLists``."""
        found = _RecordedSlots(self)
        return found, found.launches


class _RecordedSlots(SlotKernels):
    """Launches nothing, and appends what it would to ``launches``."""

    def __init__(self, kernels: SlotKernels) -> None:
        self._kernels, self._regions = kernels._kernels, kernels._regions
        self.launches: list[KernelLaunch] = []

    def _launch(self, kernel: OwnKernel, threads: int, leaves: Sequence[int]) -> None:
        if threads:
            self.launches.append(self._kernels.prepared(kernel, threads, leaves))
