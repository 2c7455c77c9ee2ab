"""What sessions of tests leave to the next (``kept_code.py``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sharedoa.backends import open_backend
from sharedoa.runtime.code_cache import descriptions, entry, own_code
from sharedoa.runtime.code_cache.folder import CodeFolder

from . import quick_code
from .kept_code import SessionFolder

NAME, OTHER = "0" * 64, "f" * 64


@pytest.mark.parametrize("without_text", [descriptions, own_code])
def test_code_stays_and_what_leads_to_it_does_not(without_text: Any, tmp_path: Path) -> None:
    code = entry.pack("kernel", "host", b"text", {"o": b"code"})
    description = entry.pack("kernel", without_text._NAME, b"program", {"found": "it"})
    kept = CodeFolder(tmp_path / "kept")
    first, second = (SessionFolder(tmp_path / name, kept) for name in ("first", "second"))
    assert first.read(NAME, 1000) is None
    first.write(NAME, code, 1000)
    first.write(OTHER, description, 1000)
    assert (first.read(NAME, 1000), first.read(OTHER, 1000)) == (code, description)
    assert (second.read(NAME, 1000), second.read(OTHER, 1000)) == (code, None)


def test_code_of_another_way_to_make_it_quickly_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    target = open_backend("cpu").target
    found = set()
    for version in (quick_code._VERSION, "of a later session"):
        monkeypatch.setattr(quick_code, "_VERSION", version)
        for plainly in (False, True):
            with quick_code.made_quickly(plainly):
                found.add(target.fingerprint)
    assert len(found) == 4
