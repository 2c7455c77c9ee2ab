"""Reading files, whatever lies under their names, for every package of ours that does."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import BinaryIO

if sys.platform == "win32":
    BYTES, WITHOUT_WAITING, WITHOUT_LINKS = os.O_BINARY, 0, 0
else:
    BYTES, WITHOUT_WAITING, WITHOUT_LINKS = 0, os.O_NONBLOCK, os.O_NOFOLLOW
"""Flags of ``os.open``, where the system has them: no line ends are changed, opening waits for
nobody, and links are refused."""


def open_regular(file: str | os.PathLike[str], flags: int = 0) -> BinaryIO:
    """A regular file, to read; ``flags`` go to ``os.open``, too. Raises OSError for anything else:
    a FIFO would wait for its writer, and some devices never end."""
    # Opening a FIFO would wait already.
    descriptor = os.open(file, os.O_RDONLY | WITHOUT_WAITING | BYTES | flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(file))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
