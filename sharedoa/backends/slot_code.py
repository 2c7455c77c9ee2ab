"""The code of kernels that look which slots of regions live (``heap.slot_lists``).

Threads of a warp look at as many chunks together: where they add to sums or write lists they do it
once, or side by side. Without warps each thread is one by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    TOP,
)
from ..targets.base import I1, I64, POINTER
from ..targets.warp import Lanes
from .own_kernels import OwnKernel

_I8, _I32 = ir.IntType(8), ir.IntType(32)
WORD = 8
_GROUP_SHIFT = GROUP.bit_length() - 1
_BYTES = 4
_WORDS = ir.VectorType(_I32, 4)
_VECTOR = 16
"""Bytes of such a vector."""
_EACH = 0x01010101
"""Times a byte: in each byte of a word."""
_BITS = 0x10204080
"""Times a word of bytes that are 0 or 1: in its highest four bits one for each of them."""
STORED = 32
"""Words that one launch of ``STORE`` writes at most."""
REGIONS = 4
"""That one launch looks at, at most."""
_AT_ONCE = 8
"""Rows of slots whose numbers warps write in one round of a loop, and of sums that they add."""
_ROWS = 2
"""Of sums of each level; all of them, where a warp has 32 threads."""


def _pointer(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, size: int) -> ir.Value:
    return builder.inttoptr(builder.add(base, builder.mul(index, I64(size))), POINTER)


def _bits(builder: ir.IRBuilder, word: ir.Value, state: int) -> ir.Value:
    """1 in each byte of ``word`` that has the bit ``state``."""
    shifted = builder.lshr(word, _I32(state.bit_length() - 1))
    return builder.and_(shifted, _I32(_EACH))


class _Chunk:
    """The bytes of a thread's chunk, which it loads at once; zero where it has none."""

    def __init__(self, builder: ir.IRBuilder, live: ir.Value, chunk: ir.Value, is_one: ir.Value):
        self._builder = builder
        self._loaded = []
        self.words: list[ir.Value] = []
        for place in range(CHUNK // _VECTOR):
            at = builder.add(builder.mul(chunk, I64(CHUNK // _VECTOR)), I64(place))
            pointer = _pointer(builder, live, at, _VECTOR)
            vector = builder.load(pointer, typ=_WORDS, align=_VECTOR)
            self._loaded.append((pointer, vector))
            for number in range(_WORDS.count):
                word = builder.extract_element(vector, _I32(number))
                self.words.append(builder.select(is_one, word, _I32(0)))

    def slots(self, ones: Sequence[ir.Value]) -> ir.Value:
        """A bit for each slot; of each word ``ones`` has 1 in the bytes of some."""
        builder, found = self._builder, _I32(0)
        for place, each in enumerate(ones):
            bits = builder.lshr(builder.mul(each, _I32(_BITS)), _I32(28))
            found = builder.or_(found, builder.shl(bits, _I32(_BYTES * place)))
        return found

    def store(self, words: Sequence[ir.Value]) -> None:
        """Make these of the words, where they are others."""
        builder = self._builder
        for place, (pointer, vector) in enumerate(self._loaded):
            first = _WORDS.count * place
            changed: ir.Value = _I32(0)
            for number in range(first, first + _WORDS.count):
                differs = builder.xor(words[number], self.words[number])
                changed = builder.or_(changed, differs)
                vector = builder.insert_element(vector, words[number], _I32(number - first))
            with builder.if_then(_is_any(builder, changed)):
                builder.store(vector, pointer, align=_VECTOR)


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
    _, (chunks, live, freed, used, report, counts, *levels), chunk = _own_region(
        builder, leaves, thread
    )
    gone_at, last_at, deletion_at = (
        builder.inttoptr(builder.add(report, I64(place)), POINTER)
        for place in (REPORT_GONE, REPORT_LAST, REPORT_DELETION)
    )
    lane = builder.zext(warp.lane(builder), I64)
    first_slot = builder.mul(builder.sub(chunk, lane), I64(CHUNK))
    # The last warp has threads without a chunk, which find nothing in the first one.
    is_one = builder.icmp_unsigned("<", chunk, chunks)
    chunk = builder.select(is_one, chunk, I64(0))
    found = _Chunk(builder, live, chunk, is_one)
    touched: ir.Value = _I32(0)
    for word in found.words:
        touched = builder.or_(touched, builder.and_(word, _I32(_EACH * (BORN | ENDED))))
    is_touched = _is_any(builder, warp.reduce(builder, "or", touched))
    with builder.if_then(builder.or_(is_touched, _is_any(builder, counts))):
        after, births, gone = [], [], []
        for word in found.words:
            lived, born = _bits(builder, word, LIVED), _bits(builder, word, BORN)
            ended = _bits(builder, word, ENDED)
            after.append(builder.and_(builder.or_(lived, born), builder.not_(ended)))
            births.append(born)
            gone.append(builder.and_(lived, ended))
        found.store(after)
        total = builder.trunc(builder.ctpop(found.slots(after)), _I8)
        before = _pointer(builder, levels[0], chunk, 1)
        counted = builder.select(is_one, builder.load(before, typ=_I8), _I8(0))
        with builder.if_then(builder.icmp_unsigned("!=", total, counted)):
            builder.store(total, before)
        more = builder.sub(builder.zext(total, _I32), builder.zext(counted, _I32))
        more = warp.reduce(builder, "add", more)
        all_gone = found.slots(gone)
        is_gone = _is_any(builder, warp.reduce(builder, "or", all_gone))
        last = _behind_last(builder, chunk, found.slots(births))
        last = warp.reduce(builder, "umax", last)
        with builder.if_then(builder.icmp_unsigned("==", warp.lane(builder), _I32(0))):
            _emit_sums(builder, levels, chunk, more)
            # Few write, as all would meet at one address.
            with builder.if_then(is_gone):
                is_new = builder.icmp_unsigned("==", builder.load(gone_at, typ=_I32), _I32(0))
                with builder.if_then(is_new):
                    builder.store(_I32(1), gone_at)
            with builder.if_then(builder.icmp_unsigned(">", builder.zext(last, I64), used)):
                is_new = builder.icmp_unsigned(">", last, builder.load(last_at, typ=_I32))
                with builder.if_then(is_new):
                    builder.atomic_rmw("umax", last_at, last, "monotonic")
        with builder.if_then(builder.and_(is_gone, _is_any(builder, freed))):
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
    return builder.icmp_unsigned("!=", word, word.type(0))


def _behind_last(builder: ir.IRBuilder, chunk: ir.Value, slots: ir.Value) -> ir.Value:
    """i32: the number after the last one of a chunk's slots that have a bit; 0 if none has."""
    end = builder.trunc(builder.mul(builder.add(chunk, I64(1)), I64(CHUNK)), _I32)
    behind = builder.sub(end, builder.ctlz(slots, I1(0)))
    return builder.select(_is_any(builder, slots), behind, _I32(0))


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
    total = _emit_sum_between(builder, warp, top, count)
    with builder.if_then(builder.icmp_unsigned("==", thread, I64(0))):
        builder.store(builder.trunc(total, _I32), builder.inttoptr(at, POINTER))


def _emit_before(
    builder: ir.IRBuilder, warp: Lanes, levels: list[ir.Value], top: ir.Value, chunk: ir.Value
) -> ir.Value:
    """How many live before a chunk, the first one of a warp. A thread's loads of all levels are
    under way together: the last level is TOP // GROUP pieces like those of the others."""
    first = builder.and_(chunk, I64(-GROUP))
    pieces = [(levels[0], 1, first, chunk)]
    at_top: ir.Value = I64(0)
    for number, sums in enumerate(levels[1:], 1):
        place = builder.lshr(chunk, I64(number * _GROUP_SHIFT))
        is_top = builder.icmp_unsigned("==", sums, top)
        at_top = builder.select(is_top, place, at_top)
        first = builder.and_(place, I64(-GROUP))
        is_level = builder.and_(_is_any(builder, sums), builder.not_(is_top))
        pieces.append((sums, 4, first, builder.select(is_level, place, first)))
    pieces += [(top, 4, I64(first), at_top) for first in range(0, TOP, GROUP)]
    entry = builder.block
    row, done = builder.append_basic_block("row"), builder.append_basic_block("counted")
    builder.branch(row)
    builder.position_at_end(row)
    place, total = builder.phi(I64), builder.phi(_I32)
    place.add_incoming(I64(0), entry)
    total.add_incoming(_I32(0), entry)
    own = builder.add(place, builder.zext(warp.lane(builder), I64))
    count: ir.Value = total
    rows = min(_ROWS, GROUP // warp.width)
    for number in range(0, rows * warp.width, warp.width):
        for sums, size, first, stop in pieces:
            at = builder.add(builder.add(first, own), I64(number))
            is_one = builder.icmp_unsigned("<", at, stop)
            base = builder.select(is_one, sums, levels[0])
            pointer = _pointer(builder, base, builder.select(is_one, at, I64(0)), size)
            found = _load_sum(builder, pointer, size)
            count = builder.add(count, builder.select(is_one, found, _I32(0)))
    following = builder.add(place, I64(rows * warp.width))
    place.add_incoming(following, row)
    total.add_incoming(count, row)
    builder.cbranch(builder.icmp_unsigned("<", following, I64(GROUP)), row, done)
    builder.position_at_end(done)
    return builder.zext(warp.reduce(builder, "add", count), I64)


def _load_sum(builder: ir.IRBuilder, pointer: ir.Value, size: int) -> ir.Value:
    """i32: a sum of so many bytes."""
    found = builder.load(pointer, typ=ir.IntType(8 * size))
    return found if size == 4 else builder.zext(found, _I32)


def _emit_sum_between(
    builder: ir.IRBuilder, warp: Lanes, sums: ir.Value, stop: ir.Value
) -> ir.Value:
    """The first sums, before number ``stop``, which is the same for all threads of a warp."""
    lane = builder.zext(warp.lane(builder), I64)
    before = builder.block
    test, add, done = (builder.append_basic_block(name) for name in ("test", "add", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    place, total = builder.phi(I64), builder.phi(_I32)
    place.add_incoming(I64(0), before)
    total.add_incoming(_I32(0), before)
    builder.cbranch(builder.icmp_unsigned("<", place, stop), add, done)
    builder.position_at_end(add)
    count: ir.Value = total
    for number in range(0, _AT_ONCE * warp.width, warp.width):
        own = builder.add(builder.add(place, lane), I64(number))
        is_one = builder.icmp_unsigned("<", own, stop)
        at = _pointer(builder, sums, builder.select(is_one, own, place), 4)
        found = _load_sum(builder, at, 4)
        count = builder.add(count, builder.select(is_one, found, _I32(0)))
    total.add_incoming(count, add)
    place.add_incoming(builder.add(place, I64(_AT_ONCE * warp.width)), add)
    builder.branch(test)
    builder.position_at_end(done)
    return builder.zext(warp.reduce(builder, "add", total), I64)


def _emit_list(
    warp: Lanes, builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value
) -> None:
    leaves, also = leaves[: REGIONS * LIST_LEAVES], leaves[REGIONS * LIST_LEAVES :]
    number = thread
    region, own, thread = _own_region(builder, leaves, thread)
    (head, slots, others, top, tops), own = own[:_TOTALS], own[_TOTALS:]
    live, most, to, item, before_at, stop_at, *own = own
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
    for place in range(REGIONS - 1):
        slots_there, others_there, *top_there = leaves[place * LIST_LEAVES + 2 :][: _TOTALS - 1]
        is_before = in_order(head, place, region)
        limits = in_order(limit_first, place, limit_stop)
        stop = builder.select(builder.or_(is_before, limits), top_there[1], I64(0))
        living = _emit_sum_between(builder, warp, top_there[0], stop)
        there = of(slots_there, living, others_there)
        listed = builder.add(listed, builder.select(is_before, there, I64(0)))
        limit = builder.add(limit, builder.select(limits, there, I64(0)))
    limit = builder.mul(limit, times)
    has_limit = _is_any(builder, builder.or_(limit_at, limit_stop))
    is_less = builder.and_(has_limit, builder.icmp_unsigned("<", limit, most))
    most = builder.select(is_less, limit, most)
    lane = builder.zext(warp.lane(builder), I64)
    chunk = builder.sub(thread, lane)
    writes_stop = builder.and_(
        builder.icmp_unsigned("==", chunk, I64(0)), _is_any(builder, stop_at)
    )
    with builder.if_then(writes_stop):
        total = _emit_sum_between(builder, warp, top, tops)
        stop = builder.add(listed, of(slots, total, others))
        stop = builder.select(builder.icmp_unsigned("<", stop, most), stop, most)
        with builder.if_then(builder.icmp_unsigned("==", lane, I64(0))):
            builder.store(stop, builder.inttoptr(stop_at, POINTER))
    before = _emit_before(builder, warp, levels, top, chunk)
    # From here on 32 bits do: multiplying 64 takes several instructions.
    left = builder.sub(slots, builder.mul(thread, I64(CHUNK)))
    is_one = builder.icmp_signed(">", left, I64(0))
    found = _Chunk(builder, live, builder.select(is_one, thread, I64(0)), is_one)
    wanted = found.slots([_bits(builder, word, LIVED) for word in found.words])
    wants_live = builder.icmp_unsigned("==", others, I64(0))
    wanted = builder.select(wants_live, wanted, builder.not_(wanted))
    is_whole = builder.icmp_signed(">=", left, I64(CHUNK))
    some = builder.sub(builder.shl(_I32(1), builder.trunc(left, _I32)), _I32(1))
    some = builder.select(is_one, some, _I32(0))
    wanted = builder.and_(wanted, builder.select(is_whole, _I32(-1), some))
    place = builder.trunc(
        builder.add(listed, of(builder.mul(chunk, I64(CHUNK)), before, others)), _I32
    )
    count = builder.ctpop(wanted)
    place = builder.add(place, builder.sub(_sum_up_to(builder, warp, count), count))
    row = wanted, place, builder.trunc(builder.mul(chunk, I64(CHUNK)), _I32)
    _emit_rows(builder, warp, row, (to, item, builder.trunc(most, _I32)), numbers)
    _emit_also(builder, also, number)


def _emit_also(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    """What threads of a list write by the way: the first one words, all of them zeros."""
    threads, zeros_at, zeros, address, which, *words = leaves
    is_first = builder.icmp_unsigned("==", thread, I64(0))
    with builder.if_then(builder.and_(is_first, _is_any(builder, which))):
        for place, word in enumerate(words):
            bit = builder.lshr(which, I64(place))
            with builder.if_then(builder.trunc(bit, I1)):
                builder.store(word, _pointer(builder, address, I64(place), WORD))
    entry = builder.block
    test, zero, done = (builder.append_basic_block(name) for name in ("rest", "zero", "written"))
    builder.branch(test)
    builder.position_at_end(test)
    at = builder.phi(I64)
    at.add_incoming(thread, entry)
    builder.cbranch(builder.icmp_unsigned("<", at, zeros), zero, done)
    builder.position_at_end(zero)
    builder.store(I64(0), _pointer(builder, zeros_at, at, WORD))
    at.add_incoming(builder.add(at, threads), zero)
    builder.branch(test)
    builder.position_at_end(done)


def _sum_up_to(builder: ir.IRBuilder, warp: Lanes, value: ir.Value) -> ir.Value:
    """The sum of the values of a warp's threads up to this one."""
    lane, distance = warp.lane(builder), 1
    while distance < warp.width:
        from_there = warp.shuffle(builder, value, builder.sub(lane, _I32(distance)))
        is_there = builder.icmp_unsigned(">=", lane, _I32(distance))
        value = builder.add(value, builder.select(is_there, from_there, _I32(0)))
        distance *= 2
    return value


def _emit_rows(
    builder: ir.IRBuilder,
    warp: Lanes,
    own: tuple[ir.Value, ir.Value, ir.Value],
    target: tuple[ir.Value, ir.Value, ir.Value],
    numbers: list[ir.Value],
) -> None:
    """Write numbers of slots of a warp's chunks, side by side. ``own``: which slots of the thread's
    own chunk, as bits, the place of the first of them in the list, and the first slot of the warp;
    ``target``: where the list is, bytes of each, and how many it takes."""
    wanted, place, first_slot = own
    to, item, most = target
    lane, width = warp.lane(builder), warp.width
    entry = builder.block
    test, look, done = (builder.append_basic_block(name) for name in ("test", "look", "listed"))
    builder.branch(test)
    builder.position_at_end(test)
    first = builder.phi(_I32)
    first.add_incoming(_I32(0), entry)
    start = warp.shuffle(builder, place, builder.udiv(first, _I32(CHUNK)))
    goes_on = builder.and_(
        builder.icmp_unsigned("<", first, _I32(CHUNK * width)),
        builder.icmp_unsigned("<", start, most),
    )
    builder.cbranch(goes_on, look, done)
    builder.position_at_end(look)
    for number in range(_AT_ONCE):
        slot = builder.add(builder.add(first, _I32(number * width)), lane)
        chunk = builder.udiv(builder.add(first, _I32(number * width)), _I32(CHUNK))
        bits = warp.shuffle(builder, wanted, chunk)
        start = warp.shuffle(builder, place, chunk)
        bit = builder.and_(slot, _I32(CHUNK - 1))
        is_before = builder.sub(builder.shl(_I32(1), bit), _I32(1))
        at = builder.add(start, builder.ctpop(builder.and_(bits, is_before)))
        is_wanted = builder.trunc(builder.lshr(bits, bit), I1)
        has_room = builder.icmp_unsigned("<", at, most)
        with builder.if_then(builder.and_(is_wanted, has_room)):
            value = _emit_number(builder, builder.add(first_slot, slot), numbers)
            here = builder.inttoptr(builder.add(to, _product(builder, at, item)), POINTER)
            is_wide = builder.icmp_unsigned("==", item, I64(WORD))
            with builder.if_else(is_wide) as (wide, narrow):
                with wide:
                    builder.store(value, here)
                with narrow:
                    builder.store(builder.trunc(value, _I32), here)
    first.add_incoming(builder.add(first, _I32(_AT_ONCE * width)), builder.block)
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
#: Of each region of a list, and of what it writes by the way
LIST_LEAVES, ALSO_LEAVES = 1 + _TOTALS + 14 + MOST_LEVELS, 5 + STORED


class RegionKernels(NamedTuple):
    """For up to REGIONS regions, each with whole warps; ``leaves`` are those of each in a row.

    All begin with the region's first thread. ``settle``, with one thread a chunk: how many chunks;
    address of the bytes; as ``Settling`` has them; whether the sums are not right yet; addresses of
    the levels. ``total``, with one
    warp: address and number of the last level's sums, where to write how many live. ``list``, with
    one thread a chunk: the number of the region that the list begins with; slots that are looked
    at; 0 for those that live or 1 for free ones; address and number of the last level's
    sums; address of the bytes, how many at most, where to, bytes of each; addresses of how many
    are listed before and after; address of a limit, how many times that, and the first region and
    the one after the last one of what is added to it; first, shift, block and lane; addresses of
    the levels. After those of all regions: how many threads there are; address and number of words
    to zero; where to write words, a bit for each of those to write, and the words.
    """

    warp: Lanes
    settle: OwnKernel
    total: OwnKernel
    list: OwnKernel


def region_kernels(warp: Lanes) -> RegionKernels:
    """Those for threads that work together in such warps."""

    def made(name: str, leaves: int, emit: Callable[..., None], more: int = 0) -> OwnKernel:
        return OwnKernel(f"sharedoa_slots_{name}", REGIONS * leaves + more, partial(emit, warp))

    return RegionKernels(
        warp,
        made("settle", 7 + MOST_LEVELS, _emit_settle),
        made("total", 4, _emit_total),
        made("list", LIST_LEAVES, _emit_list, ALSO_LEAVES),
    )
