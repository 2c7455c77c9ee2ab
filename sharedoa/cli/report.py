"""What the commands print: tables on a terminal and in a pipe alike."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .. import __version__
from ..backends import available
from ..errors import BackendError
from ..runtime import knobs
from ..targets.libdevice import find_libdevice
from ..targets.ptxas import find_ptxas


def print_table(table: Table) -> None:
    # What cells hold, such as paths and names of extras, must not be taken for markup or emoji.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, emoji=False, width=200)
    console.print(table)


def new_table(*columns: str, title: str | None = None) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def show_machine() -> None:
    table = new_table("what", "works", "details, or how to get it", title=f"sharedoa {__version__}")
    for backend in available():
        table.add_row(f"backend {backend.name}", "yes" if backend.ok else "no", backend.reason)
    for name, find in (("ptxas", find_ptxas), ("libdevice", find_libdevice)):
        table.add_row(name, *_found(find))
    table.add_row("Python", "yes", f"{platform.python_version()} on {platform.platform()}")
    print_table(table)


def _found(find: Callable[[], Path]) -> tuple[str, str]:
    try:
        return "yes", str(find())
    except BackendError as error:
        return "no", str(error)


def show_settings() -> None:
    table = new_table("variable", "value", "from", "valid values", "what it is")
    for knob in knobs.ALL:
        value = knob.value()
        text = "" if value is None else str(int(value)) if isinstance(value, bool) else str(value)
        table.add_row(knob.variable, text, knob.source, knob.valid, knob.help)
    print_table(table)
