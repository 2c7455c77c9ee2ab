"""Who waits until another process has collected the tests."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Timer

import pytest

from . import one_first


@pytest.mark.parametrize(("worker", "waits"), [("gw0", False), ("gw1", True), (None, False)])
def test_all_but_the_first_wait_for_it(
    worker: str | None, waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be(name: str | None) -> None:
        if name is None:
            monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
        else:
            monkeypatch.setenv("PYTEST_XDIST_WORKER", name)

    (tmp_path / "file").touch()
    monkeypatch.setenv(one_first.VARIABLE, str(tmp_path / "file"))
    be(worker)
    begun = time.monotonic()
    one_first.wait_for_the_first(most=0.2)
    assert (time.monotonic() - begun >= 0.2) == waits
    one_first.has_collected()
    assert (tmp_path / "file").exists() == (worker != "gw0")
    (timer := Timer(0.1, (tmp_path / "file").unlink, [True])).start()
    one_first.wait_for_the_first(most=60)
    timer.join()
    assert time.monotonic() - begun < 30


def test_nobody_waits_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(one_first.VARIABLE, raising=False)
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw1")
    one_first.wait_for_the_first()
    one_first.has_collected()
