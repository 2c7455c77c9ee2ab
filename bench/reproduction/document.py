"""Tables as Markdown: printed, or in a document, where those below their headings are replaced and
prose is kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from ptxpass.output_file import write_whole
from sharedoa.errors import ConfigurationError

from .tables import Table

_MARK = "|"


def publish(tables: Sequence[Table], into: Path | None) -> None:
    """Print ``tables``, or put them ``into`` a document. Raises ConfigurationError for one that
    cannot be read and written."""
    if into is None:
        print("\n\n".join("\n".join([t.heading, "", *t.markdown()]) for t in tables))
        return
    try:
        write_whole(into, with_tables(into.read_text(encoding="utf-8"), tables))
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(
            f"--into: {into}: {getattr(error, 'strerror', None) or error}",
            "name a Markdown document that you may write",
        ) from error


def with_tables(text: str, tables: Sequence[Table]) -> str:
    """The document ``text`` in which the first table below each heading that is the title of one of
    ``tables`` is that one. A heading that is missing is added, with its table, at the end."""
    lines = text.rstrip("\n").split("\n")
    for table in tables:
        if table.heading not in lines:
            lines += ["", table.heading]
        top = lines.index(table.heading) + 1
        section = list(takewhile(lambda line: not line.startswith("## "), lines[top:]))
        prose = list(takewhile(lambda line: not line.startswith(_MARK), section))
        old = list(takewhile(lambda line: line.startswith(_MARK), section[len(prose) :]))
        while prose and not prose[-1]:
            prose.pop()
        start = top + len(prose)
        end = start + 1 + len(old) if old else start
        lines[start:end] = ["", *table.markdown()]
    return "\n".join([*lines, ""])
