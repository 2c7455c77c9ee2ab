"""Whether what is to be written after a run can be written at all."""

from __future__ import annotations

from pathlib import Path

from ptxpass.output_file import try_to_write

from ..errors import ConfigurationError


def require_writable(option: str, file: Path) -> None:
    """Make the folder of ``file``, and raise ConfigurationError unless it can be written now, so
    that a long run does not fail at its end."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try_to_write(file)
    except OSError as error:
        raise ConfigurationError(
            f"{option}: {file} cannot be written: {error.strerror}", "name another file"
        ) from error
