"""What tests of launches share."""

from __future__ import annotations

from typing import Any

import pytest

import sharedoa as oa
from sharedoa.runtime.fusion import plans


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What blocks of oa.fuse() launch."""
    found: list[Any] = []
    launch = plans._launch

    def noting(heap: oa.Heap, record: Any) -> None:
        found.append(record)
        launch(heap, record)

    monkeypatch.setattr(plans, "_launch", noting)
    return found
