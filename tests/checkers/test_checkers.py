"""Type checkers understand programs: all of the documents, and what each part of the public
interface is to them. mypy is strict, pyright is as it comes; nothing is ignored."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Documents and folders of documents whose pieces are one program.
WHOLE = ("tutorial", "start", "gradients", "guides", "reference")
Complaints = dict[tuple[str, int], str]


def programs() -> dict[str, str]:
    """Text by file name."""
    found = {f"example_{path.name}": path.read_text() for path in ROOT.glob("docs/examples/*.py")}
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        pieces = re.findall(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S)
        if {path.stem, path.parent.name} & {*WHOLE}:
            pieces = ["".join(pieces)]
        whole = [piece for piece in pieces if "import sharedoa" in piece]  # others are parts of one
        page = "_".join(path.relative_to(ROOT).with_suffix("").parts).replace("-", "_")
        found |= {f"{page}_{n}.py": piece for n, piece in enumerate(whole)}
    return found


def mypy(folder: Path) -> Complaints:
    # In ``make lint`` after mypy's run over the tree, whose cache serves.
    cache = ROOT / ".mypy_cache"
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(cache)]
    done = _run(["mypy", *config, "--no-error-summary", *_files(folder)], folder)
    found = re.findall(r"^(\w+\.py):(\d+): error: (.*)$", done.stdout, re.M)
    assert done.returncode == bool(found), done.stdout + done.stderr
    return {(file, int(line)): text for file, line, text in found}


def pyright(folder: Path) -> Complaints:
    if find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed")
    settings = {
        "typeCheckingMode": "standard",
        "extraPaths": [str(ROOT)],
        # To guess types of others' functions from their code took a quarter of the time.
        "useLibraryCodeForTypes": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    python = ["--pythonpath", sys.executable]
    done = _run(["basedpyright", "--outputjson", *python, "--project", str(folder)], folder)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(_files(folder))
    return {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1): each["message"]
        for each in report["generalDiagnostics"]
        if each["severity"] == "error"
    }


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.py"))


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *command]
    variables = {"PATH": "/usr/bin:/bin", "MYPYPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)


def test_pages_of_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    for folder in ("docs", "docs/guides", "docs/reference"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "runs.md").write_text(f"```python\nimport sharedoa  # {folder}\n```\n")
    (tmp_path / "README.md").write_text("```python\nimport sharedoa\n```\n")
    assert len({*programs().values()}) == 4


@pytest.mark.slow  # of ``make lint``, and so of ``make test``
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_programs_and_interface(checker: Callable[[Path], Complaints], tmp_path: Path) -> None:
    found = programs()
    assert len(found) >= 4
    assert not [name for name, text in found.items() if re.search(r"type: ignore|pyright:", text)]
    for name, text in found.items():
        (tmp_path / name).write_text(text)
    shutil.copy(ROOT / "tests/checkers/interface.py", tmp_path)
    complaints = checker(tmp_path)
    mark = "# wrong" if checker is mypy else "# wrong$"
    lines = (tmp_path / "interface.py").read_text().splitlines()
    expected = {n for n, line in enumerate(lines, 1) if re.search(mark, line)}
    told = {line for file, line in complaints if file == "interface.py"}
    assert {n: lines[n - 1] for n in told ^ expected} == {}
    assert {where: text for where, text in complaints.items() if where[0] != "interface.py"} == {}
