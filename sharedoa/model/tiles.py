"""Tiles: AoSoA with blocks of 32 objects, every scalar of their records in a row of its own.

Where they lie says ``model.field_address``; the rows of some scalars may be clusters instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from .arrangement import Addresses, Memory, Slots, SlotValues, slot_numbers
from .clusters import Cluster
from .emitted import Emitted
from .field_address import LANES as LANES
from .field_address import ROW_BYTES, ROWS, Addressing
from .field_address import WORD as WORD
from .record import Component, Header, Record, Scalar, scalar_parts, scalars

_I32 = ir.IntType(32)
_LANE_SHIFT, _WORD_SHIFT = LANES.bit_length() - 1, WORD.bit_length() - 1
#: Bits of an offset in a tile that no object's first byte has.
_OUTSIDE_OF_ROW = np.uint64(~(ROW_BYTES - WORD) % (1 << 64))


def emit_scalar_address(builder: Any, begun: Any, object_address: Any, size: int) -> Any:
    """LLVM i64: ``Addressing.address_of_scalar`` of a scalar in a row."""
    begun, object_address = Emitted(builder, begun), Emitted(builder, object_address)
    return ROWS.address_of_scalar(begun, object_address, size).value


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
        first = builder.and_(reference, constant(-ROW_BYTES))
        start = builder.add(first, tile)
        return builder.or_(start, builder.zext(lane, constant))
    in_row = builder.and_(reference, constant(ROW_BYTES - 1))
    slot = builder.add(builder.lshr(in_row, constant(_WORD_SHIFT)), position)
    tile = builder.mul(builder.lshr(slot, constant(_LANE_SHIFT)), constant(LANES * record_size))
    lane = builder.shl(builder.and_(slot, constant(LANES - 1)), constant(_WORD_SHIFT))
    first = builder.sub(reference, in_row)
    return builder.add(builder.add(first, tile), lane)


class Tiles:
    """Tiles one after another (``model.arrangement.Arrangement``)."""

    is_tiled = True
    lanes = LANES

    def __init__(self, record: Record, header: Header, clusters: Sequence[Cluster] = ()) -> None:
        """``clusters``: disjoint; all other scalars have rows."""
        assert record.size % WORD == 0
        self.record = record
        self.clusters = tuple(clusters)
        self.block_bytes = LANES * record.size
        self._whole = _whole_dtype(record, header)

    def addresses(self, start: int, slots: Slots) -> Addresses:
        if isinstance(slots, slice) and slots.step == 1:
            first, last = slots.start // LANES, -(-slots.stop // LANES)
            tiles = np.arange(first, last, dtype=np.uint64) * np.uint64(self.block_bytes)
            tiles += np.uint64(start)
            lanes = np.arange(0, ROW_BYTES, WORD, dtype=np.uint64)
            skipped = first * LANES
            every: Addresses = (tiles[:, None] + lanes).reshape(-1)
            return every[slots.start - skipped : slots.stop - skipped]
        numbers = slot_numbers(slots)
        tile, lane = numbers >> _LANE_SHIFT, numbers & (LANES - 1)
        return (tile * self.block_bytes + lane * WORD + start).view(np.uint64)

    def slot(self, offset: int) -> int | None:
        tile, inside = divmod(offset, self.block_bytes)
        return None if inside % WORD or inside >= ROW_BYTES else tile * LANES + inside // WORD

    def slots(self, offsets: Addresses) -> tuple[Any, Any]:
        # Unsigned and in place: with many it is half of the time.
        offsets = offsets.view(np.uint64)
        slots = offsets // np.uint64(self.block_bytes)
        inside = offsets - slots * np.uint64(self.block_bytes)
        nowhere = inside & _OUTSIDE_OF_ROW != 0
        slots *= np.uint64(LANES)
        slots += inside >> _WORD_SHIFT
        return slots.view(np.int64), nowhere

    def span(self, first: int, last: int) -> tuple[int, int]:
        return first // LANES * self.block_bytes, (last // LANES + 1) * self.block_bytes

    def addressing(self, offset: int) -> Addressing:
        inside = (each for each in self.clusters if each.offset <= offset < each.stop)
        return next((Addressing(LANES, each) for each in inside), ROWS)

    def field(
        self, memory: Memory, name: str, components: tuple[Component, ...] = ()
    ) -> SlotValues:
        return self._rows(memory, *self.record.part(name, components))

    def header(self, memory: Memory, size: int) -> SlotValues:
        return self._rows(memory, 0, np.dtype(f"u{size}"))

    def records(self, memory: Memory) -> SlotValues:
        return self._rows(memory, 0, self._whole)

    def bits(self, memory: Memory, name: str) -> list[np.ndarray[Any, Any]]:
        """The scalars of a field of every slot as unsigned integers, of shape (tiles, LANES, ...):
        NumPy copies these as they are, and a bool as 0 or 1."""
        found = scalars(self.record.dtypes[name], self.record.offsets[name])
        return [self._view(memory, each).view(f"u{each.dtype.itemsize}") for each in found]

    def scalar_rows(self, name: str) -> Iterator[tuple[int, int, int]]:
        """Of every scalar of a field its bytes, where in a tile it is in lane 0, and how many bytes
        the lanes are apart."""
        for offset, size in scalar_parts(self.record.dtypes[name], self.record.offsets[name]):
            addressing = self.addressing(offset)
            yield size, addressing.start(offset), addressing.lane_bytes(size)

    def parts(self) -> Iterator[tuple[int, int, int]]:
        for offset, size in scalar_parts(self._whole, 0):
            addressing = self.addressing(offset)
            yield size, addressing.start(offset), addressing.lane_bytes(size)

    def _rows(self, memory: Memory, offset: int, dtype: np.dtype[Any]) -> TileRows:
        rows = [(each.members, self._view(memory, each)) for each in scalars(dtype, offset)]
        return TileRows(len(memory) // self.block_bytes, dtype, rows)

    def _view(self, memory: Memory, each: Scalar) -> np.ndarray[Any, Any]:
        addressing, tile = self.addressing(each.offset), self.block_bytes
        return addressing.view(memory, tile, each.dtype, each.offset, each.shape, each.strides)


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
                _member(found, members)[...] = rows[_tile_and_lane(slots)]
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
                part[...] = rows[_tile_and_lane(slot_numbers(slots))]
        return found

    def _blank(self, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        # Padding of structures is not read, and must not show what lay there before.
        return (np.zeros if self.dtype.fields else np.empty)(shape, self.dtype)

    def __setitem__(self, slots: Any, values: Any) -> None:
        given = np.asarray(values, self.dtype)
        if isinstance(slots, (int, np.integer, tuple)):
            slot, *element = slots if isinstance(slots, tuple) else (slots,)
            for members, rows in self._rows:
                rows[(*_tile_and_lane(slot), *element)] = _member(given, members)
            return
        given = np.broadcast_to(given, (_count(slots), *self.shape[1:]))
        for members, rows in self._rows:
            part = _member(given, members)
            if isinstance(slots, slice) and slots.step == 1:
                for tiles, lanes, where in _stretches(slots.start, slots.stop):
                    piece = rows[tiles, lanes]
                    piece[...] = part[where].reshape(piece.shape)
            else:
                rows[_tile_and_lane(slot_numbers(slots))] = part


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


def _tile_and_lane(slots: Any) -> tuple[Any, Any]:
    return slots >> _LANE_SHIFT, slots & (LANES - 1)


def _count(slots: Slots) -> int:
    if isinstance(slots, slice):
        return len(range(slots.start, -1 if slots.stop is None else slots.stop, slots.step))
    return len(slots)


def _stretches(first: int, stop: int) -> Iterator[tuple[slice, slice, slice]]:
    """Consecutive slots as rectangles: tiles, lanes, and which of the slots these are. They are the
    end of a tile, whole tiles and the beginning of one."""
    slot = first
    while slot < stop:
        tile, lane = divmod(slot, LANES)
        if lane == 0 and stop - slot >= LANES:
            end = stop // LANES * LANES
            tiles, lanes = slice(tile, end // LANES), slice(0, LANES)
        else:
            end = min((tile + 1) * LANES, stop)
            tiles, lanes = slice(tile, tile + 1), slice(lane, lane + end - slot)
        yield tiles, lanes, slice(slot - first, end - first)
        slot = end
