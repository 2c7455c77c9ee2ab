"""Objects that kernels make and end: where new ones lie, and the byte that says whether one lives.

Before a launch that makes objects the host lists places for them: free slots of regions, or, where
objects are placed one by one, addresses. A thread takes those whose numbers are its own: of a class
of which each thread makes at most ``step``, thread t has the places from ``t * step`` on. So nobody
waits for anybody, and which place a new object has depends on what the threads do and not on when:
the same program gives the same bytes on every machine, and new objects lie in the order of the
threads. Of a class of which some threads make one object and others none, as their numbers say,
every ``period`` threads have ``step`` places (``sharedoa.ir.birth_turns``). Where nobody knows how
many a thread makes (``step`` 0) threads count together, in the order in which they come, and note
who has taken which place: the host puts what they made in order (``heap.birth_order``).

The birth table, whose address is in the state block, has an entry for each class that the kernel
makes objects of; the table and what it leads to change between launches only, but for counters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from . import state
from .dataclass import dataclass
from .lookup import I32, I64, find_range_function, load_node
from .mode import Placement
from .range_table import TILE_OBJECTS, TILE_STEP, TILED
from .registry import NOT_REGISTERED, emit_byte_address, find_registered_function

ENTRY_DTYPE = np.dtype(
    [
        ("step", np.uint64),
        ("room", np.uint64),
        ("places", np.uint64),
        ("counts", np.uint64),
        ("next", np.uint64),
        ("segments", np.uint64),
        ("stride", np.uint64),
        ("makers", np.uint64),
        ("period", np.uint64),
        ("ranks", np.uint64),
        ("turns", np.uint64),
    ]
)
"""``room``: how many places there are; ``places``: the address of their slots, u32, in ascending
order; ``counts``: of how many each thread has made, u32, or 0 where that is one at most; ``next``:
how many were asked for by threads that count together; ``segments``: of the regions that the places
are in; ``stride``: the bytes of an object (``range_table.encode_stride``); ``makers``: where those
that count together note which thread has taken each place, u64; ``period``: 0, or how many threads
have ``step`` places together, and ``ranks`` the address of which of these each has, u8
(``NO_RANK``: none); ``turns``: the largest period of all entries, or 1. Where objects are placed
one by one, ``places`` is the address of
``PLACE_DTYPE`` for each, and ``segments`` and ``stride`` are not read.
"""

MOST_PERIOD, NO_RANK = 64, 255
"""Threads of a period at most, and the rank of those without a place."""

SEGMENT_DTYPE = np.dtype([("stop", np.uint64), ("start", np.uint64), ("live", np.uint64)])
"""A region: ``stop`` is the number of the first place that is in a later one; ``start`` its first
object's address; ``live`` the address of its bytes that say which objects live."""

PLACE_DTYPE = np.dtype([("address", np.uint64), ("live", np.uint64)])
"""A place by itself: where a new object begins, and the address of the byte that says whether it
lives, which no thread need look up."""

LIVED, BORN, ENDED = 1, 2, 4
"""Bits of such a byte: the object lived when the launch began, was made in it, was deleted in it.
Between launches it is 0 or ``LIVED``."""


def emit_turns(builder: ir.IRBuilder, object_space: int, constant_space: int) -> Any:
    """i32: in how many threads of a launch what they make objects of repeats."""
    memory = _Memory(builder, object_space)
    return builder.trunc(
        memory.word(state.load(builder, constant_space, state.BIRTHS), "turns"), I32
    )


PLACE, LIVE_BYTE = "sharedoa_place", "sharedoa_live_byte"
_BIT, _I8 = ir.IntType(1), ir.IntType(8)


@dataclass(frozen=True)
class Turns:
    """Threads may make one object of a class, or none, as ``makes`` says of their number's
    remainder."""

    makes: tuple[bool, ...]

    @property
    def period(self) -> int:
        return len(self.makes)

    @property
    def each(self) -> int:
        """Places for as many threads as the period has."""
        return sum(self.makes)

    @property
    def ranks(self) -> list[int | None]:
        """Of each remainder: how many threads of the period have a place before that one; None
        where it has none."""
        return [sum(self.makes[:rest]) if made else None for rest, made in enumerate(self.makes)]

    def count(self, threads: int) -> int:
        """Places for so many threads."""
        periods, rest = divmod(threads, self.period)
        return periods * self.each + sum(self.makes[:rest])

    def number(self, thread: int) -> int | None:
        """The place that the thread has; None if it has none."""
        periods, rest = divmod(thread, self.period)
        rank = self.ranks[rest]
        return None if rank is None else periods * self.each + rank


def place_function(
    module: ir.Module, placement: Placement, object_space: int, constant_space: int
) -> ir.Function:
    """``i64 sharedoa_place(i32 entry, i64 thread)``: the address of a new object of the class with
    that entry of the birth table, marked as born; 0 if there is no place. Made at its first use."""
    found = module.globals.get(PLACE)
    if found is not None:
        return found
    function = _declare(module, PLACE, [I32, I64])
    number, thread = function.args
    memory = _Memory(ir.IRBuilder(function.append_basic_block("entry")), object_space)
    builder = memory.builder
    table = state.load(builder, constant_space, state.BIRTHS)
    size = I64(ENTRY_DTYPE.itemsize)
    entry = builder.add(table, builder.mul(builder.zext(number, I64), size))
    place = _emit_number(memory, entry, thread)
    with builder.if_then(builder.icmp_unsigned(">=", place, memory.word(entry, "room"))):
        builder.ret(I64(0))
    places = memory.word(entry, "places")
    if placement == "scattered":
        record = builder.add(places, builder.mul(place, I64(PLACE_DTYPE.itemsize)))
        live = memory.word(record, "live", PLACE_DTYPE)
        builder.store(_I8(BORN), memory.pointer(live))
        builder.ret(memory.word(record, "address", PLACE_DTYPE))
        return function
    slot = memory.load(builder.add(places, builder.shl(place, I64(2))), I32, is_invariant=True)
    segment = _emit_segment(memory, memory.word(entry, "segments"), place)
    slot = builder.zext(slot, I64)
    live = builder.add(memory.word(segment, "live", SEGMENT_DTYPE), slot)
    builder.store(_I8(BORN), memory.pointer(live))
    start = memory.word(segment, "start", SEGMENT_DTYPE)
    builder.ret(builder.add(start, _emit_offset(builder, memory.word(entry, "stride"), slot)))
    return function


def _emit_number(memory: _Memory, entry: Any, thread: Any) -> Any:
    """i64: the number of the place that the thread takes."""
    builder = memory.builder
    step = memory.word(entry, "step")
    own, common, end = (builder.append_basic_block(n) for n in ("own", "common", "taken"))
    builder.cbranch(builder.icmp_unsigned("!=", step, I64(0)), own, common)
    builder.position_at_end(own)
    first = builder.mul(thread, step)
    counts = memory.word(entry, "counts")
    several, one = builder.append_basic_block("several"), builder.append_basic_block("one")
    builder.cbranch(builder.icmp_unsigned("!=", counts, I64(0)), several, one)
    builder.position_at_end(several)
    counter = builder.add(counts, builder.shl(thread, I64(2)))
    made = memory.load(counter, I32)
    builder.store(builder.add(made, I32(1)), memory.pointer(counter))
    # More than a thread can make would be the places of the next one.
    wide = builder.zext(made, I64)
    within = builder.icmp_unsigned("<", wide, step)
    later = builder.select(within, builder.add(first, wide), I64(-1))
    builder.branch(end)
    builder.position_at_end(one)
    period = memory.word(entry, "period")
    in_turn = builder.append_basic_block("in_turn")
    builder.cbranch(builder.icmp_unsigned("!=", period, I64(0)), in_turn, end)
    builder.position_at_end(in_turn)
    turn = _emit_turn(memory, entry, thread, builder.trunc(period, I32))
    builder.branch(end)
    builder.position_at_end(common)
    assert ENTRY_DTYPE.fields is not None
    counter = builder.add(entry, I64(ENTRY_DTYPE.fields["next"][1]))
    taken = builder.atomic_rmw("add", memory.pointer(counter), I64(1), "monotonic")
    with builder.if_then(builder.icmp_unsigned("<", taken, memory.word(entry, "room"))):
        maker = builder.add(memory.word(entry, "makers"), builder.shl(taken, I64(3)))
        builder.store(thread, memory.pointer(maker))
    common = builder.block
    builder.branch(end)
    builder.position_at_end(end)
    number = builder.phi(I64, "place")
    found = (later, several), (first, one), (turn, in_turn), (taken, common)
    for value, block in found:
        number.add_incoming(value, block)
    return number


def _emit_turn(memory: _Memory, entry: Any, thread: Any, period: Any) -> Any:
    """i64: the number of the place of a thread that makes objects in turn with others. Such
    launches have fewer than 2**31 threads."""
    builder = memory.builder
    narrow = builder.trunc(thread, I32)
    periods = builder.udiv(narrow, period)
    rest = builder.zext(builder.sub(narrow, builder.mul(periods, period)), I64)
    rank = memory.load(builder.add(memory.word(entry, "ranks"), rest), _I8, is_invariant=True)
    first = builder.mul(builder.zext(periods, I64), memory.word(entry, "step"))
    place = builder.add(first, builder.zext(rank, I64))
    has_one = builder.icmp_unsigned("!=", rank, _I8(NO_RANK))
    return builder.select(has_one, place, I64(-1))


def _emit_segment(memory: _Memory, segments: Any, place: Any) -> Any:
    """i64: the address of the segment that a place is in."""
    builder = memory.builder
    before = builder.block
    test, found = builder.append_basic_block("segment"), builder.append_basic_block("found")
    builder.branch(test)
    builder.position_at_end(test)
    segment = builder.phi(I64, "segment")
    following = builder.add(segment, I64(SEGMENT_DTYPE.itemsize))
    segment.add_incoming(segments, before)
    segment.add_incoming(following, test)
    stop = memory.word(segment, "stop", SEGMENT_DTYPE)
    builder.cbranch(builder.icmp_unsigned("<", place, stop), found, test)
    builder.position_at_end(found)
    return segment


def _emit_offset(builder: ir.IRBuilder, stride: Any, slot: Any) -> Any:
    """i64: bytes from a region's start to the object in a slot."""
    size = builder.and_(stride, I64(TILED - 1))
    tile = builder.udiv(slot, I64(TILE_OBJECTS))
    lane = builder.and_(slot, I64(TILE_OBJECTS - 1))
    in_tiles = builder.mul(tile, builder.mul(size, I64(TILE_OBJECTS)))
    in_tiles = builder.add(in_tiles, builder.mul(lane, I64(TILE_STEP)))
    is_tiled = builder.icmp_unsigned("!=", builder.and_(stride, I64(TILED)), I64(0))
    return builder.select(is_tiled, in_tiles, builder.mul(slot, size))


def live_byte_function(
    module: ir.Module, placement: Placement, object_space: int, constant_space: int
) -> ir.Function:
    """``i64 sharedoa_live_byte(i64 address)``: the address of the byte that says whether the object
    lives which begins there; 0 if none can. Made at its first use."""
    found = module.globals.get(LIVE_BYTE)
    if found is not None:
        return found
    function = _declare(module, LIVE_BYTE, [I64])
    (address,) = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    if placement == "scattered":
        find = find_registered_function(module, object_space, constant_space)
        number = builder.call(find, [address])
        with builder.if_then(builder.icmp_unsigned("==", number, I64(NOT_REGISTERED))):
            builder.ret(I64(0))
        builder.ret(emit_byte_address(builder, number, constant_space))
        return function
    find = find_range_function(module, object_space, constant_space)
    node = builder.call(find, [address])
    with builder.if_then(builder.icmp_unsigned("==", node, I64(0))):
        builder.ret(I64(0))
    slot, is_slot = emit_slot(builder, node, address, object_space)
    live = builder.add(load_node(builder, node, "live", object_space), slot)
    builder.ret(builder.select(is_slot, live, I64(0)))
    return function


def emit_slot(builder: ir.IRBuilder, node: Any, address: Any, object_space: int) -> tuple[Any, Any]:
    """i64: the slot of an address in the range of a node of the range table; i1: whether an object
    can begin there."""
    offset = builder.sub(address, load_node(builder, node, "lo", object_space))
    stride = builder.zext(load_node(builder, node, "stride", object_space), I64)
    # A range without tiles is one of tiles with a single object.
    tiled = builder.icmp_unsigned(">=", stride, I64(TILED))
    size = builder.and_(stride, I64(TILED - 1))
    objects = builder.select(tiled, I64(TILE_OBJECTS), I64(1))
    tile_bytes = builder.mul(size, objects)
    tile = builder.udiv(offset, tile_bytes)
    inside = builder.sub(offset, builder.mul(tile, tile_bytes))
    lane = builder.udiv(inside, I64(TILE_STEP))
    at_step = builder.icmp_unsigned("==", builder.mul(lane, I64(TILE_STEP)), inside)
    within = builder.icmp_unsigned("<", lane, objects)
    return builder.add(builder.mul(tile, objects), lane), builder.and_(at_step, within)


def emit_lives(builder: ir.IRBuilder, byte: Any) -> Any:
    """i1: whether an object with that byte lives, as far as this launch knows."""
    there = builder.icmp_unsigned("!=", builder.and_(byte, byte.type(LIVED | BORN)), byte.type(0))
    ended = builder.icmp_unsigned("!=", builder.and_(byte, byte.type(ENDED)), byte.type(0))
    return builder.and_(there, builder.not_(ended))


def emit_end(builder: ir.IRBuilder, byte_address: Any, object_space: int) -> Any:
    """i1: end the object, as one step; whether nobody has before."""
    # GPUs have atomics of 32 bits.
    word = builder.and_(byte_address, I64(-4))
    shift = builder.shl(builder.trunc(builder.and_(byte_address, I64(3)), I32), I32(3))
    bit = builder.shl(I32(ENDED), shift)
    pointer = builder.inttoptr(word, ir.PointerType(None, object_space))
    before = builder.atomic_rmw("or", pointer, bit, "monotonic")
    return builder.icmp_unsigned("==", builder.and_(before, bit), I32(0))


class _Memory:
    """Memory of the heap, for code at ``builder``."""

    def __init__(self, builder: ir.IRBuilder, object_space: int) -> None:
        self.builder = builder
        self._pointer = ir.PointerType(None, object_space)

    def pointer(self, address: Any) -> Any:
        return self.builder.inttoptr(address, self._pointer)

    def load(self, address: Any, type: ir.Type, is_invariant: bool = False) -> Any:
        value = self.builder.load(self.pointer(address), align=type.width // 8, typ=type)
        if is_invariant:
            value.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        return value

    def word(self, record: Any, name: str, dtype: np.dtype[Any] = ENTRY_DTYPE) -> Any:
        """A word of an entry or segment, which stays the same throughout a launch."""
        assert dtype.fields is not None
        place = self.builder.add(record, I64(dtype.fields[name][1]))
        return self.load(place, I64, is_invariant=True)


def _declare(module: ir.Module, name: str, parameters: list[ir.Type]) -> ir.Function:
    function = ir.Function(module, ir.FunctionType(I64, parameters), name)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    return function
