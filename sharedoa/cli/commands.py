"""The commands and their options."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from apps.interface import RunOptions
from apps.registry import APPS, AppInfo
from dispatch.mode import MODES

from ..errors import ConfigurationError
from ..runtime import knobs
from . import cache, comparison, figure, record, report
from .progress import reporting

application = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Polymorphic Python objects on CPU and GPU.",
)

application.add_typer(cache.application, name="cache")

AppName = Annotated[str, typer.Argument(help="a name from `sharedoa apps`")]
Mode = Annotated[str | None, typer.Option(help=f"one of {', '.join(MODES)}")]
BackendName = Annotated[str | None, typer.Option(help=f"one of {knobs.backend.valid}")]
LayoutName = Annotated[str | None, typer.Option(help=f"one of {knobs.layout.valid}")]
Input = Annotated[Path | None, typer.Option(help="read the input instead of generating it")]
Steps = Annotated[int | None, typer.Option(min=1, help="iterations")]
Size = Annotated[int | None, typer.Option(min=1, help="size of the generated input")]
Seed = Annotated[int | None, typer.Option(min=0, help="of the generated input and the run")]
Natural = Annotated[
    bool, typer.Option("--natural", help="the classes a user would write, not the paper's")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="what one program takes besides: see `apps`"),
]


@application.command()
def info() -> None:
    """Backends, devices, tools; what is missing and how to get it."""
    report.show_machine()


@application.command()
def config() -> None:
    """Each setting with its value and where it came from."""
    report.show_settings()


@application.command()
def apps() -> None:
    """The programs that `run` and `compare` know."""
    report.show_apps(list(APPS.values()))


@application.command()
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
    options = _with_settings(options, found, set)
    with reporting(found.name) as progress:
        result = found.run(dataclasses.replace(options, progress=progress))
    report.show_result(found, result)
    if json is not None:
        record.write_run(found, options, result, json)


@application.command()
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
    """Run programs in every mode on the same input; check equal results, compare times."""
    chosen = [knobs.mode.resolve(m.strip()) for m in modes.split(",")] if modes else list(MODES)
    options = RunOptions(
        size=size, steps=steps, seed=seed, input=input, natural=natural, backend=backend,
        layout=layout,
    )  # fmt: skip
    programs = [_app(name) for name in app]
    given = [(each, _with_settings(options, each, set)) for each in programs]
    found = [
        comparison.compare(each, list(dict.fromkeys(chosen)), repeat, own) for each, own in given
    ]
    for each in found:
        report.show_comparison(each)
    if json is not None:
        record.write_comparisons(found, json)
    if plot is not None:
        figure.draw(found, plot)
    different = [each for each in found if each.differences]
    if different:
        raise typer.Exit(1)


def _with_settings(options: RunOptions, app: AppInfo, texts: list[str] | None) -> RunOptions:
    try:
        return dataclasses.replace(options, settings=app.settings_from(texts or ()))
    except ValueError as error:
        raise ConfigurationError(f"--set: {error}", "write --set NAME=NUMBER") from error


def _app(name: str) -> AppInfo:
    if name not in APPS:
        raise ConfigurationError(f"there is no program {name!r}", f"programs: {', '.join(APPS)}")
    return APPS[name]
