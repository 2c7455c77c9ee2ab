"""What kernels that look which slots live (``heap.slot_lists``) have in common: chunks of the bytes
that say so, sums, and which of several regions a thread is for."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ..heap.slot_lists import CHUNK, GROUP
from ..targets.base import I64, POINTER
from ..targets.warp import Lanes

I8, I32 = ir.IntType(8), ir.IntType(32)
WORD = 8
GROUP_SHIFT = GROUP.bit_length() - 1
_BYTES = 4
_WORDS = ir.VectorType(I32, 4)
_VECTOR = 16
"""Bytes of such a vector."""
EACH = 0x01010101
"""Times a byte: in each byte of a word."""
_BITS = 0x10204080
"""Times a word of bytes that are 0 or 1: in its highest four bits one for each of them."""
REGIONS = (1, 2, 4)
"""How many one launch looks at: there is a kernel for each number, in which regions for which there
are no threads stand behind those that there are."""
AT_ONCE = 8
"""Rows of slots whose numbers warps write in one round of a loop, and of sums that they add."""


def pointer_to(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, size: int) -> ir.Value:
    return builder.inttoptr(builder.add(base, builder.mul(index, I64(size))), POINTER)


def bits_of(builder: ir.IRBuilder, word: ir.Value, state: int) -> ir.Value:
    """1 in each byte of ``word`` that has the bit ``state``."""
    shifted = builder.lshr(word, I32(state.bit_length() - 1))
    return builder.and_(shifted, I32(EACH))


class Chunk:
    """The bytes of a thread's chunk, which it loads at once; zero where it has none."""

    def __init__(self, builder: ir.IRBuilder, live: ir.Value, chunk: ir.Value, is_one: ir.Value):
        self._builder = builder
        self._loaded = []
        self.words: list[ir.Value] = []
        for place in range(CHUNK // _VECTOR):
            at = builder.add(builder.mul(chunk, I64(CHUNK // _VECTOR)), I64(place))
            pointer = pointer_to(builder, live, at, _VECTOR)
            vector = builder.load(pointer, typ=_WORDS, align=_VECTOR)
            self._loaded.append((pointer, vector))
            for number in range(_WORDS.count):
                word = builder.extract_element(vector, I32(number))
                self.words.append(builder.select(is_one, word, I32(0)))

    def slots(self, ones: Sequence[ir.Value]) -> ir.Value:
        """A bit for each slot; of each word ``ones`` has 1 in the bytes of some."""
        builder, found = self._builder, I32(0)
        for place, each in enumerate(ones):
            bits = builder.lshr(builder.mul(each, I32(_BITS)), I32(28))
            found = builder.or_(found, builder.shl(bits, I32(_BYTES * place)))
        return found

    def store(self, words: Sequence[ir.Value]) -> None:
        """Make these of the words, where they are others."""
        builder = self._builder
        for place, (pointer, vector) in enumerate(self._loaded):
            first = _WORDS.count * place
            changed: ir.Value = I32(0)
            for number in range(first, first + _WORDS.count):
                differs = builder.xor(words[number], self.words[number])
                changed = builder.or_(changed, differs)
                vector = builder.insert_element(vector, words[number], I32(number - first))
            with builder.if_then(is_any(builder, changed)):
                builder.store(vector, pointer, align=_VECTOR)


def own_region(
    builder: ir.IRBuilder, count: int, leaves: list[ir.Value], thread: ir.Value
) -> tuple[ir.Value, list[ir.Value], ir.Value]:
    """The number of the region that a thread is for, of so many, what the leaves have for that, and
    the thread's number in it. The leaves of each begin with its first thread."""
    size = len(leaves) // count
    regions = [leaves[first : first + size] for first in range(0, len(leaves), size)]
    number: ir.Value = I64(0)
    own = regions[0]
    for place, region in enumerate(regions[1:], 1):
        is_here = builder.icmp_unsigned(">=", thread, region[0])
        number = builder.select(is_here, I64(place), number)
        own = [builder.select(is_here, a, b) for a, b in zip(region, own, strict=True)]
    return number, own[1:], builder.sub(thread, own[0])


def is_any(builder: ir.IRBuilder, word: ir.Value) -> ir.Value:
    return builder.icmp_unsigned("!=", word, word.type(0))


def load_sum(builder: ir.IRBuilder, pointer: ir.Value, size: int) -> ir.Value:
    """i32: a sum of so many bytes."""
    found = builder.load(pointer, typ=ir.IntType(8 * size))
    return found if size == 4 else builder.zext(found, I32)


def emit_sum_before(builder: ir.IRBuilder, warp: Lanes, sums: ir.Value, stop: ir.Value) -> ir.Value:
    """The first sums, before number ``stop``, which is the same for all threads of a warp."""
    lane = builder.zext(warp.lane(builder), I64)
    before = builder.block
    test, add, done = (builder.append_basic_block(name) for name in ("test", "add", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    place, total = builder.phi(I64), builder.phi(I32)
    place.add_incoming(I64(0), before)
    total.add_incoming(I32(0), before)
    builder.cbranch(builder.icmp_unsigned("<", place, stop), add, done)
    builder.position_at_end(add)
    count: ir.Value = total
    for number in range(0, AT_ONCE * warp.width, warp.width):
        own = builder.add(builder.add(place, lane), I64(number))
        is_one = builder.icmp_unsigned("<", own, stop)
        at = pointer_to(builder, sums, builder.select(is_one, own, place), 4)
        found = load_sum(builder, at, 4)
        count = builder.add(count, builder.select(is_one, found, I32(0)))
    total.add_incoming(count, add)
    place.add_incoming(builder.add(place, I64(AT_ONCE * warp.width)), add)
    builder.branch(test)
    builder.position_at_end(done)
    return builder.zext(warp.reduce(builder, "add", total), I64)
