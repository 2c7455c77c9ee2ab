"""Windows: every place gets the type of the range that it lies in, by a subtraction and a shift."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from llvmlite import ir

from dispatch import state
from dispatch.windows import MOST_WINDOWS, Range, Windows, number_function, window_function
from sharedoa.backends.native_code import NativeLibrary, ffi, host_target

I32 = ir.IntType(32)
TYPES = st.integers(1, 5)


@st.composite
def ranges_in_blocks(draw: st.DrawFn) -> tuple[int, list[Range]]:
    """The exponent of some blocks, and ranges with none of them in two blocks of other types."""
    shift = draw(st.integers(0, 12))
    at = draw(st.integers(0, 1 << 20))
    found: list[Range] = []
    previous = 0
    for type_index, blocks, begins, ends in draw(
        st.lists(st.tuples(TYPES, st.integers(1, 4), st.floats(0, 1), st.floats(0, 1)), max_size=20)
    ):
        at += draw(st.integers(0, 3)) << shift
        if type_index == previous:
            continue
        size = blocks << shift
        first = at + int(begins * (size - 1))
        found.append((first, first + int(ends * (at + size - 1 - first)), type_index))
        at += size
        previous = type_index
    return shift, found


def number_of(place: int, windows: Windows, begin: int) -> int:
    return (place - begin) >> windows.shift


def check(ranges: list[Range], windows: Windows, begin: int) -> None:
    """No window has two types, all are reached, and twice as large ones would not do."""
    for first, last, type_index in ranges:
        numbers = range(number_of(first, windows, begin), number_of(last, windows, begin) + 1)
        assert {windows.types[number] for number in numbers} == {type_index}
    assert windows.types[0] and windows.types[-1]
    assert {*windows.types} - {0} == {type_index for _, _, type_index in ranges}


@settings(max_examples=300)
@given(ranges_in_blocks())
def test_ranges_in_blocks_of_their_own_have_windows(made: tuple[int, list[Range]]) -> None:
    shift, ranges = made
    assume(len(ranges) > 1)
    found = Windows.of(ranges, 64)
    # Where every range begins and ends inside its blocks, those that lie closest tell where blocks
    # begin only if nothing lies between them.
    if found is None:
        touching = any(low[1] + 1 == high[0] for low, high in pairwise(ranges))
        assert not touching or (ranges[-1][1] - ranges[0][0]) >> shift >= MOST_WINDOWS
        return
    check(ranges, *found)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 300), TYPES), max_size=12))
def test_windows_never_hold_two_types(parts: list[tuple[int, int, int]]) -> None:
    ranges: list[Range] = []
    at = 1 << 30
    for gap, size, type_index in parts:
        at += gap
        if not ranges or ranges[-1][2] != type_index:
            ranges.append((at, at + size - 1, type_index))
        at += size
    found = Windows.of(ranges, 64)
    if found is not None:
        check(ranges, *found)


def test_equal_ranges_side_by_side_are_the_windows() -> None:
    begin = 12_345
    ranges = [(begin + 64 * n, begin + 64 * n + 63, 100 + n) for n in range(30)]
    assert Windows.of(ranges, 64) == (Windows(6, tuple(range(100, 130))), begin)


def test_what_has_no_windows() -> None:
    assert Windows.of([], 64) is None
    assert Windows.of([(10, 19, 1)], 64) is None
    assert Windows.of([(10, 19, 1), (30, 39, 1)], 64) is None
    many = [(2 * n, 2 * n, 1 + n % 2) for n in range(MOST_WINDOWS + 1)]
    assert Windows.of(many, 64) is None
    assert Windows.of(many[:-1], 64) is not None
    far = [(0, 1, 1), ((1 << 32) - 2, (1 << 32) - 1, 2)]
    assert Windows.of(far, 64) is not None and Windows.of(far, 31) is None


def compiled(windows: Windows, met: frozenset[int], width: int) -> NativeLibrary:
    """A module with ``find(place)``."""
    target = host_target()
    module = target.new_module("windows")
    key = ir.IntType(width)
    number = number_function(module, 0, windows.shift, key)
    told = window_function(module, windows, met)
    assert number_function(module, 0, windows.shift, key) is number
    assert window_function(module, windows, met) is told
    find = ir.Function(module, ir.FunctionType(I32, [key]), "find")
    builder = ir.IRBuilder(find.append_basic_block())
    builder.ret(builder.call(told, [builder.call(number, find.args)]))
    code = target.compile(str(module))["o"]
    assert isinstance(code, bytes)
    return NativeLibrary(code, ("find", state.SYMBOL), {})


@pytest.mark.parametrize("width", [32, 64])
@settings(max_examples=20)
@given(ranges_in_blocks(), st.sets(TYPES, min_size=1))
def test_code_tells_every_place(width: int, made: tuple[int, list[Range]], met: set[int]) -> None:
    ranges = made[1]
    found = Windows.of(ranges, width)
    assume(found is not None)
    assert found is not None
    windows, begin = found
    possible = [each for each in ranges if each[2] in met]
    assume(possible)
    library = compiled(windows, frozenset(met), width)
    find = library.function("find", f"int32_t (*)(uint{width}_t)")
    ffi.cast("uint64_t *", library.address(state.SYMBOL))[state.BOUNDS] = begin % (1 << 64)
    for first, last, type_index in possible:
        for place in (first, (first + last) // 2, last):
            assert find(place) == type_index


def test_a_large_class_among_small_ones_or_far_from_them_has_no_windows() -> None:
    small = [(number << 21, (number << 21) + 99, number + 1) for number in range(5)]
    for begin, size in ((5 << 21, 1 << 21), (5 << 21, 91 << 21), (60 << 21, 36 << 21)):
        ranges = [*small, (begin, begin + size - 1, 6)]
        found = Windows.of(ranges, 64)
        assert found is not None and found[0].shift == 21
    for begin, size in ((5 << 21, 92 << 21), (60 << 21, 37 << 21), (96 << 21, 1 << 21)):
        assert Windows.of([*small, (begin, begin + size - 1, 6)], 64) is None
