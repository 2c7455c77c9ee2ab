"""The text of TNTP files: metadata in angle brackets, ``~`` comments, rows that ``;`` may end.

Format: Transportation Networks for Research, github.com/bstabler/TransportationNetworks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from sharedoa.errors import ArgumentError

from . import text_file
from .text_file import shown

_METADATA = re.compile(r"<([^>]*)>(.*)")
#: So that neither differences nor products of a few numbers leave what f64 holds.
_LARGEST = 1e30
_HELP = (
    "give NAME_net.tntp with NAME_node.tntp beside it, as the Transportation Networks for Research "
    "project publishes them"
)


@dataclass(frozen=True)
class Row:
    """The fields of one row, and where it stands."""

    file: Path
    line: int
    fields: list[str]

    def integer(self, column: int, low: int, high: int, what: str) -> int:
        """A field as an integer. Raises ArgumentError unless it lies in low to high."""
        text = self.fields[column]
        try:
            value = int(text)
        except ValueError:
            raise self.error(f"{what} is {shown(text)}, not a whole number") from None
        if not low <= value <= high:
            raise self.error(f"{what} is {value}, which is not between {low} and {high}")
        return value

    def number(self, column: int, what: str) -> float:
        """A field as a finite number. Raises ArgumentError for anything else."""
        text = self.fields[column]
        try:
            value = float(text)
        except ValueError:
            raise self.error(f"{what} is {shown(text)}, not a number") from None
        if not abs(value) <= _LARGEST:
            raise self.error(f"{what} is {shown(text)}, not a number up to {_LARGEST:g}")
        return value

    def error(self, message: str) -> ArgumentError:
        return file_error(self.file, message, self.line)


@dataclass
class Table:
    """A file: its metadata by name in capitals, and its rows."""

    file: Path
    metadata: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    end_of_metadata: bool = False

    def count(self, name: str, default: int | None = None) -> int:
        """A number of the metadata. Raises ArgumentError when it is missing or no such number."""
        text = self.metadata.get(name)
        if text is None:
            if default is not None:
                return default
            raise file_error(self.file, f"the metadata lack <{name}>")
        if not text.isdecimal():
            raise file_error(self.file, f"<{name}> is {shown(text)}, not a number")
        if len(text) > 9:
            raise file_error(self.file, f"<{name}> has {len(text)} digits")
        return int(text)


def file_error(file: Path, message: str, line: int | None = None) -> ArgumentError:
    return text_file.file_error(file, _HELP, message, line)


def read_table(file: Path, columns: int) -> Table:
    """Read a file whose rows have at least ``columns`` fields, all rows equally many.

    A row that starts with a word is a heading and skipped when no row came before it.
    Raises ArgumentError, with file and line, when it cannot be read, is no text, has no rows, or
    has rows of different lengths.
    """
    table = Table(file)
    text = text_file.read_text_file(file, _HELP).decode("latin-1")
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("~", 1)[0].replace(";", " ").strip()
        found = _METADATA.match(line.strip())
        if found is not None:
            name = found[1].strip().upper()
            table.metadata[name] = found[2].strip()
            table.end_of_metadata |= name == "END OF METADATA"
            continue
        if not content:
            continue
        row = Row(file, number, content.split())
        if not table.rows and row.fields[0][0].isalpha():
            continue
        width = len(table.rows[0].fields) if table.rows else max(columns, len(row.fields))
        if len(row.fields) != width:
            raise row.error(f"the row has {len(row.fields)} fields instead of {width}")
        table.rows.append(row)
    if not table.rows:
        raise file_error(file, "the file holds no rows")
    return table
