"""Worlds for the interpreter: the objects of a program, where they lie, and what a module that the
pass has rewritten must be told about them.

A program's own kernels make its objects. Then they move, as if our heap had placed them: regions
of one class in random order, some of which touch. Every module that is run gets the same world.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random

import numpy as np

from dispatch import state
from dispatch.identify.bits import TAG_LIMIT, TAG_SHIFT
from dispatch.range_table import SegmentTree
from ptxpass.text import Rewriting

from .interpreter import Addresses, Machine
from .interpreter.memory import WINDOWS, Block

HEADER_BYTES = 8
ADDRESS_POINT = 16
_HEAP = WINDOWS["heap"] + (1 << 36)
_TREE = WINDOWS["heap"] + (1 << 38)
_ADDRESS_MASK = (1 << TAG_SHIFT) - 1
_GAPS = (0, 0, 16, 48)


@dataclass(frozen=True)
class Placed:
    """An object of class ``table`` that was made at ``made_at`` and lies at ``address``."""

    table: str
    made_at: int
    address: int
    size: int


@dataclass(frozen=True)
class Region:
    start: int
    end: int
    table: str


@dataclass(frozen=True)
class Run:
    """A kernel and its arguments; ``references``: the places of those that are references."""

    kernel: str
    arguments: tuple[int | bytes, ...]
    references: frozenset[int]
    threads: int
    blocks: int
    shared: int


class Headers(Enum):
    """What the objects' first words hold: vtable pointers, nonsense, or they are not there."""

    KEPT = 0
    GARBAGE = 1
    ABSENT = 2


GARBAGE = bytes.fromhex("efbeaddeefbeadde")
Image = Mapping[str, bytes]


class World:
    """``source``: a machine with the original module in which all objects are made and all arrays
    are filled. ``classes``: the tables whose objects move."""

    def __init__(
        self,
        source: Machine,
        addresses: Addresses,
        classes: Sequence[str],
        random: Random,
        moves: Callable[[], bool] = lambda: True,
    ) -> None:
        self._source = source
        self._addresses = addresses
        heap = [b for b in source.memory.blocks if b.start >= WINDOWS["heap"]]
        tables = {source.address_of(table) + ADDRESS_POINT: table for table in classes}
        made: dict[str, list[Block]] = {}
        self._others: list[Block] = []
        for block in heap:
            table = tables.get(int.from_bytes(block.data[:HEADER_BYTES], "little"))
            if table is not None and block.name.startswith(OBJECT_NAMES) and moves():
                made.setdefault(table, []).append(block)
            else:
                self._others.append(block)
        self.objects, self.regions = _place(made, random)
        self._by_origin = sorted(self.objects, key=lambda placed: placed.made_at)
        self._origins = [placed.made_at for placed in self._by_origin]
        self._by_address = sorted(self.objects, key=lambda placed: placed.address)
        self._starts = [placed.address for placed in self._by_address]

    # ------------------------------------------------------------ machines

    def original(self, text: str) -> Machine:
        machine = Machine(text, self._addresses)
        self._fill(machine, {}, Headers.KEPT)
        return machine

    def rewritten(self, rewriting: Rewriting, tagged: bool, headers: Headers) -> Machine:
        machine = Machine(rewriting.text, self._addresses)
        indices = {found.symbol: found.type_index for found in rewriting.classes}
        tables = self._vtables(machine, rewriting)
        for symbol, index in indices.items():
            known = machine.memory.load("", tables[symbol] - 4, 4)
            assert known == index, f"{symbol} has type index {index}, its table says {known}"
        self._fill(machine, indices if tagged else {}, headers)
        for placed in self.objects if headers is not Headers.ABSENT else ():
            kept = headers is Headers.KEPT
            header = tables[placed.table].to_bytes(HEADER_BYTES, "little") if kept else GARBAGE
            machine.memory.write(placed.address, header)
        self._tell_ranges(machine, indices)
        return machine

    def launch(self, machine: Machine, run: Run, indices: Mapping[str, int]) -> None:
        arguments = [
            self._moved(argument, indices) if place in run.references else argument  # type: ignore[arg-type]
            for place, argument in enumerate(run.arguments)
        ]
        machine.launch(run.kernel, arguments, run.blocks, run.threads, run.shared)

    def _vtables(self, machine: Machine, rewriting: Rewriting) -> dict[str, int]:
        if not rewriting.classes:
            return {}
        count = len(rewriting.classes)
        data = machine.memory.read(machine.address_of("sharedoa_vtables"), 8 * count)
        addresses = struct.unpack(f"<{count}Q", data)
        return {c.symbol: a for c, a in zip(rewriting.classes, addresses, strict=True)}

    def _fill(self, machine: Machine, tags: Mapping[str, int], headers: Headers) -> None:
        memory = machine.memory
        memory.continue_from(self._source.memory)
        for block in self._others:
            data = self._relocated(bytes(block.data), tags)
            memory.add(block.start, bytearray(data), block.space, block.name)
        for placed in self.objects:
            made = self._source.memory.read(placed.made_at, placed.size)
            data = self._relocated(made, tags)
            skipped = HEADER_BYTES if headers is Headers.ABSENT else 0
            name = f"an object of {placed.table}"
            memory.add(placed.address + skipped, bytearray(data[skipped:]), "global", name)
        for name, variable in self._source.module.variables.items():
            if variable.space in ("global", "const") and name in machine.module.variables:
                found = self._variable(self._source, name)
                if found is not None and not name.startswith(_OWN):
                    memory.write(found.start, self._relocated(bytes(found.data), tags))

    def _variable(self, machine: Machine, name: str) -> Block | None:
        if machine.module.variables[name].linkage == ".extern":
            return None
        return machine.memory.at(machine.address_of(name))

    def _tell_ranges(self, machine: Machine, indices: Mapping[str, int]) -> None:
        regions = sorted(self.regions, key=lambda region: region.start)
        tree = SegmentTree.build(
            [region.start for region in regions],
            [region.end for region in regions],
            [indices[region.table] for region in regions],
            [0] * len(regions),
            [0] * len(regions),
        )
        words = (_TREE, tree.size) if tree.size else (0, 0)
        if tree.size:
            machine.memory.add(_TREE, bytearray(tree.nodes.tobytes()), "global", "tree", False)
        machine.memory.write(machine.address_of(state.SYMBOL), struct.pack("<2Q", *words))

    # ------------------------------------------------------------ references

    def _moved(self, word: int, tags: Mapping[str, int]) -> int:
        """An address in the source's memory as one in the world; tagged if ``tags`` are given."""
        place = bisect_right(self._origins, word) - 1
        if place < 0:
            return word
        placed = self._by_origin[place]
        if word >= placed.made_at + placed.size:
            return word
        tag = tags.get(placed.table, 0)
        address = placed.address + word - placed.made_at
        return address | (tag << TAG_SHIFT if tag <= TAG_LIMIT else 0)

    def _relocated(self, data: bytes, tags: Mapping[str, int]) -> bytes:
        whole = len(data) // 8
        words = struct.unpack_from(f"<{whole}Q", data)
        moved = [self._moved(word, tags) for word in words]
        return struct.pack(f"<{whole}Q", *moved) + data[8 * whole :]

    def _untagged(self, word: int, tags: Mapping[str, int]) -> int:
        tag, address = word >> TAG_SHIFT, word & _ADDRESS_MASK
        if not tag:
            return word
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return word
        placed = self._by_address[place]
        inside = address < placed.address + placed.size
        return address if inside and tags.get(placed.table) == tag else word

    # ------------------------------------------------------------ comparing

    def image(self, machine: Machine, tags: Mapping[str, int]) -> Image:
        """What a program can see of memory: everything but tables. References lose their tags."""
        found: dict[str, bytes] = {}
        starts = {placed.address: placed for placed in self.objects}
        for block in machine.memory.blocks:
            if block.space != "global" or block.name.startswith(_OWN) or block.start == _TREE:
                continue
            whole = len(block.data) // 8
            words = struct.unpack_from(f"<{whole}Q", block.data)
            plain = [self._untagged(word, tags) for word in words] if tags else words
            data = struct.pack(f"<{whole}Q", *plain) + bytes(block.data[8 * whole :])
            start = block.start
            if start in starts:
                if data[:HEADER_BYTES] != GARBAGE:
                    found[f"header at {start:#x} of {block.name}"] = data[:HEADER_BYTES]
                start, data = start + HEADER_BYTES, data[HEADER_BYTES:]
            found[f"{start:#x} {block.name}"] = data
        return found


OBJECT_NAMES = ("malloc", "a place")
#: Variables that differ from module to module, or never change.
_OWN = ("_ZTV", "sharedoa_")


def differences(expected: Image, found: Image) -> list[str]:
    """Where two images differ, in words; headers may be missing in the second."""
    lines = []
    for name, data in expected.items():
        other = found.get(name)
        if other is None:
            if not name.startswith("header"):
                lines.append(f"{name}: is gone")
            continue
        for at in range(0, len(data), 4):
            if data[at : at + 4] != other[at : at + 4]:
                one, two = data[at : at + 4].hex(), other[at : at + 4].hex()
                lines.append(f"{name}, byte {at}: expected {one}, found {two}")
    lines += [f"{name}: is new" for name in found if name not in expected]
    return lines


def _place(
    made: Mapping[str, Sequence[Block]], random: Random
) -> tuple[list[Placed], list[Region]]:
    """Objects in regions: one to three a class, in random order, with and without gaps."""
    pieces: list[tuple[str, list[Block]]] = []
    for table, blocks in sorted(made.items()):
        shuffled = list(blocks)
        random.shuffle(shuffled)
        while shuffled:
            taken = random.randint(1, len(shuffled))
            pieces.append((table, shuffled[:taken]))
            shuffled = shuffled[taken:]
    random.shuffle(pieces)
    objects: list[Placed] = []
    regions: list[Region] = []
    place = _HEAP
    for table, blocks in pieces:
        place += random.choice(_GAPS)
        start = place
        stride = max(-(-len(block.data) // 8) * 8 for block in blocks)
        for block in blocks:
            objects.append(Placed(table, block.start, place, len(block.data)))
            place += stride
        regions.append(Region(start, place, table))
    return objects, regions


def random_numbers(kind: str, count: int, random: Random, below: int) -> bytes:
    """Small numbers, so that few arithmetic overflows hide differences."""
    values = [random.randrange(below) for _ in range(count)]
    types = {"i32": np.int32, "i64": np.int64, "u8": np.uint8, "f32": np.float32, "f64": np.float64}
    if kind in ("f32", "f64"):
        return np.array([v + random.random() for v in values], types[kind]).tobytes()
    return np.array(values, types[kind]).tobytes()
