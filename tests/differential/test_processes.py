"""Tasks in several processes: those that fail, die, hang, or are not begun in time."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from . import processes


def _run(task: int, folder: Path) -> int:
    assert folder.is_dir()
    if task == 3:
        raise ValueError("it is three")
    if task == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    while task == 5:
        time.sleep(0.1)
    return task * task


def test_tasks_that_fail_and_processes_that_die() -> None:
    found = {done.task: done for done in processes.run_all(_run, [0, 1, 2, 3, 4, 6, 7], 2)}
    assert {n: done.result for n, done in found.items() if done.failure is None} == {
        0: 0,
        1: 1,
        2: 4,
        6: 36,
        7: 49,
    }
    assert str(found[3].failure).startswith("ValueError: it is three")
    assert "died with status -9" in str(found[4].failure)


def test_a_process_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 6)  # of which a process takes one or two to start
    found = {done.task: done for done in processes.run_all(_run, [5, 1], 1)}
    assert "hangs" in str(found[5].failure) and found[1].result == 1


def test_the_end_of_time() -> None:
    start = time.perf_counter()
    found = [done.task for done in processes.run_all(_run, [1, 5, 2], 1, start + 4)]
    assert found in ([], [1]) and time.perf_counter() - start < 8
    assert not [*processes.run_all(_run, [1], 1, start)]
