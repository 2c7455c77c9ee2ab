"""The documentation site: programs of its pages run as printed, every public name has one, and it
can be built."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sharedoa as oa
from tests import forked

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "docs/index.md",
    ROOT / "docs/start.md",
    *sorted(ROOT.glob("docs/guides/*.md")),
    *sorted(set(ROOT.glob("docs/reference/*.md")) - {ROOT / "docs/reference/index.md"}),
]


def program(page: Path) -> str:
    """The pieces of a page are one program."""
    return "".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_program(page: Path, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(program(page))
    environment = {**os.environ, "SHAREDOA_BACKEND": "cpu", "SHAREDOA_CACHE_DIR": "off"}
    done = forked.run([file], environment, tmp_path)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"^```python\n.*?^```\n\n```\n(.*?)^```", page.read_text(), re.M | re.S)
    for line in "".join(shown).splitlines():
        assert line == "..." or line in done.stdout.splitlines()


def test_every_public_name_is_on_a_page_with_a_program_that_uses_it() -> None:
    used: set[str] = set()
    described: set[str] = set()
    for page in ROOT.glob("docs/reference/*.md"):
        text = program(page)
        used |= {*re.findall(r"\boa\.(\w+)", text)}
        used |= {
            name.strip()
            for names in re.findall(r"from sharedoa import (.*)", text)
            for name in names.split(",")
        }
        described |= {*re.findall(r"^\.\. auto\w+:: (\w+)", page.read_text(), re.M)}
        prose = re.sub(r"(?s)```.*?```", "", page.read_text())
        described |= {*re.findall(r"`(?:oa\.)?(\w+)", prose)}
        described |= {*re.findall(r"\bvec\dd?i?\b|\bmat\d\d\b|\b[iuf]\d+\b", page.read_text())}
    assert {*oa.__all__} <= used
    assert {*oa.__all__} <= described


@pytest.mark.slow
def test_it_can_be_built(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "-c", "docs", "."]
    subprocess.run([*command, str(tmp_path)], cwd=ROOT, check=True)
    assert (tmp_path / "index.html").exists() and (tmp_path / "docs/index.html").exists()
