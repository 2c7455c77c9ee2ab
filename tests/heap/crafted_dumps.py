"""Dumps as an attacker makes them: changed on purpose, and with the checksum that belongs to it."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sharedoa.heap.dump_file import MAGIC

_LENGTHS = struct.Struct("<QQ")
_START = len(MAGIC) + _LENGTHS.size + 32

#: What stands in places of all kinds.
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 1 << 31, 1 << 40, (1 << 40) + 1, 3 << 40, 1 << 62, 1 << 63,
    (1 << 64) - 1, 1 << 64, 10**30, 0.5, float("nan"), float("inf"), "", "i32", "f64", "bool", "x",
    "\x1b[2J", "\ud800", [], {}, [[]], {"object": 1 << 40}, {"array": 1 << 40},
    {"reference": ["tests.heap.shapes", "Circle"]}, ["tests.heap.shapes", "Shape"],
    ["tests.heap.shapes", "Empty"], ["tests.heap.shapes", "Square"],
)  # fmt: skip


@dataclass
class CraftedDump:
    description: Any
    blocks: bytearray

    @classmethod
    def of(cls, path: Path) -> CraftedDump:
        data = path.read_bytes()
        size, _ = _LENGTHS.unpack_from(data, len(MAGIC))
        description = json.loads(data[_START : _START + size])
        return cls(description, bytearray(data[_START + size :]))

    def write(self, path: Path) -> None:
        write_text(path, json.dumps(self.description).encode(), bytes(self.blocks))

    def changed(self, random: random.Random) -> CraftedDump:
        """One to three places are other ones."""
        made = CraftedDump(copy.deepcopy(self.description), bytearray(self.blocks))
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            made._change(random)
        return made

    def _change(self, random: random.Random) -> None:
        kind = random.randrange(8)
        if kind < 3:
            _change_tree(self.description, random)
        elif kind < 6 and len(self.blocks) >= 8:
            # Where codes and lengths lie, in steps of the least alignment that any of them has.
            place = random.randrange(len(self.blocks) - 7)
            struct.pack_into("<Q", self.blocks, place, self._word(random))
        elif kind == 6 and self.blocks:
            self.blocks[random.randrange(len(self.blocks))] = random.choice((0, 1, 2, 128, 255))
        else:
            self._cut(random)

    def _word(self, random: random.Random) -> int:
        """Mostly a code of something that there is, or nearly is."""
        if random.random() < 0.2:
            return random.choice((0, 1, 2, 255, 1 << 39, 1 << 62, 1 << 63, (1 << 64) - 1))
        return (random.randrange(8) << 40) + random.choice((0, 1, 2, 3, 4, 5, 8, 12, 24, 40, 64))

    def _cut(self, random: random.Random) -> None:
        if self.blocks and random.random() < 0.5:
            del self.blocks[random.randrange(len(self.blocks)) :]
        else:
            self.blocks += bytes(random.choice((1, 8, 40)))


def write_text(path: Path, text: bytes, blocks: bytes = b"") -> None:
    """A dump whose description is any text, with lengths and checksum as they should be."""
    digest = hashlib.sha256(text + blocks).digest()
    path.write_bytes(MAGIC + _LENGTHS.pack(len(text), len(blocks)) + digest + text + blocks)


def _change_tree(tree: Any, random: random.Random) -> None:
    """Put another value, nothing, or a copy of a neighbour somewhere in lists and dictionaries."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = random.choice(keys)
        below = tree[key]
        if isinstance(below, (dict, list)) and below and random.random() < 0.85:
            tree = below
            continue
        how = random.random()
        if how < 0.6:
            number = type(below) is int and random.random() < 0.6
            tree[key] = below + random.choice((-8, -1, 1, 4, 8)) if number else _other(random)
        elif how < 0.75:
            del tree[key]
        elif isinstance(tree, list):
            tree.insert(random.randrange(len(tree) + 1), copy.deepcopy(random.choice(tree)))
        else:
            tree[random.choice(("x", "object", "array"))] = _other(random)
        return


def _other(random: random.Random) -> Any:
    return copy.deepcopy(random.choice(_VALUES))
