"""Tables in a Markdown document: those below their headings are replaced, prose is kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from .tables import Table

_MARK = "|"


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
