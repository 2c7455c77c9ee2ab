"""The recorder of many programs: what it counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from . import campaign, processes


@pytest.mark.slow
def test_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "record.json"
    families, seed = "memory,calls,lives", "5"
    given = ["--programs", "3", "--seed", seed, "--backend", "cpu", "--family", families]
    assert campaign.main([*given, "--jobs", "1", "--json", str(file)]) == 0
    record = json.loads(file.read_text())
    assert record["failures"] == [] and record["settings"]["first_seed"] == 5
    assert [row["family"] for row in record["rows"]] == ["calls", "lives", "memory"]
    assert all(row["programs"] == row["runs"] == 1 for row in record["rows"])
    assert "3 of 3 run, 0 failures" in capsys.readouterr().out


def test_what_is_counted() -> None:
    tally = campaign.Tally()
    first = campaign.Task("memory", 1, "cpu", ("auto", "coal"))
    tally.add(processes.Done(first, 0.5, failure="Difference: x"))
    tally.add(processes.Done(campaign.Task("memory", 2, "cpu", ("auto",)), 0.25))
    (row,) = tally.rows()
    assert (row["programs"], row["runs"], row["failures"]) == (2, 3, 1)
    assert row["process_seconds"] == 0.75


def test_modes_in_turn_or_all() -> None:
    parse = campaign._parser().parse_args
    given = parse(["--programs", "2", "--backend", "cpu,interpreted"])
    assert [len(task.modes) for task in campaign.tasks_of(given)] == [1] * 4
    given = parse(["--programs", "2", "--backend", "cuda", "--every-mode"])
    assert [len(task.modes) > 10 for task in campaign.tasks_of(given)] == [True] * 2
