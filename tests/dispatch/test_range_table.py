"""The segment tree, a linear scan and constant comparisons agree, on the host and in code."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import ir

from dispatch import state
from dispatch.lookup import LOOKUP, lookup_function
from dispatch.range_table import NODE_DTYPE, SegmentTree

from ..ptxpass.machine import HostCode
from .ranges import BASE, COUNTS, GAPS, Ranges, lookup, ranges


class LookupCode:
    """``sharedoa_lookup`` as native code."""

    def __init__(self, verify: bool) -> None:
        module = ir.Module()
        lookup_function(module, 0, 0, verify, share=False).linkage = ""
        self._code = HostCode(module, optimised=True)
        self._words = self._code.words(state.SYMBOL, state.WORDS)
        self._lookup = self._code.function(LOOKUP, ctypes.c_uint32, ctypes.c_uint64)

    def over(self, tree: SegmentTree) -> Any:
        self._words[state.RANGE_TREE] = tree.nodes.ctypes.data
        self._words[state.RANGE_TREE_SIZE] = tree.size
        return self._lookup


@pytest.fixture(scope="module")
def verifying() -> LookupCode:
    return LookupCode(verify=True)


@pytest.fixture(scope="module")
def trusting() -> LookupCode:
    return LookupCode(verify=False)


@pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS)
def test_all_lookups_agree(gap: int, verifying: LookupCode, trusting: LookupCode) -> None:
    for count in COUNTS:
        given_ranges = ranges(count, gap)
        tree = given_ranges.tree()
        in_code = verifying.over(tree)
        for address in given_ranges.probes():
            expected = given_ranges.scan(address)
            assert given_ranges.compare(address) == expected, (count, address)
            assert lookup(tree, address) == expected, (count, address)
            assert in_code(address) == expected, (count, address)
        in_release = trusting.over(tree)
        for address in given_ranges.inside():
            assert in_release(address) == given_ranges.scan(address), (count, address)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=70),
    st.lists(st.integers(-10, 600), max_size=30),
)
def test_any_ranges(
    verifying: LookupCode, parts: list[tuple[int, int]], offsets: list[int]
) -> None:
    starts, ends, at = [], [], BASE
    for gap, size in parts:
        starts.append(at + gap)
        ends.append(at + gap + size)
        at = ends[-1]
    made = Ranges(starts, ends)
    tree = made.tree()
    in_code = verifying.over(tree)
    for offset in offsets:
        expected = made.scan(BASE + offset)
        assert lookup(tree, BASE + offset) == in_code(BASE + offset) == expected


@pytest.mark.parametrize(
    ("count", "size"), [(0, 0), (1, 1), (2, 3), (3, 6), (4, 7), (5, 12), (64, 127)]
)
def test_size_is_that_of_the_paper(count: int, size: int) -> None:
    tree = ranges(count, 0).tree()
    assert tree.size == len(tree.nodes) == size


def test_empty_tree_holds_nothing(verifying: LookupCode) -> None:
    tree = ranges(0, 0).tree()
    assert lookup(tree, BASE) == 0
    assert verifying.over(tree)(BASE) == 0


@pytest.mark.parametrize("count", COUNTS)
def test_walk_in_code_stays_inside_the_array(count: int, verifying: LookupCode) -> None:
    made = ranges(count, 0)
    nodes = made.tree().nodes
    everything = np.array([(0, 2**64 - 1, 666, 0, 0)] * 2, NODE_DTYPE)
    longer = np.concatenate([nodes, everything])
    in_code = verifying.over(SegmentTree(longer[: len(nodes)]))
    assert in_code(made.ends[-1]) == 0


def test_inner_nodes_hold_their_childrens_hull() -> None:
    made = ranges(5, 8)
    nodes = made.tree().nodes
    assert (nodes["lo"][0], nodes["hi"][0]) == (made.starts[0], made.ends[-1])
    assert (nodes["lo"][1], nodes["hi"][1]) == (made.starts[0], made.ends[3])
    assert (nodes["lo"][2], nodes["hi"][2]) == (made.starts[4], made.ends[4])


def test_leaves_carry_what_checks_need() -> None:
    tree = SegmentTree.build([64, 128], [128, 256], [7, 8], [16, 32], [4096, 8192])
    assert NODE_DTYPE.itemsize == 32
    leaves = tree.nodes[1:]
    assert list(leaves["type_index"]) == [7, 8]
    assert list(leaves["stride"]) == [16, 32]
    assert list(leaves["live"]) == [4096, 8192]


@pytest.mark.parametrize(("starts", "ends"), [([0, 10], [11, 20]), ([10, 0], [20, 10]), ([5], [5])])
def test_ranges_out_of_order_are_refused(starts: list[int], ends: list[int]) -> None:
    anything = np.ones(len(starts), np.uint64)
    with pytest.raises(ValueError, match="sorted, disjoint and not empty"):
        SegmentTree.build(starts, ends, anything, anything, anything)
