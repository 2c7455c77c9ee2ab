"""Grey pictures of the PGM format, as text (P2) or binary (P5), plain or packed by gzip.

Format: netpbm.sourceforge.net/doc/pgm.html. Files are read in blocks, and nothing is allocated
because a header says so.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ptxpass.input_file import open_regular
from sharedoa.errors import ArgumentError

from .pgm_text import MOST, NotANumber, blocks_of_whole_words, numbers
from .text_file import file_error

#: Of shape (height, width), the top row first.
Pixels = np.ndarray[Any, np.dtype[np.uint16]]

MOST_PIXELS = 1 << 28
_BLOCK = 1 << 24
_HELP = "give a PGM picture, as text (P2) or binary (P5), which gzip may have packed"
#: A plain file, or what gzip unpacks of one.
_Stream = gzip.GzipFile | BinaryIO
_GZIP_MAGIC = b"\x1f\x8b"
_GAP = re.compile(rb"(?:[ \t-\r]|#[^\r\n]*[\r\n])+")
_WORD = re.compile(rb"[^ \t-\r#]+")


@dataclass(frozen=True)
class _Header:
    text: bool
    width: int
    height: int
    brightest: int
    #: Bytes from the start of the file to the first pixel.
    size: int

    @property
    def pixels(self) -> int:
        return self.width * self.height


def read_pgm(file: Path) -> Pixels:
    """The picture in a file. Raises ArgumentError, naming the file and where it can the line, for
    what is missing, truncated, damaged, enormous, or no such picture."""
    try:
        with open_regular(file) as plain:
            packed = plain.read(2) == _GZIP_MAGIC
            plain.seek(0)
            with gzip.open(plain) if packed else plain as stream:
                return _read(file, stream)
    except EOFError:
        raise _error(file, "the compressed file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise _error(file, f"the compressed file is damaged: {error}") from None
    except OSError as error:
        raise _error(file, f"cannot be read: {error.strerror or error}") from None


def _read(file: Path, stream: _Stream) -> Pixels:
    start = stream.read(_BLOCK)
    header = _header(file, start)
    blocks = _blocks(start, stream, header.size)
    if header.text:
        pixels = _from_text(file, header, blocks, start.count(b"\n", 0, header.size) + 1)
    else:
        pixels = _from_bytes(file, header, blocks)
    too_bright = pixels[pixels > header.brightest]
    if len(too_bright):
        raise _error(
            file, f"a pixel is {too_bright[0]}, above the picture's maximum {header.brightest}"
        )
    return pixels.reshape(header.height, header.width)


def _blocks(start: bytes, stream: _Stream, skip: int) -> Iterator[bytes]:
    yield start[skip:]
    while block := stream.read(_BLOCK):
        yield block


def _header(file: Path, start: bytes) -> _Header:
    """What precedes the pixels; it has to lie in the first block."""
    if not start:
        raise _error(file, "the file is empty")
    magic = start[:2]
    if magic not in (b"P2", b"P5"):
        kind = f"a {magic.decode()} picture" if re.match(rb"P[1-7]\s", start) else "no PGM picture"
        raise _error(file, f"this is {kind}")
    position = 2
    found = []
    for name, most in (
        ("width", MOST_PIXELS), ("height", MOST_PIXELS), ("maximum", MOST)
    ):  # fmt: skip
        gap = _GAP.match(start, position)
        word = _WORD.match(start, gap.end()) if gap else None
        if word is None:
            raise _error(file, f"the file is truncated: the header lacks the {name}")
        if not re.fullmatch(rb"[0-9]{1,12}", word[0]) or not 1 <= int(word[0]) <= most:
            shown = word[0][:20].decode("latin-1")
            raise _error(file, f"the {name} is {shown!r}, not a number from 1 to {most}")
        found.append(int(word[0]))
        position = word.end()
    width, height, brightest = found
    if width * height > MOST_PIXELS:
        raise _error(file, f"{width} x {height} pixels are more than {MOST_PIXELS}")
    # One white space ends the header; in a binary picture the next byte is a pixel.
    return _Header(magic == b"P2", width, height, brightest, position + 1)


def _from_text(file: Path, header: _Header, blocks: Iterator[bytes], line: int) -> Pixels:
    parts: list[Pixels] = []
    count = 0
    for block in blocks_of_whole_words(blocks):
        try:
            parts.append(numbers(block))
        except NotANumber as error:
            at = line + block.count(b"\n", 0, error.position)
            raise _error(file, f"{error.word!r} is no pixel, 0 to {MOST}", at) from None
        line += block.count(b"\n")
        count += len(parts[-1])
        if count > header.pixels:
            raise _surplus(file, header)
    if count < header.pixels:
        raise _truncated(file, count, header)
    return np.concatenate(parts)


def _from_bytes(file: Path, header: _Header, blocks: Iterator[bytes]) -> Pixels:
    sample = np.dtype(np.uint8 if header.brightest < 256 else ">u2")
    wanted = header.pixels * sample.itemsize
    data = bytearray()
    for block in blocks:
        data += block
        if len(data) > wanted:
            break
    if len(data) < wanted:
        raise _truncated(file, len(data) // sample.itemsize, header)
    if data[wanted:].strip():
        raise _surplus(file, header)
    return np.frombuffer(data, sample, header.pixels).astype(np.uint16)


def _truncated(file: Path, count: int, header: _Header) -> ArgumentError:
    return _error(
        file,
        f"the file is truncated: it has {count} of {header.width} x {header.height} pixels",
    )


def _surplus(file: Path, header: _Header) -> ArgumentError:
    return _error(file, f"the file has more than {header.width} x {header.height} pixels")


def _error(file: Path, message: str, line: int | None = None) -> ArgumentError:
    return file_error(file, _HELP, message, line)
