"""Records of the evaluation: read from files, and put together from several calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness import summary

Row = dict[str, Any]
#: What tells rows apart; rows with equal ones are samples of the same thing.
_KEY = ("figure", "workload", "mode", "initial_region")
#: What must be equal in rows of the same thing.
_SAME = ("counts", "objects", "regions", "bytes_an_object", "launches")
#: What must be equal in records that are put together.
_ORIGIN = ("device", "versions", "settings", "environment")
PREFIX = "reproduction"
#: How kernels were timed: their own times, or by events around launches, which add about 3 us.
CUPTI, STEPS, EVENTS = "cupti", "cupti-steps", "events"
_HEAD = {
    "date": str,
    "versions": dict,
    "machine": dict,
    "settings": dict,
    "failures": list,
    "rows": list,
}
_SETTINGS = {"full": bool, "inputs": list}


class RecordError(ValueError):
    """A file that is no record of the evaluation, or records that do not belong together."""


@dataclass(frozen=True)
class Record:
    """Where rows come from, and the rows."""

    head: dict[str, Any]
    rows: list[Row]

    @property
    def compares_with_artifact(self) -> bool:
        """Whether the sizes and the kind of device are those that the artifact was run with."""
        return bool(self.head["settings"]["full"]) and self.head["machine"]["backend"] == "cuda"

    def of(self, figure: str) -> list[Row]:
        """The rows of a figure: "6", "10", "natural" or "counters"."""
        return [row for row in self.rows if row["figure"] == figure]


def timer_of(row: Row) -> str:
    """How the row's samples were taken; records say so since there are two ways."""
    timer: str = row.get("timer", EVENTS)
    return timer


def read(file: Path) -> Record:
    """The record in a file. Raises RecordError."""
    return Record(*read_parts(file, PREFIX, "the evaluation", _SETTINGS, "figure"))


def read_parts(
    file: Path, prefix: str, of: str, settings: Mapping[str, type], tells_rows: str
) -> tuple[dict[str, Any], list[Row]]:
    """Head and rows of the record ``of`` something, whose name starts with ``prefix``: with these
    ``settings`` of these types, and ``tells_rows`` in each row. Raises RecordError."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{file} is no record of a benchmark: {error}") from error
    _require(file, "the document", document, {"benchmark": str})
    if not document["benchmark"].startswith(prefix):
        raise RecordError(f"{file} is a record of {document['benchmark']}, not of {of}")
    _require(file, "its head", document, _HEAD)
    _require(file, "machine", document["machine"], {"device": str, "backend": str})
    _require(file, "settings", document["settings"], settings)
    rows = document.pop("rows")
    for number, row in enumerate(rows):
        _require(file, f"row {number}", row, {tells_rows: str})
    return document, rows


def _require(file: Path, where: str, found: Any, parts: Mapping[str, type]) -> None:
    """Raise RecordError unless ``found`` is a JSON object with ``parts`` of these types."""
    for name, kind in parts.items():
        if not isinstance(found, dict) or not isinstance(found.get(name), kind):
            raise RecordError(
                f"{file} is no record of a benchmark: {where} has no {name} of type {kind.__name__}"
            )


def merge(files: Sequence[Path]) -> Record:
    """One record of all rows; samples of the same thing are joined, in the order of their dates.

    Raises RecordError for files that are no such records, and for records of different devices,
    versions, sizes or timers, or whose counts differ: their times must not be compared.
    """
    named = sorted(
        ((file, read(file)) for file in files), key=lambda each: str(each[1].head["date"])
    )
    if not named:
        raise RecordError("there is nothing to merge: name the files of records")
    first_file, first = named[0]
    for file, record in named[1:]:
        for part in _ORIGIN:
            if _origin(record, part) != _origin(first, part):
                raise RecordError(
                    f"{file} and {first_file} differ in {part}: {_origin(record, part)} and "
                    f"{_origin(first, part)}"
                )
    _require_one_timer(named)
    records = [record for _, record in named]
    head = {
        **records[-1].head,
        "benchmark": PREFIX,
        "dates": [record.head["date"] for record in records],
        "failures": [failure for record in records for failure in record.head["failures"]],
    }
    head["settings"] = _settings(records[-1])
    return Record(head, join(row for record in records for row in record.rows))


def _require_one_timer(named: Sequence[tuple[Path, Record]]) -> None:
    """Raise RecordError for times of which some have what events add to each launch."""
    first: dict[str, Path] = {}
    for file, record in named:
        for row in record.rows:
            if "samples" in row:
                first.setdefault(timer_of(row), file)
    if len(first) > 1:
        timed = ", ".join(f"{file} by {timer}" for timer, file in first.items())
        raise RecordError(f"kernels are timed in different ways, which must not be mixed: {timed}")


def join(rows: Iterable[Row]) -> list[Row]:
    """Rows of which no two are of the same thing. Raises RecordError if their results differ."""
    joined: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row.get(name) for name in _KEY)
        earlier = joined.get(key)
        if earlier is None:
            joined[key] = row
            continue
        what = " ".join(str(part) for part in key if part is not None)
        for name in _SAME:
            if name in earlier and name in row and earlier[name] != row[name]:
                raise RecordError(
                    f"figure {what}: {name} is {earlier[name]} in one record and {row[name]} in "
                    "another: they come from different programs or inputs"
                )
        if "samples" in row:
            joined[key] = {**row, **summary([*earlier["samples"], *row["samples"]])}
        else:
            joined[key] = row
    return list(joined.values())


def _origin(record: Record, part: str) -> Any:
    if part == "device":
        return record.head["machine"]["device"]
    if part == "environment":
        return record.head.get(part, {})
    return _settings(record) if part == "settings" else record.head[part]


def _settings(record: Record) -> dict[str, Any]:
    """Of the sizes; how often something was run is told by its samples."""
    return {name: record.head["settings"][name] for name in ("full", "inputs")}
