"""The code of kernels that look which slots of regions live (``heap.slot_lists``).

Threads of a warp look at as many chunks together: where they add to sums or write lists they do it
once, or side by side. Without warps each thread is one by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from llvmlite import ir

from dispatch.births import BORN, ENDED, LIVED

from ..heap.slot_lists import CHUNK, GROUP, MOST_LEVELS, REPORT_DELETION, REPORT_GONE, REPORT_LAST
from ..targets.base import I1, I64, POINTER
from ..targets.warp import Lanes
from .own_kernels import OwnKernel, for_each
from .slot_bytes_code import (
    EACH,
    GROUP_SHIFT,
    I8,
    I32,
    REGIONS,
    WORD,
    Chunk,
    bits_of,
    emit_sum_before,
    is_any,
    load_sum,
    own_region,
    pointer_to,
)
from .slot_list_code import ALSO_LEAVES, LIST_LEAVES, emit_headers, emit_list


def _emit_settle(
    warp: Lanes, count: int, builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value
) -> None:
    _, (chunks, live, *more), chunk = own_region(builder, count, leaves, thread)
    freed, used, report, counts, makes, *levels = more
    lane = builder.zext(warp.lane(builder), I64)
    first_slot = builder.mul(builder.sub(chunk, lane), I64(CHUNK))
    # The last warp has threads without a chunk, which find nothing in the first one.
    is_one = builder.icmp_unsigned("<", chunk, chunks)
    chunk = builder.select(is_one, chunk, I64(0))
    before = pointer_to(builder, levels[0], chunk, 1)
    # Nobody may have lived behind what was in use a while ago. Where somebody has, it takes longer
    # to ask before the bytes are loaded. A warp's chunks are of one group, whose sum counts those
    # that this warp has not settled yet.
    is_behind = builder.icmp_unsigned(">=", first_slot, used)
    asks = builder.and_(is_behind, _is_none(builder, builder.or_(counts, makes)))
    ask, look, done = (builder.append_basic_block(name) for name in ("ask", "look", "settled"))
    builder.cbranch(asks, ask, look)
    builder.position_at_end(ask)
    group = builder.udiv(first_slot, I64(CHUNK * GROUP))
    lived = load_sum(builder, pointer_to(builder, levels[1], group, 4), 4)
    builder.cbranch(is_any(builder, lived), look, done)
    builder.position_at_end(look)
    # Before anybody writes to a report: that all warps do at once, and who loads then waits long.
    known = _load_report(builder, report, live)
    found = Chunk(builder, live, chunk, is_one)
    touched: ir.Value = I32(0)
    for word in found.words:
        touched = builder.or_(touched, builder.and_(word, I32(EACH * (BORN | ENDED))))
    is_touched = is_any(builder, warp.reduce(builder, "or", touched))
    with builder.if_then(builder.or_(is_touched, is_any(builder, counts))):
        counted = builder.select(is_one, builder.load(before, typ=I8), I8(0))
        own = found, chunk, before, counted
        _emit_changes(warp, builder, own, (freed, used, report, levels), known, first_slot)
    builder.branch(done)
    builder.position_at_end(done)


def _load_report(
    builder: ir.IRBuilder, report: ir.Value, other: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Of a report: whether something is known to be gone, and the number of the deletion. Anything
    where there is none, from ``other`` memory."""
    report = builder.select(is_any(builder, report), report, other)
    gone, deletion = (
        builder.load(builder.inttoptr(builder.add(report, I64(place)), POINTER), typ=I32)
        for place in (REPORT_GONE, REPORT_DELETION)
    )
    return gone, deletion


def _is_none(builder: ir.IRBuilder, word: ir.Value) -> ir.Value:
    return builder.icmp_unsigned("==", word, word.type(0))


def _emit_changes(
    warp: Lanes,
    builder: ir.IRBuilder,
    own: tuple[Chunk, ir.Value, ir.Value, ir.Value],
    region: tuple[ir.Value, ir.Value, ir.Value, list[ir.Value]],
    known: tuple[ir.Value, ir.Value],
    first_slot: ir.Value,
) -> None:
    """Settle a warp's chunks. ``own``: the thread's, its number, and how many lived in it, with
    where that stands; ``region``: leaves of it; ``known``: what its report said (``_load_report``);
    ``first_slot``: the warp's."""
    found, chunk, before, counted = own
    freed, used, report, levels = region
    gone_at, last_at = (
        builder.inttoptr(builder.add(report, I64(place)), POINTER)
        for place in (REPORT_GONE, REPORT_LAST)
    )
    gone_before, deletion = known
    after, births, gone = [], [], []
    for word in found.words:
        lived, born = bits_of(builder, word, LIVED), bits_of(builder, word, BORN)
        ended = bits_of(builder, word, ENDED)
        after.append(builder.and_(builder.or_(lived, born), builder.not_(ended)))
        births.append(born)
        gone.append(builder.and_(lived, ended))
    found.store(after)
    total = builder.trunc(builder.ctpop(found.slots(after)), I8)
    with builder.if_then(builder.icmp_unsigned("!=", total, counted)):
        builder.store(total, before)
    more = builder.sub(builder.zext(total, I32), builder.zext(counted, I32))
    more = warp.reduce(builder, "add", more)
    all_gone = found.slots(gone)
    is_gone = is_any(builder, warp.reduce(builder, "or", all_gone))
    last = _behind_last(builder, chunk, found.slots(births))
    last = warp.reduce(builder, "umax", last)
    with builder.if_then(builder.icmp_unsigned("==", warp.lane(builder), I32(0))):
        _emit_sums(builder, levels, chunk, more)
        is_new = builder.and_(is_gone, _is_none(builder, gone_before))
        with builder.if_then(is_new):
            # Many warps do at once: of stores to one address a GPU does one in 5 ns, of these more.
            builder.atomic_rmw("or", gone_at, I32(1), "monotonic")
        with builder.if_then(builder.icmp_unsigned(">", builder.zext(last, I64), used)):
            is_new = builder.icmp_unsigned(">", last, builder.load(last_at, typ=I32))
            with builder.if_then(is_new):
                builder.atomic_rmw("umax", last_at, last, "monotonic")
    with builder.if_then(builder.and_(is_gone, is_any(builder, freed))):
        _emit_freed(builder, warp, all_gone, deletion, pointer_to(builder, freed, first_slot, 4))


def _emit_freed(
    builder: ir.IRBuilder, warp: Lanes, gone: ir.Value, number: ir.Value, freed: ir.Value
) -> None:
    """Store a number for each slot of a warp's chunks that is gone, side by side; each thread has
    the bits of its own chunk."""
    lane, width = warp.lane(builder), warp.width

    def store_one_each(builder: ir.IRBuilder, first: ir.Value) -> None:
        bits = warp.shuffle(builder, gone, builder.udiv(first, I32(CHUNK)))
        slot = builder.add(first, lane)
        bit = builder.lshr(bits, builder.and_(slot, I32(CHUNK - 1)))
        with builder.if_then(builder.trunc(bit, I1)):
            at = builder.gep(freed, [builder.zext(slot, I64)], source_etype=I32)
            builder.store(number, at)

    for_each(builder, I32(0), I32(CHUNK * width), store_one_each, I32(width))


def _behind_last(builder: ir.IRBuilder, chunk: ir.Value, slots: ir.Value) -> ir.Value:
    """i32: the number after the last one of a chunk's slots that have a bit; 0 if none has."""
    end = builder.trunc(builder.mul(builder.add(chunk, I64(1)), I64(CHUNK)), I32)
    behind = builder.sub(end, builder.ctlz(slots, I1(0)))
    return builder.select(is_any(builder, slots), behind, I32(0))


def _emit_sums(
    builder: ir.IRBuilder, levels: list[ir.Value], chunk: ir.Value, more: ir.Value
) -> None:
    """In the chunks of a warp, which are of one group, so many more live now."""
    with builder.if_then(builder.icmp_unsigned("!=", more, I32(0))):
        for number, sums in enumerate(levels[1:], 1):
            with builder.if_then(is_any(builder, sums)):
                place = builder.lshr(chunk, I64(number * GROUP_SHIFT))
                builder.atomic_rmw("add", pointer_to(builder, sums, place, 4), more, "monotonic")


def _emit_total(
    warp: Lanes, count: int, builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value
) -> None:
    _, (top, tops, at), thread = own_region(builder, count, leaves, thread)
    total = emit_sum_before(builder, warp, top, tops)
    with builder.if_then(builder.icmp_unsigned("==", thread, I64(0))):
        builder.store(builder.trunc(total, I32), builder.inttoptr(at, POINTER))


def _emit_copy(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    source, target = leaves
    found = builder.load(pointer_to(builder, source, thread, 4), typ=I32)
    builder.store(found, pointer_to(builder, target, thread, 4))


def _emit_store(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    address, count, *words = leaves
    for place, word in enumerate(words):
        with builder.if_then(builder.icmp_unsigned("<", I64(place), count)):
            builder.store(word, pointer_to(builder, address, I64(place), WORD))


def _emit_clear(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    (address,) = leaves
    builder.store(I64(0), pointer_to(builder, address, thread, WORD))


#: One thread a number of 32 bits. leaves: from where, to where
COPY = OwnKernel("sharedoa_slots_copy", 2, _emit_copy)
#: One thread a slot. leaves: address of their numbers, the header, addresses of how many are listed
#: before and after, and where headers lie
HEADERS = {
    size: OwnKernel(f"sharedoa_slots_headers_{size}", 8, emit_headers(ir.IntType(8 * size)))
    for size in (4, 8)
}
WORDS = 128
"""That a launch for nothing else writes at most."""
#: One thread. leaves: where to, how many words, and the words
STORE = OwnKernel("sharedoa_slots_store", 2 + WORDS, _emit_store)
#: One thread a word
CLEAR = OwnKernel("sharedoa_slots_clear", 1, _emit_clear)


_TOTALS = (1, 4, 16)
"""Regions of a launch that only says how many live: its threads do little."""


class RegionKernels(NamedTuple):
    """Kernels by how many regions they are for, with whole warps; ``leaves`` are those of each
    region in a row.

    All begin with the region's first thread. ``settle``, with one thread a chunk: how many chunks;
    address of the bytes; as ``Settling`` has them; whether the sums are not right yet, and whether
    something may have been made there; addresses of the levels. ``total``, with one warp: address
    and number of the last level's sums, where to write how many live. ``list``, with one thread a
    chunk: the number of the region that the list begins with; slots that are looked at; 0 for those
    that live or 1 for free ones; address and number of the last level's sums, and how far a chunk's
    number is shifted for those; address of the bytes, how many at most, where to, bytes of each;
    addresses of how many are listed before and after; address of a limit, how many times that, and
    the first region and the one after the last one of what is added to it; first, shift, block and
    lane; addresses of the levels, of the first one also where there is none. After those of all
    regions: how many threads there are; address and number of words to zero; where to write words,
    a bit for each of those to write, and the words.
    """

    warp: Lanes
    settle: Mapping[int, OwnKernel]
    total: Mapping[int, OwnKernel]
    list: Mapping[int, OwnKernel]


def region_kernels(warp: Lanes) -> RegionKernels:
    """Those for threads that work together in such warps."""

    def made(
        name: str,
        leaves: int,
        emit: Callable[..., None],
        more: int = 0,
        regions: Sequence[int] = REGIONS,
    ) -> Mapping[int, OwnKernel]:
        return {
            n: OwnKernel(f"sharedoa_slots_{name}_{n}", n * leaves + more, partial(emit, warp, n))
            for n in regions
        }

    return RegionKernels(
        warp,
        made("settle", 8 + MOST_LEVELS, _emit_settle),
        made("total", 4, _emit_total, regions=_TOTALS),
        made("list", LIST_LEAVES, emit_list, ALSO_LEAVES),
    )
