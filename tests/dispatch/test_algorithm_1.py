"""Algorithm 1 of "Judging a Type by Its Pointer" as printed does not find types; ours does.

The port is literal. It keeps the erratum alive: if it ever passes, the comment in
``dispatch.range_table`` and this test are wrong.
"""

from __future__ import annotations

import pytest

from dispatch.range_table import SegmentTree
from tests.modes import rotated

from .ranges import COUNTS, GAPS, lookup, ranges

#: Far more than the trees are deep.
STEP_LIMIT = 100
NULL = 0
OUTSIDE_THE_ARRAY = -1
ENDLESS = -2


def printed_algorithm(tree: SegmentTree, address: int) -> int:
    """Lines 1 to 14. ``node`` is an index in some lines and a record in others. A record outside
    the array, and a loop that no line ends, are answers of their own."""
    lo, hi, type_index = (tree.nodes[name].tolist() for name in ("lo", "hi", "type_index"))
    node = 0
    next_node = 0
    for _ in range(STEP_LIMIT):
        left, right = 2 * node + 1, 2 * node + 2
        if left >= tree.size:
            return OUTSIDE_THE_ARRAY
        if lo[left] <= address < hi[left]:
            next_node = 2 * node + 1
        elif right < tree.size and lo[right] <= address < hi[right]:
            next_node = 2 * node + 2
        else:
            return NULL
        if next_node >= tree.size:
            return type_index[node]
    return ENDLESS


@pytest.mark.parametrize(("count", "gap"), rotated(COUNTS, GAPS.values()))
def test_printed_algorithm_finds_no_type(count: int, gap: int) -> None:
    made = ranges(count, gap)
    tree = made.tree()
    for address in made.inside():
        assert printed_algorithm(tree, address) in (OUTSIDE_THE_ARRAY, ENDLESS)
        assert lookup(tree, address) == made.scan(address)


def test_printed_algorithm_reads_outside_the_array_for_one_range() -> None:
    made = ranges(1, 0)
    assert printed_algorithm(made.tree(), made.starts[0]) == OUTSIDE_THE_ARRAY


def test_printed_algorithm_never_advances() -> None:
    made = ranges(4, 0)
    assert printed_algorithm(made.tree(), made.starts[0]) == ENDLESS
