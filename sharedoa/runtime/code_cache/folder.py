"""The folder of the cache: files that appear whole, and are dropped by how long nobody read them.

Any number of processes share it, without locks. A file is written under another name and then
renamed, so that a reader finds a whole one or none; a file's time of modification is when it was
last read or written; whoever is about to write makes room. What another process removes meanwhile
is simply gone. A process that dies while it writes leaves a ``.part``, which is swept later.

What is read is executed, so a folder or file counts only if nobody but us and root could have
written to it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ptxpass.input_file import BYTES, WITHOUT_LINKS, open_regular

_SUFFIX = ".code"
_PART = ".part"
#: Nothing else in the folder is ours to count or to remove.
_OURS = re.compile(rf"[0-9a-f]{{64}}({re.escape(_SUFFIX)}|\.[0-9a-f]{{16}}{re.escape(_PART)})")
#: A part of this age, in seconds, belongs to no process that still writes.
_ABANDONED = 3600
#: Who looks at the folder leaves an eighth of the limit free, and looks again before it has written
#: a 64th: so eight processes that write at once stay within the limit together.
_LEFT_FREE = 8
_UNSEEN = 64


class StoredFile(NamedTuple):
    """A file of the cache: its size in bytes, and when it was last used, in ns since the epoch."""

    path: str
    size: int
    used: int

    @property
    def name(self) -> str:
        """What it is read by, if it is whole."""
        return os.path.basename(self.path).removesuffix(_SUFFIX)

    @property
    def is_whole(self) -> bool:
        """False for what a process is writing, or died writing."""
        return self.path.endswith(_SUFFIX)


class CodeFolder:
    """One folder, as this process sees it. Names are 64 hexadecimal digits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Bytes written from here since the last look at the folder; None before the first.
        self._written: int | None = None

    def distrust(self) -> str | None:
        """Why code in there may be somebody else's, None where it is ours or there is no folder."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return _others(status) if stat.S_ISDIR(status.st_mode) else None

    def read(self, name: str, limit: int) -> bytes | None:
        """The file's bytes, None if there is none that can be trusted and has at most ``limit``
        bytes; it counts as used now."""
        try:
            with open_entry(self._file(name)) as file:
                if os.fstat(file.fileno()).st_size > limit:
                    return None
                data = file.read(limit)
                with contextlib.suppress(OSError):
                    os.utime(file.fileno())
        except OSError:
            return None
        return data

    def write(self, name: str, data: bytes, limit: int) -> None:
        """Put a file there, or in place of the one that is, and keep all files within ``limit``
        bytes; one that would fill it alone is not kept. Raises OSError if it cannot be written."""
        if len(data) > _goal(limit):
            return
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(len(data), limit)
        part = self.path / f"{name}.{os.urandom(8).hex()}{_PART}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BYTES
            with os.fdopen(os.open(part, flags, 0o644), "wb") as file:
                file.write(data)
            os.replace(part, self._file(name))
        except BaseException:
            _remove(part)
            raise

    def files(self) -> Iterator[StoredFile]:
        """All files of the cache, in no order."""
        try:
            with os.scandir(self.path) as found:
                for item in found:
                    if not _OURS.fullmatch(item.name):
                        continue
                    try:
                        status = item.stat(follow_symlinks=False)
                    except OSError:  # gone since
                        continue
                    if not stat.S_ISREG(status.st_mode):
                        continue
                    yield StoredFile(item.path, status.st_size, status.st_mtime_ns)
        except OSError:
            return

    def clear(self) -> int:
        """Remove every file of the cache, and say how many entries that were. Raises OSError for a
        file that cannot be removed."""
        entries = 0
        for file in list(self.files()):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file.path)
            entries += file.is_whole
        return entries

    def _file(self, name: str) -> Path:
        return self.path / f"{name}{_SUFFIX}"

    def _make_room(self, size: int, limit: int) -> None:
        if self._written is not None and self._written + size <= limit // _UNSEEN:
            self._written += size
            return
        self._written = size
        abandoned = time.time_ns() - _ABANDONED * 10**9
        files, filled = [], size
        for file in self.files():
            if not file.is_whole and file.used < abandoned:
                _remove(file.path)
            else:
                filled += file.size
                files.append(file)
        if filled <= _goal(limit):
            return
        for file in sorted(files, key=lambda file: file.used):
            if file.is_whole and _remove(file.path):
                filled -= file.size
                if filled <= _goal(limit):
                    return


def open_entry(path: str | Path) -> BinaryIO:
    """A file of the cache, to read. Raises OSError for links, FIFOs and the like, which may lead
    anywhere or block, and where others could have written the file."""
    file = open_regular(path, WITHOUT_LINKS)
    reason = _others(os.fstat(file.fileno()))
    if reason is not None:
        file.close()
        raise PermissionError(f"{path}: {reason}")
    return file


def _others(status: os.stat_result) -> str | None:
    """Who besides us and root may write to a file or folder."""
    if sys.platform == "win32":
        return "on Windows nobody has written how to find out who may write to it"
    if status.st_uid not in (os.geteuid(), 0):
        return f"it belongs to user {status.st_uid}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(status.st_mode):o})"
    return None


def _goal(limit: int) -> int:
    return limit - limit // _LEFT_FREE


def _remove(file: str | Path) -> bool:
    """Whether the file is gone now, by us or by others."""
    try:
        os.unlink(file)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
