"""The file of a dump: a header, a JSON description, blocks of bytes, and a checksum over the rest.

16 bytes   magic, with the version of the format
8, 8       little-endian lengths of the description and of the blocks
32         SHA-256 of everything after it
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DumpError

MAGIC = b"sharedoa dump 1\n"
_LENGTHS = struct.Struct("<QQ")
_DIGEST_SIZE = 32
_START = len(MAGIC) + _LENGTHS.size + _DIGEST_SIZE

Block = np.ndarray[Any, Any]


def write(path: str | os.PathLike[str], description: dict[str, Any], blocks: list[Block]) -> None:
    """Write the file whole or not at all: it appears under its name when it is complete."""
    target = Path(path)
    if target.is_symlink():
        target = target.resolve()
    if target.exists() and not target.is_file():
        raise DumpError(f"{path} is no file that a dump could take the place of", "name a file")
    text = json.dumps(description).encode()
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            digest = hashlib.sha256()
            file.write(bytes(_START))
            size = 0
            for piece in (np.frombuffer(text, np.uint8), *blocks):
                data = np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data
                digest.update(data)
                file.write(data)
                size += len(data)
            file.seek(0)
            file.write(MAGIC + _LENGTHS.pack(len(text), size - len(text)) + digest.digest())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], BlockReader]:
    """The description, and a reader of the blocks. Raises DumpError, OSError if it cannot be
    opened."""
    with open(path, "rb") as file:
        data = file.read(len(MAGIC))
        if data == MAGIC:
            data += file.read()
    if not data.startswith(MAGIC):
        if data.startswith(MAGIC[:14]):
            raise DumpError(
                f"{path} was written by another version of sharedoa", "dump the heap again"
            )
        raise DumpError(f"{path} is no dump of a heap", "give a file that oa.dump wrote")
    if len(data) < _START:
        raise _truncated(path)
    text_size, size = _LENGTHS.unpack_from(data, len(MAGIC))
    if len(data) != _START + text_size + size:
        raise _truncated(path)
    digest = data[_START - _DIGEST_SIZE : _START]
    if hashlib.sha256(memoryview(data)[_START:]).digest() != digest:
        raise DumpError(f"{path} is damaged: its checksum does not match", "dump the heap again")
    description = json.loads(data[_START : _START + text_size])
    return description, BlockReader(data, _START + text_size)


def _truncated(path: Any) -> DumpError:
    return DumpError(f"{path} is truncated or has something appended", "copy the file again, whole")


class BlockReader:
    """Gives the blocks in the order in which they were written."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._position = start

    def take(self, count: int, dtype: np.dtype[Any]) -> Block:
        """``count`` items, as a copy. ``dtype`` may be that of an inline field."""
        items = count * int(np.prod(dtype.shape, dtype=np.int64))
        block = np.frombuffer(self._data, dtype.base, items, self._position)
        self._position += block.nbytes
        return block.reshape(count, *dtype.shape).copy()
