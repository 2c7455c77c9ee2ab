"""The range table: which address belongs to which type, as a segment tree.

The tree of "Judging a Type by Its Pointer", section 5: complete, in one array, children of node i
at 2i + 1 and 2i + 2. K ranges sorted by address are the leaves, from 2**d - 1 on with d =
ceil(log2 K); an inner node holds its children's smallest start and largest end. Ranges are
half-open and may touch. Algorithm 1 as printed never advances and tests children before leaves;
``lookup`` is a corrected one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

NODE_DTYPE = np.dtype(
    [
        ("lo", np.uint64),
        ("hi", np.uint64),
        ("type_index", np.uint32),
        ("stride", np.uint32),
        ("live", np.uint64),
    ]
)
"""32 bytes. ``stride``: the bytes of an object (``encode_stride``); ``live``: address of one byte
an object, 1 where it lives (``births``). Both are read in debug mode, and by kernels that end
objects or ask whether they live."""

TILED = 1 << 31
TILE_OBJECTS, TILE_STEP = 32, 4
"""In a range of tiles the addresses of 32 objects follow one another in steps of 4 bytes at the
start of a tile, which has 32 times the bytes of an object."""

NO_TYPE = 0
_NOWHERE = np.iinfo(np.uint64).max

Addresses = Sequence[int] | np.ndarray[Any, Any]


def encode_stride(object_bytes: int, is_tiled: bool) -> int:
    """For ranges in which an object begins every ``object_bytes`` bytes, or of tiles."""
    return object_bytes | TILED if is_tiled else object_bytes


class SegmentTree:
    """``nodes``: NODE_DTYPE of shape (``size``,), with ``size`` = 2**d + K - 1, or 0 for K = 0."""

    def __init__(self, nodes: np.ndarray[Any, Any]) -> None:
        self.nodes = nodes

    @property
    def size(self) -> int:
        return len(self.nodes)

    @classmethod
    def build(
        cls,
        starts: Addresses,
        ends: Addresses,
        type_indices: Addresses,
        strides: Addresses,
        lives: Addresses,
    ) -> SegmentTree:
        """The tree over ranges [start, end), sorted and disjoint; one item a range in each.

        Raises ValueError if they are not sorted, overlap, or are empty.
        """
        lo, hi = (np.asarray(values, np.uint64) for values in (starts, ends))
        if np.any(lo >= hi) or np.any(hi[:-1] > lo[1:]):
            raise ValueError("ranges must be sorted, disjoint and not empty")
        count = len(lo)
        if count == 0:
            return cls(np.zeros(0, NODE_DTYPE))
        first_leaf = (1 << (count - 1).bit_length()) - 1
        nodes = np.zeros(2 * first_leaf + 1, NODE_DTYPE)
        nodes["lo"] = _NOWHERE
        leaves = nodes[first_leaf : first_leaf + count]
        leaves["lo"], leaves["hi"] = lo, hi
        leaves["type_index"], leaves["stride"], leaves["live"] = type_indices, strides, lives
        _fill_inner(nodes, first_leaf)
        return cls(nodes[: first_leaf + count])


def _fill_inner(nodes: np.ndarray[Any, Any], first_leaf: int) -> None:
    """Give every inner node the hull of its children, level by level from the leaves up. A missing
    leaf is an empty range at the end of memory, which changes no hull."""
    level = first_leaf
    while level > 0:
        above = level // 2
        nodes["lo"][above:level] = nodes["lo"][level : 2 * level + 1].reshape(-1, 2).min(axis=1)
        nodes["hi"][above:level] = nodes["hi"][level : 2 * level + 1].reshape(-1, 2).max(axis=1)
        level = above
