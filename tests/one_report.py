"""A worker of pytest-xdist tells the result of each test. What else it tells nobody reads where
nothing fails: that a test begins and ends, and that what it needs was made and put away. That took
half a millisecond of processor time a test."""

from __future__ import annotations

import os

import pytest
from _pytest.runner import runtestprotocol

#: Options for which all is read: the times of all phases, and JUnit's file.
READ_BY = ("durations", "xmlpath")


def run(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """In the place of pytest's own ``pytest_runtest_protocol``; None leaves it to that."""
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    if not is_worker or any(item.config.getoption(name) is not None for name in READ_BY):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
