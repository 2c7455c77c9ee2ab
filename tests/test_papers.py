"""The table of what papers ask for names tests and records that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from .papers import ENZYME, FUSER, PROTEUS, TABLE, Row

ROOT = Path(__file__).parents[1]


def test_every_row_is_there() -> None:
    assert [row.number for row in PROTEUS] == [f"P-{number}" for number in range(1, 14)]
    assert [row.number for row in FUSER] == [f"F-{number}" for number in range(1, 14)]
    assert [row.number for row in ENZYME] == [f"E-{number}" for number in range(1, 13)]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.number)
def test_what_shows_it_exists(row: Row) -> None:
    for test in row.tests:
        file, _, function = test.partition("::")
        text = (ROOT / file).read_text()
        assert not function or f"def {function}(" in text, test
    for record in row.records:
        assert (ROOT / "bench" / "results" / record).is_file(), record
    assert row.tests or row.records or row.missing
