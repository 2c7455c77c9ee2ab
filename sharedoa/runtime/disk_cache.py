"""Machine code kept between runs, keyed by everything that it was made from.

An entry is a zip archive: the key, and each stage that the target made. Its file is named by a
digest of the key; the key itself is compared when the entry is read, so that neither a collision
nor a damaged file is ever taken for the code asked for. Entries are replaced as a whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Protocol

import platformdirs

from ..targets.base import Stages
from . import knobs

_KEY = "key"


class Compiler(Protocol):
    """What makes code of text: a target, or the compiler of another language.

    ``fingerprint`` is everything besides the text that the code depends on.
    """

    name: str

    @property
    def fingerprint(self) -> str: ...

    def compile(self, text: str, /) -> Stages: ...


def compiled(compiler: Compiler, text: str) -> Stages:
    """``compiler.compile(text)``, or what an earlier run made of the same text."""
    folder = _folder()
    if folder is None:
        return compiler.compile(text)
    key = f"{compiler.name}\n{compiler.fingerprint}\n{text}".encode()
    file = folder / f"{hashlib.sha256(key).hexdigest()}.zip"
    found = _read(file, key)
    if found is None:
        found = compiler.compile(text)
        # A cache that cannot be written costs time, never the launch.
        with contextlib.suppress(OSError):
            _write(file, key, found)
    return found


def _folder() -> Path | None:
    chosen = knobs.cache_dir.value()
    if chosen == "off":
        return None
    return chosen if chosen is not None else Path(platformdirs.user_cache_dir("sharedoa"))


def _read(file: Path, key: bytes) -> Stages | None:
    try:
        with zipfile.ZipFile(file) as archive:
            if archive.read(_KEY) != key:
                return None
            members = {name: archive.read(name) for name in archive.namelist() if name != _KEY}
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    return {name: data if name == "o" else data.decode() for name, data in members.items()}


def _write(file: Path, key: bytes, stages: Stages) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=file.stem)
    try:
        with os.fdopen(descriptor, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
            for name, product in {_KEY: key, **stages}.items():
                archive.writestr(name, product)
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise
