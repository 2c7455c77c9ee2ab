"""What the commands for programs print."""

from __future__ import annotations

from apps.interface import RunResult
from apps.registry import AppInfo

from .comparison import BASELINE, Comparison
from .problems import show_error
from .report import new_table, print_table


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
