"""Where the tests of the programs find real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def data() -> Path:
    """The folder of real road networks: $SHAREDOA_DATA, or ``shared/data`` beside the checkout."""
    beside = Path(__file__).parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("SHAREDOA_DATA", beside))
    if not any(folder.glob("*_net.tntp")):
        pytest.skip(f"no road networks in {folder}; set SHAREDOA_DATA to their folder")
    return folder
