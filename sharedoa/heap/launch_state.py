"""What kernels must know of a heap: the range table, or the list of scattered objects.

Both lie in heap memory and are written again only when the layout has changed since.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dispatch import state
from dispatch.range_table import SegmentTree, encode_stride

from ..model.reference import ReferenceEncoding
from .by_type import ByTypePlacement
from .extents import Extent, Extents
from .pieces import PieceFields
from .residency import Residency
from .scattered import ScatteredPlacement


class LaunchState:
    """The words that a heap contributes to a module's state block (``dispatch.state``)."""

    def __init__(
        self,
        extents: Extents,
        placement: ByTypePlacement | ScatteredPlacement,
        residency: Residency,
        debug: bool,
        retire: Callable[[Extent], None],
        pieces: PieceFields,
        encoding: ReferenceEncoding,
    ) -> None:
        self._extents = extents
        self._placement = placement
        self._residency = residency
        self._debug = debug
        self._retire = retire
        self._pieces = pieces
        self._encoding = encoding
        self._epoch = -1
        self._words = [0] * state.WORDS
        self._table: Extent | None = None

    def words(self) -> list[int]:
        """Up to date; the list is the caller's. Raises NoRoom."""
        if self._epoch != self._placement.layout_epoch:
            self._write()
            self._epoch = self._placement.layout_epoch
        return list(self._words)

    def drop_stale(self) -> None:
        """Free a table that is to be written anew anyway. No launch may be under way."""
        if self._table is not None and self._epoch != self._placement.layout_epoch:
            self._retire(self._table)
            self._table, self._epoch = None, -1

    def _write(self) -> None:
        words = [0] * state.WORDS
        old = self._table
        if isinstance(self._placement, ByTypePlacement):
            nodes = _tree(self._placement).nodes
            words[state.RANGE_TREE] = self._store(nodes)
            words[state.RANGE_TREE_SIZE] = len(nodes)
            wholes = self._pieces.words()
            words[state.WHOLES : state.WHOLES + len(wholes)] = wholes
            words[state.REFERENCE_BASE] = self._encoding.base
        elif self._debug:
            addresses = self._placement.addresses()
            words[state.REGISTRY] = self._store(addresses)
            words[state.REGISTRY_SIZE] = len(addresses)
        self._words = words
        if old is not None:
            self._retire(old)

    def _store(self, table: np.ndarray[tuple[int], np.dtype[np.generic]]) -> int:
        """Copy a table to memory of its own; the result is its address, 0 for an empty one."""
        if len(table) == 0:
            self._table = None
            return 0
        self._table = extent = self._extents.allocate(table.nbytes, from_top=True)
        self._residency.host_uses(extent.address, extent.address, extent.address + table.nbytes)
        extent.memory[: table.nbytes] = np.ascontiguousarray(table).view(np.uint8)
        return extent.address


def _tree(placement: ByTypePlacement) -> SegmentTree:
    regions = list(placement.all_regions())
    return SegmentTree.build(
        [region.start for region in regions],
        [region.end for region in regions],
        [region.cls.type_index for region in regions],
        [
            encode_stride(region.arrangement.record.size, region.arrangement.is_tiled)
            for region in regions
        ],
        [0 if region.live_extent is None else region.live_extent.address for region in regions],
    )
