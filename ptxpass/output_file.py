"""Files that appear whole or not at all, for every package of ours that writes one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Put ``text`` in place of what ``file`` held; when that fails, the file stays as it was.

    A symlink stays, and what it leads to is replaced; a FIFO or a device is written to. Raises
    OSError, for a folder too.
    """
    if _is_stream(file):
        file.write_text(text, encoding="utf-8")
        return
    target = _target(file)
    unfinished = _new_file_beside(target)
    try:
        unfinished.write_text(text, encoding="utf-8")
        if target.exists():
            unfinished.chmod(stat.S_IMODE(target.stat().st_mode))
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def try_to_write(file: Path) -> None:
    """Raise OSError unless ``write_whole`` can write ``file`` now. Nothing is changed."""
    if _is_stream(file):
        # Opening a FIFO would wait for its reader.
        _require_permission(file)
    else:
        _new_file_beside(_target(file)).unlink()


def _is_stream(file: Path) -> bool:
    """Whether it is there and nothing can take its place: a FIFO, a device, a socket."""
    return file.exists() and not file.is_file() and not file.is_dir()


def _target(file: Path) -> Path:
    """What ``file`` is in the end, whether that exists or not."""
    target = Path(os.path.realpath(file))
    if target.is_dir():
        raise _error(errno.EISDIR, file)
    if target.is_symlink():  # it leads back to itself
        raise _error(errno.ELOOP, file)
    if target.exists():
        _require_permission(target)
    return target


def _require_permission(file: Path) -> None:
    # A file can be replaced without it, but whoever took it away wants the file kept.
    if not os.access(file, os.W_OK):
        raise _error(errno.EACCES, file)


def _new_file_beside(target: Path) -> Path:
    """An empty file of a name that nobody else has, where it can be renamed to ``target``."""
    file = target.with_name(f".{os.urandom(8).hex()}.unfinished")
    file.touch(exist_ok=False)
    return file


def _error(number: int, file: Path) -> OSError:
    return OSError(number, os.strerror(number), str(file))
