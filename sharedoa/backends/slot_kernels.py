"""``heap.slot_lists.SlotLists`` as kernels for any backend, a few threads' work each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

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
    Listing,
    Numbering,
    ReportStaging,
    Settling,
    SlotBytes,
    SlotLists,
    Words,
)
from ..targets.base import I64, POINTER
from .base import KernelLaunch
from .own_kernels import OwnKernel, OwnKernels

if TYPE_CHECKING:
    from .base import Backend

_I8, _I32 = ir.IntType(8), ir.IntType(32)
_WORD = 8
_GROUP_SHIFT = GROUP.bit_length() - 1
_EACH = 0x0101010101010101
"""Times a byte: in each byte of a word."""
_EVERY_OTHER = 0x00FF00FF00FF00FF
_EACH_OTHER = 0x0001000100010001
"""Times a number of 16 bits: in each of four."""
_STORED = 32
"""Words that one launch of ``_STORE`` writes at most."""
_REGIONS = 4
"""That one launch looks at, at most."""
_UNROLLED = 8
T = TypeVar("T")
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


@contextmanager
def _each_byte(
    builder: ir.IRBuilder, ones: ir.Value, most: ir.Value
) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Code for the bytes of a word that are 1, the first ``most`` of them: the number of the
    byte, and how many there were before."""
    before = builder.block
    test, body, done = (builder.append_basic_block(name) for name in ("test", "byte", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    left, number = builder.phi(I64), builder.phi(I64)
    left.add_incoming(ones, before)
    number.add_incoming(I64(0), before)
    is_one = builder.icmp_unsigned("!=", left, I64(0))
    is_wanted = builder.and_(is_one, builder.icmp_unsigned("<", number, most))
    builder.cbranch(is_wanted, body, done)
    builder.position_at_end(body)
    yield builder.lshr(builder.cttz(left, ir.IntType(1)(1)), I64(3)), number
    left.add_incoming(builder.and_(left, builder.sub(left, I64(1))), builder.block)
    number.add_incoming(builder.add(number, I64(1)), builder.block)
    builder.branch(test)
    builder.position_at_end(done)


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


def _own_region(
    builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value
) -> tuple[ir.Value, list[ir.Value], ir.Value]:
    """The number of the region that a thread is for, what the leaves have for that, and the
    thread's number in it. The leaves of each begin with its first thread."""
    size = len(leaves) // _REGIONS
    regions = [leaves[first : first + size] for first in range(0, len(leaves), size)]
    number: ir.Value = I64(0)
    own = regions[0]
    for place, region in enumerate(regions[1:], 1):
        is_here = builder.icmp_unsigned(">=", thread, region[0])
        number = builder.select(is_here, I64(place), number)
        own = [builder.select(is_here, a, b) for a, b in zip(region, own, strict=True)]
    return number, own[1:], builder.sub(thread, own[0])


def _emit_settle(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    _, (live, freed, used, report, *levels), thread = _own_region(builder, leaves, thread)
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
    _emit_sums(builder, levels, thread, total)


def _emit_sums(
    builder: ir.IRBuilder, levels: list[ir.Value], chunk: ir.Value, total: ir.Value
) -> None:
    """So many live in a chunk now."""
    count = _pointer(builder, levels[0], chunk, 1)
    before = builder.load(count, typ=_I8)
    total = builder.trunc(total, _I8)
    with builder.if_then(builder.icmp_unsigned("!=", total, before)):
        builder.store(total, count)
        more = builder.sub(builder.zext(total, _I32), builder.zext(before, _I32))
        for number, sums in enumerate(levels[1:], 1):
            with builder.if_then(builder.icmp_unsigned("!=", sums, I64(0))):
                place = builder.lshr(chunk, I64(number * _GROUP_SHIFT))
                builder.atomic_rmw("add", _pointer(builder, sums, place, 4), more, "monotonic")


def _emit_freed(
    builder: ir.IRBuilder, gone: ir.Value, first: ir.Value, freed: ir.Value, deletion_at: ir.Value
) -> None:
    number = builder.load(deletion_at, typ=_I32)
    with _each_byte(builder, gone, I64(_WORD)) as (byte, _):
        builder.store(number, _pointer(builder, freed, builder.add(first, byte), 4))


def _emit_last(
    builder: ir.IRBuilder, born: ir.Value, first: ir.Value, used: ir.Value, last_at: ir.Value
) -> None:
    bits_after = builder.ctlz(born, ir.IntType(1)(1))
    last = builder.sub(I64(_WORD - 1), builder.lshr(bits_after, I64(3)))
    after = builder.add(builder.add(first, last), I64(1))
    # Most are in slots that had others before, and all would meet at one address.
    with builder.if_then(builder.icmp_unsigned(">", after, used)):
        builder.atomic_rmw("umax", last_at, builder.trunc(after, _I32), "monotonic")


def _emit_total(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    _, (top, count, at), _ = _own_region(builder, leaves, thread)
    total = _emit_sum_between(builder, top, I64(0), count)
    builder.store(builder.trunc(total, _I32), builder.inttoptr(at, POINTER))


def _emit_copy(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    source, target = leaves
    found = builder.load(_pointer(builder, source, thread, 4), typ=_I32)
    builder.store(found, _pointer(builder, target, thread, 4))


def _emit_before(
    builder: ir.IRBuilder, levels: list[ir.Value], top: ir.Value, chunk: ir.Value
) -> ir.Value:
    """How many live before a chunk."""
    total = _emit_chunks_before(builder, levels[0], chunk)
    for number, sums in enumerate(levels[1:], 1):
        place = builder.lshr(chunk, I64(number * _GROUP_SHIFT))
        is_top = builder.icmp_unsigned("==", sums, top)
        first = builder.select(is_top, I64(0), builder.and_(place, I64(-GROUP)))
        is_there = builder.icmp_unsigned("!=", sums, I64(0))
        stop = builder.select(is_there, place, first)
        total = builder.add(total, _emit_sum_between(builder, sums, first, stop))
    return total


def _emit_chunks_before(builder: ir.IRBuilder, counts: ir.Value, chunk: ir.Value) -> ir.Value:
    """How many live before a chunk in the chunks of its group, which have a byte each."""
    group = builder.and_(chunk, I64(-GROUP))
    total: ir.Value = I64(0)
    for first in range(0, GROUP, _WORD):
        at = _pointer(builder, counts, builder.add(group, I64(first)), 1)
        word = builder.load(at, typ=I64, align=_WORD)
        word = _first_bytes(builder, word, builder.sub(builder.sub(chunk, group), I64(first)))
        for part in (word, builder.lshr(word, I64(8))):
            total = builder.add(total, builder.and_(part, I64(_EVERY_OTHER)))
    return builder.lshr(builder.mul(total, I64(_EACH_OTHER)), I64(48))


def _first_bytes(builder: ir.IRBuilder, word: ir.Value, count: ir.Value) -> ir.Value:
    """The first ones of a word's bytes, at most all, and none if ``count`` is negative."""
    kept = builder.sub(builder.shl(I64(1), builder.mul(count, I64(8))), I64(1))
    kept = builder.select(builder.icmp_signed("<", count, I64(_WORD)), kept, I64(-1))
    kept = builder.select(builder.icmp_signed(">", count, I64(0)), kept, I64(0))
    return builder.and_(word, kept)


def _emit_sum_between(
    builder: ir.IRBuilder, sums: ir.Value, first: ir.Value, stop: ir.Value
) -> ir.Value:
    """The sums from ``first``, a multiple of _UNROLLED, to ``stop``; those after it are in memory,
    too, up to the next multiple."""
    before = builder.block
    test, add, done = (builder.append_basic_block(name) for name in ("test", "add", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    place, total = builder.phi(I64), builder.phi(_I32)
    place.add_incoming(first, before)
    total.add_incoming(_I32(0), before)
    builder.cbranch(builder.icmp_unsigned("<", place, stop), add, done)
    builder.position_at_end(add)
    more: ir.Value = total
    for number in range(_UNROLLED):
        here = builder.add(place, I64(number))
        found = builder.load(_pointer(builder, sums, here, 4), typ=_I32)
        is_one = builder.icmp_unsigned("<", here, stop)
        more = builder.add(more, builder.select(is_one, found, _I32(0)))
    total.add_incoming(more, add)
    place.add_incoming(builder.add(place, I64(_UNROLLED)), add)
    builder.branch(test)
    builder.position_at_end(done)
    return builder.zext(total, I64)


def _emit_list(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    region, own, thread = _own_region(builder, leaves, thread)
    (head, slots, others, top, tops), own = own[:_TOTALS], own[_TOTALS:]
    live, most, to, item, before_at, stop_at, limit_at, times, *own = own
    numbers, levels = own[:4], own[4:]

    def of(slots: ir.Value, living: ir.Value, others: ir.Value) -> ir.Value:
        """How many of so many slots are wanted, of which so many live."""
        wants_live = builder.icmp_unsigned("==", others, I64(0))
        return builder.select(wants_live, living, builder.sub(slots, living))

    listed = _emit_word(builder, before_at, I64(0))
    size = len(leaves) // _REGIONS
    for place in range(_REGIONS - 1):
        slots_there, others_there, *top_there = leaves[place * size + 2 :][: _TOTALS - 1]
        is_before = builder.and_(
            builder.icmp_unsigned("<=", head, I64(place)),
            builder.icmp_unsigned("<", I64(place), region),
        )
        stop = builder.select(is_before, top_there[1], I64(0))
        living = _emit_sum_between(builder, top_there[0], I64(0), stop)
        there = of(slots_there, living, others_there)
        listed = builder.add(listed, builder.select(is_before, there, I64(0)))
    limit = builder.mul(_emit_word(builder, limit_at, most), times)
    has_limit = builder.icmp_unsigned("!=", limit_at, I64(0))
    is_less = builder.and_(has_limit, builder.icmp_unsigned("<", limit, most))
    most = builder.select(is_less, limit, most)
    with builder.if_then(_is_one_to_write(builder, thread, stop_at)):
        total = _emit_sum_between(builder, top, I64(0), tops)
        stop = builder.add(listed, of(slots, total, others))
        stop = builder.select(builder.icmp_unsigned("<", stop, most), stop, most)
        builder.store(stop, builder.inttoptr(stop_at, POINTER))
    before = _emit_before(builder, levels, top, thread)
    place = builder.add(listed, of(builder.mul(thread, I64(CHUNK)), before, others))
    function = builder.function
    done = function.append_basic_block("listed")
    look = function.append_basic_block("look")
    builder.cbranch(builder.icmp_unsigned("<", place, most), look, done)
    builder.position_at_end(look)
    for at, (_, word) in enumerate(_words_of_chunk(builder, live, thread)):
        first = builder.add(builder.mul(thread, I64(CHUNK)), I64(at * _WORD))
        wanted = builder.xor(_bits(builder, word, LIVED), others)
        # What the last chunk has behind the last slot looks free.
        wanted = _first_bytes(builder, wanted, builder.sub(slots, first))
        left = builder.sub(most, place)
        left = builder.select(builder.icmp_signed(">", left, I64(0)), left, I64(0))
        with _each_byte(builder, wanted, left) as (byte, written):
            number = _emit_number(builder, builder.add(first, byte), numbers)
            address = builder.add(to, builder.mul(builder.add(place, written), item))
            here = builder.inttoptr(address, POINTER)
            with builder.if_else(builder.icmp_unsigned("==", item, I64(_WORD))) as (wide, narrow):
                with wide:
                    builder.store(number, here)
                with narrow:
                    builder.store(builder.trunc(number, _I32), here)
        place = builder.add(place, _number_of_ones(builder, wanted))
    builder.branch(done)
    builder.position_at_end(done)


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


#: One thread a chunk. leaves, for each region: its first thread; address of the bytes; as
#: ``Settling`` has them; addresses of the levels
_SETTLE = OwnKernel("sharedoa_slots_settle", _REGIONS * (5 + MOST_LEVELS), _emit_settle)
#: One thread a region. leaves, for each: its thread, address and number of the last level's sums,
#: where to write how many live
_TOTAL = OwnKernel("sharedoa_slots_total", _REGIONS * 4, _emit_total)
#: One thread a number of 32 bits. leaves: from where, to where
_COPY = OwnKernel("sharedoa_slots_copy", 2, _emit_copy)
#: Of the leaves of ``_LIST``: what tells how many a region has
_TOTALS = 5
#: One thread a chunk. leaves, for each region: its first thread; the number of the region that the
#: list begins with; slots that are looked at; 0 for those that live or in each byte 1 for free
#: ones; address and number of the last level's sums; address of the bytes, how many at most, where
#: to, bytes of each; addresses of how many are listed before and after, and of a limit, and times
#: that; first, shift, block and lane; addresses of the levels
_LIST = OwnKernel("sharedoa_slots_list", _REGIONS * (1 + _TOTALS + 12 + MOST_LEVELS), _emit_list)
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


def _levels(slots: SlotBytes) -> list[int]:
    """Their addresses, and 0 for those that there are not."""
    found = [address for address, _ in slots.levels]
    return [*found, *[0] * (MOST_LEVELS - len(found))]


def _batches(regions: Sequence[T]) -> list[Sequence[T]]:
    """What one launch takes each."""
    return [regions[first : first + _REGIONS] for first in range(0, len(regions), _REGIONS)]


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

    def settle(self, regions: Sequence[Settling]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        self._launch_all(
            _SETTLE,
            [
                (one.slots.chunks, [one.slots.live, one.freed, one.used, one.report, *levels])
                for one in regions
                for levels in [_levels(one.slots)]
            ],
        )

    def count(self, slots: Sequence[SlotBytes]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        # Nothing was made or ended, so nothing is reported.
        self.settle([Settling(each, 0, 0, 0) for each in slots])

    def total(self, slots: Sequence[SlotBytes], at: Sequence[int]) -> None:
        """See ``heap.slot_lists.SlotLists``."""
        regions = zip(slots, at, strict=True)
        self._launch_all(_TOTAL, [(1, [*each.levels[-1], address]) for each, address in regions])

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
                own = [head, slots.slots, 0 if one.live else _EACH, *slots.levels[-1]]
                own += [
                    slots.live,
                    one.most,
                    one.to,
                    one.item,
                    some[head].before,
                    one.after,
                    *one.limit,
                ]
                own += [how.first, how.shift, how.block, how.lane, *_levels(slots)]
                regions.append((slots.chunks, own))
            self._launch_all(_LIST, regions)

    def _launch_all(self, kernel: OwnKernel, regions: Sequence[tuple[int, list[int]]]) -> None:
        """``regions``: threads, and leaves but for the first one."""
        for some in _batches(regions):
            leaves, threads = [], 0
            for count, own in some:
                leaves += [threads, *own]
                threads += count
            none = [threads, *[0] * (kernel.leaves // _REGIONS - 1)]
            self._launch(kernel, threads, [*leaves, *none * (_REGIONS - len(some))])

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
