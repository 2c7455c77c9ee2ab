"""What a worker tells of a test (``one_report.py``)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from . import one_report

Phases = dict[str, str]


def told(
    phases: Phases, monkeypatch: pytest.MonkeyPatch, worker: str = "gw0", **options: Any
) -> list[str] | None:
    """The phases that are told of, None where pytest does it itself."""
    reports = [
        SimpleNamespace(when=when, passed=outcome == "passed") for when, outcome in phases.items()
    ]
    monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
    if not worker:
        monkeypatch.delenv("PYTEST_XDIST_WORKER")
    monkeypatch.setattr(one_report, "runtestprotocol", lambda item, log, nextitem: reports)
    found: list[str] = []
    ihook = SimpleNamespace(pytest_runtest_logreport=lambda report: found.append(report.when))
    item: Any = SimpleNamespace(ihook=ihook, config=SimpleNamespace(getoption=options.get))
    return found if one_report.run(item, None) else None


PASSED = {"setup": "passed", "call": "passed", "teardown": "passed"}


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        (PASSED, ["call"]),
        (PASSED | {"call": "failed"}, ["call"]),
        (PASSED | {"teardown": "failed"}, ["call", "teardown"]),
        ({"setup": "failed", "teardown": "passed"}, ["setup"]),
        ({"setup": "skipped", "teardown": "passed"}, ["setup"]),
    ],
)
def test_results_and_all_that_fails(
    phases: Phases, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(phases, monkeypatch) == expected


def test_where_all_is_read_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(PASSED, monkeypatch, worker="") is None
    assert told(PASSED, monkeypatch, durations=0) is None
    assert told(PASSED, monkeypatch, xmlpath="file") is None
