"""Files that appear whole or not at all, for every package of ours that writes one."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .input_file import BYTES


def write_whole(file: Path, content: str | bytes) -> None:
    """Put ``content`` in place of what ``file`` held, as ``whole_file`` does."""
    data = content.encode() if isinstance(content, str) else content
    with whole_file(file) as opened:
        opened.write(data)


@contextmanager
def whole_file(file: Path, durable: bool = False) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of ``file`` when the block ends; when the block or
    the system fails, ``file`` stays as it was. ``durable``: it is on the disk by then.

    A symlink stays, and what it leads to is replaced, with its permissions; a FIFO or a device is
    written to. Raises OSError, for a folder too.
    """
    if _is_stream(file):
        with file.open("wb") as stream:
            yield stream
        return
    target = _target(file)
    unfinished, opened = _new_file_beside(target)
    try:
        with opened:
            yield opened
            opened.flush()
            if sys.platform != "win32" and target.exists():
                os.fchmod(opened.fileno(), stat.S_IMODE(target.stat().st_mode))
            if durable:
                os.fsync(opened.fileno())
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
        unfinished, opened = _new_file_beside(_target(file))
        opened.close()
        unfinished.unlink()


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


def _new_file_beside(target: Path) -> tuple[Path, BinaryIO]:
    """An empty file of a name that nobody else has, where it can be renamed to ``target``; what is
    to replace a file is for nobody else's eyes until it has that file's permissions."""
    file = target.with_name(f".{os.urandom(8).hex()}.unfinished")
    # O_EXCL: nothing that lies there already is opened, nor what a link there leads to.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BYTES
    try:
        descriptor = os.open(file, flags, 0o600 if target.exists() else 0o666)
    except OSError as error:  # of a name that nobody has given
        raise _error(error.errno or errno.EIO, target.parent) from error
    return file, os.fdopen(descriptor, "wb")


def _error(number: int, file: Path) -> OSError:
    return OSError(number, os.strerror(number), str(file))
