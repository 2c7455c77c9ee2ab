"""The stored programs, and what programs.toml says is in them."""

from __future__ import annotations

import re
import tomllib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class ExpectedCall:
    """``left`` says why a call is to be left alone; the rest is of virtual calls. ``uniform`` is
    None where either answer is right. ``again``: an earlier call has told the receiver's class."""

    function: str
    slot: int = -1
    classes: frozenset[str] = frozenset()
    uniform: bool | None = None
    again: bool = False
    left: str = ""


@dataclass(frozen=True)
class Program:
    name: str
    sources: tuple[str, ...]
    command: str
    calls: tuple[ExpectedCall, ...]
    misplaced: frozenset[str]

    @property
    def text(self) -> str:
        return (FOLDER / self.name).read_text()

    @property
    def virtual_calls(self) -> list[ExpectedCall]:
        return [call for call in self.calls if not call.left]

    @property
    def by_place(self) -> list[ExpectedCall]:
        """The virtual calls that the place of an object may decide."""
        return [call for call in self.virtual_calls if not call.classes & self.misplaced]


#: Compiled in a way that makes little difference to the pass.
_ALIKE = re.compile(r"\.(sm_\d+|lineinfo|no_fmad|O\d|nvrtc_12_1)\.ptx$")


def marked(names: Iterable[str]) -> list[Any]:
    """Parameters: the programs, those that are much like another one marked slow, and of the other
    variants of one four fifths."""
    return [pytest.param(name, marks=[pytest.mark.slow] * is_slow(name)) for name in names]


def is_slow(name: str) -> bool:
    """Whether others than the tests of make test are of a program."""
    is_variant = "." in name.removesuffix(".ptx")
    return bool(_ALIKE.search(name)) or (is_variant and zlib.crc32(name.encode()) % 5 > 0)


@cache
def programs() -> Mapping[str, Program]:
    manifest = tomllib.loads((FOLDER / "programs.toml").read_text())
    return {name: _program(name, manifest) for name in manifest}


def _program(name: str, manifest: dict[str, Any]) -> Program:
    table = manifest[name]
    like = manifest[table.get("same_as", name)]
    families = {name: frozenset(classes) for name, classes in like.get("families", {}).items()}
    calls = tuple(
        _call(function, item, families)
        for function, items in like.get("calls", {}).items()
        for item in items
    )
    misplaced = frozenset(table.get("misplaced", ()))
    return Program(name, tuple(table["sources"]), table["command"], calls, misplaced)


def _call(
    function: str, item: dict[str, Any], families: Mapping[str, frozenset[str]]
) -> ExpectedCall:
    if "left" in item:
        return ExpectedCall(function, left=item["left"])
    return ExpectedCall(
        function,
        item["slot"],
        families[item["classes"]],
        item.get("uniform"),
        item.get("again", False),
    )
