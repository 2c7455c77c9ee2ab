"""Where a field of an object lies: the one formula, for compiler, NumPy views, transfers, sampling.

Objects lie in *blocks*. In AoS a block is one record. In AoSoA (layout ``tile``) it has 32 *lanes*:
every scalar of the record has a row with those of 32 neighbours side by side, so that a warp that
walks them reads whole lines, and fields stay where they are in subclasses. Fields of a cluster
(``model.clusters``) lie in the block as an AoS of their own. A block of 32 begins at a multiple of
128, and the address of its object in lane l is block + 4 l: its scalars of 4 bytes are at address +
a constant, and of other sizes the address itself tells the lane.

The scalar of s bytes that lies c bytes into the record is, for the object at address A in lane l,

    A + scale * c + constant + (lane_bytes - 4) * l

               scale   constant   lane_bytes
    AoS            1          0            -    (there is one lane)
    rows          32          0            s
    cluster        1       31 o            w    (of w bytes from byte o of the record on)

Parts of compounds have a c of their own: members of value structs, elements of inline arrays, and
the two words of an array (``model.record``).
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from dispatch.dataclass import dataclass
from dispatch.range_table import TILE_OBJECTS, TILE_STEP

from .clusters import Cluster
from .emitted import Emitted
from .spelled import Spelled

LANES = TILE_OBJECTS
"""Objects of a block of AoSoA."""
WORD = TILE_STEP
"""Bytes between the addresses of neighbours in a block."""
ROW_BYTES = LANES * WORD
"""Bytes of a row of words, of which the address of a block is a multiple."""
WIDEST_ACCESS = 16
"""The most bytes that one access of a device takes at once."""
#: An address or a distance in bytes: Python's, one of each lane, or in a program that is being
#: generated, of LLVM or of Python.
N = TypeVar("N", int, np.ndarray[Any, np.dtype[np.uint64]], Emitted, Spelled)


@dataclass(frozen=True)
class Addressing:
    """How some scalars of a record lie: in blocks of so many ``lanes``, in ``cluster`` or, without
    one, in rows. Offsets are bytes into the record."""

    lanes: int
    cluster: Cluster | None = None

    @property
    def scale(self) -> int:
        """How many times as far apart as in the record elements and members of a field are."""
        return self.lanes if self.cluster is None else 1

    def start(self, offset: N) -> N:
        """Bytes from the block to the scalar of lane 0, and from an object of AoS to its own."""
        constant = 0 if self.cluster is None else (self.lanes - 1) * self.cluster.offset
        return offset * self.scale + constant

    def lane_bytes(self, size: int) -> int:
        """Bytes between the scalars of ``size`` bytes of neighbours in a block."""
        return size if self.cluster is None else self.cluster.width

    def begin(self, object: N, offset: Any) -> N:
        """The address of what lies at ``offset``, less what depends on the sizes of its scalars:
        ``scale * d`` further begins what lies d bytes further, and ``address_of_scalar`` is
        complete."""
        if self.cluster is not None:
            object = _plus_lane(object, object, self.cluster.width - WORD)
        begun: N = object + self.start(offset)
        return begun

    def address_of_scalar(self, begun: N, object: N, size: int) -> N:
        """The address of a scalar of ``size`` bytes that begins at ``begun``, as ``begin`` says."""
        if self.lanes == 1 or self.cluster is not None:
            return begun
        if size == WORD // 2:
            # The distance is a bit field of the address, which a GPU takes out at once.
            return begun - ((object & (ROW_BYTES - 1)) >> 1)
        return _plus_lane(begun, object, size - WORD)

    def address(self, object: N, offset: Any, size: int) -> N:
        """The address of the scalar of ``size`` bytes at ``offset``."""
        return self.address_of_scalar(self.begin(object, offset), object, size)

    def multiple(self, offset: int, size: int, of_object: int = 1) -> int:
        """A power of two that divides the address of the scalar of ``size`` bytes at ``offset``, if
        ``of_object`` divides that of an object of AoS."""
        if self.lanes == 1:
            return math.gcd(of_object, offset)
        if self.cluster is None:
            return math.gcd(ROW_BYTES, size)
        inside = offset - self.cluster.offset
        return math.gcd(WIDEST_ACCESS, self.cluster.width, inside)

    def view(
        self,
        memory: np.ndarray[Any, np.dtype[np.uint8]],
        block_bytes: int,
        dtype: np.dtype[Any],
        offset: int,
        shape: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
    ) -> np.ndarray[Any, Any]:
        """What lies at ``offset`` in each of the blocks in ``memory``, of shape (blocks, lanes,
        *shape), in AoS (blocks, *shape): items of ``dtype`` that are so many ``strides`` apart in
        the record; in rows they must be scalars."""
        lanes = () if self.lanes == 1 else ((self.lanes, self.lane_bytes(dtype.itemsize)),)
        inner = ((n, self.scale * step) for n, step in zip(shape, strides, strict=True))
        lengths, steps = zip((len(memory) // block_bytes, block_bytes), *lanes, *inner, strict=True)
        return np.ndarray(lengths, dtype, memory.data, self.start(offset), steps)


RECORDS = Addressing(1)
ROWS = Addressing(LANES)


def _plus_lane(start: N, object: N, distance: int) -> N:
    """``start`` + ``distance`` * the lane of ``object``."""
    if distance == 0:
        return start
    in_row, bytes = object & (ROW_BYTES - 1), abs(distance)
    if bytes % WORD == 0:
        part = in_row * (bytes // WORD)
    else:
        part = (in_row >> WORD.bit_length() - 1) * bytes
    # NumPy's unsigned numbers are not multiplied by negative ones.
    return start + part if distance > 0 else start - part
