"""Machine code that LLVM made in earlier sessions. Of the same text, for the same processor, by the
same sources of ``sharedoa/targets`` (``code_cache.key_of``) it is not made again.

It lies in pytest's cache, which ``--cache-clear`` empties; without that plugin, as where faults are
put into the tree, each session makes its own. What descriptions and symbols lead to is forgotten
with a session, as tests compile with passes and constants of their own.
"""

from __future__ import annotations

import io
import os
from functools import cache
from pathlib import Path

import pytest

from sharedoa.runtime import code_cache
from sharedoa.runtime.code_cache import descriptions, entry, own_code
from sharedoa.runtime.code_cache.folder import CodeFolder

_BYTES = 1 << 30
#: What lists them calls the entries by which code is found without its text so.
_WITHOUT_TEXT = (descriptions._NAME, own_code._NAME)


class SessionFolder(CodeFolder):
    """A session's folder of compiled code, above one that stays."""

    def __init__(self, path: Path, kept: CodeFolder) -> None:
        super().__init__(path)
        self._kept = kept

    def read(self, name: str, limit: int) -> bytes | None:
        found = super().read(name, limit)
        return self._kept.read(name, _BYTES) if found is None else found

    def write(self, name: str, data: bytes, limit: int) -> None:
        if entry.read_summary(io.BytesIO(data)).compiler in _WITHOUT_TEXT:
            super().write(name, data, limit)
        else:
            self._kept.write(name, data, _BYTES)


@pytest.fixture(scope="session")
def kept_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is there in later sessions, too, unless each makes its own."""
    if request.config.pluginmanager.has_plugin("cacheprovider"):
        return request.config.cache.mkdir("sharedoa")
    return _of_all_workers(tmp_path_factory) / "kept"


@pytest.fixture(scope="session")
def session_folder(kept_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all processes of this session keep compiled code."""
    path = _of_all_workers(tmp_path_factory) / "code"
    ours, usual = SessionFolder(path, CodeFolder(kept_folder / "code")), cache(CodeFolder)
    code_cache._folder = lambda asked: ours if asked == path else usual(asked)
    return path


def _of_all_workers(factory: pytest.TempPathFactory) -> Path:
    folder = factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
