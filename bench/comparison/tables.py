"""The tables of a record: a line for each tool and variant, a column for each case."""

from __future__ import annotations

from bench.harness import MICROSECONDS
from bench.reproduction.tables import Table

from .cases import MICROBENCHMARK
from .records import Form, Group, Record, Row, groups, not_measured

_COPY = "copy"


def tables(record: Record) -> list[Table]:
    """One of every group of the record, and what could not be measured."""
    made = [_table(group) for group in groups(record)]
    if missing := not_measured(record):
        made.append(Table("Not measured", ("tool", "workloads", "reason"), missing))
    return made


def _table(group: Group) -> Table:
    headings = ["tool", "runs on", *(f"{column}, us" for column in group.columns)]
    copy = _copy(group)
    if copy is not None:
        headings.append("share of the copy's rate, at best")
    headings += ["host, us", "first step, s", "lines"]
    rows = []
    for form, cells in group.cells.items():
        line = [form.name, form.device]
        line += [_time(cells.get(column)) for column in group.columns]
        if copy is not None:
            line.append(f"{copy / min(_medians(cells)):.0%}")
        line += [_host(cells), _first(cells), _lines(cells)]
        rows.append(tuple(line))
    return Table(group.title, tuple(headings), rows)


def _time(row: Row | None) -> str:
    """The median, and the quartiles in brackets."""
    if row is None:
        return ""
    low, middle, high = (
        _figure(row[name] * MICROSECONDS) for name in ("lower_quartile", "median", "upper_quartile")
    )
    return f"{middle} ({low} to {high})"


def _figure(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _medians(cells: dict[str, Row]) -> list[float]:
    return [row["median"] for row in cells.values()]


def _copy(group: Group) -> float | None:
    """Seconds of the device's copy, where it was measured on the same cases."""
    own = group.cells.get(Form(_COPY, "", _device(group)))
    return None if group.workload != MICROBENCHMARK or own is None else min(_medians(own))


def _device(group: Group) -> str:
    return next((form.device for form in group.cells if form.tool == _COPY), "")


def _host(cells: dict[str, Row]) -> str:
    found = [row["host"]["median"] for row in cells.values() if row["host"]]
    return _figure(max(found) * MICROSECONDS) if found else ""


def _first(cells: dict[str, Row]) -> str:
    found = [row["first"] for row in cells.values() if row["first"]]
    return f"{max(found):.2g}" if found else ""


def _lines(cells: dict[str, Row]) -> str:
    lines = max(row["lines"] for row in cells.values())
    return str(lines) if lines else ""
