"""Memory by bytes, in blocks: nothing outside of a block can be read or written.

All state spaces lie in one 64-bit address space, each in a window of its own. An address of
``.const``, ``.shared``, ``.local`` or ``.param`` counts from the start of its window, so that an
address used in another space, or a generic one that was not converted, hits nothing. Global
addresses are generic ones, as on NVIDIA GPUs.
"""

from __future__ import annotations

import struct
from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import PtxFault

ADDRESS_BITS = 49
"""What the processor takes; the bits above must be zero."""

#: Where each space starts; global memory lies high, so that code may not lose upper bits.
WINDOWS = {
    "code": 0x0000_0000_4000_0000,
    "const": 0x0_1000_0000_0000,
    "param": 0x0_2000_0000_0000,
    "shared": 0x0_3000_0000_0000,
    "local": 0x0_4000_0000_0000,
    "global": 0x1_5000_0000_0000,
    "heap": 0x1_9000_0000_0000,
}
WINDOW_BYTES = 1 << 40
#: The address of the window's start, in the addresses of the space itself.
BASES = {"const", "param", "shared", "local"}
_BASE_OF = {"": 0, "global": 0, **{space: WINDOWS[space] for space in BASES}}
#: Nothing lies at the very start of a window: 0 is no address.
FIRST_OFFSET = 0x1000
UNWRITTEN = 0xCD


class AccessFault(PtxFault):
    """Memory that is not there, misaligned, in another state space, or constant."""


@dataclass(eq=False)
class Block:
    """``data`` at generic addresses ``start`` and following."""

    start: int
    data: bytearray | memoryview | bytes
    space: str
    name: str
    writable: bool = True

    def __post_init__(self) -> None:
        #: Zero once nobody may read or write there.
        self.end = self.start + len(self.data)


_NOWHERE = Block(0, b"", "", "")
_CODES = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}


def unpacking(size: int) -> Callable[[Any, int], tuple[int]]:
    """What takes a number of so many bytes from a place."""
    if size in _CODES:
        unpack: Callable[[Any, int], Any] = struct.Struct(_CODES[size]).unpack_from
        return unpack
    return lambda data, offset: (int.from_bytes(data[offset : offset + size], "little"),)


def to_generic(space: str, address: int) -> int:
    """The generic address of an address of ``space``."""
    if space not in BASES:
        return address
    if not 0 <= address < WINDOW_BYTES:
        raise AccessFault(f"{address:#x} is no address of .{space}")
    return WINDOWS[space] + address


def from_generic(space: str, address: int) -> int:
    """The address in ``space`` of a generic one that lies there."""
    if space not in BASES:
        return address
    if not in_window(space, address):
        raise AccessFault(f"the generic address {address:#x} is not in .{space}")
    return address - WINDOWS[space]


def in_window(space: str, address: int) -> bool:
    if space == "global":
        return any(in_window_of(address, name) for name in ("global", "heap"))
    return in_window_of(address, space)


def in_window_of(address: int, name: str) -> bool:
    return WINDOWS[name] <= address < WINDOWS[name] + WINDOW_BYTES


class Memory:
    """``outer``: memory that others have, too; its blocks lie elsewhere than one's own."""

    def __init__(self, outer: Memory | None = None) -> None:
        self._outer = outer
        self._starts: list[int] = []
        self._blocks: dict[int, Block] = {}
        self._next = {name: start + FIRST_OFFSET for name, start in WINDOWS.items()}

    @property
    def blocks(self) -> list[Block]:
        """One's own, in order of address."""
        return [self._blocks[start] for start in self._starts]

    def reserve(self, window: str, size: int, alignment: int) -> int:
        """An address that nobody has yet, with a gap before it."""
        start = -(-(self._next[window] + 1) // alignment) * alignment
        self._next[window] = start + size
        return start

    def add(
        self,
        start: int,
        data: bytearray | memoryview,
        space: str,
        name: str,
        writable: bool = True,
    ) -> Block:
        """``data`` becomes accessible at ``start``. Blocks may touch."""
        block = Block(start, data, space, name, writable)
        insort(self._starts, start)
        assert start not in self._blocks
        self._blocks[start] = block
        return block

    def remove(self, block: Block) -> None:
        del self._blocks[block.start]
        self._starts.remove(block.start)
        block.end = 0

    def continue_from(self, other: Memory) -> None:
        """Give out the addresses that ``other`` would give out next."""
        self._next |= other._next

    def at(self, start: int) -> Block | None:
        """The block that starts there."""
        return self._blocks.get(start)

    def find(self, space: str, address: int, size: int, alignment: int = 1) -> tuple[Block, int]:
        """The block with ``size`` bytes at an address of ``space`` ("" is generic), and where in
        it. Raises AccessFault."""
        if space in BASES:
            address = to_generic(space, address)
        if address >> ADDRESS_BITS:
            raise AccessFault(f"{address:#x} has upper bits set (tag {address >> ADDRESS_BITS})")
        if address % alignment:
            raise AccessFault(f"{address:#x} is not aligned to {alignment} bytes")
        found = self._find(address, size)
        if found is None and self._outer is not None:
            found = self._outer._find(address, size)
        if found is not None:
            block, _ = found
            if space and space != block.space:
                raise AccessFault(f"{block.name} lies in .{block.space}, not in .{space}")
            return found
        raise AccessFault(f"{size} bytes at {address:#x} {self._neighbour(address)}")

    def _find(self, address: int, size: int) -> tuple[Block, int] | None:
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        block = self._blocks[self._starts[place]]
        offset = address - block.start
        return (block, offset) if offset + size <= len(block.data) else None

    def _neighbour(self, address: int) -> str:
        if address < FIRST_OFFSET:
            return "are next to null"
        known = [self, *([] if self._outer is None else [self._outer])]
        before = [
            each._blocks[each._starts[place]]
            for each in known
            if (place := bisect_right(each._starts, address) - 1) >= 0
        ]
        if not before:
            return "lie before all memory"
        block = max(before, key=lambda block: block.start)
        return f"are not allocated ({address - block.start} bytes after the start of {block.name})"

    def load(self, space: str, address: int, size: int) -> int:
        return self.loader(space, size)(address)

    def store(self, space: str, address: int, size: int, value: int) -> None:
        self.storer(space, size)(address, value)

    def loader(self, space: str, size: int) -> Callable[[int], int]:
        """What an instruction loads by: most of its addresses lie where the one before did."""
        block, base, unpack = _NOWHERE, _BASE_OF[space], unpacking(size)

        def load(address: int) -> int:
            nonlocal block
            generic = address + base
            if block.start <= generic <= block.end - size and not generic % size:
                return unpack(block.data, generic - block.start)[0]
            block, offset = self.find(space, address, size, size)
            return unpack(block.data, offset)[0]

        return load

    def storer(self, space: str, size: int) -> Callable[[int, int], None]:
        block, base = _NOWHERE, _BASE_OF[space]

        def store(address: int, value: int) -> None:
            nonlocal block
            generic = address + base
            if not (block.start <= generic <= block.end - size) or generic % size:
                found, _ = self.find(space, address, size, size)
                if not found.writable:
                    raise AccessFault(f"{found.name} cannot be written")
                block = found
            offset = generic - block.start
            block.data[offset : offset + size] = value.to_bytes(size, "little")

        return store

    def read(self, address: int, size: int) -> bytes:
        """For the host."""
        block, offset = self.find("", address, size)
        return bytes(block.data[offset : offset + size])

    def write(self, address: int, data: bytes) -> None:
        """For the host."""
        block, offset = self.find("", address, len(data))
        block.data[offset : offset + len(data)] = data
