"""Which lines of Python profilers and checkers of NVIDIA name, for a kernel that calls a method of
two classes; and whether machine code is the same without lines.

With ``SHAREDOA_LINES=1`` the source page of Nsight Compute is read as text. Of each row that says
how often instructions of a line ran, the line is looked up here by its text. In another process
compute-sanitizer stops at an access that one of the bodies makes far outside its array, and says
where. Both, and ptxas with lines and without, are needed: what is missing is a failure.

Expected before running: the lines marked below, of the two bodies and of the call, and none but
lines of the kernel and the two methods; compute-sanitizer the line of ``Square.put``. Machine code
is the same instruction by instruction, both as ptxas writes it and as Nsight Compute found it on
the device, where addresses of the process stand in place of names.
"""

from __future__ import annotations

import csv
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

import sharedoa as oa
from bench.harness import Options, Result, backend_name, main, show
from sharedoa import f32, i32, i64
from sharedoa.runtime import knobs
from sharedoa.targets.ptxas import assemble

_EACH = 1 << 13
_FAR = 1 << 40
_ROOT = Path(__file__).parents[1]
_SECONDS = 60


class Shape(oa.Object):
    def put(self, out: oa.Array[f32], at: i64) -> None:
        raise NotImplementedError


class Circle(Shape):
    radius: f32
    times: i32

    def put(self, out: oa.Array[f32], at: i64) -> None:
        for _ in range(self.times):
            out[at] = out[at] * f32(0.5) + self.radius  # the body of Circle


class Square(Shape):
    side: f32
    far: i64

    def put(self, out: oa.Array[f32], at: i64) -> None:
        out[at + self.far] = self.side * self.side  # the body of Square


@oa.kernel
def put_all(shapes: oa.Array[Shape], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    shapes[i].put(out, i)  # the call


def program(far: int = 0, backend: str = "cuda") -> Any:
    """The launch that is looked at; with ``far`` squares write so many elements farther on."""
    with oa.Heap(backend=backend, capacity="256MiB"):
        circles = oa.new(Circle, _EACH, radius=2.0, times=50)
        squares = oa.new(Square, _EACH, side=3.0, far=far)
        out = oa.zeros(2 * _EACH, f32)
        put_all[2 * _EACH](oa.concat(circles, squares), out)
        return out.numpy()


def marked() -> dict[str, int]:
    """The lines that are to be named."""
    lines = Path(__file__).read_text().splitlines()
    return {
        what: next(at for at, line in enumerate(lines, 1) if line.endswith(f"  # {what}"))
        for what in ("the body of Circle", "the body of Square", "the call")
    }


def lines_of_page(text: str) -> dict[int, int]:
    """Lines in a page of source beside machine code, each with how many of its instructions ran.
    Raises AssertionError for a line of another file."""
    source = Path(__file__).read_text().splitlines()
    named: dict[int, int] = {}
    for heading, row in _rows(text):
        number = row[heading.index("Line No")]
        if number:  # else an instruction of the line above
            line, shown = int(number), row[heading.index("Source")]
            assert source[line - 1].strip() == shown.strip(), f"no line of ours: {row}"
            named[line] = int(row[heading.index("Instructions Executed")])
    return named


def code_of_page(text: str) -> list[str]:
    """Instructions of a page of machine code with their registers, without numbers that may be
    halves of addresses, of which each process has others."""
    return [
        re.sub(r"0x[0-9a-f]+", "NUMBER", row[heading.index("Source")].strip())
        for heading, row in _rows(text)
    ]


def _rows(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Rows with their heading, which has columns Address and Source."""
    heading: list[str] = []
    for row in csv.reader(text.splitlines()):
        if {"Address", "Source"} <= {*row}:
            heading = row
        elif heading and len(row) == len(heading):
            yield heading, row


def run(options: Options) -> Result:
    backend = backend_name(options)
    result = Result("source-lines", backend, {"marked": marked()})
    if backend != "cuda":
        return result
    with result.attempt("ptxas"):
        result.rows.append(assembled())
    with tempfile.TemporaryDirectory() as name, result.attempt("Nsight Compute"):
        result.rows += _by_nsight_compute(Path(name))
    with result.attempt("compute-sanitizer"):
        result.rows.append(_by_sanitizer())
    show(
        "lines that are named",
        ("by", "lines", "same machine code"),
        [(row["by"], str(row.get("lines", "")), row.get("same", "")) for row in result.rows],
    )
    return result


def assembled(backend: str = "cuda") -> dict[str, Any]:
    """Bytes of machine code as ptxas writes it, with lines and without, which must be the same."""
    program(backend=backend)
    texts = []
    for lines in (False, True):
        with knobs.scope(lines=lines, cache_dir="off"):
            texts.append(str(put_all.compile("nvptx").products["ptx"]))
    assert [".loc" in text for text in texts] == [False, True]
    without, told = (_code(assemble(text, "sm_90").cubin) for text in texts)
    assert without == told, "machine code differs"
    return {"by": "ptxas", "same": True, "bytes": sum(len(data) for _, data in told)}


def _code(cubin: bytes) -> list[tuple[bytes, bytes]]:
    sections = llvm.ObjectFileRef.from_data(cubin).sections()
    return [(s.name(), s.data()) for s in sections if (s.name() or b"").startswith(b".text")]


def _by_nsight_compute(folder: Path) -> Iterator[dict[str, Any]]:
    pages: dict[str, str] = {}
    for lines in ("0", "1"):
        report = folder / f"lines{lines}"
        options = "--kernel-name regex:put_all --launch-count 1 --section SourceCounters"
        recorded = [*options.split(), "--import-source", "yes", "-o", str(report)]
        _run(["ncu", *recorded, *_program(0)], lines)
        page = ["ncu", "-i", f"{report}.ncu-rep", "--page", "source", "--csv", "--print-source"]
        pages[lines] = _run([*page, "sass"], lines)
        if lines == "1":
            text = _run([*page, "cuda,sass"], lines)
    without, told = (code_of_page(pages[lines]) for lines in ("0", "1"))
    assert without, f"no instructions are shown:\n{pages['0'][:4000]}"
    differ = [*unified_diff(without, told, n=0, lineterm="")]
    assert not differ, "machine code on the device differs:\n" + "\n".join(differ[:40])
    named = lines_of_page(text)
    allowed = {
        line for function in (Circle.put, Square.put, put_all.function) for line in _span(function)
    }
    missing = {what: line for what, line in marked().items() if line not in named}
    assert not missing, f"not named: {missing}; named were {named}\n{text[:4000]}"
    assert {*named} <= allowed, f"lines of others are named: {named}"
    yield {
        "by": "Nsight Compute", "same": True, "instructions": len(told),
        "lines": sorted(named), "executed": named,
    }  # fmt: skip


def _span(function: Any) -> range:
    lines, first = inspect.getsourcelines(function)
    return range(first, first + len(lines))


def _by_sanitizer() -> dict[str, Any]:
    text = _run(["compute-sanitizer", "--print-limit", "1", *_program(_FAR)], "1", fails=True)
    named = re.findall(rf"{Path(__file__).name}:(\d+)", text)
    assert named, f"no line is named:\n{text[:4000]}"
    assert int(named[0]) == marked()["the body of Square"], f"{named}\n{text[:4000]}"
    return {"by": "compute-sanitizer", "lines": sorted({*map(int, named)})}


def _program(far: int) -> list[str]:
    return [sys.executable, "-c", f"from bench.source_lines import program; program({far})"]


def _run(command: list[str], lines: str, fails: bool = False) -> str:
    found = shutil.which(command[0])
    assert found, f"{command[0]} is not in PATH"
    variables = {"SHAREDOA_LINES": lines, "SHAREDOA_CACHE_DIR": "off"}
    done = subprocess.run(
        [found, *command[1:]], cwd=_ROOT, env={**os.environ, **variables}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=_SECONDS,
    )  # fmt: skip
    ended = f"{command[0]} ended with {done.returncode}:\n{done.stdout[-4000:]}"
    assert fails or done.returncode == 0, ended
    return done.stdout


if __name__ == "__main__":
    main(run, __doc__)
