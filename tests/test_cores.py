"""How many cores a process may use."""

from __future__ import annotations

import os

import pytest

from sharedoa.cores import worker_count


@pytest.mark.parametrize(
    ("asked", "most"),
    [("1", 1), ("3", 3), (" 2,4", 2), ("0", None), ("all", None), ("", None), ("-1", None)],
)
def test_no_more_than_asked_for(
    asked: str, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(8)})
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert worker_count.__wrapped__() == (most or 8)
