"""How many cores a process may use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sharedoa import cores


@pytest.mark.parametrize(
    ("asked", "most"),
    [("1", 1), ("3", 3), (" 2,4", 2), ("0", None), ("all", None), ("", None), ("-1", None)],
)
def test_no_more_than_asked_for(
    asked: str, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(8)})
    monkeypatch.setattr(cores, "_asked", asked)
    assert cores.worker_count.__wrapped__() == (most or 8)


def told(program: str, **variables: str) -> list[str]:
    head = "import os, sharedoa; from sharedoa.cores import worker_count; "
    command = [sys.executable, "-c", head + program]
    environment = {**os.environ, "OMP_NUM_THREADS": "", **variables}
    return subprocess.check_output(command, env=environment, text=True).split()


def test_what_is_set_before_the_import_counts() -> None:
    program = "os.environ['OMP_NUM_THREADS'] = '2'; print(worker_count())"
    assert told(program, OMP_NUM_THREADS="1") == ["1"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen")
def test_a_forked_process_counts_anew() -> None:
    program = """
cores = os.sched_getaffinity(0)
print(worker_count() == len(cores), flush=True)
if os.fork() == 0:
    os.sched_setaffinity(0, {min(cores)})
    print(worker_count(), flush=True)
    os._exit(0)
os.wait()
"""
    assert told(program) == ["True", "1"]
