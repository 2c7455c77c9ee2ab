"""How the command line takes what it is given, and ends when something fails half-way."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sharedoa
from apps.interface import RunOptions, RunResult
from apps.registry import APPS, AppInfo
from apps.structure.generated import MOST_NODES
from apps.traffic.generated import MOST_INTERSECTIONS
from sharedoa import cli
from sharedoa.backends import Availability
from sharedoa.cli import commands, problems, program_report, report
from sharedoa.errors import ArgumentError, SharedOAError
from sharedoa.runtime import knobs

ROOT = Path(__file__).parents[2]
TRAFFIC = ["traffic", "--size", "8", "--steps", "2"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder of the commands, empty at first."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def runs(monkeypatch):
    """Programs only say that they were run, and in which mode."""
    names: list[str] = []

    def run(app: AppInfo, options: RunOptions) -> RunResult:
        names.append(app.name)
        return RunResult(counts={"ran": 1}, timings={"run": 1.0})

    monkeypatch.setattr(AppInfo, "run", run)
    return names


def invoke(*arguments: str):
    return CliRunner().invoke(commands.application, list(arguments))


def commands_of_readmes() -> list[str]:
    readmes = sorted((ROOT / "apps").glob("*/README.md"))
    assert readmes
    return [
        line.strip()
        for readme in readmes
        for line in re.findall(r"^ +sharedoa .*", readme.read_text(), re.M)
    ]


@pytest.mark.parametrize("command", commands_of_readmes())
def test_commands_of_readmes_are_taken(command, runs):
    name, *arguments = shlex.split(command)
    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    assert set(runs) <= set(command.split())


def test_names_may_have_dashes_and_near_ones_are_suggested(runs):
    assert invoke("run", "game-of-life").exit_code == 0
    assert invoke("compare", "bfs-ven", "--modes", "coal").exit_code == 0
    assert runs == ["game_of_life", "bfs_ven"]
    error = invoke("run", "trafic").exception
    assert isinstance(error, SharedOAError) and "did you mean traffic?" in error.help
    error = invoke("run", "tetris").exception
    assert isinstance(error, SharedOAError) and "did you mean" not in error.help


@pytest.mark.parametrize("app", APPS.values(), ids=APPS)
def test_programs_without_a_natural_flavour_are_known(app):
    if not app.has_natural:
        with pytest.raises(ArgumentError, match=r"natural|classes|flavour"):
            app.run(RunOptions(natural=True, size=64, steps=1))


def test_brackets_are_no_markup(monkeypatch, folder, capsys):
    need = 'pip install "sharedoa[cuda]" :smile:'
    monkeypatch.setattr(report, "available", lambda: [Availability("cuda", False, need)])
    report.show_machine()
    assert need in capsys.readouterr().out
    with knobs.scope(dump="/tmp/d[/b]x", cache_dir=folder / "c[dir]"):
        assert "/tmp/d[/b]x" in invoke("config").stdout
        assert f"{folder}/c[dir]" in invoke("cache").stdout
    (folder / "q[" / "a]").mkdir(parents=True)
    picture = "q[/a]/x.png"
    done = invoke("run", *TRAFFIC, "--out", picture)
    assert done.exit_code == 0, done.output
    assert picture in done.stdout and Path(picture).exists()
    problems.show_error("q[/a]")
    assert capsys.readouterr().err == "error: q[/a]\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "traffic", "--json", "."], "--json"),
        (["run", "traffic", "--json", "file/run.json"], "--json"),
        (["compare", "traffic", "--json", "."], "--json"),
        (["compare", "traffic", "--plot", "times.bmp3"], "bmp3"),
        (["compare", "traffic", "--plot", "times"], "(none)"),
        (["compare", "traffic", "--plot", "file/times.png"], "--plot"),
        (["compare", "traffic", "bfs", "--natural"], "bfs"),
        (["run", "scalability", "--natural"], "scalability"),
    ],
)
def test_what_must_fail_fails_before_anything_ran(arguments, complaint, runs, folder):
    (folder / "file").touch()
    error = invoke(*arguments).exception
    assert isinstance(error, SharedOAError) and complaint in error.message and error.help
    assert runs == []
    assert [file.name for file in folder.iterdir()] == ["file"]


@pytest.mark.parametrize("option", ["--json", "--out"])
def test_a_symlink_as_output_stays(option, folder):
    link = folder / "link.png"
    link.symlink_to("target.png")
    done = invoke("run", *TRAFFIC, option, "link.png")
    assert done.exit_code == 0, done.output
    assert link.is_symlink() and (folder / "target.png").stat().st_size > 0


def test_plots_without_matplotlib_fail_before_anything_ran(runs, monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    error = invoke("compare", "traffic", "--plot", "times.png").exception
    assert isinstance(error, SharedOAError) and "sharedoa[plot]" in error.help
    assert runs == []


def test_a_failure_keeps_what_was_done(monkeypatch, folder):
    def run(app: AppInfo, options: RunOptions) -> RunResult:
        if app.name == "bfs":
            raise ArgumentError("bfs cannot", "try another")
        (folder / "times.json").unlink(missing_ok=True)
        return RunResult(counts={}, timings={"run": 1.0})

    monkeypatch.setattr(AppInfo, "run", run)
    files = ("--json", "times.json", "--plot", "times.png")
    done = invoke("compare", "traffic", "bfs", "cc", "--modes", "coal", *files)
    assert done.exit_code == 1 and "bfs cannot" in done.stderr and "traffic" in done.stdout
    assert [app["app"] for app in json.loads(Path("times.json").read_text())["apps"]] == ["traffic"]
    assert Path("times.png").exists()


def test_a_plot_is_drawn_when_the_record_cannot_be_written(monkeypatch, folder):
    def run(app: AppInfo, options: RunOptions) -> RunResult:
        Path("times.json").mkdir()
        return RunResult(counts={}, timings={"run": 1.0})

    monkeypatch.setattr(AppInfo, "run", run)
    files = ("--json", "times.json", "--plot", "times.png")
    done = invoke("compare", "traffic", "--modes", "coal", *files)
    assert done.exit_code == 1 and "--json: times.json" in done.stderr
    assert Path("times.png").read_bytes().startswith(b"\x89PNG")


def test_a_record_that_cannot_be_written_leaves_the_file(runs, folder, monkeypatch):
    Path("run.json").write_text("before")

    def fail(file: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    error = invoke("run", "traffic", "--json", "run.json").exception
    assert isinstance(error, SharedOAError) and "No space left" in error.message
    assert [(file.name, file.read_text()) for file in folder.iterdir()] == [("run.json", "before")]


def test_there_is_no_ratio_to_no_time(monkeypatch, folder):
    def run(app: AppInfo, options: RunOptions) -> RunResult:
        return RunResult(counts={}, timings={"run": 0.0})

    monkeypatch.setattr(AppInfo, "run", run)
    files = ("--json", "times.json", "--plot", "times.png")
    done = invoke("compare", "traffic", "--modes", "sharedoa,coal", *files)
    assert done.exit_code == 0, done.output
    (app,) = json.loads(Path("times.json").read_text())["apps"]
    assert [mode["ratio"] for mode in app["modes"]] == [None, None]


def test_a_run_in_which_no_vehicle_starts_is_checked():
    done = invoke("run", "traffic", "--natural", "--size", "2", "--steps", "2", "--check")
    assert done.exit_code == 0, done.output


def test_records_say_what_ran(folder, monkeypatch):
    monkeypatch.setenv("SHAREDOA_DEBUG", "1")
    done = invoke("run", *TRAFFIC, "--seed", "0", "--mode", "coal", "--json", "run.json")
    assert done.exit_code == 0, done.output
    document = json.loads(Path("run.json").read_text())
    run = document["run"]
    assert run["options"] == {"size": 8, "steps": 2, "seed": 0, "mode": "coal"}
    assert run["resolved"] == {"size": 8, "steps": 2, "seed": 0}
    assert run["heap_settings"] == {
        "mode": "coal", "backend": "cpu", "layout": "auto", "references": 64, "debug": True,
        "fastmath": False,
    }  # fmt: skip
    assert set(document["versions"]) == {"sharedoa", "numpy", "llvmlite"}
    small = ("--size", "64", "--layout", "aos", "--modes", "auto,cuda")
    done = invoke("compare", "bfs", *small, "--json", "both.json")
    assert done.exit_code == 0, done.output
    (app,) = json.loads(Path("both.json").read_text())["apps"]
    assert app["resolved"] == {"size": 64, "steps": APPS["bfs"].steps, "seed": APPS["bfs"].seed}
    found = [mode["heap_settings"] for mode in app["modes"]]
    assert [(each["mode"], each["layout"]) for each in found] == [("auto", "aos"), ("cuda", "aos")]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        *(pytest.param(each, marks=pytest.mark.slow) for each in (["config"], ["run", *TRAFFIC])),
    ],
)
def test_a_full_disk_is_told_in_words(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sharedoa", *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error: the output cannot be written: No space left on device\n"


def test_a_full_disk_does_not_cost_the_record(runs, folder, monkeypatch):
    def fail(*shown: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(program_report, "show_result", fail)
    assert isinstance(invoke("run", "traffic", "--json", "run.json").exception, OSError)
    assert Path("run.json").exists()


def test_faults_with_files_keep_their_traceback(monkeypatch):
    def fail(**given: object) -> None:
        open("/nonexistent/file")

    monkeypatch.setattr(commands, "application", fail)
    with pytest.raises(FileNotFoundError):
        cli.main()


@pytest.mark.parametrize("said", ["", "Unable to allocate 8.00 EiB"])
def test_too_little_memory_is_told_in_words(monkeypatch, capsys, said):
    def fail(app: AppInfo, options: RunOptions) -> RunResult:
        raise MemoryError(said)

    monkeypatch.setattr(AppInfo, "run", fail)
    monkeypatch.setattr(sys, "argv", ["sharedoa", "run", "traffic"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    told = capsys.readouterr().err
    assert "error: the memory of this machine is not enough: " in told and said in told
    assert "help: give a smaller --size" in told


@pytest.mark.parametrize("app", ["traffic", "structure"])
def test_sizes_that_cannot_fit_are_refused_at_once(app):
    error = invoke("run", app, "--size", "1000000000000").exception
    assert isinstance(error, ArgumentError) and "1,000,000,000,000" in error.message
    assert "give a size of at most" in error.help


@pytest.mark.parametrize(
    ("app", "most"), [("traffic", MOST_INTERSECTIONS), ("structure", MOST_NODES)]
)
def test_ten_times_the_sizes_of_the_paper_are_allowed(app, most):
    assert APPS[app].paper_size * 10 <= most


def test_interruption_is_told_in_words(monkeypatch, capsys, folder):
    def interrupt(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(AppInfo, "run", interrupt)
    done = invoke("run", "traffic")
    assert (done.exit_code, done.stderr) == (130, "interrupted\n")
    with monkeypatch.context() as arguments:  # while arguments are read
        arguments.setattr("typer.core.TyperGroup.parse_args", interrupt)
        done = invoke("run", "traffic")
        assert (done.exit_code, done.stderr) == (130, "interrupted\n")
    monkeypatch.setattr(cli, "_run", interrupt)  # while modules are imported
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_interruption_keeps_what_was_measured(monkeypatch, folder):
    def run(app: AppInfo, options: RunOptions) -> RunResult:
        if app.name == "bfs":
            raise KeyboardInterrupt
        return RunResult(counts={}, timings={"run": 1.0})

    monkeypatch.setattr(AppInfo, "run", run)
    done = invoke("compare", "traffic", "bfs", "--modes", "coal", "--json", "times.json")
    assert done.exit_code == 130
    assert len(json.loads(Path("times.json").read_text())["apps"]) == 1


def test_version_and_help():
    done = invoke("--version")
    assert (done.exit_code, done.stdout) == (0, f"sharedoa {sharedoa.__version__}\n")
    for command in ([], ["run"], ["cache", "list"]):
        assert invoke(*command, "-h").stdout == invoke(*command, "--help").stdout
    assert "--version" in invoke("-h").stdout
