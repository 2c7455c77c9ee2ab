"""Where in the user's own source something stands."""

from __future__ import annotations

from typing import NamedTuple


class Location(NamedTuple):
    """A stretch of the user's own source; lines count from 1, columns from 0."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str

    @property
    def line_in_file(self) -> str:
        return f"{self.file}:{self.line}"
