"""The command line, as a process: what it prints, and how it ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from sharedoa import cli
from sharedoa.runtime import code_cache, knobs

from .. import forked
from ..source_files import environment as tree

SMALL = ["--size", "8", "--steps", "5", "--backend", "cpu"]


def sharedoa(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return forked.run(["-m", "sharedoa", *arguments], tree() | environment)


def test_info_says_what_works_and_how_to_get_the_rest():
    done = sharedoa("info")
    assert done.returncode == 0, done.stderr
    for name in ("backend cpu", "backend cuda", "backend hip", "ptxas", "libdevice"):
        assert name in done.stdout


def test_config_says_where_each_value_comes_from():
    done = sharedoa("config", SHAREDOA_MODE="coal", SHAREDOA_CAPACITY="1GiB")
    rows = {line.split()[1]: line for line in done.stdout.splitlines() if "SHAREDOA_" in line}
    assert "coal" in rows["SHAREDOA_MODE"] and "environment" in rows["SHAREDOA_MODE"]
    assert "1073741824" in rows["SHAREDOA_CAPACITY"]
    assert "4096" in rows["SHAREDOA_INITIAL_REGION"]
    assert "default" in rows["SHAREDOA_INITIAL_REGION"]
    assert len(rows) == len(knobs.ALL)


def test_cache_says_how_much_is_kept_lists_and_clears_it(tmp_path):
    class Compiler:
        name, fingerprint = "somewhere", ""

        def libraries(self, text):
            return ""

        def compile(self, text):
            return {"ptx": text}

    with knobs.scope(cache_dir=tmp_path):
        for number in range(3):
            code_cache.compiled(Compiler(), f"text {number}", f"kernel_{number}")
    sorted(tmp_path.iterdir())[0].write_bytes(b"damaged")
    settings = {"SHAREDOA_CACHE_DIR": str(tmp_path), "SHAREDOA_CACHE_SIZE": "3MiB"}
    sizes = sharedoa("cache", **settings)
    assert sizes.returncode == 0, sizes.stderr
    rows = dict(re.findall(r"│ (\w[^│]*?) +│ ([^│]*?) +│", sizes.stdout))
    assert rows["entries"] == "3" and rows["limit"] == "3.00 MiB"
    assert (rows["entries: somewhere"], rows["entries: unreadable"]) == ("2", "1")
    listed = sharedoa("cache", "list", **settings).stdout
    assert listed.count("ptx 6") == 2 and "unreadable" in listed
    cleared = sharedoa("cache", "clear", **settings)
    assert "3 entries" in cleared.stdout and list(tmp_path.iterdir()) == []
    assert sharedoa("cache", "clear", **settings).stdout.startswith("0 entries")


def test_apps_lists_traffic():
    assert "traffic" in sharedoa("apps").stdout


def test_run_draws_a_picture(tmp_path):
    picture = tmp_path / "frame.png"
    done = sharedoa("run", "traffic", *SMALL, "--natural", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert "objects" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert done.stderr == ""  # no progress bar in a pipe


def test_run_records_what_it_did(tmp_path):
    file = tmp_path / "deep" / "run.json"
    done = sharedoa("run", "traffic", *SMALL, "--kernels", "--json", str(file))
    assert done.returncode == 0, done.stderr
    run = json.loads(file.read_text())["run"]
    assert run["app"] == "traffic"
    assert run["options"] == {"size": 8, "steps": 5, "backend": "cpu", "time_kernels": True}
    assert run["counts"]["active"] >= 0
    assert run["objects"] == sum(c["objects"] for c in run["heap"]["classes"].values())
    assert sum(name.startswith("kernel ") for name in run["timings"]) == 10


def test_settings_of_one_program(tmp_path):
    file = tmp_path / "run.json"
    small = ("--size", "16", "--steps", "1", "--backend", "cpu", "--json", str(file))
    done = sharedoa("run", "raytracer", *small, "--set", "objects=7")
    assert done.returncode == 0, done.stderr
    run = json.loads(file.read_text())["run"]
    assert run["options"]["settings"] == {"objects": 7} and run["objects"] == 7
    numbers = ("--set", "num_classes=2", "--set", "num_compute=3", "--size", "1024")
    done = sharedoa("compare", "scalability", *small, *numbers, "--modes", "auto,coal")
    assert done.returncode == 0, done.stderr
    assert "num_classes" in sharedoa("apps").stdout


def test_compare_checks_and_records(tmp_path):
    data, plot = tmp_path / "deep" / "times.json", tmp_path / "times.png"
    done = sharedoa(
        "compare", "traffic", *SMALL, "--modes", "sharedoa,coal,range+switch", "--repeat", "2",
        "--json", str(data), "--plot", str(plot),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "equal results" in done.stdout
    (app,) = json.loads(data.read_text())["apps"]
    assert app["equal"] is True
    assert [mode["mode"] for mode in app["modes"]] == ["sharedoa", "coal", "range+switch"]
    assert all(len(mode["seconds"]) == 2 for mode in app["modes"])
    assert app["modes"][0]["ratio"] == 1
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "raytracer", "--set", "objects=three"], "objects (of the scene"),
        (["run", "raytracer", "--set", "objects"], "objects (of the scene"),
        (["run", "raytracer", "--set", "objects=0"], "objects"),
        (["run", "structure", "--set", "repair=2"], "repair"),
        (["run", "scalability", "--set", "num_classes=0"], "num_classes"),
        (["run", "traffic", "--set", "objects=3"], "it takes nothing"),
        (["run", "traffic", "--mode", "cual"], "typepointer"),
        (["run", "traffic", "--backend", "opencl"], "python"),
        (["run", "traffic", "--backend", "hip"], "hip"),
        (["run", "traffic", "--input", "/nonexistent/file.tntp"], "file.tntp"),
        (["compare", "traffic", "--modes", "coal,cual"], "typepointer"),
    ],
)
def test_mistakes_are_told_in_words(arguments, complaint, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sharedoa", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    errors = capsys.readouterr().err
    assert ended.value.code not in (0, None)
    assert complaint in errors and "help:" in errors


@pytest.mark.parametrize(
    ("arguments", "environment", "complaint"),
    [
        (["run", "tetris"], {}, "traffic"),
        (["cache"], {"SHAREDOA_CACHE_DIR": "off"}, "SHAREDOA_CACHE_DIR"),
        (["config"], {"SHAREDOA_DEBUG": "yes"}, "0 or 1"),
        (["config"], {"SHAREDOA_MODUS": "coal"}, "SHAREDOA_MODE"),
    ],
)
def test_a_process_ends_without_a_traceback(arguments, environment, complaint):
    done = sharedoa(*arguments, **environment)
    assert done.returncode != 0
    assert complaint in done.stderr and "help:" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_cache_that_others_may_write_to_is_off(tmp_path):
    tmp_path.chmod(0o777)
    done = sharedoa("cache", SHAREDOA_CACHE_DIR=str(tmp_path))
    assert done.returncode != 0 and "others may write to it (mode 777)" in " ".join(
        done.stderr.split()
    )
