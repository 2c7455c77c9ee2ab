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


def test_what_is_set_before_the_import_counts() -> None:
    program = (
        "import os, sharedoa; from sharedoa.cores import worker_count\n"
        "os.environ['OMP_NUM_THREADS'] = '2'; print(worker_count())"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    told = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert told == "1\n"
