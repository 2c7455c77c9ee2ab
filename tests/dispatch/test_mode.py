"""Mode names, what they mean, and the headers that objects then carry."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import dispatch
from dispatch.identify import IDENTIFICATIONS
from dispatch.invoke import INVOCATIONS
from dispatch.mode import MODES, ModeError, parse_mode

PAPER = ("cuda", "concord", "sharedoa", "coal", "typepointer")


def test_names() -> None:
    combinations = {f"{i}+{j}" for i in ("header", "tag", "range", "bits") for j in INVOCATIONS}
    assert set(MODES) == {*PAPER, *combinations, "auto"}
    assert set(INVOCATIONS) == {"vtable", "switch"}
    assert MODES[:5] == PAPER


@pytest.mark.parametrize(
    ("name", "parts", "header_size"),
    [
        ("cuda", ("scattered", "header", "vtable"), 8),
        ("concord", ("scattered", "tag", "switch"), 4),
        ("sharedoa", ("by_type", "header", "vtable"), 8),
        ("coal", ("by_type", "range", "vtable"), 8),
        ("typepointer", ("by_type", "bits", "vtable"), 8),
        ("header+switch", ("by_type", "header", "switch"), 8),
        ("tag+vtable", ("by_type", "tag", "vtable"), 4),
        ("range+switch", ("by_type", "range", "switch"), 0),
        ("bits+vtable", ("by_type", "bits", "vtable"), 0),
        ("auto", ("by_type", "range", "switch"), 0),
    ],
)
def test_parts(name: str, parts: tuple[str, str, str], header_size: int) -> None:
    mode = parse_mode(name)
    assert (mode.placement, mode.identify, mode.invoke) == parts
    assert mode.header_size == header_size
    assert mode.header_alignment == {0: 1, 4: 4, 8: 8}[header_size]
    assert mode.tagged_references == (parts[1] == "bits")
    assert mode.closed_world == (name not in PAPER)
    assert mode.spare_uniform == (name == "coal")


@pytest.mark.parametrize("text", [" COAL ", "Coal", "range + switch", "RANGE+SWITCH"])
def test_case_and_spaces_do_not_matter(text: str) -> None:
    assert parse_mode(text).name in ("coal", "range+switch")


@pytest.mark.parametrize("text", ["", "cola", "range", "switch+range", "range+", "+switch", "7"])
def test_unknown_mode_lists_the_valid_ones(text: str) -> None:
    with pytest.raises(ModeError) as raised:
        parse_mode(text)
    assert isinstance(raised.value, ValueError)
    assert f"unknown mode {text!r}" in str(raised.value)
    assert all(name in str(raised.value) for name in MODES)


def test_an_identification_is_added_by_adding_a_file(tmp_path: Path) -> None:
    package = Path(dispatch.__file__).parent
    shutil.copytree(package, tmp_path / "dispatch", ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path / "dispatch" / "identify"
    shutil.copy(folder / "tag.py", folder / "colour.py")
    code = "from dispatch.mode import parse_mode; print(parse_mode('colour+switch').identify)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "colour"


def test_every_mode_explains_itself() -> None:
    for name in MODES:
        mode = parse_mode(name)
        assert IDENTIFICATIONS[mode.identify].SUMMARY in mode.explanation
        assert mode.invoke in mode.explanation
    assert "classes that have objects" in parse_mode("auto").explanation


def test_header_bytes() -> None:
    def header(name: str) -> bytes:
        return parse_mode(name).header_bytes(7, 0x1000)

    assert header("concord") == struct.pack("<I", 7)
    for name in ("cuda", "sharedoa", "coal", "typepointer", "header+switch"):
        assert header(name) == struct.pack("<Q", 0x1000)
    assert header("range+vtable") == b""
    for name in MODES:
        assert len(header(name)) == parse_mode(name).header_size
