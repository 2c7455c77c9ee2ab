"""What kernels must know of a heap: the range table, or the list of scattered objects.

Both lie in heap memory and are written again only when the layout has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dispatch import state
from dispatch.range_table import SegmentTree, encode_stride

from ..model.classes import ClassType
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
        self._shows_classes = debug

    def show_classes(self) -> None:
        """From now on kernels can read which class extends which: debug mode."""
        if not self._shows_classes:
            self._shows_classes, self._epoch = True, -1

    def words(self) -> list[int]:
        """Up to date; the list is the caller's. Raises NoRoom. In debug mode there are more than
        ``state.WORDS``, of which other launches know nothing."""
        epoch = self._placement.layout_epoch
        if self._epoch != epoch:
            self._write()
            self._epoch = epoch
        return list(self._words)

    def drop_stale(self) -> None:
        """Free tables that are to be written anew anyway. No launch may be under way."""
        if isinstance(self._placement, ScatteredPlacement):
            self._placement.shown.drop_stale()
        if self._table is not None and self._epoch != self._placement.layout_epoch:
            self._retire(self._table)
            self._table, self._epoch = None, -1

    def _write(self) -> None:
        words = [0] * state.WORDS
        if self._shows_classes:
            words += [0] * (1 + state.CLASSES - len(words))
        classes = _base_classes(self._placement.holders() if self._shows_classes else [])
        table: Extent | None = None
        classes_at = 0
        if isinstance(self._placement, ByTypePlacement):
            nodes = _tree(self._placement).nodes
            table, (words[state.RANGE_TREE], classes_at) = self._stored(nodes, classes)
            words[state.RANGE_TREE_SIZE] = len(nodes)
            wholes = self._pieces.words()
            words[state.WHOLES : state.WHOLES + len(wholes)] = wholes
            words[state.REFERENCE_BASE] = self._encoding.base
        else:
            shown = self._placement.shown
            if self._debug:
                shown.write()  # else those launches have it written that look at it
                table, (classes_at,) = self._stored(classes)
            words[state.REGISTRY], words[state.REGISTRY_SIZE] = shown.address, shown.count
        if self._shows_classes:
            words[state.CLASSES] = classes_at
        if self._table is not None:
            self._retire(self._table)
        self._words, self._table = words, table

    def _stored(
        self, *tables: np.ndarray[tuple[int], np.dtype[np.generic]]
    ) -> tuple[Extent | None, list[int]]:
        """A copy of tables one after another, in memory of their own, and their addresses; no
        memory, and 0, if the first is empty."""
        if len(tables[0]) == 0:
            return None, [0] * len(tables)
        size = sum(table.nbytes for table in tables)
        extent = self._extents.allocate(size, from_top=True)
        try:
            self._residency.host_uses(extent.address, extent.address, extent.address + size)
            addresses, end = [], 0
            for table in tables:
                addresses.append(extent.address + end)
                start, end = end, end + table.nbytes
                extent.memory[start:end] = np.ascontiguousarray(table).view(np.uint8)
        except BaseException:
            self._extents.free(extent)
            raise
        return extent, addresses


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


def _base_classes(classes: Sequence[ClassType]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The type index of the base of each of these classes, and of theirs, by type index."""
    every = [each for cls in classes for each in cls.ancestry()]
    bases = np.zeros(1 + max((cls.type_index for cls in every), default=-1), np.uint32)
    for cls in every:
        bases[cls.type_index] = 0 if cls.base is None else cls.base.type_index
    return bases
