"""The recorder of many programs: what it counts, and processes that die."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from . import campaign


def test_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "record.json"
    families, seed = "memory,calls,lives", "5"
    given = ["--programs", "3", "--seed", seed, "--backend", "cpu", "--family", families]
    assert campaign.main([*given, "--jobs", "1", "--json", str(file)]) == 0
    record = json.loads(file.read_text())
    assert record["failures"] == [] and record["settings"]["first_seed"] == 5
    assert [row["family"] for row in record["rows"]] == ["calls", "lives", "memory"]
    assert all(row["programs"] == row["runs"] == 1 for row in record["rows"])
    assert "3 programs, 0 failures" in capsys.readouterr().out


def test_a_process_that_dies_is_a_failure_of_its_seed() -> None:
    tally, worker = campaign.Tally(), campaign._Worker()
    worker.give(campaign.Task("memory", 17, "cpu", ("auto",)))
    worker.process.kill()
    worker.process.join()
    assert not worker.take(tally)
    (failure,) = tally.failures
    assert failure["seed"] == 17 and "died with status -9" in failure["failure"]


def test_what_is_counted() -> None:
    tally = campaign.Tally()
    tally.add(campaign.Task("memory", 1, "cpu", ("auto", "coal")), 0.5, "Difference: x")
    tally.add(campaign.Task("memory", 2, "cpu", ("auto",)), 0.25, None)
    (row,) = tally.rows()
    assert (row["programs"], row["runs"], row["failures"]) == (2, 3, 1)
    assert row["process_seconds"] == 0.75


def test_modes_in_turn_or_all() -> None:
    parse = campaign._parser().parse_args
    given = parse(["--programs", "2", "--backend", "cpu,interpreted"])
    assert [len(task.modes) for task in campaign.tasks_of(given)] == [1] * 4
    given = parse(["--programs", "2", "--backend", "cuda", "--every-mode"])
    assert [len(task.modes) > 10 for task in campaign.tasks_of(given)] == [True] * 2
