"""What sessions of tests leave to the next (``kept_code.py``)."""

from __future__ import annotations

from pathlib import Path

from sharedoa.runtime.code_cache import descriptions, entry
from sharedoa.runtime.code_cache.folder import CodeFolder

from .kept_code import SessionFolder

NAME, OTHER = "0" * 64, "f" * 64


def test_code_stays_and_descriptions_do_not(tmp_path: Path) -> None:
    code = entry.pack("kernel", "host", b"text", {"o": b"code"})
    description = entry.pack("kernel", descriptions._NAME, b"program", {"outline": "{}"})
    kept = CodeFolder(tmp_path / "kept")
    first, second = (SessionFolder(tmp_path / name, kept) for name in ("first", "second"))
    assert first.read(NAME, 1000) is None
    first.write(NAME, code, 1000)
    first.write(OTHER, description, 1000)
    assert (first.read(NAME, 1000), first.read(OTHER, 1000)) == (code, description)
    assert (second.read(NAME, 1000), second.read(OTHER, 1000)) == (code, None)
