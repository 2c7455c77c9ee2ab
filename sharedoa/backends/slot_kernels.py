"""``heap.slot_lists.SlotLists`` as kernels for any backend, a few threads' work each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from dispatch.births import BORN, ENDED, LIVED

from ..forks import renew_in_child
from ..heap.slot_lists import (
    CHUNK,
    GROUP,
    MOST_LEVELS,
    REPORT_DELETION,
    REPORT_GONE,
    REPORT_LAST,
    REPORT_USED,
    Numbering,
    ReportStaging,
    SlotBytes,
    SlotLists,
    Words,
)
from ..targets.base import I64, POINTER
from .base import KernelLaunch
from .own_kernels import OwnKernel, OwnKernels

if TYPE_CHECKING:
    from .base import Backend

_I32 = ir.IntType(32)
_WORD = 8
_GROUP_SHIFT = GROUP.bit_length() - 1
_EACH = 0x0101010101010101
"""Times a byte: in each byte of a word."""
_STORED = 32
"""Words that one launch of ``_STORE`` writes at most."""
_PREFIXES = MOST_LEVELS - 1
#: Address, and bytes: what they are after everything launched before.
Read = Callable[[int, int], bytes]
#: Pieces, and bytes of each.
OpenStaging = Callable[[int, int], ReportStaging]


def _pointer(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, size: int) -> ir.Value:
    return builder.inttoptr(builder.add(base, builder.mul(index, I64(size))), POINTER)


def _bits(builder: ir.IRBuilder, word: ir.Value, state: int) -> ir.Value:
    """1 in each byte of ``word`` that has the bit ``state``."""
    shifted = builder.lshr(word, I64(state.bit_length() - 1))
    return builder.and_(shifted, I64(_EACH))


def _number_of_ones(builder: ir.IRBuilder, bytes: ir.Value) -> ir.Value:
    """The sum of the bytes of a word that are 0 or 1."""
    return builder.lshr(builder.mul(bytes, I64(_EACH)), I64(56))


def _words_of_chunk(
    builder: ir.IRBuilder, live: ir.Value, thread: ir.Value
) -> list[tuple[ir.Value, ir.Value]]:
    """Pointers to the words of a thread's chunk, and what they hold."""
    first = builder.mul(thread, I64(CHUNK // _WORD))
    pointers = [
        _pointer(builder, live, builder.add(first, I64(place)), _WORD)
        for place in range(CHUNK // _WORD)
    ]
    return [(pointer, builder.load(pointer, typ=I64, align=_WORD)) for pointer in pointers]


def _store_sum(builder: ir.IRBuilder, sums: ir.Value, thread: ir.Value, total: ir.Value) -> None:
    builder.store(builder.trunc(total, _I32), _pointer(builder, sums, thread, 4))


def _emit_settle(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    live, sums, freed, used, report = leaves
    gone_at, last_at, deletion_at = (
        builder.inttoptr(builder.add(report, I64(place)), POINTER)
        for place in (REPORT_GONE, REPORT_LAST, REPORT_DELETION)
    )
    total: ir.Value = I64(0)
    for place, (pointer, word) in enumerate(_words_of_chunk(builder, live, thread)):
        lived, born = _bits(builder, word, LIVED), _bits(builder, word, BORN)
        ended = _bits(builder, word, ENDED)
        after = builder.and_(builder.or_(lived, born), builder.not_(ended))
        total = builder.add(total, _number_of_ones(builder, after))
        first = builder.add(builder.mul(thread, I64(CHUNK)), I64(place * _WORD))
        with builder.if_then(builder.icmp_unsigned("!=", after, word)):
            builder.store(after, pointer)
            gone = builder.and_(lived, ended)
            with builder.if_then(builder.icmp_unsigned("!=", gone, I64(0))):
                builder.store(_I32(1), gone_at)
                with builder.if_then(builder.icmp_unsigned("!=", freed, I64(0))):
                    _emit_freed(builder, gone, first, freed, deletion_at)
            with builder.if_then(builder.icmp_unsigned("!=", born, I64(0))):
                _emit_last(builder, born, first, used, last_at)
    _store_sum(builder, sums, thread, total)


def _emit_freed(
    builder: ir.IRBuilder, gone: ir.Value, first: ir.Value, freed: ir.Value, deletion_at: ir.Value
) -> None:
    number = builder.load(deletion_at, typ=_I32)
    for byte in range(_WORD):
        is_gone = builder.trunc(builder.lshr(gone, I64(8 * byte)), ir.IntType(1))
        with builder.if_then(is_gone):
            slot = builder.add(first, I64(byte))
            builder.store(number, _pointer(builder, freed, slot, 4))


def _emit_last(
    builder: ir.IRBuilder, born: ir.Value, first: ir.Value, used: ir.Value, last_at: ir.Value
) -> None:
    after: ir.Value = I64(0)
    for byte in range(_WORD):
        is_born = builder.trunc(builder.lshr(born, I64(8 * byte)), ir.IntType(1))
        after = builder.select(is_born, builder.add(first, I64(byte + 1)), after)
    # Most are in slots that had others before, and all would meet at one address.
    with builder.if_then(builder.icmp_unsigned(">", after, used)):
        builder.atomic_rmw("umax", last_at, builder.trunc(after, _I32), "monotonic")


def _emit_count(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    live, sums = leaves
    total: ir.Value = I64(0)
    for _, word in _words_of_chunk(builder, live, thread):
        total = builder.add(total, _number_of_ones(builder, _bits(builder, word, LIVED)))
    _store_sum(builder, sums, thread, total)


def _emit_sum(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    sums, above, also = leaves
    first = builder.mul(thread, I64(GROUP))
    places = [builder.add(first, I64(place)) for place in range(GROUP)]
    parts = [builder.load(_pointer(builder, sums, p, 4), typ=_I32) for p in places]
    while len(parts) > 1:
        parts = [builder.add(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    builder.store(parts[0], _pointer(builder, above, thread, 4))
    with builder.if_then(builder.icmp_unsigned("!=", also, I64(0))):
        builder.store(parts[0], _pointer(builder, also, thread, 4))


def _emit_copy(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    source, target = leaves
    found = builder.load(_pointer(builder, source, thread, 4), typ=_I32)
    builder.store(found, _pointer(builder, target, thread, 4))


def _emit_before(builder: ir.IRBuilder, levels: list[ir.Value], chunk: ir.Value) -> ir.Value:
    """How many live before a chunk."""
    total: ir.Value = I64(0)
    for number, sums in enumerate(levels):
        place = builder.lshr(chunk, I64(number * _GROUP_SHIFT))
        first = builder.and_(place, I64(-GROUP))
        total = _emit_sum_between(builder, sums, first, place, total)
    return total


def _emit_sum_between(
    builder: ir.IRBuilder, sums: ir.Value, first: ir.Value, stop: ir.Value, total: ir.Value
) -> ir.Value:
    """``total`` and the sums from ``first`` to ``stop``."""
    before = builder.block
    test, add, done = (builder.append_basic_block(name) for name in ("test", "add", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    place, found = builder.phi(I64), builder.phi(I64)
    place.add_incoming(first, before)
    found.add_incoming(total, before)
    builder.cbranch(builder.icmp_unsigned("<", place, stop), add, done)
    builder.position_at_end(add)
    number = builder.load(_pointer(builder, sums, place, 4), typ=_I32)
    found.add_incoming(builder.add(found, builder.zext(number, I64)), add)
    place.add_incoming(builder.add(place, I64(1)), add)
    builder.branch(test)
    builder.position_at_end(done)
    return found


def _emit_list(item: ir.IntType) -> Callable[[ir.IRBuilder, list[ir.Value], ir.Value], None]:
    def emit(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
        live, others, most, to, *rest = leaves
        numbers, (before_at, stop_at, slots, total_at) = rest[:4], rest[4:8]
        (limit_at, times), levels = rest[8:10], rest[10:]
        wants_live = builder.icmp_unsigned("==", others, I64(0))

        def of(slots: ir.Value, living: ir.Value) -> ir.Value:
            """How many of so many slots are wanted, of which so many live."""
            return builder.select(wants_live, living, builder.sub(slots, living))

        listed = _emit_word(builder, before_at, I64(0))
        limit = builder.mul(_emit_word(builder, limit_at, most), times)
        has_limit = builder.icmp_unsigned("!=", limit_at, I64(0))
        is_less = builder.and_(has_limit, builder.icmp_unsigned("<", limit, most))
        most = builder.select(is_less, limit, most)
        total = builder.load(builder.inttoptr(total_at, POINTER), typ=_I32)
        stop = builder.add(listed, of(slots, builder.zext(total, I64)))
        # What the last chunk has behind the last slot looks free.
        most = builder.select(builder.icmp_unsigned("<", stop, most), stop, most)
        with builder.if_then(_is_one_to_write(builder, thread, stop_at)):
            builder.store(most, builder.inttoptr(stop_at, POINTER))
        before = _emit_before(builder, levels, thread)
        place = builder.add(listed, of(builder.mul(thread, I64(CHUNK)), before))
        function = builder.function
        done = function.append_basic_block("listed")
        look = function.append_basic_block("look")
        builder.cbranch(builder.icmp_unsigned("<", place, most), look, done)
        builder.position_at_end(look)
        for at, (_, word) in enumerate(_words_of_chunk(builder, live, thread)):
            first = builder.add(builder.mul(thread, I64(CHUNK)), I64(at * _WORD))
            wanted = builder.xor(_bits(builder, word, LIVED), others)
            for byte in range(_WORD):
                one = builder.and_(builder.lshr(wanted, I64(8 * byte)), I64(1))
                is_listed = builder.and_(
                    builder.icmp_unsigned("!=", one, I64(0)),
                    builder.icmp_unsigned("<", place, most),
                )
                with builder.if_then(is_listed):
                    slot = builder.add(first, I64(byte))
                    number = _emit_number(builder, slot, numbers)
                    number = number if item == I64 else builder.trunc(number, item)
                    builder.store(number, _pointer(builder, to, place, item.width // 8))
                place = builder.add(place, one)
        builder.branch(done)
        builder.position_at_end(done)

    return emit


def _emit_word(builder: ir.IRBuilder, address: ir.Value, otherwise: ir.Value) -> ir.Value:
    """The word of 64 bits at an address; for address 0 ``otherwise``."""
    before = builder.block
    there, after = builder.append_basic_block("there"), builder.append_basic_block("after")
    builder.cbranch(builder.icmp_unsigned("!=", address, I64(0)), there, after)
    builder.position_at_end(there)
    word = builder.load(builder.inttoptr(address, POINTER), typ=I64)
    builder.branch(after)
    builder.position_at_end(after)
    found = builder.phi(I64)
    found.add_incoming(word, there)
    found.add_incoming(otherwise, before)
    return found


def _is_one_to_write(builder: ir.IRBuilder, thread: ir.Value, address: ir.Value) -> ir.Value:
    is_first = builder.icmp_unsigned("==", thread, I64(0))
    return builder.and_(is_first, builder.icmp_unsigned("!=", address, I64(0)))


def _emit_number(builder: ir.IRBuilder, slot: ir.Value, numbers: list[ir.Value]) -> ir.Value:
    """See ``heap.slot_lists.Numbering``."""
    first, shift, block, lane = numbers
    above = builder.lshr(slot, shift)
    inside = builder.sub(slot, builder.shl(above, shift))
    within = builder.add(builder.mul(above, block), builder.mul(inside, lane))
    return builder.add(first, within)


def _emit_headers(item: ir.IntType) -> Callable[[ir.IRBuilder, list[ir.Value], ir.Value], None]:
    def emit(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
        slots, value, before_at, after_at, *numbers = leaves
        place = builder.add(_emit_word(builder, before_at, I64(0)), thread)
        value = value if item == I64 else builder.trunc(value, item)
        after = builder.load(builder.inttoptr(after_at, POINTER), typ=I64)
        with builder.if_then(builder.icmp_unsigned("<", place, after)):
            slot = builder.load(_pointer(builder, slots, place, 4), typ=_I32)
            address = _emit_number(builder, builder.zext(slot, I64), numbers)
            builder.store(value, builder.inttoptr(address, POINTER))

    return emit


def _emit_store(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    address, count, *words = leaves
    for place, word in enumerate(words):
        with builder.if_then(builder.icmp_unsigned("<", I64(place), count)):
            builder.store(word, _pointer(builder, address, I64(place), _WORD))


def _emit_clear(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    (address,) = leaves
    builder.store(I64(0), _pointer(builder, address, thread, _WORD))


#: One thread a chunk. leaves: as ``SlotLists.settle`` has them, with the first level's address
_SETTLE = OwnKernel("sharedoa_slots_settle", 5, _emit_settle)
#: One thread a chunk. leaves: addresses of the bytes and of the first level
_COUNT = OwnKernel("sharedoa_slots_count", 2, _emit_count)
#: One thread a sum. leaves: addresses of a level and of the next one, and where to write that, too
_SUM = OwnKernel("sharedoa_slots_sum", 3, _emit_sum)
#: One thread a number of 32 bits. leaves: from where, to where
_COPY = OwnKernel("sharedoa_slots_copy", 2, _emit_copy)
#: One thread a chunk. leaves: address of the bytes, 0 for slots that live or in each byte 1 for
#: free ones, how many at most, where to; first, shift, block and lane; addresses of how many are
#: listed before and after, slots that are looked at, and the address of the sum of all; that of a
#: limit, and times that; those of the levels
_LIST = {
    size: OwnKernel(f"sharedoa_slots_list_{size}", 14 + _PREFIXES, _emit_list(ir.IntType(8 * size)))
    for size in (4, 8)
}
#: One thread a slot. leaves: address of their numbers, the header, addresses of how many are listed
#: before and after, and where headers lie
_HEADERS = {
    size: OwnKernel(f"sharedoa_slots_headers_{size}", 8, _emit_headers(ir.IntType(8 * size)))
    for size in (4, 8)
}
#: One thread. leaves: where to, how many words, and the words
_STORE = OwnKernel("sharedoa_slots_store", 2 + _STORED, _emit_store)
#: One thread a word
_CLEAR = OwnKernel("sharedoa_slots_clear", 1, _emit_clear)


class SlotKernels:
    """``heap.slot_lists.SlotLists``."""

    def __init__(self, backend: Backend, read: Read, open_staging: OpenStaging) -> None:
        self._kernels = OwnKernels(backend)
        self._read, self._open_staging = read, open_staging
        #: Threads of several heaps have one set of slots for arguments.
        self._lock = renew_in_child(threading.Lock())

    def _launch(self, kernel: OwnKernel, threads: int, leaves: Sequence[int]) -> None:
        with self._lock:
            self._kernels.launch(kernel, threads, leaves)

    def settle(self, slots: SlotBytes, freed: int, used: int, report: int) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        leaves = slots.live, slots.levels[0][0], freed, used, report
        self._launch(_SETTLE, slots.chunks, leaves)
        self._sum_up(slots, report + REPORT_USED)

    def count(self, slots: SlotBytes) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        self._launch(_COUNT, slots.chunks, (slots.live, slots.levels[0][0]))
        self._sum_up(slots)

    def _sum_up(self, slots: SlotBytes, also: int = 0) -> None:
        """``also``: where to write the sum of all, too."""
        levels = slots.levels
        for (below, _), (above, count) in pairwise(levels):
            self._launch(_SUM, count, (below, above, also if count == 1 else 0))
        if also and len(levels) == 1:
            self.copy(levels[0][0], also, 1)

    def list_slots(
        self,
        slots: SlotBytes,
        live: bool,
        most: int,
        numbers: Numbering,
        to: int,
        item: int,
        before: int = 0,
        after: int = 0,
        limit: tuple[int, int] = (0, 0),
    ) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        levels = [address for address, _ in slots.levels]
        how = numbers.first, numbers.shift, numbers.block, numbers.lane
        where = before, after, slots.slots, levels[-1], *limit
        prefixes = [*levels, *[0] * _PREFIXES][:_PREFIXES]
        leaves = (slots.live, 0 if live else _EACH, most, to, *how, *where, *prefixes)
        self._launch(_LIST[item], slots.chunks, leaves)

    def write_headers(
        self, most: int, numbers: Numbering, header: bytes, at: int, before: int, after: int
    ) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        how = numbers.first, numbers.shift, numbers.block, numbers.lane
        value = int.from_bytes(header, "little")
        self._launch(_HEADERS[len(header)], most, (at, value, before, after, *how))

    def store(self, address: int, words: Sequence[int]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        for first in range(0, len(words), _STORED):
            some = words[first : first + _STORED]
            rest = [0] * (_STORED - len(some))
            self._launch(_STORE, 1, (address + first * _WORD, len(some), *some, *rest))

    def clear(self, address: int, size: int) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        self._launch(_CLEAR, size // _WORD, (address,))

    def copy(self, source: int, target: int, count: int) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        self._launch(_COPY, count, (source, target))

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
        self._kernels = kernels._kernels
        self.launches: list[KernelLaunch] = []

    def _launch(self, kernel: OwnKernel, threads: int, leaves: Sequence[int]) -> None:
        if threads:
            self.launches.append(self._kernels.prepared(kernel, threads, leaves))
