"""What it takes to sort arrays of one length on a device, made ready once: kernels with their
geometry, and the arrays between them. Where threads run in step ``warp_sort`` moves the keys, else
``block_sort``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..heap.arrays import Array
from ..heap.heap import Heap
from ..model.intrinsics import grid
from ..model.scalars import ScalarType, i32, i64, u32, u64
from ..runtime.kernel import Kernel, kernel
from . import block_sort, warp_sort
from .plans import Between
from .scratch import scratch
from .sort_parts import BITS, DIGITS

if TYPE_CHECKING:
    from .sorting import Keys

_COUNTING_BLOCKS = 1024
"""At most so many blocks count: each adds its counts to all others'."""
_MOST_IN_32_BITS = 1 << 30


class SortPlan:
    """Sorts numbers by the keys that ``Keys`` makes of their bits; or finds the order, an array of
    i64, in which they are sorted. Kernels over arrays of one length, and the arrays between them:
    keys and numbers of every other pass, and what tiles say of themselves in a pass and in the next
    one."""

    def __init__(self, heap: Heap, keys: Keys, length: int, has_numbers: bool) -> None:
        self._type, self._has_numbers, self._length = keys.type, has_numbers, length
        type, threads, digits = keys.type, block_sort.THREADS, DIGITS
        # What is said has two bits more than what is counted.
        said = u32 if length < _MOST_IN_32_BITS else u64
        in_step = heap.backend.target.warp is not None
        if in_step:
            each = warp_sort.keys_each(type, length, has_numbers)
        else:
            each = block_sort.keys_each(type)
        tiles = -(-length // (threads * each))
        self._passes = 1 if tiles == 1 else type.bits // BITS
        if in_step:
            move = warp_sort.kernel_of_moves(keys, said, has_numbers, tiles == 1, each)
        else:
            move = block_sort.kernel_of_moves(keys, said, has_numbers, tiles == 1)
        self._move = move[tiles * threads, threads]
        # Not a constant: unrolled, the loop over them would take registers of a quarter more.
        of_step = BITS if in_step else block_sort.HALF
        self._steps = (type.bits if tiles == 1 else BITS) // of_step
        several = self._passes > 1
        wanted = [(i32, self._passes), (i64, 1), (said, digits * self._passes if tiles > 1 else 1)]
        if tiles > 1:
            wanted += [
                (said, digits * tiles),
                (said, digits * tiles),
                (type, length if several or not has_numbers else 1),
                (type, length if several and has_numbers else 1),
                (said, length if several and has_numbers else 1),
                (said, length if several and has_numbers else 1),
            ]
        self._between = Between(*wanted)
        self.size = self._between.size
        self._clear = self._count = self._copy = None
        # Kernels leave what they counted in, and one of the two words of each tile, as zeros.
        self._is_clean, self._is_turned = False, False
        if tiles > 1:
            self._clear = _kernel_of_zeros(said)[digits * max(tiles, self._passes)]
            blocks = min(tiles, _COUNTING_BLOCKS)
            count = block_sort.kernel_of_counts(keys, said, has_numbers)
            self._count = count[blocks * threads, threads]
        if self._passes % 2 and tiles > 1 and not has_numbers:
            self._copy = _kernel_of_copies(type)[length]

    def __call__(self, values: Array) -> Array | None:
        heap, length = values._heap, self._length
        keys = Array(heap, self._type, values._storage, values._address, length)
        if self._has_numbers:
            order = scratch(heap, i64, length)
            self._move_all(keys, self._between.arrays(heap), order)
            return order
        between = self._between.arrays(heap)
        self._move_all(keys, between, between[1])
        values._note_change()
        return None

    def _move_all(self, values: Array, between: list[Array], order: Array) -> None:
        length = self._length
        tickets, _, totals, *rest = between
        if self._clear is None or self._count is None:
            self._move(
                values, totals, length, 0, 1, self._steps, totals, tickets, totals, totals, values,
                totals, order,
            )  # fmt: skip
            return
        said, other, to, spare, numbers, numbers_to = rest
        if self._is_turned:
            said, other = other, said
        if not self._is_clean:
            self._clear(totals, said)
        self._count(values, length, totals, tickets)
        source, into = values, to
        for place in range(self._passes):
            is_last = int(place == self._passes - 1)
            self._move(
                source, numbers, length, place, is_last, self._steps, totals, tickets, said,
                other, into, numbers_to, order,
            )  # fmt: skip
            source, into = into, spare if self._has_numbers and place == 0 else source
            numbers, numbers_to = numbers_to, numbers
            said, other = other, said
        if self._copy is not None:
            self._copy(to, values)
        self._is_clean, self._is_turned = True, self._is_turned != bool(self._passes % 2)


@cache
def _kernel_of_copies(U: ScalarType) -> Kernel:
    @kernel
    def kernel_copy(source: Array[U], target: Array[U]) -> None:
        i = grid(1)
        target[i] = source[i]

    return kernel_copy


@cache
def _kernel_of_zeros(S: ScalarType) -> Kernel:
    @kernel
    def kernel_clear(totals: Array[S], said: Array[S]) -> None:
        i = grid(1)
        if i < len(totals):
            totals[i] = S(0)
        if i < len(said):
            said[i] = S(0)

    return kernel_clear
