"""Integer instructions: from bits to bits. Each maker gets the type and gives a function."""

from __future__ import annotations

import operator
from collections.abc import Callable

from .errors import UnsupportedInstruction
from .numbers import Type, signed

Operation = Callable[..., int]


def add(t: Type) -> Operation:
    mask = t.mask
    return lambda a, b: (a + b) & mask


def subtract(t: Type) -> Operation:
    mask = t.mask
    return lambda a, b: (a - b) & mask


def multiply(t: Type, part: str) -> Operation:
    """``part``: lo, hi or wide."""
    bits, mask = t.bits, t.mask
    read = _reader(t)
    if part == "lo":
        return lambda a, b: (a * b) & mask
    if part == "hi":
        return lambda a, b: ((read(a) * read(b)) >> bits) & mask
    wide = (1 << 2 * bits) - 1
    return lambda a, b: (read(a) * read(b)) & wide


def multiply_add(t: Type, part: str) -> Operation:
    product = multiply(t, part)
    mask = t.mask if part != "wide" else (1 << 2 * t.bits) - 1
    return lambda a, b, c: (product(a, b) + c) & mask


def divide(t: Type) -> Operation:
    read, mask = _reader(t), t.mask

    def run(a: int, b: int) -> int:
        if not b:
            return mask  # what NVIDIA GPUs give
        left, right = read(a), read(b)
        quotient = abs(left) // abs(right)
        return (quotient if (left < 0) == (right < 0) else -quotient) & mask

    return run


def remainder(t: Type) -> Operation:
    read, mask = _reader(t), t.mask

    def run(a: int, b: int) -> int:
        if not b:
            return a
        left, right = read(a), read(b)
        rest = abs(left) % abs(right)
        return (-rest if left < 0 else rest) & mask

    return run


def smallest(t: Type) -> Operation:
    read = _reader(t)
    return lambda a, b: min(a, b, key=read)


def largest(t: Type) -> Operation:
    read = _reader(t)
    return lambda a, b: max(a, b, key=read)


def negate(t: Type) -> Operation:
    mask = t.mask
    return lambda a: -a & mask


def absolute(t: Type) -> Operation:
    read, mask = _reader(t), t.mask
    return lambda a: abs(read(a)) & mask


def bitwise(name: str) -> Callable[[Type], Operation]:
    function: Operation = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[name]
    return lambda t: function


def invert(t: Type) -> Operation:
    mask = t.mask
    return lambda a: a ^ mask


def shift_left(t: Type) -> Operation:
    bits, mask = t.bits, t.mask
    return lambda a, n: (a << n) & mask if n < bits else a & 0


def shift_right(t: Type) -> Operation:
    bits, mask, read = t.bits, t.mask, _reader(t)
    return lambda a, n: (read(a) >> min(n, bits)) & mask


def funnel_shift(to_left: bool, wrap: bool) -> Operation:
    def run(low: int, high: int, count: int) -> int:
        count = count & 31 if wrap else min(count, 32)
        both = high << 32 | low
        return (both << count >> 32 if to_left else both >> count) & 0xFFFF_FFFF

    return run


def extract(t: Type) -> Operation:
    """bfe"""

    def run(a: int, position: int, length: int) -> int:
        position, length = position & 255, length & 255
        if not length:
            return 0
        sign = a >> min(position + length - 1, t.bits - 1) & 1 if t.kind == "s" else 0
        found = (a >> position) & ((1 << length) - 1)
        if sign:
            found |= -1 << min(length, max(t.bits - position, 0))
        return found & t.mask

    return run


def insert(t: Type) -> Operation:
    """bfi"""

    def run(a: int, b: int, position: int, length: int) -> int:
        position, length = position & 255, length & 255
        field = ((1 << length) - 1) << position & t.mask
        return b & ~field | a << position & field

    return run


def permute(a: int, b: int, selector: int) -> int:
    """prmt in its default mode"""
    pieces = (b << 32 | a).to_bytes(8, "little")
    found = []
    for place in range(4):
        choice = selector >> 4 * place & 15
        piece = pieces[choice & 7]
        found.append((255 if piece & 128 else 0) if choice & 8 else piece)
    return int.from_bytes(bytes(found), "little")


def logic3(a: int, b: int, c: int, table: int) -> int:
    """lop3.b32"""
    found = 0
    for bit in range(8):
        if table >> bit & 1:
            parts = [x if bit >> n & 1 else ~x for n, x in ((2, a), (1, b), (0, c))]
            found |= parts[0] & parts[1] & parts[2]
    return found & 0xFFFF_FFFF


def count_ones(t: Type) -> Operation:
    return lambda a: a.bit_count()


def leading_zeros(t: Type) -> Operation:
    bits = t.bits
    return lambda a: bits - a.bit_length()


def first_bit(t: Type) -> Operation:
    """Of unsigned numbers the highest bit that is set, -1 if none is."""
    if t.kind == "s":
        raise UnsupportedInstruction("bfind of a signed number")
    return lambda a: (a.bit_length() - 1) & 0xFFFFFFFF


def reverse(t: Type) -> Operation:
    bits = t.bits
    return lambda a: int(format(a, f"0{bits}b")[::-1], 2)


def _reader(t: Type) -> Callable[[int], int]:
    """The number that bits stand for. It raises for a register that was never written."""
    bits = t.bits
    return (lambda a: signed(a, bits)) if t.kind == "s" else operator.index


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "lo": operator.lt, "ls": operator.le,
    "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip


def compare(name: str, t: Type) -> Operation:
    test, read = COMPARISONS[name], _reader(t)
    return lambda a, b: test(read(a), read(b))
