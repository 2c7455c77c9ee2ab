"""Other clusters for objects that there are: bytes change places within each tile.

A cluster takes the bytes of its fields' rows, so what changes of a tile are *stretches*, each of
the clusters before and after that overlap, and every field in one is there before and after.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dispatch.dataclass import dataclass

from ..model.arrangement import Arrangement
from ..model.field_address import LANES, ROWS
from ..model.tiles import Tiles
from .extents import Extent, Extents, NoRoom
from .parallel import in_chunks
from .regions import Region
from .residency import Residency
from .transfer import Permutation, Transfer, array_column

_SCRATCH_BYTES = 32 << 20
"""What the device uses at most, unless one tile needs more: it stays in its cache."""


@dataclass(frozen=True)
class _Stretch:
    """Bytes of the record, and the fields that lie there."""

    first: int
    stop: int
    names: tuple[str, ...]


def rearrange(region: Region, after: Arrangement, extents: Extents, residency: Residency) -> None:
    """Move the values of all objects of ``region`` to where ``after`` says; it is still to be told.
    No launch may be under way. Raises DeviceError."""
    before = region.arrangement
    if not (isinstance(before, Tiles) and isinstance(after, Tiles)):
        return
    stretches = list(_changed(before, after))
    tiles = -(-region.unused_from // LANES)
    if not stretches or not tiles:
        return
    end = region.start + tiles * before.block_bytes
    transfer = residency.transfer_between(region.start, end)
    if transfer is not None:
        stretches = [
            each
            for each in stretches
            if not _by_device(
                region.start, tiles, before, after, each, extents, residency, transfer
            )
        ]
    if stretches:
        residency.host_uses(region.start, region.start, end)
        _by_host(region, tiles, before, after, stretches)


def _changed(before: Tiles, after: Tiles) -> Iterator[_Stretch]:
    first = stop = 0
    for cluster in sorted({*before.clusters} ^ {*after.clusters}, key=lambda each: each.offset):
        if cluster.offset >= stop:
            if first < stop:
                yield _stretch(before, first, stop)
            first = cluster.offset
        stop = max(stop, cluster.stop)
    if first < stop:
        yield _stretch(before, first, stop)


def _stretch(tiles: Tiles, first: int, stop: int) -> _Stretch:
    offsets = tiles.record.offsets.items()
    return _Stretch(first, stop, tuple(name for name, at in offsets if first <= at < stop))


def _by_host(
    region: Region, count: int, before: Tiles, after: Tiles, stretches: list[_Stretch]
) -> None:
    memory = region.memory
    fields = [
        tuple(
            [bits for name in stretch.names for bits in tiles.bits(memory, name)]
            for tiles in (before, after)
        )
        for stretch in stretches
    ]

    def work(first: int, stop: int) -> None:
        for sources, targets in fields:
            values = [source[first:stop].copy() for source in sources]
            for target, value in zip(targets, values, strict=True):
                target[first:stop] = value

    in_chunks(count, before.block_bytes, work)


def _by_device(
    start: int,
    tiles: int,
    before: Tiles,
    after: Tiles,
    stretch: _Stretch,
    extents: Extents,
    residency: Residency,
    transfer: Transfer,
) -> bool:
    """False, and nothing has changed, where there is no memory to do it in."""
    first, stop = ROWS.start(stretch.first), ROWS.start(stretch.stop)
    moves = [
        (size, source - first, source_step, target - first, target_step)
        for name in stretch.names
        for (size, source, source_step), (_, target, target_step) in zip(
            before.scalar_rows(name), after.scalar_rows(name), strict=True
        )
    ]
    table = np.array(moves, np.uint64).reshape(-1)
    size = stop - first
    least = table.nbytes + size
    extent = _scratch(extents, least, max(least, min(table.nbytes + tiles * size, _SCRATCH_BYTES)))
    if extent is None:
        return False
    try:
        residency.send(extent.address, extent.end)
        transfer.write([(array_column(extent.address, table.dtype, len(table)), table)])
        permutation = Permutation(
            start + first, before.block_bytes, tiles, size, extent.address, len(moves)
        )
        used = table.nbytes
        transfer.permute(permutation, extent.address + used, extent.size - used)
    finally:
        extents.free(extent)
    return True


def _scratch(extents: Extents, least: int, wanted: int) -> Extent | None:
    """``wanted`` bytes or fewer, but at least ``least``, if there are as many."""
    while True:
        try:
            return extents.allocate(wanted, from_top=True)
        except NoRoom:
            if wanted == least:
                return None
            wanted = max(least, wanted // 2)
