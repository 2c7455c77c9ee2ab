"""The recorder of gradients of random programs: what is run, and what is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..differential.processes import Done
from . import campaign
from .comparison import BY_CLASS


@pytest.mark.slow
def test_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "record.json"
    given = ["--first", "3", "--count", "1", "--jobs", "1", "--json", str(file)]
    assert campaign.main(given) == 0
    record = json.loads(file.read_text())
    assert (record["run"], record["agreed"], record["not_run"]) == (1, 1, 0)
    assert {row["way"] for row in record["rows"]} == {*campaign.task_of(3, "cpu").ways}
    assert all((row["agreed"], row["failed"]) == (1, 0) for row in record["rows"])
    assert "1 of 1 programs run" in capsys.readouterr().out


def test_what_was_not_run_in_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "record.json"
    assert campaign.main(["--count", "7", "--seconds", "0", "--json", str(file)]) == 0
    record = json.loads(file.read_text())
    assert (record["run"], record["not_run"], record["rows"]) == (0, 7, [])
    assert "0 of 7 programs run" in capsys.readouterr().out


def test_everything_is_met() -> None:
    ways = {way for seed in range(500) for way in campaign.task_of(seed, "cpu").ways}
    assert {way for way in ways if way.startswith("mode ")} == {f"mode {m}" for m in BY_CLASS}
    assert len(ways) == len(BY_CLASS) + 12


def test_what_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    tally, tasks = campaign.Tally(), [campaign.task_of(seed, "cpu") for seed in range(3)]
    tally.add(Done(tasks[0], 0.5, result=True))
    tally.add(Done(tasks[1], 0.5, result=False))
    tally.add(Done(tasks[2], 0.5, failure="AssertionError: gradient of A"))
    assert (tally.run, tally.compared, tally.too_large, tally.seconds) == (3, 1, [1], 1.5)
    assert [(f["seed"], f["ways"]) for f in tally.failures] == [(2, tasks[2].ways)]
    assert sum(row["failed"] for row in tally.rows()) == len(tasks[2].ways)
    assert "seed 2 (" in capsys.readouterr().out
