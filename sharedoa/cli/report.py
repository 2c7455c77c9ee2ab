"""What the commands print: tables on a terminal and in a pipe alike."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from apps.interface import RunResult
from apps.registry import AppInfo

from .. import __version__
from ..backends import available
from ..errors import BackendError
from ..runtime import knobs
from ..targets.libdevice import find_libdevice
from ..targets.ptxas import find_ptxas
from .comparison import BASELINE, Comparison
from .problems import show_error


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


def show_apps(apps: list[AppInfo]) -> None:
    table = new_table("name", "what it does", "size", "steps", "--set")
    for app in apps:
        names = ", ".join(setting.name for setting in app.settings)
        table.add_row(app.name, app.title, f"{app.size} {app.unit}", str(app.steps), names)
    print_table(table)


def show_result(app: AppInfo, result: RunResult) -> None:
    table = new_table(app.name, "")
    for name, count in result.counts.items():
        table.add_row(name, str(count))
    for name, times in result.checks.items():
        table.add_row(f"checked: {name}", f"{times} times")
    for name, seconds in result.timings.items():
        table.add_row(f"time: {name}", f"{seconds:.3f} s")
    table.add_row("objects", str(result.objects))
    table.add_row("regions", str(result.regions))
    if result.picture is not None:
        table.add_row("picture", str(result.picture))
    print_table(table)


def show_comparison(comparison: Comparison) -> None:
    equal = "results differ" if comparison.differences else "equal results"
    modes = len(comparison.modes)
    table = new_table(
        "mode", "seconds", f"relative to {BASELINE}", "objects", "regions",
        title=f"{comparison.app}: {modes} modes, {equal}",
    )  # fmt: skip
    for each in comparison.modes:
        ratio = comparison.ratio(each)
        table.add_row(
            each.mode,
            f"{each.seconds:.3f}",
            "" if ratio is None else f"{ratio:.2f}",
            str(each.result.objects),
            str(each.result.regions),
        )
    print_table(table)
    for difference in comparison.differences:
        show_error(f"{comparison.app}: {difference}")
