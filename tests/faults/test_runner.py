"""The runner tells every way to end from every other, and the sample of the catalogue passes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .report import is_passed
from .runner import ROOT, Result

DELIBERATE = "tests.faults.deliberate"
EXPECTED = {
    "fine": "fine",
    "clear": "clear",
    "unclear": "unclear",
    "other_words": "unclear",
    "no_cure": "unclear",
    "traceback": "unclear",
    "status": "unclear",
    "early": "unclear",
    "silent": "silent",
    "nothing_refused": "silent",
    "hang": "hang",
    "crash": "crash",
    "crash_at_the_end": "crash",
    "crash_of_a_program": "crash",
    "hang_of_a_program": "hang",
    "normal_only": "fine",
}


def faults(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.faults", "--jobs", "2", *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


#: What a fresh interpreter has a part in: how it ends, and what it prints.
FRESH = ("fine", "traceback", "early", "hang", "crash", "crash_at_the_end", "normal_only")


@pytest.mark.parametrize(
    ("start", "names"),
    [("--warm", tuple(EXPECTED)), pytest.param("--fresh", FRESH, marks=pytest.mark.slow)],
)
def test_each_way_to_end(tmp_path: Path, start: str, names: tuple[str, ...]):
    file = tmp_path / "record.json"
    only = [word for name in names for word in ("--only", f"*.{name}")]
    done = faults("--subject", DELIBERATE, "--normal", "--json", file, start, *only)
    assert done.returncode == 1, done.stderr
    record = json.loads(file.read_text())
    found = {each["name"].partition(".")[2]: each["outcome"] for each in record["results"]}
    assert found == {name: EXPECTED[name] for name in names}
    assert not record["passed"]
    assert "crash    deliberate.crash: ended by SIGSEGV" in done.stdout


def test_modes_patterns_and_status():
    good = faults("--subject", DELIBERATE, "--warm", "--only", "fine", "--only", "*_only")
    assert good.returncode == 0, good.stdout
    assert "4 runs of 3 cases" in good.stdout
    assert faults("--subject", DELIBERATE, "--only", "nothing.like.it").returncode == 2


def test_what_has_ended_is_told_after_ctrl_c(tmp_path: Path):
    command = [
        sys.executable, "-m", "tests.faults", "--jobs", "1", "--normal", "--backend", "cuda",
        "--subject", DELIBERATE, "--only", "silent", "--only", "late",
        "--json", tmp_path / "record",
    ]  # fmt: skip
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    started = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr is not None
    assert "silent   deliberate.silent: 1 is not 2" in started.stderr.readline()
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130 and "not all cases have been run" in err
    assert "1 runs of 1 cases" in out
    assert json.loads((tmp_path / "record").read_text())["outcomes"]["normal"] == {"silent": 1}
    assert os.listdir(tmp_path) == ["record"]


def _results(outcomes: dict[str, int], debug: bool = False) -> list[Result]:
    return [
        Result("a.b", debug, outcome, "", 0.0, "")
        for outcome, count in outcomes.items()
        for _ in range(count)
    ]


def test_what_passes():
    assert is_passed(_results({"fine": 60, "clear": 40}))
    assert is_passed(_results({"clear": 99, "unclear": 1}))
    assert not is_passed(_results({"clear": 98, "unclear": 2}))
    for worse in ("silent", "hang", "crash"):
        assert not is_passed(_results({"clear": 1000, worse: 1}))
    # Each mode by itself.
    normal = _results({"clear": 1000})
    assert not is_passed(normal + _results({"clear": 10, "unclear": 1}, debug=True))


def test_the_sample_passes():
    done = faults("--sample", "--warm")
    assert done.returncode == 0, done.stdout
