"""The commands: those of this file, and those for programs, where these are installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
import typer.core

from .. import __version__
from ..context_managers import contextmanager
from ..errors import ConfigurationError
from . import INTERRUPTED, cache, profile, report


@contextmanager
def _interrupts_told() -> Iterator[None]:
    """Typer itself would end without a word, or with another status, as its version goes."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None


class _Commands(typer.core.TyperGroup):
    def make_context(self, *arguments: Any, **named: Any) -> Any:
        with _interrupts_told():
            return super().make_context(*arguments, **named)

    def invoke(self, ctx: Any) -> Any:
        with _interrupts_told():
            return super().invoke(ctx)


application = typer.Typer(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

application.add_typer(cache.application, name="cache")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sharedoa {__version__}")
        raise typer.Exit


@application.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="print the version"),
    ] = False,
) -> None:
    """Polymorphic Python objects on CPU and GPU."""


@application.command()
def info() -> None:
    """Backends, devices, tools; what is missing and how to get it."""
    report.show_machine()


@application.command()
def config() -> None:
    """Each setting with its value and where it came from."""
    report.show_settings()


_ALL_ITS_OWN = {"ignore_unknown_options": True, "allow_interspersed_args": False}
application.command(context_settings=_ALL_ITS_OWN)(profile.profile)


_PROGRAMS = ("apps", "run", "compare")


def _without_programs() -> None:
    """Programs are a distribution of their own, whose packages have names that others use, too."""

    def missing() -> None:
        raise ConfigurationError(
            "the programs are not installed", "install them: pip install 'sharedoa[apps]'"
        )

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    for name in _PROGRAMS:
        told = application.command(name, context_settings=anything, help="pip install it first")
        told(missing)


try:
    from . import programs
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "apps":
        raise
    _without_programs()
else:
    for name in _PROGRAMS:
        application.command(name)(getattr(programs, name))
