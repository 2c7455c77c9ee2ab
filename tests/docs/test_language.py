"""docs/language.md, row by row: what works does the same in CPython, compiled, and on a GPU that is
an interpreter; what does not is refused in the words of the page."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32
from sharedoa.errors import CompileError
from sharedoa.frontend import translate_kernel

from ..codegen.interpreted import InterpretedGpu
from ..modes import rotated
from ..source_files import load_module

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
_ROW = re.compile(r"^\| (`.*?) \| (works|no: )(.*) \|$")
_REFUSED = re.compile(r"`(.*?)`; (.*)")
#: Computed by a library, another one on each backend.
_ROUNDED = 1e-6


class Row(NamedTuple):
    section: str
    lines: list[str]
    #: What is said of it, if it is refused.
    complaint: tuple[str, str] | None


def rows() -> list[Row]:
    section, found = "", []
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        match = _ROW.match(line.replace("\\|", "\0"))
        if match is None:
            assert not line.startswith("| `"), line
            continue
        code, verdict, rest = (part.replace("\0", "|") for part in match.groups())
        refused = _REFUSED.match(rest)
        assert (refused is not None) == (verdict == "no: "), line
        lines = [each.strip("`") for each in code.split("<br>")]
        found.append(Row(section, lines, (refused[1], refused[2]) if refused else None))
    return found


WORKING = [row for row in rows() if row.complaint is None]
REFUSED = [row for row in rows() if row.complaint is not None]


def preamble() -> tuple[str, str]:
    """The names that the page puts around a row, and the parameters."""
    block = PAGE.read_text().split("```python\n")[1].split("```")[0]
    names, header = block.split("def row(")
    return names, " ".join(header.split(") ->")[0].split()).strip(", ")


def module_of(folder: Path, chosen: list[Row]) -> ModuleType:
    names, parameters = preamble()
    given = ", ".join(part.split(":")[0] for part in parameters.split(", "))
    text = "from enum import IntEnum\nfrom typing import ClassVar, NamedTuple, Self\n" + names
    for number, row in enumerate(chosen):
        body = "\n".join(f"    {line}" for line in row.lines)
        text += f"@oa.func\ndef row_{number}({parameters}) -> f64:\n{body}\n    return f64(r)\n\n"
    text += f"@oa.kernel\ndef run(out: oa.Array[f64], {parameters}) -> None:\n"
    text += "".join(f"    out[{k}] = row_{k}({given})\n" for k in range(len(chosen)))
    return load_module(folder, text)


def results(module: ModuleType, heap: oa.Heap, count: int) -> np.ndarray:
    with heap:
        out = oa.zeros(count, f64)
        a, b = oa.array(f32, [1.5, -2, 4]), oa.array(i32, [3, 1, 2])
        circle = oa.new(module.Circle, radius=3.0)
        for place, mark in enumerate((4, 5, 6)):
            circle.marks[place] = mark
        module.run[1](out, a, b, 2, 0.5, circle, circle)
        return np.array(out.numpy())


@pytest.mark.parametrize(
    ("backend", "debug"),
    rotated(["cpu", pytest.param("interpreted", marks=pytest.mark.slow)], [False, True]),
)
def test_what_works(backend: str, debug: bool, tmp_path: Path) -> None:
    module = module_of(tmp_path, WORKING)
    expected = results(module, oa.Heap(backend="python", capacity="64MiB"), len(WORKING))
    exact = np.array([row.section != "Mathematics" for row in WORKING])
    assert exact.sum() > 20
    opened: Any = InterpretedGpu() if backend == "interpreted" else backend
    heap = oa.Heap(backend=opened, debug=debug, capacity="64MiB")
    found = results(module, heap, len(WORKING))
    close = np.isclose(found, expected, _ROUNDED, 0, equal_nan=True)
    same = (found == expected) | (~exact & close)
    wrong = [(WORKING[k].lines, found[k], expected[k]) for k in np.flatnonzero(~same)]
    assert not wrong


def test_what_does_not(tmp_path: Path) -> None:
    module = module_of(tmp_path, REFUSED)
    with pytest.raises(CompileError) as caught:
        translate_kernel(module.run.function)
    found: dict[str, Any] = {}
    for each in caught.value.diagnostics:
        assert each.location is not None
        found.setdefault(each.location.function, each)
    for number, row in enumerate(REFUSED):
        diagnostic = found.get(f"row_{number}")
        assert diagnostic is not None, f"{row.lines} is not refused"
        assert row.complaint is not None
        message, help = row.complaint
        assert diagnostic.message == message, row.lines
        assert help in diagnostic.help, row.lines
