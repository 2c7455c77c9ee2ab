"""Tiles: 32 objects side by side, every scalar of their records in a row of its own.

A scalar of s bytes that lies c bytes into the record is, for lane l of a tile, at

    tile + 32 * c + s * l

so a warp that walks 32 neighbours reads whole lines, and fields stay where they are in subclasses.
An object's address is tile + 4 * l; a tile begins at a multiple of 128. So its scalars of 4 bytes
are at address + a constant, and of other sizes the address itself tells the lane.

The rows of some scalars may be a cluster instead (``model.clusters``): of w bytes from byte o of
the record on, byte c is for lane l at

    tile + 32 * o + w * l + (c - o)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from .arrangement import Addresses, Memory, Slots, SlotValues, slot_numbers
from .clusters import Cluster
from .record import Component, Header, Record, Scalar, scalars

LANES = 32
"""Objects of a tile, and how many times as far apart as in the record its scalars begin."""
WORD = 4
"""Bytes between the addresses of neighbours. The size of a record is a multiple of it."""
_ROW = LANES * WORD
_I32 = ir.IntType(32)
_LANE_SHIFT, _WORD_SHIFT = LANES.bit_length() - 1, WORD.bit_length() - 1


def emit_scalar_address(builder: Any, place: Any, object_address: Any, size: int) -> Any:
    """LLVM i64: the address of a scalar of ``size`` bytes of the object at ``object_address``;
    ``place`` is that address + LANES * the scalar's offset in the record."""
    constant = place.type
    if size == WORD:
        return place
    in_row = builder.and_(object_address, constant(_ROW - 1))
    if size == 8:
        return builder.add(place, in_row)
    if size == 2:
        return builder.sub(place, builder.lshr(in_row, constant(1)))
    assert size == 1
    lane = builder.lshr(in_row, constant(_WORD_SHIFT))
    return builder.sub(place, builder.mul(lane, constant(WORD - 1)))


def scalar_addresses(
    objects: Addresses, offsets: Addresses, size: int, cluster: Cluster | None
) -> Addresses:
    """Where scalars of ``size`` bytes lie, ``offsets`` bytes into the records of ``objects``: in
    ``cluster``, or in rows."""
    lane = (objects & np.uint64(_ROW - 1)) >> np.uint64(_WORD_SHIFT)
    found: Addresses = objects - lane * np.uint64(WORD)
    if cluster is None:
        found += np.uint64(LANES) * offsets
        found += lane * np.uint64(size)
    else:
        found += np.uint64((LANES - 1) * cluster.offset) + offsets
        found += lane * np.uint64(cluster.width)
    return found


def emit_cluster_address(builder: Any, object_address: Any, cluster: Cluster) -> Any:
    """LLVM i64: where the bytes of a cluster begin for the object at ``object_address``, less
    LANES * the cluster's offset, so that all of one object's are that plus a constant."""
    constant = object_address.type
    in_row = builder.and_(object_address, constant(_ROW - 1))
    if cluster.width % WORD:
        lane = builder.lshr(in_row, constant(_WORD_SHIFT))
        further = builder.mul(lane, constant(cluster.width - WORD))
    elif cluster.width == WORD:
        return object_address
    else:
        further = builder.mul(in_row, constant(cluster.width // WORD - 1))
    return builder.add(object_address, further)


def emit_neighbour(
    builder: Any, reference: Any, position: Any, record_size: int, near: bool
) -> Any:
    """As ``Layout.emit_neighbour``, in tiles of records of that size; ``near`` is as in
    ``RunForm``."""
    constant = reference.type
    if near:
        slot = builder.trunc(position, _I32)
        number, size = builder.lshr(slot, _I32(_LANE_SHIFT)), LANES * record_size
        if size & (size - 1):
            # A product of 64 bits of numbers of 32: GPUs add it to an address in one instruction.
            tile = builder.mul(builder.zext(number, constant), constant(size))
        else:
            # LLVM makes it a mask, which is cheaper for 32 bits.
            tile = builder.zext(builder.mul(number, _I32(size)), constant)
        lane = builder.shl(builder.and_(slot, _I32(LANES - 1)), _I32(_WORD_SHIFT))
        # The mask changes nothing; it tells LLVM that the lane is all that the lowest bits hold.
        first = builder.and_(reference, constant(-_ROW))
        start = builder.add(first, tile)
        return builder.or_(start, builder.zext(lane, constant))
    in_row = builder.and_(reference, constant(_ROW - 1))
    slot = builder.add(builder.lshr(in_row, constant(_WORD_SHIFT)), position)
    tile = builder.mul(builder.lshr(slot, constant(_LANE_SHIFT)), constant(LANES * record_size))
    lane = builder.shl(builder.and_(slot, constant(LANES - 1)), constant(_WORD_SHIFT))
    first = builder.sub(reference, in_row)
    return builder.add(builder.add(first, tile), lane)


class Tiles:
    """Tiles one after another (``model.arrangement.Arrangement``)."""

    is_tiled = True
    group = LANES

    def __init__(self, record: Record, header: Header, clusters: Sequence[Cluster] = ()) -> None:
        """``clusters``: disjoint; all other scalars have rows."""
        assert record.size % WORD == 0
        self.record = record
        self.clusters = tuple(clusters)
        self.group_bytes = LANES * record.size
        self._whole = _whole_dtype(record, header)

    def addresses(self, start: int, slots: Slots) -> Addresses:
        if isinstance(slots, slice) and slots.step == 1:
            first, last = slots.start // LANES, -(-slots.stop // LANES)
            tiles = np.arange(first, last, dtype=np.uint64) * np.uint64(self.group_bytes)
            tiles += np.uint64(start)
            lanes = np.arange(0, _ROW, WORD, dtype=np.uint64)
            skipped = first * LANES
            every: Addresses = (tiles[:, None] + lanes).reshape(-1)
            return every[slots.start - skipped : slots.stop - skipped]
        numbers = slot_numbers(slots)
        tile, lane = numbers >> _LANE_SHIFT, numbers & (LANES - 1)
        return (tile * self.group_bytes + lane * WORD + start).view(np.uint64)

    def slot(self, offset: int) -> int | None:
        tile, inside = divmod(offset, self.group_bytes)
        return None if inside % WORD or inside >= _ROW else tile * LANES + inside // WORD

    def slots(self, offsets: Addresses) -> tuple[Any, Any]:
        tile, inside = np.divmod(offsets.view(np.int64), self.group_bytes)
        nowhere = (inside & (WORD - 1) != 0) | (inside >= _ROW)
        return tile * LANES + (inside >> _WORD_SHIFT), nowhere

    def span(self, first: int, last: int) -> tuple[int, int]:
        return first // LANES * self.group_bytes, (last // LANES + 1) * self.group_bytes

    def field(
        self, memory: Memory, name: str, components: tuple[Component, ...] = ()
    ) -> SlotValues:
        return self._rows(memory, *self.record.place(name, components))

    def header(self, memory: Memory, size: int) -> SlotValues:
        return self._rows(memory, 0, np.dtype(f"u{size}"))

    def records(self, memory: Memory) -> SlotValues:
        return self._rows(memory, 0, self._whole)

    def cluster(self, offset: int) -> Cluster | None:
        return next((each for each in self.clusters if each.offset <= offset < each.stop), None)

    def bits(self, memory: Memory, name: str) -> list[np.ndarray[Any, Any]]:
        """The scalars of a field of every slot as unsigned integers, of shape (tiles, LANES, ...):
        NumPy copies these as they are, and a bool as 0 or 1."""
        tiles, record = len(memory) // self.group_bytes, self.record
        found = scalars(record.dtypes[name], record.offsets[name])
        return [
            self._view(memory, tiles, scalar).view(f"u{scalar.dtype.itemsize}") for scalar in found
        ]

    def places(self, name: str) -> Iterator[tuple[int, int, int]]:
        """Of every scalar of a field its bytes, where in a tile it is in lane 0, and how many bytes
        the lanes are apart."""
        for scalar in scalars(self.record.dtypes[name], self.record.offsets[name]):
            start, lane_bytes, scale = self._place(scalar)
            for element in np.ndindex(*scalar.shape):
                inside = sum(n * step for n, step in zip(element, scalar.strides, strict=True))
                yield scalar.dtype.itemsize, start + scale * inside, lane_bytes

    def _place(self, scalar: Scalar) -> tuple[int, int, int]:
        """Where in a tile it is in lane 0, how many bytes the lanes are apart, and how many times
        as far apart as in the record its elements are."""
        cluster = self.cluster(scalar.offset)
        if cluster is None:
            return LANES * scalar.offset, scalar.dtype.itemsize, LANES
        return LANES * cluster.offset + scalar.offset - cluster.offset, cluster.width, 1

    def _rows(self, memory: Memory, offset: int, dtype: np.dtype[Any]) -> TileRows:
        tiles, found = len(memory) // self.group_bytes, scalars(dtype, offset)
        rows = [(scalar.members, self._view(memory, tiles, scalar)) for scalar in found]
        return TileRows(tiles, dtype, rows)

    def _view(self, memory: Memory, tiles: int, scalar: Scalar) -> np.ndarray[Any, Any]:
        start, lane_bytes, scale = self._place(scalar)
        shape = tiles, LANES, *scalar.shape
        strides = self.group_bytes, lane_bytes, *(scale * step for step in scalar.strides)
        return np.ndarray(shape, scalar.dtype, memory.data, start, strides)


class TileRows:
    """A field of every slot, as rows of tiles (``model.arrangement.SlotValues``). What is read is a
    copy; that of one slot is read-only."""

    def __init__(
        self, tiles: int, dtype: np.dtype[Any], rows: list[tuple[tuple[str, ...], Any]]
    ) -> None:
        """``rows``: each scalar that a value of ``dtype`` consists of, by the names of the members
        that lead to it, as a view of shape (tiles, LANES, ...)."""
        self.dtype = dtype.base
        self.shape = (tiles * LANES, *dtype.shape)
        self._rows = rows

    def __getitem__(self, slots: Any) -> Any:
        if isinstance(slots, (int, np.integer)):
            found = self._blank(self.shape[1:])
            for members, rows in self._rows:
                _member(found, members)[...] = rows[_place(slots)]
            found.flags.writeable = False
            return found[()]
        found = self._blank((_count(slots), *self.shape[1:]))
        for members, rows in self._rows:
            part = _member(found, members)
            if isinstance(slots, slice) and slots.step == 1:
                for tiles, lanes, where in _stretches(slots.start, slots.stop):
                    piece = rows[tiles, lanes]
                    part[where].reshape(piece.shape)[...] = piece
            else:
                part[...] = rows[_place(slot_numbers(slots))]
        return found

    def _blank(self, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        # Padding of structures is not read, and must not show what lay there before.
        return (np.zeros if self.dtype.fields else np.empty)(shape, self.dtype)

    def __setitem__(self, slots: Any, values: Any) -> None:
        given = np.asarray(values, self.dtype)
        if isinstance(slots, (int, np.integer, tuple)):
            slot, *element = slots if isinstance(slots, tuple) else (slots,)
            for members, rows in self._rows:
                rows[(*_place(slot), *element)] = _member(given, members)
            return
        given = np.broadcast_to(given, (_count(slots), *self.shape[1:]))
        for members, rows in self._rows:
            part = _member(given, members)
            if isinstance(slots, slice) and slots.step == 1:
                for tiles, lanes, where in _stretches(slots.start, slots.stop):
                    piece = rows[tiles, lanes]
                    piece[...] = part[where].reshape(piece.shape)
            else:
                rows[_place(slot_numbers(slots))] = part


def _whole_dtype(record: Record, header: Header) -> np.dtype[Any]:
    """Everything that a record holds, header included, as one structure."""
    names, formats = list(record.offsets), list(record.dtypes.values())
    offsets = list(record.offsets.values())
    if header.size:
        # No field has a name with a space.
        names.append("the header")
        words = header.size // header.alignment
        formats.append(np.dtype((f"u{header.alignment}", (words,))))
        offsets.append(0)
    return np.dtype(
        {"names": names, "formats": formats, "offsets": offsets, "itemsize": record.size}
    )


def _member(values: Any, members: tuple[str, ...]) -> Any:
    for name in members:
        values = values[name]
    return values


def _place(slots: Any) -> tuple[Any, Any]:
    """Tile and lane."""
    return slots >> _LANE_SHIFT, slots & (LANES - 1)


def _count(slots: Slots) -> int:
    if isinstance(slots, slice):
        return len(range(slots.start, -1 if slots.stop is None else slots.stop, slots.step))
    return len(slots)


def _stretches(first: int, stop: int) -> Iterator[tuple[slice, slice, slice]]:
    """Consecutive slots as rectangles: tiles, lanes, and which of the slots these are. They are the
    end of a tile, whole tiles and the beginning of one."""
    place = first
    while place < stop:
        tile, lane = divmod(place, LANES)
        if lane == 0 and stop - place >= LANES:
            end = stop // LANES * LANES
            tiles, lanes = slice(tile, end // LANES), slice(0, LANES)
        else:
            end = min((tile + 1) * LANES, stop)
            tiles, lanes = slice(tile, tile + 1), slice(lane, lane + end - place)
        yield tiles, lanes, slice(place - first, end - first)
        place = end
