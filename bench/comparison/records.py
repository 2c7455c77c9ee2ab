"""Records of the comparison: read from files, and their rows put into groups to be shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.reproduction.records import RecordError, read_parts

from .cases import CALL_EACH, FEW_OBJECTS, MICROBENCHMARK, OBJECT_GRAPH
from .run import NAME

__all__ = ["Form", "Group", "Record", "RecordError", "groups", "join", "not_measured", "read"]
Row = dict[str, Any]
_SETTINGS = {"full": bool, "repeat": int, "tools": dict}


@dataclass(frozen=True)
class Record:
    """Where rows come from, and the rows."""

    head: Row
    rows: list[Row]


@dataclass(frozen=True)
class Form:
    """A tool in one of its variants; ``device`` is that of the machine's on which it ran."""

    tool: str
    variant: str
    device: str

    @property
    def name(self) -> str:
        return f"{self.tool}: {self.variant}" if self.variant else self.tool


@dataclass
class Group:
    """Rows that are compared: a line for each form, a column for each case."""

    title: str
    workload: str
    columns: list[str] = field(default_factory=list)
    cells: dict[Form, dict[str, Row]] = field(default_factory=dict)

    def add(self, column: str, row: Row) -> None:
        if column not in self.columns:
            self.columns.append(column)
        form = Form(row["tool"], row["variant"], row["device"])
        self.cells.setdefault(form, {})[column] = row


def read(file: Path) -> Record:
    """The record in a file. Raises RecordError."""
    return Record(*read_parts(file, NAME, "the comparison", _SETTINGS, "tool"))


def join(files: Sequence[Path]) -> Record:
    """The record of all rows in ``files``; of a tool that several have, those of the last.

    Raises RecordError for files that are no records of the comparison, and for such whose times
    must not be compared: of different devices, sizes or numbers of samples.
    """
    records = [read(file) for file in files]
    first, tools = records[0], {}
    rows: dict[str, list[Row]] = {}
    failures: dict[str, list[str]] = {}
    for file, record in zip(files, records, strict=True):
        if _origin(record) != _origin(first):
            raise RecordError(f"{file} and {files[0]} are of different devices, sizes or samples")
        for name, about in record.head["settings"]["tools"].items():
            tools[name] = about
            rows[name] = [row for row in record.rows if row["tool"] == name]
            failures[name] = [
                failure for failure in record.head["failures"] if failure.startswith(f"{name}, ")
            ]
    head = {
        **records[-1].head,
        "settings": {**first.head["settings"], "tools": tools},
        "failures": [failure for name in tools for failure in failures[name]],
    }
    return Record(head, [row for name in tools for row in rows[name]])


def _origin(record: Record) -> tuple[Any, ...]:
    settings = record.head["settings"]
    return record.head["machine"]["device"], settings["full"], settings["repeat"]


def groups(record: Record) -> list[Group]:
    """The measured rows, in the order of the record."""
    found: dict[str, Group] = {}
    places: dict[tuple[str, str], int] = {}
    for row in record.rows:
        places.setdefault((row["workload"], row["case"]), len(places))
    measured = [row for row in record.rows if "samples" in row]
    # By case, whichever tool has it first; a case's rows stay in the order of the tools.
    for row in sorted(measured, key=lambda row: places[row["workload"], row["case"]]):
        title, column = _TITLES.get(row["workload"], _own)(row)
        found.setdefault(title, Group(title, row["workload"])).add(column, row)
    return list(found.values())


def not_measured(record: Record) -> list[tuple[str, str, str]]:
    """Each tool and variant with a reason, and the workloads that it holds for."""
    where: dict[tuple[str, str], list[str]] = {}
    for row in record.rows:
        if "samples" not in row:
            form = Form(row["tool"], row["variant"], row["device"])
            places = where.setdefault((form.name, row["not_measured"]), [])
            if row["workload"] not in places:
                places.append(row["workload"])
    return [(name, ", ".join(places), reason) for (name, reason), places in where.items()]


def _few_objects(row: Row) -> tuple[str, str]:
    title = f"{row['workload']}, {row['calls']:,} calls"
    return _capital(title), f"{row['objects']:,} objects, {row['order']}"


def _by_order(row: Row) -> tuple[str, str]:
    title = f"{row['workload']}, {row['objects']:,} objects of {row['types']} classes"
    return _capital(title), row["order"]


def _own(row: Row) -> tuple[str, str]:
    return _capital(f"{row['workload']}, {row['case']}"), "a step"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


_TITLES: dict[str, Callable[[Row], tuple[str, str]]] = {
    FEW_OBJECTS: _few_objects,
    CALL_EACH: _by_order,
    OBJECT_GRAPH: _by_order,
    MICROBENCHMARK: _by_order,
}
