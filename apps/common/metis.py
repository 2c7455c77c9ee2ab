"""METIS text to a graph.

The first line says ``vertices edges [format [weights]]``; line v then lists the neighbours of
vertex v, from 1, so that every edge stands there twice. The format's digits say whether a vertex
has a size, weights, and its edges a weight each; all these are skipped. ``%`` starts a comment.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from sharedoa.errors import ArgumentError

from .graph import Graph
from .text_file import file_error, shown

Array = np.ndarray[Any, Any]

_COMMENT = re.compile(rb"^[ \t]*%.*$", re.MULTILINE)
#: All numbers of so many digits fit 64 bits.
_MOST_DIGITS = 18


class _Lines:
    """The numbers of a text, line by line."""

    def __init__(self, file: Path, data: bytes, advice: str) -> None:
        self._file, self._advice = file, advice
        if not data.endswith(b"\n"):
            data += b"\n"
        comments: list[int] = []
        text = data
        if b"%" in data:  # looking for the expression takes longer than all the rest
            comments = [found.start() for found in _COMMENT.finditer(data)]
            text = _COMMENT.sub(b"", data)
        counts, longest = _tokens_in_lines(text)
        if longest > _MOST_DIGITS:
            raise self._bad_number(text)
        self.numbers = self._parse(text, int(counts.sum()))
        listed = np.ones(len(counts), np.bool_)
        listed[np.searchsorted(_line_ends(data), comments)] = False
        #: Line number in the file, and numbers, of each line that is no comment.
        self.line, self.counts = np.flatnonzero(listed) + 1, counts[listed]

    def _parse(self, text: bytes, tokens: int) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                numbers = np.fromstring(text, np.int64, sep=" ") if tokens else np.empty(0, int)
            except (ValueError, DeprecationWarning):
                raise self._bad_number(text) from None
        if len(numbers) != tokens:
            raise self._bad_number(text)
        return numbers

    def _bad_number(self, text: bytes) -> ArgumentError:
        for number, line in enumerate(text.split(b"\n"), 1):
            for token in line.split():
                if not re.fullmatch(rb"\d{1,%d}" % _MOST_DIGITS, token):
                    word = shown(token.decode("latin-1"))
                    return self.error(f"{word} is not a whole number that fits", number)
        return self.error("there are characters between the numbers")

    def error(self, message: str, line: int | None = None) -> ArgumentError:
        return file_error(self._file, self._advice, message, line)


def _line_ends(text: bytes) -> Array:
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))


def _tokens_in_lines(text: bytes) -> tuple[Array, int]:
    """How many words each line has, and how long the longest is. The text ends with a line."""
    characters = np.frombuffer(text, np.uint8)
    blank = characters <= ord(" ")
    begins = ~blank
    begins[1:] &= blank[:-1]
    before = np.searchsorted(np.flatnonzero(begins), _line_ends(text))
    longest = int(np.diff(np.flatnonzero(blank), prepend=-1).max()) - 1
    return np.diff(before, prepend=0), longest


def parse_metis(file: Path, data: bytes, advice: str) -> Graph:
    """Raises ArgumentError, with file and line, unless the text is a complete graph."""
    lines = _Lines(file, data, advice)
    head = int(np.flatnonzero(lines.counts)[0]) if lines.counts.any() else -1
    if head < 0:
        raise lines.error("the file holds only comments")
    vertices, edges, skipped, weighted = _heading(lines, head)
    body = lines.numbers[lines.counts[head] :]
    counts, line = lines.counts[head + 1 :], lines.line[head + 1 :]
    if counts[vertices:].any():
        extra = line[vertices:][counts[vertices:] > 0][0]
        raise lines.error(f"there are more lines than the {vertices} vertices", int(extra))
    # An editor may have dropped the empty lines of isolated vertices at the end.
    counts = np.pad(counts[:vertices], (0, max(0, vertices - len(counts))))
    source, target = np.repeat(np.arange(vertices), counts), body
    if skipped or weighted:
        place = np.arange(len(body)) - np.repeat(np.cumsum(counts) - counts, counts)
        wanted = (place >= skipped) & ((place - skipped) % (2 if weighted else 1) == 0)
        source, target = source[wanted], target[wanted]
    outside = np.flatnonzero((target < 1) | (target > vertices))
    if len(outside):
        raise lines.error(
            f"the neighbour is {target[outside[0]]}, which is not between 1 and {vertices}",
            int(line[source[outside[0]]]),
        )
    _require_complete(lines, vertices, edges, source, target - 1, len(line))
    return Graph(vertices, source.astype(np.int32), (target - 1).astype(np.int32))


def _heading(lines: _Lines, head: int) -> tuple[int, int, int, bool]:
    """Vertices, edges, numbers before a vertex's neighbours, whether edges have weights."""
    line = int(lines.line[head])
    fields = lines.numbers[: lines.counts[head]].tolist()
    if not 2 <= len(fields) <= 4:
        raise lines.error(f"the first line has {len(fields)} numbers instead of 2 to 4", line)
    vertices, edges = fields[:2]
    if min(fields) < 0:
        raise lines.error(f"the first line says {min(fields)}, which is no number of things", line)
    digits = f"{fields[2]:03}" if len(fields) > 2 else "000"
    if not re.fullmatch("[01]{3}", digits):
        raise lines.error(f"the format is {digits}, not three digits 0 or 1", line)
    sized, weights, weighted = (digit == "1" for digit in digits)
    if vertices > len(lines.numbers) + len(lines.counts):
        raise lines.error(f"the file is truncated: {vertices} vertices are announced", line)
    count = (fields[3] if len(fields) > 3 else 1) if weights else 0
    return vertices, edges, count + sized, weighted


def _require_complete(
    lines: _Lines, vertices: int, edges: int, source: Array, target: Array, rows: int
) -> None:
    """Every edge stands there from both ends, and there are as many as announced."""
    if len(source) != 2 * edges:
        what = "the file is truncated: " if len(source) < 2 * edges and rows < vertices else ""
        raise lines.error(
            f"{what}{edges} edges are announced, which is {2 * edges} neighbours, and "
            f"{len(source)} are listed"
        )
    forward, backward = source * vertices + target, target * vertices + source
    single = np.sort(forward) != np.sort(backward)
    if single.any():
        lonely = np.flatnonzero(np.isin(forward, backward, invert=True))
        where = lonely[0] if len(lonely) else 0
        raise lines.error(
            f"vertex {source[where] + 1} lists {target[where] + 1} as a neighbour, not the other "
            "way round, or not as often"
        )
