"""Whether a file that a program is to write at its end can be written at all."""

from __future__ import annotations

from pathlib import Path

from ptxpass.output_file import try_to_write
from sharedoa.errors import ArgumentError


def require_writable(file: Path, endings: tuple[str, ...]) -> None:
    """Raise ArgumentError unless ``file`` ends in one of ``endings`` and can be written now, so
    that a long run does not fail at its last step."""
    if file.suffix.lower() not in endings:
        raise ArgumentError(
            f"{file}: no picture format has the ending {file.suffix or '(none)'}",
            f"use {' or '.join(endings)}",
        )
    try:
        try_to_write(file)
    except OSError as error:
        raise ArgumentError(
            f"{file} cannot be written: {error.strerror}",
            "name a file in a folder that exists and that you may write to",
        ) from None
