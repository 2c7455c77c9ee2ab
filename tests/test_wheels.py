"""What is installed: two wheels, which hold what they should, and run where nothing else is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import sharedoa

ROOT = Path(__file__).parents[1]
OURS, APPS = ROOT / "pyproject.toml", ROOT / "packaging/apps/pyproject.toml"


def test_one_version() -> None:
    ours, apps = (tomllib.loads(file.read_text())["project"] for file in (OURS, APPS))
    cited = re.search(r"^version: (.*)", (ROOT / "CITATION.cff").read_text(), re.M)
    assert cited is not None
    version = sharedoa.__version__
    assert version == ours["version"] == apps["version"] == cited[1]
    assert apps["dependencies"] == [f"sharedoa=={version}"]
    assert ours["optional-dependencies"]["apps"] == [f"sharedoa-apps=={version}"]
    assert apps["requires-python"] == ours["requires-python"]


def built(project: Path, folder: Path) -> zipfile.ZipFile:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(project)], check=True, cwd=folder)
    (wheel,) = folder.glob(f"{'sharedoa_apps' if project != ROOT else 'sharedoa'}-*.whl")
    return zipfile.ZipFile(wheel)


@pytest.mark.slow
def test_wheels_in_an_empty_environment(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    names = {
        project: {name.split("/")[0] for name in built(project, tmp_path).namelist()}
        for project in (ROOT, APPS.parent)
    }
    assert names[ROOT] == {"sharedoa", "dispatch", "ptxpass", "sharedoa-0.1.0.dist-info"}
    assert names[APPS.parent] == {"apps", "bench", "sharedoa_apps-0.1.0.dist-info"}
    venv.create(tmp_path / "empty", with_pip=True)
    binaries = tmp_path / "empty/bin"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        found = [str(binaries / command[0]), *command[1:]]
        return subprocess.run(found, cwd=tmp_path, env=environment, capture_output=True, text=True)

    install = ("pip", "install", "--quiet", "--find-links", str(tmp_path))
    assert run(*install, "sharedoa").returncode == 0
    info = run("sharedoa", "info")
    assert info.returncode == 0 and "backend cpu" in info.stdout, info.stderr
    (tmp_path / "shapes.py").write_text(
        re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[0]
    )
    shapes = run("python", "shapes.py")
    assert shapes.returncode == 0 and "314.159" in shapes.stdout, shapes.stderr
    without = run("sharedoa", "run", "wealth", "--size", "10")
    assert without.returncode == 1 and "pip install 'sharedoa[apps]'" in without.stderr
    assert run("python", "-c", "import apps").returncode == 1
    assert run(*install, "sharedoa[apps]").returncode == 0
    wealth = run("sharedoa", "run", "wealth", "--size", "100", "--steps", "3", "--backend", "cpu")
    assert wealth.returncode == 0 and "objects" in wealth.stdout, wealth.stderr
