"""How many bytes a launch moves and how much it computes, estimated from its sampled threads.

Memory comes in pieces: those of ``piece`` bytes that the threads of a warp touch count once a warp
and way (read or written), whatever caches keep for others. An operation that always meets the same
place counts it once, not in every round of its loop. Operations are weighed by what they are
declared to cost, roughly in machine instructions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..heap.heap import Heap
from ..ir.core import LvalueType, Operation, Program, Region
from ..ir.operations import Effects, cost_of, kind_of
from .control import Environment, Ways
from .grouping import WARP
from .lanes import ALL, Lazy, Lvalue, Numbers, Weights, now
from .threads import Enough, Threads, given_value

_MOST_OPERATIONS = 4_000
_WARP_BIT = np.uint64(48)
"""Above all bits of addresses."""
#: Of operations that end the sampling of clusters, and whose own memory does not count here.
_UNSEEN = Effects.OWNS


class Traffic(NamedTuple):
    """Of one thread, on average. Unless ``is_whole``, there is more than was found."""

    bytes: float
    operations: float
    is_whole: bool


def traffic(
    program: Program,
    heap: Heap,
    size: tuple[int, int],
    arguments: Sequence[Any],
    piece: int,
    apart: int = 1,
) -> Traffic:
    """As ``sample``, which says what is asked of the caller."""
    threads = _Counting(program, heap, size, piece, apart)
    parameters = zip(program.kernel.parameters, arguments, strict=True)
    with np.errstate(all="ignore"):
        return threads.counted([given_value(each.type, value) for each, value in parameters])


class _Counting(Threads):
    def __init__(
        self, program: Program, heap: Heap, size: tuple[int, int], piece: int, apart: int
    ) -> None:
        super().__init__(program, heap, size, apart)
        self._left, self._piece = _MOST_OPERATIONS, np.uint64(piece)
        self._accesses = cache(_accesses)
        self._costs = cache(_costs)
        self._operations, self._is_whole = 0.0, True
        #: By operation, part of what it accesses, and whether it writes: the address in each lane
        #: and how often, for each time that it was met.
        self._visits: dict[tuple[Operation, int, bool], list[tuple[Numbers, Weights]]] = {}

    def counted(self, arguments: Sequence[Any]) -> Traffic:
        try:
            self.run_function(self._program.kernel.symbol, arguments, self._weights)
        except (Enough, RecursionError):
            self._is_whole = False
        count = math.prod(self.size)
        return Traffic(self._bytes() / count, self._operations / count, self._is_whole)

    def run_region(
        self, region: Region, environment: Environment, ways: Ways, weights: Weights
    ) -> None:
        self._operations += self._costs(region) * float(weights.sum())
        super().run_region(region, environment, ways, weights)

    def _touch(
        self, operation: Operation, given: Sequence[Lazy], weights: Weights, is_write: bool
    ) -> None:
        for operand, value in zip(operation.operands, given, strict=True):
            lvalue = now(value) if isinstance(operand.type, LvalueType) else None
            if not isinstance(lvalue, Lvalue):
                self._is_whole &= not isinstance(operand.type, LvalueType)
                continue
            if lvalue.reference is not None:
                continue  # of a run: nobody reads which object it is
            often = weights if lvalue.known is ALL else weights * lvalue.known
            for distance, size in self._parts(lvalue.type):
                self._left -= 1
                part = lvalue.part(lvalue.type, np.uint64(distance)) if distance else lvalue
                addresses = np.broadcast_to(self.memory.address(part, size), often.shape)
                known = self._visits.setdefault((operation, distance, is_write), [])
                known.append((addresses, often))

    def _bytes(self) -> float:
        """Of all pieces that some warp touches, each as often as the operation that touches it
        most."""
        read, written = (
            [self._touched(v) for (_, _, w), v in self._visits.items() if w is which]
            for which in (False, True)
        )
        return float(self._piece) * sum(
            float(_merged(each, np.maximum)[1].sum()) for each in (read, written) if each
        )

    def _touched(self, visits: Sequence[tuple[Numbers, Weights]]) -> tuple[Numbers, Weights]:
        """The pieces that one operation touches, a number for each of a warp, and how often."""
        base = np.repeat(self._weights.reshape(-1, WARP).max(axis=1), WARP)
        first = visits[0][0]
        stays = len(visits) > 1 and all(np.array_equal(each, first) for each, _ in visits)
        warps = np.arange(len(base), dtype=np.uint64) // np.uint64(WARP) << _WARP_BIT
        each_time = []
        for addresses, weights in visits:
            (lanes,) = np.nonzero(weights)
            often = np.minimum(weights, base) if stays else weights
            pieces = warps[lanes] | addresses[lanes] // self._piece
            each_time.append(_merged([(pieces, often[lanes])], np.maximum))
        pieces, sums = _merged(each_time, np.add)
        _, times = _merged([(each, np.ones(len(each))) for each, _ in each_time], np.add)
        return pieces, sums / times


def _merged(parts: Sequence[tuple[Numbers, Weights]], combine: np.ufunc) -> tuple[Numbers, Weights]:
    """Each number once, with all that it comes with combined."""
    numbers, inverse = np.unique(np.concatenate([each for each, _ in parts]), return_inverse=True)
    found = np.zeros(len(numbers))
    combine.at(found, inverse, np.concatenate([often for _, often in parts]))
    return numbers, found


def _accesses(operation: Operation) -> Sequence[bool]:
    """Whether an operation reads (False) and writes (True) what it is given lvalues of."""
    kind = kind_of(operation)
    if kind is None:
        raise Enough
    if kind.effects & _UNSEEN:
        return []
    reads = [False] if Effects.READS in kind.effects else []
    return [*reads, True] if kind.changes else reads


def _costs(region: Region) -> float:
    return float(sum(0 if each.regions else cost_of(each) for each in region.operations))
