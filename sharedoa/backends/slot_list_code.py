"""The code of kernels that list slots (``heap.slot_lists``), and what they write by the way."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from dispatch.births import LIVED

from ..heap.slot_lists import CHUNK, GROUP, MOST_LEVELS, TOP
from ..targets.base import I1, I64, POINTER
from ..targets.warp import Lanes
from .own_kernels import for_each
from .slot_bytes_code import (
    AT_ONCE,
    GROUP_SHIFT,
    I32,
    WORD,
    Chunk,
    bits_of,
    emit_sum_before,
    is_any,
    load_sum,
    own_region,
    pointer_to,
)

STORED = 32
"""Words that one launch writes at most beside lists."""
#: Of the leaves of a list: what tells how many a region has
_TOTALS = 5
#: Of each region of a list, and of what it writes by the way
LIST_LEAVES, ALSO_LEAVES = 1 + _TOTALS + 15 + MOST_LEVELS, 5 + STORED


def emit_list(
    warp: Lanes, count: int, builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value
) -> None:
    leaves, also = leaves[: count * LIST_LEAVES], leaves[count * LIST_LEAVES :]
    number = thread
    region, own, thread = own_region(builder, count, leaves, thread)
    (head, slots, others, top, tops), own = own[:_TOTALS], own[_TOTALS:]
    top_shift, live, most, to, item, before_at, stop_at, *own = own
    (limit_at, times, limit_first, limit_stop), own = own[:4], own[4:]
    numbers, levels = own[:4], own[4:]

    def of(slots: ir.Value, living: ir.Value, others: ir.Value) -> ir.Value:
        """How many of so many slots are wanted, of which so many live."""
        wants_live = builder.icmp_unsigned("==", others, I64(0))
        return builder.select(wants_live, living, builder.sub(slots, living))

    def in_order(first: ir.Value, place: int, stop: ir.Value) -> ir.Value:
        is_behind = builder.icmp_unsigned("<=", first, I64(place))
        return builder.and_(is_behind, builder.icmp_unsigned("<", I64(place), stop))

    listed = _emit_word(builder, before_at, I64(0))
    limit = _emit_word(builder, limit_at, I64(0))
    for place in range(count - 1):
        slots_there, others_there, *top_there = leaves[place * LIST_LEAVES + 2 :][: _TOTALS - 1]
        is_before = in_order(head, place, region)
        limits = in_order(limit_first, place, limit_stop)
        stop = builder.select(builder.or_(is_before, limits), top_there[1], I64(0))
        living = emit_sum_before(builder, warp, top_there[0], stop)
        there = of(slots_there, living, others_there)
        listed = builder.add(listed, builder.select(is_before, there, I64(0)))
        limit = builder.add(limit, builder.select(limits, there, I64(0)))
    limit = builder.mul(limit, times)
    has_limit = is_any(builder, builder.or_(limit_at, limit_stop))
    is_less = builder.and_(has_limit, builder.icmp_unsigned("<", limit, most))
    most = builder.select(is_less, limit, most)
    lane = builder.zext(warp.lane(builder), I64)
    chunk = builder.sub(thread, lane)
    writes_stop = builder.and_(builder.icmp_unsigned("==", chunk, I64(0)), is_any(builder, stop_at))
    with builder.if_then(writes_stop):
        total = emit_sum_before(builder, warp, top, tops)
        stop = builder.add(listed, of(slots, total, others))
        stop = builder.select(builder.icmp_unsigned("<", stop, most), stop, most)
        with builder.if_then(builder.icmp_unsigned("==", lane, I64(0))):
            builder.store(stop, builder.inttoptr(stop_at, POINTER))
    left = builder.sub(slots, builder.mul(thread, I64(CHUNK)))
    is_one = builder.icmp_signed(">", left, I64(0))
    is_whole = builder.icmp_signed(">=", left, I64(CHUNK))
    here = builder.select(is_whole, I64(CHUNK), builder.select(is_one, left, I64(0)))
    own_chunk = builder.select(is_one, thread, I64(0))
    # Under way together with the sums.
    counted = load_sum(builder, pointer_to(builder, levels[0], own_chunk, 1), 1)
    before = _emit_before(builder, warp, levels, top, top_shift, chunk)
    # From here on 32 bits do: multiplying 64 takes several instructions.
    counted = builder.zext(builder.select(is_one, counted, I32(0)), I64)
    some = builder.trunc(of(here, counted, others), I32)
    # Where nothing is wanted, as behind all that was ever used, the bytes are not looked at.
    wants_any = is_any(builder, warp.reduce(builder, "or", some))
    place = builder.add(listed, of(builder.mul(chunk, I64(CHUNK)), before, others))
    has_room = builder.icmp_unsigned("<", place, most)
    with builder.if_then(builder.and_(wants_any, has_room)):
        found = Chunk(builder, live, own_chunk, is_one)
        wanted = found.slots([bits_of(builder, word, LIVED) for word in found.words])
        wants_live = builder.icmp_unsigned("==", others, I64(0))
        wanted = builder.select(wants_live, wanted, builder.not_(wanted))
        there = builder.sub(builder.shl(I32(1), builder.trunc(left, I32)), I32(1))
        there = builder.select(is_one, there, I32(0))
        wanted = builder.and_(wanted, builder.select(is_whole, I32(-1), there))
        before_this = builder.sub(_sum_up_to(builder, warp, wanted), builder.ctpop(wanted))
        place = builder.add(builder.trunc(place, I32), before_this)
        row = wanted, place, builder.trunc(builder.mul(chunk, I64(CHUNK)), I32)
        is_wide = builder.icmp_unsigned("==", item, I64(WORD))
        with builder.if_else(is_wide) as ways:
            for way, type in zip(ways, (I64, I32), strict=True):
                with way:
                    _emit_rows(builder, warp, row, (to, type, builder.trunc(most, I32)), numbers)
    _emit_also(builder, also, number)


def _emit_before(
    builder: ir.IRBuilder,
    warp: Lanes,
    levels: list[ir.Value],
    top: ir.Value,
    top_shift: ir.Value,
    chunk: ir.Value,
) -> ir.Value:
    """How many live before a chunk, the first one of a warp. A thread's loads of all levels are
    under way together, of two sums each: the last level is TOP // GROUP pieces as the others."""
    chunk, top_shift = builder.trunc(chunk, I32), builder.trunc(top_shift, I32)
    pieces = [(levels[0], 1, builder.and_(chunk, I32(-GROUP)), chunk)]
    for number, sums in enumerate(levels[1:-1], 1):
        place = builder.lshr(chunk, I32(number * GROUP_SHIFT))
        first = builder.and_(place, I32(-GROUP))
        is_level = builder.icmp_unsigned("<", I32(number * GROUP_SHIFT), top_shift)
        pieces.append((sums, 4, first, builder.select(is_level, place, first)))
    at_top = builder.lshr(chunk, top_shift)
    pieces += [(top, 4, I32(first), at_top) for first in range(0, TOP, GROUP)]
    entry = builder.block
    row, done = builder.append_basic_block("row"), builder.append_basic_block("counted")
    builder.branch(row)
    builder.position_at_end(row)
    place, total = builder.phi(I32), builder.phi(I32)
    place.add_incoming(I32(0), entry)
    total.add_incoming(I32(0), entry)
    own = builder.shl(builder.add(place, warp.lane(builder)), I32(1))
    count: ir.Value = total
    for sums, size, first, stop in pieces:
        at = builder.add(first, own)
        is_one = builder.icmp_unsigned("<", at, stop)
        index = builder.zext(builder.select(is_one, at, I32(0)), I64)
        pair = ir.IntType(16 * size)
        pointer = pointer_to(builder, sums, index, size)
        found = builder.load(pointer, typ=pair, align=2 * size)
        shifted = builder.lshr(found, pair(8 * size))
        low, high = (_sum_in(builder, each, size) for each in (found, shifted))
        is_other = builder.icmp_unsigned("<", builder.add(at, I32(1)), stop)
        count = builder.add(count, builder.select(is_one, low, I32(0)))
        count = builder.add(count, builder.select(is_other, high, I32(0)))
    following = builder.add(place, I32(warp.width))
    place.add_incoming(following, row)
    total.add_incoming(count, row)
    builder.cbranch(builder.icmp_unsigned("<", following, I32(GROUP // 2)), row, done)
    builder.position_at_end(done)
    return builder.zext(warp.reduce(builder, "add", count), I64)


def _sum_in(builder: ir.IRBuilder, pair: ir.Value, size: int) -> ir.Value:
    """i32: the lower one of two sums of so many bytes."""
    found = builder.trunc(pair, ir.IntType(8 * size))
    return found if size == 4 else builder.zext(found, I32)


def _sum_up_to(builder: ir.IRBuilder, warp: Lanes, bits: ir.Value) -> ir.Value:
    """How many bits the threads of a warp up to this one have."""
    value: ir.Value = builder.ctpop(bits)
    lane, distance = warp.lane(builder), 1
    while distance < warp.width:
        from_there = warp.shuffle(builder, value, builder.sub(lane, I32(distance)))
        is_there = builder.icmp_unsigned(">=", lane, I32(distance))
        value = builder.add(value, builder.select(is_there, from_there, I32(0)))
        distance *= 2
    return value


def _emit_rows(
    builder: ir.IRBuilder,
    warp: Lanes,
    own: tuple[ir.Value, ir.Value, ir.Value],
    target: tuple[ir.Value, ir.IntType, ir.Value],
    numbers: list[ir.Value],
) -> None:
    """Write numbers of slots of a warp's chunks, side by side. ``own``: which slots of the thread's
    own chunk, as bits, the place of the first of them in the list, and the first slot of the warp;
    ``target``: where the list is, of what type, and how many it takes."""
    wanted, place, first_slot = own
    to, type, most = target
    lane, width = warp.lane(builder), warp.width
    # Chunks are whole blocks of a numbering.
    first_number = _emit_number(builder, first_slot, numbers)
    _, shift, block, _ = numbers
    each_chunk = builder.mul(block, builder.lshr(I64(CHUNK), shift))

    def within(bit: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Of a slot in a chunk: its number, its bit, and the bits of those before."""
        own = builder.add(first_number, _emit_number(builder, bit, [I64(0), *numbers[1:]]))
        own = own if type == I64 else builder.trunc(own, type)
        mask = builder.shl(I32(1), bit)
        return own, mask, builder.sub(mask, I32(1))

    # In warps of 32 threads it is the same one in every chunk.
    same = within(lane) if width == CHUNK else None
    entry = builder.block
    test, look, done = (builder.append_basic_block(name) for name in ("test", "look", "listed"))
    builder.branch(test)
    builder.position_at_end(test)
    first = builder.phi(I32)
    first.add_incoming(I32(0), entry)
    start = warp.shuffle(builder, place, builder.udiv(first, I32(CHUNK)))
    goes_on = builder.and_(
        builder.icmp_unsigned("<", first, I32(CHUNK * width)),
        builder.icmp_unsigned("<", start, most),
    )
    builder.cbranch(goes_on, look, done)
    builder.position_at_end(look)
    for number in range(AT_ONCE):
        slot = builder.add(first, I32(number * width))
        chunk = builder.udiv(slot, I32(CHUNK))
        bit = builder.and_(builder.add(slot, lane), I32(CHUNK - 1))
        own_number, mask, is_before = same or within(bit)
        bits = warp.shuffle(builder, wanted, chunk)
        start = warp.shuffle(builder, place, chunk)
        at = builder.add(start, builder.ctpop(builder.and_(bits, is_before)))
        is_wanted = is_any(builder, builder.and_(bits, mask))
        has_room = builder.icmp_unsigned("<", at, most)
        distance = _product(builder, chunk, each_chunk)
        distance = distance if type == I64 else builder.trunc(distance, type)
        value = builder.add(own_number, distance)
        with builder.if_then(builder.and_(is_wanted, has_room)):
            index = builder.zext(at, I64)
            builder.store(value, pointer_to(builder, to, index, type.width // 8))
    first.add_incoming(builder.add(first, I32(AT_ONCE * width)), builder.block)
    builder.branch(test)
    builder.position_at_end(done)


def _emit_also(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    """What threads of a list write by the way: the first one words, all of them zeros."""
    threads, zeros_at, zeros, address, which, *words = leaves
    is_first = builder.icmp_unsigned("==", thread, I64(0))
    with builder.if_then(builder.and_(is_first, is_any(builder, which))):
        for place, word in enumerate(words):
            bit = builder.lshr(which, I64(place))
            with builder.if_then(builder.trunc(bit, I1)):
                builder.store(word, pointer_to(builder, address, I64(place), WORD))
    for_each(
        builder,
        thread,
        zeros,
        lambda builder, at: builder.store(I64(0), pointer_to(builder, zeros_at, at, WORD)),
        threads,
    )


def _product(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Of a number of 32 bits and one of 64 that is no larger."""
    small = builder.trunc(b, I32)
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
    shift = builder.trunc(shift, I32)
    above = builder.lshr(slot, shift)
    inside = builder.sub(slot, builder.shl(above, shift))
    within = builder.add(_product(builder, above, block), _product(builder, inside, lane))
    return builder.add(first, within)


def emit_headers(item: ir.IntType) -> Callable[[ir.IRBuilder, list[ir.Value], ir.Value], None]:
    def emit(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
        slots, value, before_at, after_at, *numbers = leaves
        place = builder.add(_emit_word(builder, before_at, I64(0)), thread)
        value = value if item == I64 else builder.trunc(value, item)
        after = builder.load(builder.inttoptr(after_at, POINTER), typ=I64)
        with builder.if_then(builder.icmp_unsigned("<", place, after)):
            slot = builder.load(pointer_to(builder, slots, place, 4), typ=I32)
            address = _emit_number(builder, slot, numbers)
            builder.store(value, builder.inttoptr(address, POINTER))

    return emit
