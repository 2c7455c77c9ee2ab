"""Passes, each on programs in files: what goes in, which passes run, what comes out.

    ; What is shown.
    ; run: unused
    ; with: debug = true
    program @main
    ...
    ; becomes
    program @main
    ...

``with`` is what the passes may know, beside the usual (``_job``). What comes out is written anew
with UPDATE_FILETESTS=1.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sharedoa.ir.job import Job
from sharedoa.ir.pipeline import PIPELINE, Pass
from sharedoa.ir.text import program_text

from .filetest_types import NAMES
from .parse import parse_program
from .programs import job, run_all

_FOLDER = Path(__file__).parent / "filetests"
_FILES = sorted(_FOLDER.glob("*.ir"))
_BECOMES = "; becomes\n"


def _header(text: str, name: str) -> str:
    """What a comment says behind ``name:``."""
    start = f"; {name}: "
    found = [line for line in text.splitlines() if line.startswith(start)]
    return found[0].removeprefix(start) if found else ""


def _job(given: str) -> Job:
    """``debug``, ``device``, ``shares_loops``: off if not given; ``runs`` and
    ``constants``: by number; ``populated``: a list of classes."""
    text = f'program @f\nfunc @f "" () -> void {{ job <{given}> }}' if given else ""
    options: dict[str, Any] = {}
    if text:
        options = parse_program(text, NAMES).kernel.body.terminator.attributes
    if "populated" in options:
        options["populated"] = [cls.type_index for cls in options["populated"]]
    return job(**options)


def _passes(names: str) -> Sequence[Pass]:
    by_name = {each.name: each for each in PIPELINE}
    return [by_name[name] for name in names.split(", ")]


def becomes(text: str) -> str:
    """What the passes that a text names make of its program."""
    program = parse_program(text, NAMES)
    known, passes = _job(_header(text, "with")), _passes(_header(text, "run"))
    assert all(each.applies(known) for each in passes)
    run_all(program, known, passes)
    return program_text(program, NAMES)


@pytest.mark.parametrize("path", _FILES, ids=[path.stem for path in _FILES])
def test_file(path: Path) -> None:
    given, _, expected = path.read_text().partition(_BECOMES)
    found = becomes(given)
    if os.environ.get("UPDATE_FILETESTS"):
        path.write_text(given + _BECOMES + found)
    else:
        assert found == expected


def test_there_are_files() -> None:
    assert _FILES
