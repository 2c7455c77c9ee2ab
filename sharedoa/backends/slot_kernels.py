"""``heap.slot_lists.SlotLists`` as kernels for any backend (``slot_code``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..forks import renew_in_child
from ..heap.slot_lists import (
    CHUNK,
    GROUP,
    MOST_LEVELS,
    NOTHING,
    Also,
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
from .slot_bytes_code import REGIONS, WORD
from .slot_code import CLEAR, COPY, HEADERS, STORE, WORDS, region_kernels
from .slot_list_code import STORED

if TYPE_CHECKING:
    from .base import Backend

T = TypeVar("T")
#: Address, and bytes: what they are after everything launched before.
Read = Callable[[int, int], bytes]
_MOST_TOGETHER = 1 << 18
"""Chunks that a launch lists of several regions."""
#: Pieces, and bytes of each.
OpenStaging = Callable[[int, int], ReportStaging]


def _parts(some: Sequence[Listing]) -> Sequence[Sequence[Listing]]:
    """Large regions have a launch each: a kernel for one region alone takes half as long."""
    parts: list[list[Listing]] = []
    chunks = 0
    for one in some:
        chunks += one.slots.chunks
        if not parts or chunks > _MOST_TOGETHER:
            parts.append([])
            chunks = one.slots.chunks
        parts[-1].append(one)
    return parts


def _levels(slots: SlotBytes) -> list[int]:
    """Their addresses, and 0 for those that there are not."""
    found = [address for address, _ in slots.levels]
    return [*found, *[0] * (MOST_LEVELS - len(found))]


def _batches(regions: Sequence[T], most: int) -> list[Sequence[T]]:
    """What one launch takes each."""
    return [regions[first : first + most] for first in range(0, len(regions), most)]


def _levels_of_list(slots: SlotBytes) -> list[int]:
    """Those below the last one; in place of others, which are not read, the first."""
    below = [address for address, _ in slots.levels[:-1]]
    return [*below, *[below[0]] * (MOST_LEVELS - len(below))]


def _list_leaves(some: Sequence[Listing], place: int) -> list[int]:
    """The leaves of one of the lists that a launch writes, but for its first thread."""

    def head(place: int) -> int:
        """The first region of a list."""
        one = some[place]
        goes_on = place and one.before and one.before == some[place - 1].after
        return head(place - 1) if goes_on else place

    one, first = some[place], head(place)
    slots, how = one.slots, one.numbers
    assert how.shift < CHUNK.bit_length()
    top_shift = (len(slots.levels) - 1) * (GROUP.bit_length() - 1)
    most, (limit, times), (limit_first, limit_stop) = one.most, one.limit, (0, 0)
    for number, earlier in enumerate(some[:place]):
        if limit and earlier.after == limit:
            # Nobody has written yet how many those are.
            most = min(most, earlier.most * times)
            limit_first, limit_stop = head(number), number + 1
            limit = some[limit_first].before
            break
    return [
        first, slots.slots, 0 if one.live else 1, *slots.levels[-1], top_shift,
        slots.live, most, one.to, one.item, some[first].before, one.after,
        limit, times, limit_first, limit_stop,
        how.first, how.shift, how.block, how.lane, *_levels_of_list(slots),
    ]  # fmt: skip


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
                (
                    one.slots.chunks,
                    [one.slots.chunks, one.slots.live, *reported, *_levels(one.slots)],
                )
                for one in regions
                for reported in [(one.freed, one.used, one.report, int(one.counts), int(one.makes))]
            ],
        )

    def count(self, slots: Sequence[SlotBytes]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        # Nothing was made or ended, so nothing is reported.
        self.settle([Settling(each, 0, 0, 0, counts=True) for each in slots])

    def total(self, slots: Sequence[SlotBytes], at: Sequence[int]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        regions = [(1, [*each.levels[-1], to]) for each, to in zip(slots, at, strict=True)]
        self._launch_all(self._regions.total, regions)

    def list_slots(self, listings: Sequence[Listing], also: Also = NOTHING) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        batches = [part for some in _batches(listings, max(REGIONS)) for part in _parts(some)]
        words, zeros = also.words, also.zeros
        if not batches or len(words) > STORED:
            self.store(also.address, words)
            words = ()
        while len(zeros) > bool(batches):
            self.clear(*zeros[-1])
            zeros = zeros[:-1]
        for some in batches:
            regions = [
                (one.slots.chunks, _list_leaves(some, place)) for place, one in enumerate(some)
            ]
            written = {one.after for one in listings}
            places = range(also.address, also.address + WORD * len(words), WORD)
            which = sum(1 << n for n, place in enumerate(places) if place not in written)
            (zeros_at, size), *_ = [*zeros, (0, 0)]
            rest = [0] * (STORED - len(words))
            more = [zeros_at, size // WORD, also.address, which, *words, *rest]
            self._launch_all(self._regions.list, regions, more)
            words, zeros = (), ()

    def _launch_all(
        self,
        kernels: Mapping[int, OwnKernel],
        regions: Sequence[tuple[int, list[int]]],
        more: Sequence[int] = (),
    ) -> None:
        """``regions``: threads that each needs, and leaves but for the first one. ``more``: leaves
        after those of all regions, but for the number of threads, which comes first."""
        width = self._regions.warp.width
        for some in _batches(regions, max(kernels)):
            leaves, threads = [], 0
            for count, own in some:
                leaves += [threads, *own]
                threads += -(-count // width) * width
            size = min(size for size in kernels if size >= len(some))
            nobodys = [threads, *[0] * len(some[0][1])]
            leaves += nobodys * (size - len(some))
            leaves += [threads, *more] if more else []
            self._launch(kernels[size], threads, leaves)

    def write_headers(
        self, most: int, numbers: Numbering, header: bytes, at: int, before: int, after: int
    ) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        how = numbers.first, numbers.shift, numbers.block, numbers.lane
        value = int.from_bytes(header, "little")
        self._launch(HEADERS[len(header)], most, (at, value, before, after, *how))

    def store(self, address: int, words: Sequence[int]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        for first in range(0, len(words), WORDS):
            some = words[first : first + WORDS]
            rest = [0] * (WORDS - len(some))
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

    def make_ready(self) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        for kernel in self._regions.list.values():
            if not self._kernels.is_loaded(kernel):
                self._kernels.load(kernel)
                return

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
