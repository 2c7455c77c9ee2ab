"""A wheel of this tree is installed and used within a minute."""

from __future__ import annotations

import pytest

from bench.harness import Options
from bench.installation import run


@pytest.mark.slow
def test_within_a_minute() -> None:
    pytest.importorskip("hatchling")
    result = run(Options("cpu"))
    assert not result.failures
    assert [row["what"] for row in result.rows][-2:] == ["the program again", "all"]
