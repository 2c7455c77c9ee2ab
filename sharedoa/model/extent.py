"""Launches along three axes: threads along y and z are rows of a launch along two.

Rows are in the order of blocks, so that a block of three axes is one of two: row

    ((z block * blocks + y block) * block_depth + z in it) * block_height + y in it

Kernels that ask for ``oa.grid(3)`` have an ``Extent`` as their first parameter.
"""

from __future__ import annotations

from .structs import value
from .type_names import u32

#: The parameter's name, which no user's can be.
EXTENT = "launch extent"


@value
class Extent:
    """Threads along y and z, those of a block, and blocks along y. Rows beyond the threads, which
    are there where blocks do not fit, run nothing."""

    height: u32
    depth: u32
    block_height: u32
    block_depth: u32
    blocks: u32

    def y(self, row: u32) -> u32:
        block = row // (self.block_height * self.block_depth)
        return block % self.blocks * self.block_height + row % self.block_height

    def z(self, row: u32) -> u32:
        block = row // (self.block_height * self.block_depth)
        within = row // self.block_height % self.block_depth
        return block // self.blocks * self.block_depth + within

    def holds(self, row: u32) -> bool:
        return self.y(row) < self.height and self.z(row) < self.depth
