"""The bytes of text files that users name: plain or compressed by gzip, and never a surprise."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from ptxpass.input_file import open_regular
from sharedoa.errors import ArgumentError

#: More text than this is not read: parsing it would take several times the memory.
MOST_BYTES = 1 << 30
#: Nor more than this, where a short compressed file holds more than so many times its size.
MOST_OF_SHORT_FILES, MOST_TIMES = 1 << 26, 100

_BINARY = bytes(code for code in range(32) if chr(code) not in "\t\n\v\f\r")


def file_error(file: Path, advice: str, message: str, line: int | None = None) -> ArgumentError:
    place = str(file) if line is None else f"{file}:{line}"
    return ArgumentError(f"{place}: {message}", advice)


def read_text_file(file: Path, advice: str) -> bytes:
    """All text of a file; one whose name ends in ``.gz`` is decompressed.

    Raises ArgumentError, with ``advice`` as the cure, when it cannot be read, is damaged, empty,
    too large or no text.
    """
    most = MOST_BYTES
    try:
        with open_regular(file) as plain:
            size = os.fstat(plain.fileno()).st_size
            if is_compressed(file):
                most = min(most, max(MOST_OF_SHORT_FILES, MOST_TIMES * size))
                with gzip.open(plain) as compressed:
                    data = compressed.read(most + 1)
            else:
                data = plain.read(min(most, size) + 1)  # memory for it is taken before
    except EOFError:
        raise file_error(file, advice, "the compressed file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise file_error(file, advice, f"the compressed file is damaged: {error}") from None
    except OSError as error:
        raise file_error(file, advice, f"cannot be read: {error.strerror}") from None
    if len(data) > most:
        raise file_error(file, advice, f"there are more than {most >> 20} MiB of text")
    if len(data.translate(None, _BINARY)) != len(data):
        raise file_error(file, advice, "this is not a text file")
    if not data.strip():
        raise file_error(file, advice, "the file is empty")
    return data


def shown(text: str) -> str:
    """What a file says, for a message: short, and nothing that a terminal obeys."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def is_compressed(file: Path) -> bool:
    return file.suffix.lower() == ".gz"


def uncompressed_name(file: Path) -> str:
    """The file's name without ``.gz``."""
    return file.stem if is_compressed(file) else file.name
