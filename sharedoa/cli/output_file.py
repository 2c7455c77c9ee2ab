"""Whether what is to be written after a run can be written at all."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigurationError


def require_writable(option: str, file: Path) -> None:
    """Make the folder of ``file``, and raise ConfigurationError unless it can be written now, so
    that a long run does not fail at its end."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        existed = file.exists()
        with file.open("ab"):
            pass
        if not existed:
            file.unlink()
    except OSError as error:
        raise ConfigurationError(
            f"{option}: {file} cannot be written: {error.strerror}", "name another file"
        ) from error
