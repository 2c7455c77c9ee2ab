"""The code of births as native code: who ends an object, and which places threads have."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from llvmlite import ir

from dispatch import births, state
from dispatch.births import BORN, ENDED, ENTRY_DTYPE, LIVED, PLACE_DTYPE, SEGMENT_DTYPE
from dispatch.mode import Placement
from dispatch.range_table import encode_stride
from dispatch.registry import PLACE_BYTES, stored_registry

from ..ptxpass.machine import HostCode

_BIT, _I8, _I64 = ir.IntType(1), ir.IntType(8), ir.IntType(64)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("lived", [LIVED, BORN])
def test_one_who_finds_it_alive_ends_it(place: int, lived: int) -> None:
    """Threads that looked at the byte at the same time come one after the other."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(_BIT, [_I64]), "end")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(births.emit_end(builder, function.args[0], 0))
    code = HostCode(module, optimised=True)
    end = code.function("end", ctypes.c_bool, ctypes.c_uint64)
    live = np.array([LIVED, LIVED | ENDED, 0, BORN], np.uint8)
    live[place] = lived
    others = np.delete(live, place)
    address = live.ctypes.data + place
    assert [end(address) for _ in range(3)] == [True, False, False]
    assert live[place] == lived | ENDED
    assert (np.delete(live, place) == others).all()


def test_who_lives() -> None:
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(_BIT, [_I8]), "lives")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(births.emit_lives(builder, function.args[0]))
    code = HostCode(module, optimised=True)
    lives = code.function("lives", ctypes.c_bool, ctypes.c_uint8)
    assert [byte for byte in range(8) if lives(byte)] == [LIVED, BORN, LIVED | BORN]


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("step", [0, 1, 3])
def test_places(step: int, tiled: bool) -> None:
    """Two regions of objects of 24 bytes, with five and three places."""
    starts, size = (0x10000, 0x90000), 24
    slots = np.array([1, 2, 33, 40, 70, 0, 31, 32], np.uint32)
    live = [np.zeros(96, np.uint8), np.zeros(96, np.uint8)]
    segments = np.zeros(2, SEGMENT_DTYPE)
    segments["stop"], segments["start"] = (5, 8), starts
    segments["live"] = [each.ctypes.data for each in live]
    counts = np.zeros(3, np.uint32)
    makers = np.full(9, 0xFF, np.uint64)
    table = np.zeros(2, ENTRY_DTYPE)
    entry = table[1:]
    entry["step"], entry["room"], entry["places"] = step, 8, slots.ctypes.data
    entry["counts"] = counts.ctypes.data if step > 1 else 0
    entry["makers"] = makers.ctypes.data if step == 0 else 0
    entry["segments"], entry["stride"] = segments.ctypes.data, encode_stride(size, tiled)
    module = ir.Module()
    births.place_function(module, "by_type", 0, 0).linkage = ""
    code = HostCode(module, optimised=True)
    code.words(state.SYMBOL, state.MOST_WORDS)[state.BIRTHS] = table.ctypes.data
    place = code.function(births.PLACE, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64)

    def address(number: int) -> int:
        slot, start = int(slots[number]), starts[number >= 5]
        if tiled:
            return start + slot // 32 * 32 * size + slot % 32 * 4
        return start + slot * size

    if step == 0:
        threads = [5, 0, 5, 5, 8, 0, 5, 8, 8, 1]
        assert [place(1, each) for each in threads] == [*map(address, range(8)), 0, 0]
        assert entry["next"][0] == 10
        assert makers.tolist() == [*threads[:8], 0xFF]
        taken = [*range(8)]
    elif step == 1:
        assert [place(1, thread) for thread in (7, 0, 8, 5)] == [
            address(7),
            address(0),
            0,
            address(5),
        ]
        taken = [0, 5, 7]
    else:
        # The third thread has two places left of three; no thread has more than three.
        found = [place(1, thread) for thread in (1, 0, 1, 1, 1, 2, 2, 2)]
        expected = [address(3), address(0), address(4), address(5), 0, address(6), address(7), 0]
        assert found == expected
        taken = [0, 3, 4, 5, 6, 7]
    marked = [[int(slots[n]) for n in taken if (n >= 5) == late] for late in (False, True)]
    assert [sorted(np.flatnonzero(each).tolist()) for each in live] == [sorted(m) for m in marked]
    assert {int(each) for region in live for each in region if each} == {BORN}


@pytest.mark.parametrize("placement", ["by_type", "scattered"])
def test_places_of_threads_that_take_turns(placement: Placement) -> None:
    """Of five threads the second, third and fifth make one object each."""
    slots, live = np.arange(300, dtype=np.uint32)[::-1].copy(), np.zeros(300, np.uint8)
    ranks = np.array([births.NO_RANK, 0, 1, births.NO_RANK, 2], np.uint8)
    segment, places = np.zeros(1, SEGMENT_DTYPE), np.zeros(300, PLACE_DTYPE)
    segment["stop"], segment["start"], segment["live"] = 300, 0x10000, live.ctypes.data
    wide = slots.astype(np.uint64)
    places["address"], places["live"] = 0x10000 + 24 * wide, live.ctypes.data + wide
    listed = slots if placement == "by_type" else places
    entry = np.zeros(1, ENTRY_DTYPE)
    entry["step"], entry["period"], entry["ranks"] = 3, 5, ranks.ctypes.data
    entry["room"], entry["places"] = 300, listed.ctypes.data
    entry["segments"], entry["stride"] = segment.ctypes.data, encode_stride(24, False)
    module = ir.Module()
    births.place_function(module, placement, 0, 0).linkage = ""
    code = HostCode(module, optimised=True)
    code.words(state.SYMBOL, state.MOST_WORDS)[state.BIRTHS] = entry.ctypes.data
    place = code.function(births.PLACE, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64)
    first, second, third, fourth, fifth, *_, last = (0x10000 + 24 * wide).tolist()
    found = [place(0, thread) for thread in (*range(8), 499, 500, 501)]
    assert found == [0, first, second, 0, third, 0, fourth, fifth, last, 0, 0]
    assert np.flatnonzero(live).tolist() == [0, *range(295, 300)] and {*live[live > 0]} == {BORN}


@pytest.mark.parametrize("step", [0, 2])
def test_places_one_by_one(step: int) -> None:
    """Four places that lie anywhere, with their bytes anywhere."""
    addresses, bytes = [0x9000, 0x100, 0x7770, 0x5008], [6, 0, 3, 9]
    live, counts, makers = np.zeros(10, np.uint8), np.zeros(2, np.uint32), np.zeros(5, np.uint64)
    places = np.zeros(4, PLACE_DTYPE)
    places["address"], places["live"] = addresses, live.ctypes.data + np.array(bytes, np.uint64)
    entry = np.zeros(1, ENTRY_DTYPE)
    entry["step"], entry["room"], entry["places"] = step, 4, places.ctypes.data
    entry["counts"] = counts.ctypes.data if step else 0
    entry["makers"] = 0 if step else makers.ctypes.data
    module = ir.Module()
    births.place_function(module, "scattered", 0, 0).linkage = ""
    code = HostCode(module, optimised=True)
    code.words(state.SYMBOL, state.MOST_WORDS)[state.BIRTHS] = entry.ctypes.data
    place = code.function(births.PLACE, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64)
    if step:
        assert [place(0, thread) for thread in (1, 1, 1, 0)] == [0x7770, 0x5008, 0, 0x9000]
        taken = [6, 3, 9]
    else:
        assert [place(0, thread) for thread in range(1, 7)] == [*addresses, 0, 0]
        assert makers.tolist() == [1, 2, 3, 4, 0]
        taken = bytes
    assert np.flatnonzero(live).tolist() == sorted(taken) and {*live[taken]} == {BORN}


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_the_byte_of_what_is_placed_one_by_one(count: int) -> None:
    addresses = 0x1000 + 48 * np.arange(count, dtype=np.uint64)
    memory = np.zeros(count * PLACE_BYTES, np.uint8)
    types = np.arange(count, dtype=np.uint32)
    states = np.arange(1, count + 1, dtype=np.uint8)
    bytes = stored_registry(memory, addresses, types, states)
    assert bytes.tolist() == states.tolist()
    module = ir.Module()
    births.live_byte_function(module, "scattered", 0, 0).linkage = ""
    code = HostCode(module, optimised=True)
    words = code.words(state.SYMBOL, state.MOST_WORDS)
    words[state.REGISTRY], words[state.REGISTRY_SIZE] = memory.ctypes.data, count
    find = code.function(births.LIVE_BYTE, ctypes.c_uint64, ctypes.c_uint64)
    assert [find(int(a)) for a in addresses] == [bytes.ctypes.data + n for n in range(count)]
    nowhere = (0, 1, 0x1000 - 8, 0x1008, 0x1000 + 48 * count, 2**64 - 1)
    assert [find(address) for address in nowhere] == [0] * len(nowhere)
