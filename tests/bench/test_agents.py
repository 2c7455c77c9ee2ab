"""The benchmarks of agents, of all programs, and beside Mesa, whose process is a script here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench import agents, cpu_mesa, programs
from bench.harness import Options
from sharedoa.errors import ConfigurationError


def test_a_part_is_recorded_by_its_name(tmp_path, monkeypatch, capsys):
    arguments = ["agents", "--programs", "flocking,wolf_sheep", "--agents", "500,600"]
    arguments += ["--backend", "cpu", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(agents, "_PIECES", 2)
    monkeypatch.setattr(agents, "_PIECE_SECONDS", 0.01)
    agents.main()
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("agents-flocking-wolf-sheep-500-600-cpu-")
    rows = json.loads(file.read_text())["rows"]
    measured = [(row["program"], row["agents"]) for row in rows]
    assert measured == [(p, n) for p in ("flocking", "wolf_sheep") for n in (500, 600)]
    assert "flocking, 500 agents: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--programs", "flocking,birds", "unknown birds; there are wolf_sheep"),
        ("--agents", "10", "10 are no numbers from 500 on"),
        ("--agents", "many", "many are no numbers"),
    ],
)
def test_refused(option, value, complaint, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["agents", option, value])
    with pytest.raises(SystemExit):
        agents.main()
    assert complaint in capsys.readouterr().err


def test_steps_in_which_nobody_moves_are_not_measured():
    result = agents.run(Options(backend="cpu"), ["schelling"], [501])
    assert not result.rows
    assert "schelling, 501 agents: nobody moves after" in result.failures[0]


def test_turnover_keeps_its_number():
    """Of 20,000 agents a tenth is born and a tenth dies, in every step."""
    result = agents.run(Options(backend="cpu"), ["turnover"], [20_000])
    counts = result.rows[0]["counts"]
    assert abs(counts["agents"] - 20_000) < 3_000
    assert 0.9 * counts["agents"] < counts["born"] <= counts["agents"]


def test_programs_as_their_command_runs_them(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["programs", "--programs", "wealth,kcore", "--backend", "cpu",
                                      "--out", str(tmp_path)])  # fmt: skip
    monkeypatch.setattr(programs, "_MOST_STEPS", 3)
    programs.main()
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("programs-wealth-kcore-cpu-")
    wealth, kcore = json.loads(file.read_text())["rows"]
    assert (wealth["size"], wealth["steps"], len(wealth["samples"])) == (100_000, 3, 3)
    # Cores take as many sweeps as they take, four at a time: all but the first are timed.
    assert kcore["steps"] % 4 == 3 and kcore["steps"] > 3


# ---------------------------------------------------------------------- beside Mesa


def pretend_mesa(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Whatever is run with Mesa's interpreter runs ``script``."""
    file = folder / "python"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PEER_MESA_PYTHON", str(file))


def test_without_mesa_there_is_nothing_to_compare(tmp_path, monkeypatch, capsys):
    pretend_mesa(tmp_path, monkeypatch, "echo \"No module named 'mesa'\" >&2; exit 1")
    result = cpu_mesa.run(Options(backend="cpu"))
    assert not result.rows and not result.failures
    assert "Mesa is not installed" in capsys.readouterr().out


def test_on_a_gpu_there_is_nothing_to_compare(capsys):
    assert not cpu_mesa.run(Options(backend="cuda")).rows
    assert "it is about the CPU backend" in capsys.readouterr().out


def test_both_sides_are_recorded(tmp_path, monkeypatch, capsys):
    found = {"made in": 1, "samples": [2, 4, 3], "counts": {}, "versions": {"mesa": "3"}}
    pretend_mesa(tmp_path, monkeypatch, f"echo a warning; echo '{json.dumps(found)}'")
    result = cpu_mesa.run(Options(backend="cpu"))
    assert result.failures == [] and result.settings["mesa"] == {"mesa": "3"}
    ours, mesa = result.rows[:2]
    assert (ours["tool"], mesa["tool"], mesa["median"]) == ("sharedoa", "mesa", 3)
    assert ours["program"] == mesa["program"] and len(ours["samples"]) == ours["steps"] == 3
    assert len(result.rows) == 6 and "3,000" in capsys.readouterr().out


def test_a_process_that_fails_says_why(tmp_path, monkeypatch):
    pretend_mesa(tmp_path, monkeypatch, "echo 'out of luck' >&2; exit 3")
    with pytest.raises(ConfigurationError, match="ended with status 3: out of luck"):
        cpu_mesa.run(Options(backend="cpu"))
    monkeypatch.setenv("PEER_MESA_PYTHON", "no-such-python")
    with pytest.raises(ConfigurationError, match="no-such-python cannot be run"):
        cpu_mesa.run(Options(backend="cpu"))


def test_mesa_counts_alike():
    """Where it is installed: with other random numbers, and agents one after another."""
    pytest.importorskip("mesa")
    result = cpu_mesa.run(Options(backend="cpu"))
    assert result.failures == []
    for ours, mesa in zip(result.rows[::2], result.rows[1::2], strict=True):
        for what in {"wolves", "grown cells", "birds", "people"} & set(ours["counts"]):
            assert mesa["counts"][what] == pytest.approx(ours["counts"][what], rel=0.3)


@pytest.mark.slow  # three processes
def test_whole_runs_with_an_empty_and_a_filled_cache(tmp_path, monkeypatch):
    arguments = ["programs", "--whole-runs", "--programs", "wator", "--backend", "cpu"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--out", str(tmp_path)])
    programs.main()
    (file,) = tmp_path.glob("whole-runs-wator-cpu-*.json")
    record = json.loads(file.read_text())
    empty, *others = record["rows"]
    assert [each["cache"] for each in others] == ["filled", "filled twice"]
    assert not record["failures"] and len(empty["samples"]) == 2
    assert [each["to"] for each in empty["pieces"]] == [1, 2, 3]
    for row in record["rows"]:
        assert row["counts"] == empty["counts"] and row["pieces"][0]["compilations"] > 0
