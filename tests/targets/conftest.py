"""Inputs that ptxas refuses are kept; in tests, where pytest cleans up."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from ..quick_code import usual_code

__all__ = ["usual_code"]


@pytest.fixture(autouse=True)
def _keep_refused_input_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
