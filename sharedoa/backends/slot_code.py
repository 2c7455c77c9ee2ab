"""The code of kernels that look which slots of regions live (``heap.slot_lists``).

Threads of a warp look at as many chunks together: where they add to sums or write lists they do it
once, or side by side. Without warps each thread is one by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from llvmlite import ir

from dispatch.births import BORN, ENDED, LIVED

from ..heap.slot_lists import (
    CHUNK,
    GROUP,
    MOST_LEVELS,
    REPORT_DELETION,
    REPORT_GONE,
    REPORT_LAST,
)
from ..targets.base import I1, I64, POINTER
from ..targets.warp import Lanes
from .own_kernels import OwnKernel

_I8, _I32 = ir.IntType(8), ir.IntType(32)
WORD = 8
_GROUP_SHIFT = GROUP.bit_length() - 1
_EACH = 0x0101010101010101
"""Times a byte: in each byte of a word."""
_BITS = 0x0102040810204080
"""Times a word of bytes that are 0 or 1: in its highest byte a bit for each of them."""
STORED = 32
"""Words that one launch of ``STORE`` writes at most."""
REGIONS = 4
"""That one launch looks at, at most."""
_AT_ONCE = 8
"""Slots whose bytes a thread loads before it looks at any of them."""


def _pointer(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, size: int) -> ir.Value:
    return builder.inttoptr(builder.add(base, builder.mul(index, I64(size))), POINTER)


def _bits(builder: ir.IRBuilder, word: ir.Value, state: int) -> ir.Value:
    """1 in each byte of ``word`` that has the bit ``state``."""
    shifted = builder.lshr(word, I64(state.bit_length() - 1))
    return builder.and_(shifted, I64(_EACH))


def _number_of_ones(builder: ir.IRBuilder, bytes: ir.Value) -> ir.Value:
    """The sum of the bytes of a word that are 0 or 1."""
    return builder.lshr(builder.mul(bytes, I64(_EACH)), I64(56))


def _own_region(
    builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value
) -> tuple[ir.Value, list[ir.Value], ir.Value]:
    """The number of the region that a thread is for, what the leaves have for that, and the
    thread's number in it. The leaves of each begin with its first thread."""
    size = len(leaves) // REGIONS
    regions = [leaves[first : first + size] for first in range(0, len(leaves), size)]
    number: ir.Value = I64(0)
    own = regions[0]
    for place, region in enumerate(regions[1:], 1):
        is_here = builder.icmp_unsigned(">=", thread, region[0])
        number = builder.select(is_here, I64(place), number)
        own = [builder.select(is_here, a, b) for a, b in zip(region, own, strict=True)]
    return number, own[1:], builder.sub(thread, own[0])


def _emit_settle(
    warp: Lanes, builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value
) -> None:
    _, (chunks, live, freed, used, report, *levels), chunk = _own_region(builder, leaves, thread)
    gone_at, last_at, deletion_at = (
        builder.inttoptr(builder.add(report, I64(place)), POINTER)
        for place in (REPORT_GONE, REPORT_LAST, REPORT_DELETION)
    )
    lane = builder.zext(warp.lane(builder), I64)
    first_slot = builder.mul(builder.sub(chunk, lane), I64(CHUNK))
    # The last warp has threads without a chunk, which find nothing in the first one.
    is_one = builder.icmp_unsigned("<", chunk, chunks)
    chunk = builder.select(is_one, chunk, I64(0))
    words = []
    for place in range(CHUNK // WORD):
        at = builder.add(builder.mul(chunk, I64(CHUNK // WORD)), I64(place))
        pointer = _pointer(builder, live, at, WORD)
        found = builder.load(pointer, typ=I64, align=WORD)
        words.append((pointer, builder.select(is_one, found, I64(0))))
    total, last = I64(0), I64(0)
    all_gone: ir.Value = _I32(0)
    for place, (pointer, word) in enumerate(words):
        lived, born = _bits(builder, word, LIVED), _bits(builder, word, BORN)
        ended = _bits(builder, word, ENDED)
        after = builder.and_(builder.or_(lived, born), builder.not_(ended))
        total = builder.add(total, _number_of_ones(builder, after))
        first = builder.add(builder.mul(chunk, I64(CHUNK)), I64(place * WORD))
        gone = builder.and_(lived, ended)
        bits = builder.trunc(builder.lshr(builder.mul(gone, I64(_BITS)), I64(56)), _I32)
        all_gone = builder.or_(all_gone, builder.shl(bits, _I32(place * WORD)))
        last = builder.select(_is_any(builder, born), _behind_last(builder, first, born), last)
        with builder.if_then(builder.icmp_unsigned("!=", after, word)):
            builder.store(after, pointer)
    before = _pointer(builder, levels[0], chunk, 1)
    counted = builder.select(is_one, builder.load(before, typ=_I8), _I8(0))
    total = builder.trunc(total, _I8)
    with builder.if_then(builder.icmp_unsigned("!=", total, counted)):
        builder.store(total, before)
    more = builder.sub(builder.zext(total, _I32), builder.zext(counted, _I32))
    more = warp.reduce(builder, "add", more)
    is_gone = warp.reduce(builder, "or", all_gone)
    last = warp.reduce(builder, "umax", builder.trunc(last, _I32))
    with builder.if_then(builder.icmp_unsigned("==", warp.lane(builder), _I32(0))):
        _emit_sums(builder, levels, chunk, more)
        with builder.if_then(builder.icmp_unsigned("!=", is_gone, _I32(0))):
            # Few write, as all would meet at one address.
            is_new = builder.icmp_unsigned("==", builder.load(gone_at, typ=_I32), _I32(0))
            with builder.if_then(is_new):
                builder.store(_I32(1), gone_at)
        with builder.if_then(builder.icmp_unsigned(">", builder.zext(last, I64), used)):
            builder.atomic_rmw("umax", last_at, last, "monotonic")
    is_any = builder.icmp_unsigned("!=", is_gone, _I32(0))
    with builder.if_then(builder.and_(is_any, _is_any(builder, freed))):
        number = builder.load(deletion_at, typ=_I32)
        _emit_freed(builder, warp, all_gone, number, _pointer(builder, freed, first_slot, 4))


def _emit_freed(
    builder: ir.IRBuilder, warp: Lanes, gone: ir.Value, number: ir.Value, freed: ir.Value
) -> None:
    """Store a number for each slot of a warp's chunks that is gone, side by side; each thread has
    the bits of its own chunk."""
    lane, width = warp.lane(builder), warp.width
    entry = builder.block
    test, row, done = (builder.append_basic_block(name) for name in ("test", "row", "freed"))
    builder.branch(test)
    builder.position_at_end(test)
    first = builder.phi(_I32)
    first.add_incoming(_I32(0), entry)
    builder.cbranch(builder.icmp_unsigned("<", first, _I32(CHUNK * width)), row, done)
    builder.position_at_end(row)
    bits = warp.shuffle(builder, gone, builder.udiv(first, _I32(CHUNK)))
    slot = builder.add(first, lane)
    bit = builder.lshr(bits, builder.and_(slot, _I32(CHUNK - 1)))
    with builder.if_then(builder.trunc(bit, I1)):
        at = builder.gep(freed, [builder.zext(slot, I64)], source_etype=_I32)
        builder.store(number, at)
    first.add_incoming(builder.add(first, _I32(width)), builder.block)
    builder.branch(test)
    builder.position_at_end(done)


def _is_any(builder: ir.IRBuilder, word: ir.Value) -> ir.Value:
    return builder.icmp_unsigned("!=", word, I64(0))


def _behind_last(builder: ir.IRBuilder, first: ir.Value, ones: ir.Value) -> ir.Value:
    """The number after the last slot whose byte is 1, of the word of slot ``first``."""
    bytes_after = builder.lshr(builder.ctlz(ones, I1(0)), I64(3))
    return builder.sub(builder.add(first, I64(WORD)), bytes_after)


def _emit_sums(
    builder: ir.IRBuilder, levels: list[ir.Value], chunk: ir.Value, more: ir.Value
) -> None:
    """In the chunks of a warp, which are of one group, so many more live now."""
    with builder.if_then(builder.icmp_unsigned("!=", more, _I32(0))):
        for number, sums in enumerate(levels[1:], 1):
            with builder.if_then(_is_any(builder, sums)):
                place = builder.lshr(chunk, I64(number * _GROUP_SHIFT))
                builder.atomic_rmw("add", _pointer(builder, sums, place, 4), more, "monotonic")


def _emit_total(
    warp: Lanes, builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value
) -> None:
    _, (top, count, at), thread = _own_region(builder, leaves, thread)
    total = _emit_sum_between(builder, warp, top, 4, I64(0), count)
    with builder.if_then(builder.icmp_unsigned("==", thread, I64(0))):
        builder.store(builder.trunc(total, _I32), builder.inttoptr(at, POINTER))


def _emit_before(
    builder: ir.IRBuilder, warp: Lanes, levels: list[ir.Value], top: ir.Value, chunk: ir.Value
) -> ir.Value:
    """How many live before a chunk, the first one of a warp."""
    group = builder.and_(chunk, I64(-GROUP))
    total = _emit_sum_between(builder, warp, levels[0], 1, group, chunk)
    for number, sums in enumerate(levels[1:], 1):
        place = builder.lshr(chunk, I64(number * _GROUP_SHIFT))
        is_top = builder.icmp_unsigned("==", sums, top)
        first = builder.select(is_top, I64(0), builder.and_(place, I64(-GROUP)))
        stop = builder.select(_is_any(builder, sums), place, first)
        total = builder.add(total, _emit_sum_between(builder, warp, sums, 4, first, stop))
    return total


def _emit_sum_between(
    builder: ir.IRBuilder, warp: Lanes, sums: ir.Value, size: int, first: ir.Value, stop: ir.Value
) -> ir.Value:
    """The sums, of ``size`` bytes each, from ``first`` to ``stop``; both are the same for all
    threads of a warp."""
    lane = builder.zext(warp.lane(builder), I64)
    before = builder.block
    test, add, done = (builder.append_basic_block(name) for name in ("test", "add", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    place, total = builder.phi(I64), builder.phi(_I32)
    place.add_incoming(first, before)
    total.add_incoming(_I32(0), before)
    builder.cbranch(builder.icmp_unsigned("<", place, stop), add, done)
    builder.position_at_end(add)
    own = builder.add(place, lane)
    is_one = builder.icmp_unsigned("<", own, stop)
    at = _pointer(builder, sums, builder.select(is_one, own, place), size)
    found = builder.load(at, typ=ir.IntType(8 * size))
    found = found if size == 4 else builder.zext(found, _I32)
    total.add_incoming(builder.add(total, builder.select(is_one, found, _I32(0))), add)
    place.add_incoming(builder.add(place, I64(warp.width)), add)
    builder.branch(test)
    builder.position_at_end(done)
    return builder.zext(warp.reduce(builder, "add", total), I64)


def _emit_list(
    warp: Lanes, builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value
) -> None:
    region, own, thread = _own_region(builder, leaves, thread)
    (head, slots, others, top, tops), own = own[:_TOTALS], own[_TOTALS:]
    live, most, to, item, before_at, stop_at, limit_at, times, *own = own
    numbers, levels = own[:4], own[4:]

    def of(slots: ir.Value, living: ir.Value, others: ir.Value) -> ir.Value:
        """How many of so many slots are wanted, of which so many live."""
        wants_live = builder.icmp_unsigned("==", others, I64(0))
        return builder.select(wants_live, living, builder.sub(slots, living))

    listed = _emit_word(builder, before_at, I64(0))
    size = len(leaves) // REGIONS
    for place in range(REGIONS - 1):
        slots_there, others_there, *top_there = leaves[place * size + 2 :][: _TOTALS - 1]
        is_before = builder.and_(
            builder.icmp_unsigned("<=", head, I64(place)),
            builder.icmp_unsigned("<", I64(place), region),
        )
        stop = builder.select(is_before, top_there[1], I64(0))
        living = _emit_sum_between(builder, warp, top_there[0], 4, I64(0), stop)
        there = of(slots_there, living, others_there)
        listed = builder.add(listed, builder.select(is_before, there, I64(0)))
    limit = builder.mul(_emit_word(builder, limit_at, most), times)
    has_limit = _is_any(builder, limit_at)
    is_less = builder.and_(has_limit, builder.icmp_unsigned("<", limit, most))
    most = builder.select(is_less, limit, most)
    lane = builder.zext(warp.lane(builder), I64)
    chunk = builder.sub(thread, lane)
    writes_stop = builder.and_(
        builder.icmp_unsigned("==", chunk, I64(0)), _is_any(builder, stop_at)
    )
    with builder.if_then(writes_stop):
        total = _emit_sum_between(builder, warp, top, 4, I64(0), tops)
        stop = builder.add(listed, of(slots, total, others))
        stop = builder.select(builder.icmp_unsigned("<", stop, most), stop, most)
        with builder.if_then(builder.icmp_unsigned("==", lane, I64(0))):
            builder.store(stop, builder.inttoptr(stop_at, POINTER))
    before = _emit_before(builder, warp, levels, top, chunk)
    first = builder.mul(chunk, I64(CHUNK))
    place = builder.add(listed, of(first, before, others))
    # From here on 32 bits do: multiplying 64 takes several instructions.
    first, lane, slots, place = (builder.trunc(v, _I32) for v in (first, lane, slots, place))
    most = builder.trunc(most, _I32)
    sought = builder.trunc(builder.xor(others, I64(LIVED)), _I8)
    first_row = builder.add(first, lane)
    behind = builder.add(first, _I32(CHUNK * warp.width))
    test, look, done = (builder.append_basic_block(name) for name in ("test", "look", "listed"))
    entry = builder.block
    builder.branch(test)
    builder.position_at_end(test)
    row, after = builder.phi(_I32), builder.phi(_I32)
    row.add_incoming(first_row, entry)
    after.add_incoming(place, entry)
    goes_on = builder.and_(
        builder.icmp_unsigned("<", row, behind), builder.icmp_unsigned("<", after, most)
    )
    builder.cbranch(goes_on, look, done)
    builder.position_at_end(look)
    found = []
    for number in range(_AT_ONCE):
        slot = builder.add(row, _I32(number * warp.width))
        is_one = builder.icmp_unsigned("<", slot, slots)
        own_slot = builder.zext(builder.select(is_one, slot, _I32(0)), I64)
        byte = builder.load(_pointer(builder, live, own_slot, 1), typ=_I8)
        found.append((slot, is_one, builder.and_(byte, _I8(LIVED))))
    following: ir.Value = after
    for slot, is_one, byte in found:
        is_wanted = builder.and_(is_one, builder.icmp_unsigned("==", byte, sought))
        wanted = warp.ballot(builder, is_wanted)
        to_this = builder.ctpop(builder.and_(wanted, warp.up_to_this(builder)))
        place = builder.sub(builder.add(following, to_this), _I32(1))
        has_room = builder.icmp_unsigned("<", place, most)
        with builder.if_then(builder.and_(is_wanted, has_room)):
            number = _emit_number(builder, slot, numbers)
            here = builder.inttoptr(builder.add(to, _product(builder, place, item)), POINTER)
            is_wide = builder.icmp_unsigned("==", item, I64(WORD))
            with builder.if_else(is_wide) as (wide, narrow):
                with wide:
                    builder.store(number, here)
                with narrow:
                    builder.store(builder.trunc(number, _I32), here)
        following = builder.add(following, builder.ctpop(wanted))
    row.add_incoming(builder.add(row, _I32(_AT_ONCE * warp.width)), builder.block)
    after.add_incoming(following, builder.block)
    builder.branch(test)
    builder.position_at_end(done)


def _product(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Of a number of 32 bits and one of 64 that is no larger."""
    small = builder.trunc(b, _I32)
    return builder.mul(builder.zext(a, I64), builder.zext(small, I64))


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


def _emit_number(builder: ir.IRBuilder, slot: ir.Value, numbers: list[ir.Value]) -> ir.Value:
    """See ``heap.slot_lists.Numbering``; the slot has 32 bits, and so have all but the first."""
    first, shift, block, lane = numbers
    shift = builder.trunc(shift, _I32)
    above = builder.lshr(slot, shift)
    inside = builder.sub(slot, builder.shl(above, shift))
    within = builder.add(_product(builder, above, block), _product(builder, inside, lane))
    return builder.add(first, within)


def _emit_copy(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    source, target = leaves
    found = builder.load(_pointer(builder, source, thread, 4), typ=_I32)
    builder.store(found, _pointer(builder, target, thread, 4))


def _emit_headers(item: ir.IntType) -> Callable[[ir.IRBuilder, list[ir.Value], ir.Value], None]:
    def emit(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
        slots, value, before_at, after_at, *numbers = leaves
        place = builder.add(_emit_word(builder, before_at, I64(0)), thread)
        value = value if item == I64 else builder.trunc(value, item)
        after = builder.load(builder.inttoptr(after_at, POINTER), typ=I64)
        with builder.if_then(builder.icmp_unsigned("<", place, after)):
            slot = builder.load(_pointer(builder, slots, place, 4), typ=_I32)
            address = _emit_number(builder, slot, numbers)
            builder.store(value, builder.inttoptr(address, POINTER))

    return emit


def _emit_store(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    address, count, *words = leaves
    for place, word in enumerate(words):
        with builder.if_then(builder.icmp_unsigned("<", I64(place), count)):
            builder.store(word, _pointer(builder, address, I64(place), WORD))


def _emit_clear(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    (address,) = leaves
    builder.store(I64(0), _pointer(builder, address, thread, WORD))


#: One thread a number of 32 bits. leaves: from where, to where
COPY = OwnKernel("sharedoa_slots_copy", 2, _emit_copy)
#: One thread a slot. leaves: address of their numbers, the header, addresses of how many are listed
#: before and after, and where headers lie
HEADERS = {
    size: OwnKernel(f"sharedoa_slots_headers_{size}", 8, _emit_headers(ir.IntType(8 * size)))
    for size in (4, 8)
}
#: One thread. leaves: where to, how many words, and the words
STORE = OwnKernel("sharedoa_slots_store", 2 + STORED, _emit_store)
#: One thread a word
CLEAR = OwnKernel("sharedoa_slots_clear", 1, _emit_clear)
#: Of the leaves of a list: what tells how many a region has
_TOTALS = 5


class RegionKernels(NamedTuple):
    """For up to REGIONS regions, each with whole warps; ``leaves`` are those of each in a row.

    All begin with the region's first thread. ``settle``, with one thread a chunk: how many chunks;
    address of the bytes; as ``Settling`` has them; addresses of the levels. ``total``, with one
    warp: address and number of the last level's sums, where to write how many live. ``list``, with
    one thread a chunk: the number of the region that the list begins with; slots that are looked
    at; 0 for those that live or 1 for free ones; address and number of the last level's
    sums; address of the bytes, how many at most, where to, bytes of each; addresses of how many
    are listed before and after, and of a limit, and times that; first, shift, block and lane;
    addresses of the levels.
    """

    warp: Lanes
    settle: OwnKernel
    total: OwnKernel
    list: OwnKernel


def region_kernels(warp: Lanes) -> RegionKernels:
    """Those for threads that work together in such warps."""

    def made(name: str, leaves: int, emit: Callable[..., None]) -> OwnKernel:
        return OwnKernel(f"sharedoa_slots_{name}", REGIONS * leaves, partial(emit, warp))

    return RegionKernels(
        warp,
        made("settle", 6 + MOST_LEVELS, _emit_settle),
        made("total", 4, _emit_total),
        made("list", 1 + _TOTALS + 12 + MOST_LEVELS, _emit_list),
    )
