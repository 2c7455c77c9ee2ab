"""Code that compares with bounds: every place gets the type of the range that it lies in."""

from __future__ import annotations

from bisect import bisect_right

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import ir

from dispatch import state
from dispatch.bounds import bounds_function
from sharedoa.backends.native_code import NativeLibrary, ffi, host_target

I32 = ir.IntType(32)


def compiled(intervals: list[tuple[int, int]], width: int, in_warps: bool) -> NativeLibrary:
    """A module with ``find(place)``."""
    target = host_target()
    module = target.new_module("bounds")
    key = ir.IntType(width)
    search = bounds_function(module, 0, intervals, key, in_warps)
    find = ir.Function(module, ir.FunctionType(I32, [key]), "find")
    builder = ir.IRBuilder(find.append_basic_block())
    builder.ret(builder.call(search, find.args))
    state.state_block(module, 0)
    code = target.compile(str(module))["o"]
    assert isinstance(code, bytes)
    return NativeLibrary(code, ("find", state.SYMBOL), {})


@settings(max_examples=25)
@given(
    ranges=st.lists(
        st.tuples(st.integers(1, 1000), st.integers(1, 5)), min_size=1, max_size=state.MOST_BOUNDS
    ),
    start=st.integers(0, 1 << 31),
    missing=st.sets(st.integers(1, 5), max_size=3),
    data=st.data(),
    in_warps=st.booleans(),
    width=st.sampled_from([32, 64]),
)
def test_every_place_gets_its_type(ranges, start, missing, data, in_warps, width):
    """Ranges of any types in any order, of which a call may meet some only."""
    bounds, types = [start], [ranges[0][1]]
    for size, type_index in ranges[1:]:
        bounds.append(bounds[-1] + size)
        types.append(type_index)
    intervals = [(n, t) for n, t in enumerate(types) if t not in missing]
    if not intervals:
        return
    library = compiled(intervals, width, in_warps)
    find = library.function("find", f"int32_t (*)(uint{width}_t)")
    words = ffi.cast("uint64_t *", library.address(state.SYMBOL))
    for number, bound in enumerate(bounds):
        words[state.BOUNDS + number] = bound
    probes = [place for bound in bounds for place in (bound, bound + 1)] + [(1 << 32) - 1]
    probes.append(data.draw(st.integers(start, (1 << 32) - 1)))
    for place in probes:
        number = bisect_right(bounds, place) - 1
        if types[number] not in missing:
            assert find(place) == types[number]


@pytest.mark.parametrize(("count", "branches"), [(4, 3), (5, 0), (64, 0)])
def test_warps_do_not_branch_over_many_bounds(count, branches):
    module = ir.Module()
    function = bounds_function(module, 4, [(n, 100 + n) for n in range(count)], I32, True)
    found = [block.terminator for block in function.blocks if block.terminator.opname == "br"]
    assert len(found) == branches
    module = ir.Module()
    function = bounds_function(module, 0, [(n, 100 + n) for n in range(count)], I32, False)
    assert len(function.blocks) == 2 * count - 1
