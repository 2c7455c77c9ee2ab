"""Reading files, whatever lies under their names, for every package of ours that does."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def open_regular(file: str | os.PathLike[str], flags: int = 0) -> BinaryIO:
    """A regular file, to read; ``flags`` go to ``os.open``, too. Raises OSError for anything else:
    a FIFO would wait for its writer, and some devices never end."""
    # Without O_NONBLOCK, opening a FIFO waits already.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(file))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
