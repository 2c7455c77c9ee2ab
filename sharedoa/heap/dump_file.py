"""The file of a dump: a header, a JSON description, blocks of bytes, and a checksum over the rest.

16 bytes   magic, with the version of the format
8, 8       little-endian lengths of the description and of the blocks
32         SHA-256 of everything after it

The checksum finds damage. Who writes a file on purpose writes its checksum, too: what the file says
is looked at in ``dump_contents``.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ptxpass.input_file import open_regular
from ptxpass.output_file import whole_file

from ..errors import DumpError

MAGIC = b"sharedoa dump 2\n"
_LENGTHS = struct.Struct("<QQ")
_DIGEST_SIZE = 32
_START = len(MAGIC) + _LENGTHS.size + _DIGEST_SIZE

Block = np.ndarray[Any, Any]


def write(path: str | os.PathLike[str], description: dict[str, Any], blocks: list[Block]) -> None:
    """Write the file whole or not at all: it appears under its name when it is complete."""
    target = Path(path)
    if target.exists() and not target.is_file():
        raise DumpError(f"{path} is no file that a dump could take the place of", "name a file")
    text = json.dumps(description).encode()
    with whole_file(target, durable=True) as file:
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


def read(path: str | os.PathLike[str]) -> tuple[Any, BlockReader]:
    """The description, and a reader of the blocks. Raises DumpError, OSError if it cannot be
    opened."""
    if Path(path).exists() and not Path(path).is_file():
        raise DumpError(f"{path} is no dump of a heap: it is not a regular file", "name a file")
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(_START)
        _check_start(path, start, size)
        data = file.read(size - _START)
    text_size, blocks_size = _LENGTHS.unpack_from(start, len(MAGIC))
    if len(data) != text_size + blocks_size:  # it has become shorter
        raise _truncated(path)
    if hashlib.sha256(data).digest() != start[-_DIGEST_SIZE:]:
        raise DumpError(f"{path} is damaged: its checksum does not match", "dump the heap again")
    try:
        description = json.loads(data[:text_size], object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise contradiction(path, error) from None
    return description, BlockReader(data, text_size)


def _check_start(path: str | os.PathLike[str], start: bytes, size: int) -> None:
    if not start.startswith(MAGIC):
        if start.startswith(MAGIC[:14]) and len(start) >= len(MAGIC):
            raise DumpError(
                f"{path} was written by another version of sharedoa", "dump the heap again"
            )
        raise DumpError(f"{path} is no dump of a heap", "give a file that oa.dump wrote")
    if len(start) < _START or _START + sum(_LENGTHS.unpack_from(start, len(MAGIC))) != size:
        raise _truncated(path)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice in its description")
    return found


def contradiction(path: str | os.PathLike[str], reason: object) -> DumpError:
    """The error for a file that is whole, and cannot be what ``oa.dump`` wrote."""
    return DumpError(f"{path} contradicts itself: {reason}", "dump the heap again")


def _truncated(path: Any) -> DumpError:
    return DumpError(f"{path} is truncated or has something appended", "copy the file again, whole")


class BlockReader:
    """Gives the blocks in the order in which they were written, as often as asked."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._start = self._position = start

    @property
    def size(self) -> int:
        """Bytes of all blocks."""
        return len(self._data) - self._start

    def rewind(self) -> None:
        """The next block is the first again."""
        self._position = self._start

    def skip(self, size: int) -> None:
        self._position += size

    def take(self, count: int, dtype: np.dtype[Any]) -> Block:
        """``count`` items, not to be written to. ``dtype`` may be that of an inline field."""
        items = count * int(np.prod(dtype.shape, dtype=np.int64))
        if items * dtype.base.itemsize == 0:
            return np.zeros((count, *dtype.shape), dtype.base)
        block = np.frombuffer(self._data, dtype.base, items, self._position)
        self._position += block.nbytes
        return block.reshape(count, *dtype.shape)
