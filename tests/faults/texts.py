"""Tables of short cases: a line ``name: what is due``, and what is done, indented."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple


class Entry(NamedTuple):
    """``head`` is all between the name and the colon, ``due`` what is behind it."""

    name: str
    head: str
    due: str
    body: str

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word.strip() for word in self.due.split(", "))


def entries(table: str) -> Iterator[Entry]:
    """The entries of a table, in order."""
    starts: list[tuple[str, list[str]]] = []
    for line in table.strip("\n").splitlines():
        if line[:1].strip():
            starts.append((line, []))
        else:
            starts[-1][1].append(line)
    for first, lines in starts:
        head, colon, due = first.partition(":")
        if not (colon and lines):
            raise ValueError(f"no entry: {first}")
        name, _, more = head.partition(" ")
        yield Entry(name, more.strip("() "), due.strip(), textwrap.dedent("\n".join(lines)).strip())


def described(before: str, entry: Entry) -> str:
    """A docstring for an entry."""
    return f"{before}: {' / '.join(line.strip() for line in entry.body.splitlines())[:80]}"
