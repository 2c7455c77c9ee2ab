"""What a file of the cache holds: a header, a JSON description, the key, every stage's product.

16 bytes   magic, with the version of the format
32         SHA-256 of everything else
8          little-endian length of the description
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from typing import Any, BinaryIO

from dispatch.dataclass import dataclass

from ...targets.base import Stages

MAGIC = b"sharedoa code 2\n"
_DIGEST_SIZE = 32
_LENGTH = struct.Struct("<Q")
_DIGESTED = len(MAGIC) + _DIGEST_SIZE
_START = _DIGESTED + _LENGTH.size
_LONGEST_DESCRIPTION = 1 << 20


class DamagedEntry(Exception):
    """The bytes are no entry of this format, or not all of one as it was written."""


@dataclass(frozen=True)
class Summary:
    """What a listing shows: what was compiled, by which compiler, and the bytes of each stage."""

    label: str
    compiler: str
    stages: dict[str, int]


@dataclass(frozen=True)
class Entry:
    """A whole entry, its checksum compared."""

    key: bytes
    stages: Stages


def join(parts: Iterable[bytes]) -> bytes:
    """A key: each part after its length, so that no two different lists of parts give the same."""
    return b"".join(_LENGTH.pack(len(part)) + part for part in parts)


def parts_of(key: bytes) -> list[bytes]:
    """What ``join`` made a key of."""
    parts, position = [], 0
    while position < len(key):
        (size,) = _LENGTH.unpack_from(key, position)
        position += _LENGTH.size + size
        parts.append(key[position - size : position])
    return parts


def pack(label: str, compiler: str, key: bytes, stages: Stages) -> bytes:
    """The bytes of an entry."""
    products = {
        name: product if isinstance(product, bytes) else product.encode()
        for name, product in stages.items()
    }
    description = json.dumps(
        {
            "label": label,
            "compiler": compiler,
            "key": len(key),
            "stages": {name: len(product) for name, product in products.items()},
            "text": [name for name, product in stages.items() if isinstance(product, str)],
        }
    ).encode()
    body = b"".join([_LENGTH.pack(len(description)), description, key, *products.values()])
    return MAGIC + _digest(body) + body


def unpack(data: bytes) -> Entry:
    """The entry of these bytes. Raises DamagedEntry unless they are exactly what ``pack`` made."""
    if not data.startswith(MAGIC) or len(data) < _START:
        raise DamagedEntry("no entry of this format")
    view = memoryview(data)
    if view[len(MAGIC) : _DIGESTED] != _digest(view[_DIGESTED:]):
        raise DamagedEntry("its checksum does not match")
    description, position = _description(data)
    key = data[position : position + description["key"]]
    position += len(key)
    stages: Stages = {}
    for name, size in description["stages"].items():
        product = data[position : position + size]
        stages[name] = product.decode() if name in description["text"] else product
        position += size
    return Entry(key, stages)


def read_summary(file: BinaryIO) -> Summary:
    """What an entry says of itself, from its first bytes; its checksum is not looked at.

    Raises DamagedEntry where nothing can be read.
    """
    start = file.read(_START)
    if not start.startswith(MAGIC) or len(start) < _START:
        raise DamagedEntry("no entry of this format")
    (size,) = _LENGTH.unpack_from(start, _DIGESTED)
    try:
        description, _ = _description(start + file.read(min(size, _LONGEST_DESCRIPTION)))
        return Summary(description["label"], description["compiler"], description["stages"])
    except (ValueError, KeyError, TypeError) as problem:
        raise DamagedEntry("its description cannot be read") from problem


def _description(data: bytes) -> tuple[dict[str, Any], int]:
    """The description, and where it ends."""
    (size,) = _LENGTH.unpack_from(data, _DIGESTED)
    end = _START + size
    description: dict[str, Any] = json.loads(data[_START:end])
    return description, end


def _digest(body: bytes | memoryview) -> bytes:
    """Of everything but the digest itself."""
    digest = hashlib.sha256(MAGIC)
    digest.update(body)
    return digest.digest()
