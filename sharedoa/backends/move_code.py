"""The code of kernels for objects that change places (``heap.object_moves``).

On a device a thread has one scalar of one object, or one reference, such that the threads of a warp
have neighbours; elsewhere it has those of ``_MANY`` objects, so that what is the same for all of
them is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from llvmlite import ir

from ..heap.object_moves import FORWARDING_WORDS
from ..model.field_address import WORD as _LANE_STEP
from ..targets.base import I1, I64, POINTER
from .column_kernels import emit_by_size
from .own_kernels import OwnKernel, for_each

_MANY = 64
_LANE_SHIFT = _LANE_STEP.bit_length() - 1
WORD = 8
PART_WORDS, COLUMN_WORDS = 3, 6


def objects_each(on_device: bool) -> int:
    """Of how many objects one thread has scalars or references."""
    return 1 if on_device else _MANY


def _at(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, size: int) -> ir.Value:
    return builder.inttoptr(builder.add(base, builder.mul(index, I64(size))), POINTER)


def _words(builder: ir.IRBuilder, table: ir.Value, row: ir.Value, count: int) -> list[ir.Value]:
    start = builder.mul(row, I64(count))
    return [
        builder.load(_at(builder, table, builder.add(start, I64(place)), WORD), typ=I64)
        for place in range(count)
    ]


def _least(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.select(builder.icmp_unsigned("<", a, b), a, b)


def _last_not_after(
    builder: ir.IRBuilder, table: ir.Value, rows: ir.Value, words: int, wanted: ir.Value
) -> ir.Value:
    """The last row of a sorted table whose first word is not more than ``wanted``; else 0."""
    entry = builder.block
    test, halve, done = (builder.append_basic_block(name) for name in ("test", "halve", "found"))
    builder.branch(test)
    builder.position_at_end(test)
    low, count = builder.phi(I64), builder.phi(I64)
    low.add_incoming(I64(0), entry)
    count.add_incoming(rows, entry)
    builder.cbranch(builder.icmp_unsigned(">", count, I64(1)), halve, done)
    builder.position_at_end(halve)
    half = builder.lshr(count, I64(1))
    middle = builder.add(low, half)
    word = builder.load(_at(builder, table, middle, words * WORD), typ=I64)
    is_up = builder.icmp_unsigned("<=", word, wanted)
    low.add_incoming(builder.select(is_up, middle, low), halve)
    count.add_incoming(builder.select(is_up, builder.sub(count, half), half), halve)
    builder.branch(test)
    builder.position_at_end(done)
    return low


def _emit_address(builder: ir.IRBuilder, stored: ir.Value, how: Sequence[ir.Value]) -> ir.Value:
    mask, shift, base = how
    wide = stored if stored.type == I64 else builder.zext(stored, I64)
    return builder.add(builder.shl(builder.and_(wide, mask), shift), base)


def _in_block(builder: ir.IRBuilder, address: ir.Value, shift: ir.Value) -> list[ir.Value]:
    """The address of an object's block, and its lane in it."""
    lanes = builder.sub(builder.shl(I64(_LANE_STEP), shift), I64(1))
    # A block of one is its object, wherever it begins.
    in_row = builder.select(builder.icmp_unsigned("==", shift, I64(0)), I64(0), lanes)
    inside = builder.and_(address, in_row)
    return [builder.sub(address, inside), builder.lshr(inside, I64(_LANE_SHIFT))]


def _emit_copy(
    item: int,
    each: int,
    to_list: bool,
    builder: ir.IRBuilder,
    leaves: list[ir.Value],
    thread: ir.Value,
) -> None:
    skipped, count, block_bytes, shift, table, parts, objects, blocks, *how = leaves
    thread = builder.add(thread, skipped)
    # Neighbouring threads have neighbouring lanes of a part, or the parts of one object.
    spread = shift if each == 1 else I64(0)
    number = builder.lshr(thread, spread)
    lane = builder.sub(thread, builder.shl(number, spread))
    group = builder.udiv(number, parts)
    part = builder.sub(number, builder.mul(group, parts))
    first = builder.mul(builder.or_(builder.shl(group, spread), lane), I64(each))
    stop = _least(builder, builder.add(first, I64(each)), count)
    size, start, lane_bytes = _words(builder, table, part, PART_WORDS)

    def copy(inside: ir.IRBuilder, type: ir.IntType) -> None:
        def copy_one(inside: ir.IRBuilder, number: ir.Value) -> None:
            listed = inside.load(_at(inside, objects, number, item), typ=ir.IntType(8 * item))
            there = _in_block(inside, _emit_address(inside, listed, how), shift)
            block = inside.lshr(number, shift)
            lane = inside.sub(number, inside.shl(block, shift))
            here = inside.add(blocks, inside.mul(block, block_bytes)), lane
            pointers = [
                inside.inttoptr(
                    inside.add(inside.add(block, start), inside.mul(lane, lane_bytes)), POINTER
                )
                for block, lane in (there, here)
            ]
            source, target = reversed(pointers) if to_list else pointers
            inside.store(inside.load(source, typ=type), target)

        for_each(inside, first, stop, copy_one)

    emit_by_size(builder, size, copy)


def _emit_forwarding_word(
    builder: ir.IRBuilder,
    table: ir.Value,
    regions: ir.Value,
    address: ir.Value,
    item: int,
    use: Callable[[ir.IRBuilder, ir.Value, ir.Value], None],
) -> None:
    """``use`` the pointer to the forwarding word of the object at an address, and what stands for
    those without one, if it is in one of the regions."""
    row = _last_not_after(builder, table, regions, FORWARDING_WORDS, address)
    start, end, block_bytes, shift, words, slots, other = _words(
        builder, table, row, FORWARDING_WORDS
    )
    offset = builder.sub(address, start)
    within = builder.icmp_unsigned("<", offset, builder.sub(end, start))
    with builder.if_then(within):
        block = builder.udiv(offset, block_bytes)
        inside = builder.sub(offset, builder.mul(block, block_bytes))
        lane = builder.lshr(inside, I64(_LANE_SHIFT))
        is_lane = builder.icmp_unsigned("==", builder.shl(lane, I64(_LANE_SHIFT)), inside)
        in_block = builder.icmp_unsigned("==", builder.lshr(lane, shift), I64(0))
        with builder.if_then(builder.and_(is_lane, in_block)):
            slot = _least(builder, builder.or_(builder.shl(block, shift), lane), slots)
            use(builder, _at(builder, words, slot, item), other)


def _emit_forward(
    item: int, each: int, builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value
) -> None:
    skipped, count, table, regions, before, after, *how = leaves
    type = ir.IntType(8 * item)
    first = builder.mul(builder.add(thread, skipped), I64(each))
    stop = _least(builder, builder.add(first, I64(each)), count)

    def note(builder: ir.IRBuilder, number: ir.Value) -> None:
        listed = builder.load(_at(builder, before, number, item), typ=type)
        gone_to = builder.load(_at(builder, after, number, item), typ=type)
        address = _emit_address(builder, listed, how)

        def store(builder: ir.IRBuilder, pointer: ir.Value, other: ir.Value) -> None:
            builder.store(gone_to, pointer)

        _emit_forwarding_word(builder, table, regions, address, item, store)

    for_each(builder, first, stop, note)


def _emit_follow(
    item: int,
    alignment: int,
    each: int,
    builder: ir.IRBuilder,
    leaves: list[ir.Value],
    thread: ir.Value,
) -> None:
    skipped, table, regions, columns, count, keeps_others, *how = leaves
    type = ir.IntType(8 * item)
    thread = builder.add(thread, skipped)
    row = _last_not_after(builder, columns, count, COLUMN_WORDS, thread)
    begin, start, block_bytes, shift, lane_bytes, slots = _words(
        builder, columns, row, COLUMN_WORDS
    )
    first = builder.mul(builder.sub(thread, begin), I64(each))
    stop = _least(builder, builder.add(first, I64(each)), slots)
    keeps = builder.icmp_unsigned("!=", keeps_others, I64(0))

    def follow(builder: ir.IRBuilder, slot: ir.Value) -> None:
        block = builder.lshr(slot, shift)
        lane = builder.sub(slot, builder.shl(block, shift))
        at = builder.add(start, builder.mul(block, block_bytes))
        pointer = builder.inttoptr(builder.add(at, builder.mul(lane, lane_bytes)), POINTER)
        found = builder.load(pointer, typ=type, align=alignment)

        def replace(builder: ir.IRBuilder, word: ir.Value, other: ir.Value) -> None:
            there = builder.load(word, typ=type)
            is_none = builder.icmp_unsigned("==", there, type(0))
            stays = builder.and_(keeps, is_none)
            other = other if type == I64 else builder.trunc(other, type)
            there = builder.select(is_none, other, there)
            changes = builder.icmp_unsigned("!=", there, found)
            with builder.if_then(builder.and_(changes, builder.xor(stays, I1(1)))):
                builder.store(there, pointer, align=alignment)

        with builder.if_then(builder.icmp_unsigned("!=", found, type(0))):
            address = _emit_address(builder, found, how)
            _emit_forwarding_word(builder, table, regions, address, item, replace)

    for_each(builder, first, stop, follow)


@cache
def copy_kernel(item: int, each: int, to_list: bool) -> OwnKernel:
    """Between a list of objects and blocks. Leaves: threads that earlier launches had; how many
    objects; ``Shape``; the list, the blocks; ``Decoding`` but for the item."""
    name = f"sharedoa_moves_{'scatter' if to_list else 'gather'}_{item}"
    return OwnKernel(name, 11, partial(_emit_copy, item, each, to_list))


@cache
def pick_kernel(item: int) -> OwnKernel:
    """One thread an item. Leaves: threads that earlier launches had; addresses of the list, of the
    numbers, and of what to write."""
    type = ir.IntType(8 * item)

    def emit(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
        skipped, listed, order, to = leaves
        place = builder.add(thread, skipped)
        number = builder.load(_at(builder, order, place, WORD), typ=I64)
        picked = builder.load(_at(builder, listed, number, item), typ=type)
        builder.store(picked, _at(builder, to, place, item))

    return OwnKernel(f"sharedoa_moves_pick_{item}", 4, emit)


@cache
def forward_kernel(item: int, each: int) -> OwnKernel:
    """Leaves: threads that earlier launches had; how many objects; the table and how many regions
    it has; the lists; ``Decoding`` but for the item."""
    return OwnKernel(f"sharedoa_moves_forward_{item}", 9, partial(_emit_forward, item, each))


@cache
def follow_kernel(item: int, alignment: int, each: int) -> OwnKernel:
    """Leaves: threads that earlier launches had; the table and how many regions it has; the
    columns and how many they are; whether others stay; ``Decoding`` but for the item. A column is
    the number of its first thread and ``ReferenceColumn``."""
    name = f"sharedoa_moves_follow_{item}_{alignment}"
    return OwnKernel(name, 9, partial(_emit_follow, item, alignment, each))
