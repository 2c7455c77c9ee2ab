"""The page of a record: tables and bars, without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from bench.harness import MICROSECONDS
from bench.reproduction.tables import Table
from ptxpass.output_file import write_whole

from .cases import WORKLOADS
from .charts import Bar, bars
from .records import Group, Record, groups
from .tables import tables

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0; }
th, td { border: 1px solid #ccc; padding: 2px 8px; text-align: right; }
th:first-child, td:first-child, .text td { text-align: left; }
svg { font: 12px system-ui, sans-serif; display: block; margin: 1em 0; max-width: 100%; }
"""
_NOTES = """
A time is the median of a step on the device, in brackets the quartiles; "host" is what the host
does to launch a step, the most of the line's cases; "first step" includes compilation with empty
caches; "lines" are those of user code that are neither blank nor a comment. Results of every tool
agree with NumPy. All compute in single precision without fast math.
"""


def write_report(record: Record, folder: Path) -> Path:
    """Write the page of ``record`` into an existing ``folder``, named as records are; its path."""
    device = record.head["machine"]["device"].lower().replace(" ", "-")
    file = folder / f"{record.head['benchmark']}-{device}-{record.head['date'][:10]}.html"
    write_whole(file, page(record))
    return file


def page(record: Record) -> str:
    """The whole page as HTML."""
    return "\n".join(["<!doctype html>", '<html lang="en">', *_page(record), "</html>", ""])


def _page(record: Record) -> Iterator[str]:
    machine = record.head["machine"]
    title = f"sharedoa beside other tools, {machine['device']}"
    yield f'<head><meta charset="utf-8"><title>{escape(title)}</title>'
    yield f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
    yield f"<p>{escape(record.head['date'])}, {escape(machine['description'])}, "
    yield f"{machine['cores']} cores, {escape(machine['platform'])}.{escape(_NOTES)}</p>"
    made = tables(record)
    described: set[str] = set()
    for group, table in zip(groups(record), made, strict=False):
        yield f"<h2>{escape(table.title)}</h2>"
        if group.workload not in described:
            described.add(group.workload)
            yield f"<p>{escape(WORKLOADS[group.workload])}.</p>"
        yield from _charts(group)
        yield from _html(table)
    for table in made[len(groups(record)) :]:
        yield f"<h2>{escape(table.title)}</h2>"
        yield from _html(table, "text")
    yield "<h2>Tools</h2>"
    settings = record.head["settings"]["tools"].items()
    rows = [
        (
            name,
            f"{own['seconds']} s",
            ", ".join(f"{package} {number}" for package, number in own["versions"].items()),
        )
        for name, own in settings
    ]
    yield from _html(Table("Tools", ("tool", "took", "versions"), rows), "text")
    yield "</body>"


def _charts(group: Group) -> Iterator[str]:
    for column in group.columns:
        yield bars(
            column,
            "us",
            [
                Bar(
                    form.name,
                    form.tool,
                    *(
                        cells[column][name] * MICROSECONDS
                        for name in ("median", "lower_quartile", "upper_quartile")
                    ),
                )
                for form, cells in group.cells.items()
                if column in cells
            ],
        )


def _html(table: Table, style: str = "") -> Iterator[str]:
    yield f'<table class="{style}">' if style else "<table>"
    cells = "".join(f"<th>{escape(heading)}</th>" for heading in table.headings)
    yield f"<tr>{cells}</tr>"
    for row in table.rows:
        yield f"<tr>{''.join(f'<td>{escape(cell or str())}</td>' for cell in row)}</tr>"
    yield "</table>"
