"""The commands for programs: ``sharedoa apps | run | compare``."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from apps.interface import RunOptions
from apps.registry import APPS, AppInfo
from dispatch.mode import MODES

from ..errors import ConfigurationError, SharedOAError
from ..progress import reporting
from ..runtime import knobs
from . import comparison, figure, program_report, record
from .output_file import require_writable
from .problems import show_error

AppName = Annotated[str, typer.Argument(help="a name from `sharedoa apps`")]
Mode = Annotated[str | None, typer.Option(help=f"one of {', '.join(MODES)}")]
BackendName = Annotated[str | None, typer.Option(help=f"one of {knobs.backend.valid}")]
LayoutName = Annotated[str | None, typer.Option(help=f"one of {knobs.layout.valid}")]
Input = Annotated[Path | None, typer.Option(help="read the input instead of generating it")]
Steps = Annotated[int | None, typer.Option(min=1, help="iterations")]
Size = Annotated[int | None, typer.Option(min=1, help="size of the generated input")]
Seed = Annotated[
    int | None,
    typer.Option(min=0, max=2**64 - 1, help="of the generated input and the run"),
]
Natural = Annotated[
    bool, typer.Option("--natural", help="the classes a user would write, not the paper's")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="what one program takes besides: see `apps`"),
]


def apps() -> None:
    """The programs that `run` and `compare` know."""
    program_report.show_apps(list(APPS.values()))


def run(
    app: AppName,
    mode: Mode = None,
    backend: BackendName = None,
    layout: LayoutName = None,
    input: Input = None,
    steps: Steps = None,
    size: Size = None,
    seed: Seed = None,
    natural: Natural = False,
    set: Set = None,
    check: Annotated[bool, typer.Option("--check", help="verify invariants every step")] = False,
    kernels: Annotated[bool, typer.Option("--kernels", help="time every kernel")] = False,
    out: Annotated[Path | None, typer.Option(help="draw a picture (.png) or film (.gif)")] = None,
    json: Annotated[Path | None, typer.Option(help="write what it did")] = None,
) -> None:
    """Run one program and print what it did."""
    options = RunOptions(
        size=size, steps=steps, seed=seed, input=input, out=out, natural=natural,
        mode=mode, backend=backend, layout=layout, check=check, time_kernels=kernels,
    )  # fmt: skip
    found = _app(app)
    options = _options_of(found, options, set)
    if json is not None:
        require_writable("--json", json)
    with reporting(found.name) as progress:
        result = found.run(dataclasses.replace(options, progress=progress))
    try:
        program_report.show_result(found, result)
    finally:  # also when nothing can be printed
        if json is not None:
            record.write_run(found, options, result, json)


def compare(
    app: Annotated[list[str], typer.Argument(help="names from `sharedoa apps`")],
    modes: Annotated[str | None, typer.Option(help="names with commas between; all")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="runs of each mode; the median counts")] = 1,
    backend: BackendName = None,
    layout: LayoutName = None,
    input: Input = None,
    steps: Steps = None,
    size: Size = None,
    seed: Seed = None,
    natural: Natural = False,
    set: Set = None,
    json: Annotated[Path | None, typer.Option(help="write the raw samples")] = None,
    plot: Annotated[Path | None, typer.Option(help="draw the times as bars")] = None,
) -> None:
    """Run programs in all their modes on the same input; check equal results, compare times."""
    chosen = [knobs.mode.resolve(m.strip()) for m in modes.split(",")] if modes else None
    options = RunOptions(
        size=size, steps=steps, seed=seed, input=input, natural=natural, backend=backend,
        layout=layout,
    )  # fmt: skip
    programs = [_app(name) for name in app]
    given = [(each, _options_of(each, options, set)) for each in programs]
    if json is not None:
        require_writable("--json", json)
    if plot is not None:
        figure.require_drawable(plot)
    found: list[comparison.Comparison] = []
    errors: list[SharedOAError] = []
    try:
        for each, own in given:
            asked = list(dict.fromkeys(chosen or MODES))
            found.append(comparison.compare(each, asked, repeat, own))
            program_report.show_comparison(found[-1])
    except SharedOAError as error:
        errors.append(error)
    finally:  # what was measured is kept, also when the user stops the rest
        errors += _written(found, json, plot)
        for told in errors:
            show_error(told)
    if errors or any(each.differences for each in found):
        raise typer.Exit(1)


def _written(
    found: list[comparison.Comparison], json: Path | None, plot: Path | None
) -> list[SharedOAError]:
    """Write what is asked for, as far as that succeeds; the errors of what does not."""
    errors: list[SharedOAError] = []
    for write, file in ((record.write_comparisons, json), (figure.draw, plot)):
        if found and file is not None:
            try:
                write(found, file)
            except SharedOAError as error:
                errors.append(error)
    return errors


def _options_of(app: AppInfo, options: RunOptions, texts: Sequence[str] | None) -> RunOptions:
    """``options`` with the program's own settings; refused where it would refuse them itself, but
    after others have run."""
    if options.natural and not app.has_natural:
        others = ", ".join(each.name for each in APPS.values() if each.has_natural)
        raise ConfigurationError(
            f"{app.name} has the classes of the paper's artifact only",
            f"leave out --natural, or run a program that has others: {others}",
        )
    try:
        return dataclasses.replace(options, settings=app.settings_from(texts or ()))
    except ValueError as error:
        raise ConfigurationError(
            f"--set: {error}", "write --set NAME=NUMBER, a whole number in digits"
        ) from error


def _app(name: str) -> AppInfo:
    found = APPS.get(name.lower().replace("-", "_"))
    if found is None:
        near = difflib.get_close_matches(name.lower().replace("-", "_"), APPS)
        question = f"did you mean {' or '.join(near)}? " if near else ""
        raise ConfigurationError(
            f"there is no program {name!r}", f"{question}programs: {', '.join(APPS)}"
        )
    return found
