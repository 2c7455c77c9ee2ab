"""Address ranges to look up in: K of them, touching or with gaps, of equal or of mixed sizes."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from dispatch.range_table import NO_TYPE, SegmentTree

BASE = 0x7F00_0000_0000
COUNTS = range(1, 65)
GAPS = {"touching": 0, "gapped": 24}


@dataclass(frozen=True)
class Ranges:
    """Sorted half-open ranges; range k holds objects of type 100 + k."""

    starts: list[int]
    ends: list[int]

    @property
    def type_indices(self) -> list[int]:
        return [100 + k for k in range(len(self.starts))]

    def tree(self) -> SegmentTree:
        zeros = [0] * len(self.starts)
        return SegmentTree.build(self.starts, self.ends, self.type_indices, zeros, zeros)

    def inside(self) -> list[int]:
        """The first, a middle and the last byte of every range."""
        return [
            address
            for start, end in zip(self.starts, self.ends, strict=True)
            for address in (start, (start + end) // 2, end - 1)
        ]

    def probes(self) -> list[int]:
        """All of ``inside``, one past every end and before every start, null and far addresses."""
        around = [address for end in self.ends for address in (end, end + 1)]
        around += [start - 1 for start in self.starts]
        return [*self.inside(), *around, 0, 1, BASE - 4096, 1 << 47, 2**64 - 1]

    def scan(self, address: int) -> int:
        """The type of ``address``, or 0, by looking at every range."""
        for start, end, type_index in zip(self.starts, self.ends, self.type_indices, strict=True):
            if start <= address < end:
                return type_index
        return 0

    def compare(self, address: int) -> int:
        """The same by comparing with sorted constants, as code with the bounds built in does."""
        bounds = [bound for pair in zip(self.starts, self.ends, strict=True) for bound in pair]
        # Where ranges touch, the end of one is the start of the next, which then decides.
        place = bisect_right(bounds, address)
        return self.type_indices[place // 2] if place % 2 else 0


def ranges(count: int, gap: int) -> Ranges:
    """``count`` ranges of sizes that differ up to eightfold."""
    starts, ends, at = [], [], BASE
    for k in range(count):
        starts.append(at)
        ends.append(at + 64 * (1 + k * 5 % 8))
        at = ends[-1] + gap
    return Ranges(starts, ends)


def lookup(tree: SegmentTree, address: int) -> int:
    """The type index of the range that holds ``address``, or 0."""
    lo, hi = tree.nodes["lo"], tree.nodes["hi"]
    node = 0
    while 2 * node + 1 < tree.size:
        left = 2 * node + 1
        right = left + 1
        if lo[left] <= address < hi[left]:
            node = left
        elif right < tree.size and lo[right] <= address < hi[right]:
            node = right
        else:
            return NO_TYPE
    if node < tree.size and lo[node] <= address < hi[node]:
        return int(tree.nodes["type_index"][node])
    return NO_TYPE
