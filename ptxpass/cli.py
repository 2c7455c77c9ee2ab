"""``ptxpass FILE.ptx --mode MODE -o OUT``: rewrite the virtual calls of PTX files.

Exit status: 0 when everything was written, 2 for bad input; then nothing was written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from dispatch.mode import MODES, Mode, ModeError, parse_mode

from .output_file import write_whole
from .text import LEFT_ALONE, PtxError, Rewriting, read_module, report_lines, rewrite
from .text.table_stores import TableUses
from .text.tables import number_classes
from .text.vtables import Vtables

_FAILED = 2


def main() -> None:
    """The console script."""
    typer.run(run)


def run(
    files: Annotated[
        list[Path],
        typer.Argument(help="PTX of nvcc, NVRTC or clang; all modules that are linked together"),
    ],
    mode: Annotated[str, typer.Option("--mode", "-m", help=f"one of {', '.join(MODES)}")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="file to write; for several inputs a folder")
    ],
    report: Annotated[
        bool, typer.Option("--report", help="say what became of each indirect call")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="trap at a receiver of none of a call's classes")
    ] = False,
) -> None:
    """Rewrite the virtual calls of CUDA C++ in PTX to what a dispatch mode says."""
    try:
        chosen = parse_mode(mode)
    except ModeError as error:
        _fail(str(error))
    targets = _targets(files, output)
    try:
        results = _rewrite(files, chosen, debug)
    except PtxError as error:
        _fail(str(error))
    for result, target in zip(results, targets, strict=True):
        _write(target, result.text)
    for result, file in zip(results, files, strict=True):
        for line in report_lines(result, str(file)) if report else _notes(result, file):
            print(line, file=sys.stdout if report else sys.stderr)


def _targets(files: Sequence[Path], output: Path) -> list[Path]:
    if len(files) == 1 and not output.is_dir():
        return [output]
    if not output.is_dir():
        _fail(f"{output} is no folder; several files are written into one (mkdir {output})")
    targets = [output / file.name for file in files]
    if len(set(targets)) < len(targets):
        _fail("two files have the same name and would be written to the same place")
    return targets


def _rewrite(files: Sequence[Path], mode: Mode, debug: bool) -> list[Rewriting]:
    """All files with the same numbers for classes; the first owns the state block."""
    texts = [_read(file) for file in files]
    modules = [read_module(text, str(file)) for file, text in zip(files, texts, strict=True)]
    symbols = {
        symbol for module in modules for symbol in Vtables(module, TableUses(module)).with_objects
    }
    indices = number_classes(sorted(symbols))
    return [
        rewrite(text, mode, str(file), indices, owns_state=number == 0, debug=debug)
        for number, (file, text) in enumerate(zip(files, texts, strict=True))
    ]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        _fail(f"{file}: {error.strerror}")
    except UnicodeDecodeError as error:
        _fail(f"{file}: no text ({error.reason} at byte {error.start}); pass PTX, not a binary")


def _write(target: Path, text: str) -> None:
    try:
        write_whole(target, text)
    except OSError as error:
        _fail(f"{target}: {error.strerror}")


def _notes(result: Rewriting, file: Path) -> list[str]:
    if not result.calls:
        return [f"{file}: note: no virtual calls; the code is as it was"]
    return [
        f"{file}:{call.line}: note: a call in {call.function} is left alone: {call.reason}"
        for call in result.calls
        if call.decision == LEFT_ALONE and call.slot < 0
    ]


def _fail(message: str) -> NoReturn:
    print(f"ptxpass: {message}", file=sys.stderr)
    raise typer.Exit(_FAILED)
