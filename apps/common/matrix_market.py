"""Matrix Market text to the edges of a graph: math.nist.gov/MatrixMarket/formats.html.

A first line names the format; after comments, which ``%`` starts, a line has the numbers of rows,
columns and entries, and every other one an entry: its row and column, from 1, and its value.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from .number_table import Ids, read_ids
from .text_file import file_error, shown

#: Numbers of a value.
_FIELDS = {"real": 1, "double": 1, "integer": 1, "complex": 2, "pattern": 0}
_SYMMETRIES = {"general": False, "symmetric": True, "skew-symmetric": True, "hermitian": True}
_COMMENT = re.compile(rb"^[ \t]*%.*$", re.MULTILINE)
_SIZES = re.compile(rb"^[ \t]*(\S.*)$", re.MULTILINE)


def parse_matrix_market(file: Path, data: bytes, advice: str) -> tuple[int, Ids]:
    """The number of rows of a square sparse matrix, and an edge from i to j for each entry in row
    i and column j, from 0, of shape (edges, 2): first as they stand, then, if the matrix is
    symmetric, all that are not on the diagonal, from j to i.

    Raises ArgumentError, with file and line.
    """
    numbers, symmetric = _heading(file, data, advice)
    text = _COMMENT.sub(b"", data)  # leaves the line, so that line numbers stay
    found = _SIZES.search(text)
    if found is None:
        raise file_error(file, advice, "the file is truncated: it lacks the size of the matrix")
    line = text.count(b"\n", 0, found.start(1)) + 1
    words = found[1].decode("latin-1").split()
    if len(words) != 3 or not all(re.fullmatch("[0-9]{1,18}", word) for word in words):
        message = f"{shown(' '.join(words))} is not the numbers of rows, columns and entries"
        raise file_error(file, advice, message, line)
    rows, columns, count = map(int, words)
    if rows != columns:
        raise file_error(file, advice, f"the matrix is not square: {rows} by {columns}", line)
    before = b"\n" * text.count(b"\n", 0, found.end())
    entries = read_ids(file, before + text[found.end() :], advice, numbers)
    if len(entries) < count:
        message = f"the file is truncated: it has {len(entries)} of {count} entries"
        raise file_error(file, advice, message)
    if len(entries) > count:
        message = f"there are {len(entries)} entries, and {count} are announced"
        raise file_error(file, advice, message)
    outside = entries[((entries < 1) | (entries > rows)).any(axis=1)]
    if len(outside):
        message = f"an entry is in row {outside[0][0]} and column {outside[0][1]} of {rows}"
        raise file_error(file, advice, message)
    edges = entries - 1
    if symmetric:
        mirrored = edges[edges[:, 0] != edges[:, 1]][:, ::-1]
        edges = np.concatenate([edges, mirrored])
    return rows, edges


def _heading(file: Path, data: bytes, advice: str) -> tuple[int, bool]:
    """Numbers of each value, and whether an entry stands for two."""
    words = data[:200].split(b"\n", 1)[0].decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise file_error(file, advice, "this is no Matrix Market file: its first line is another")
    _, _, layout, field, symmetry = words
    if layout == "array":
        raise file_error(file, advice, "the matrix is dense", 1)
    if layout != "coordinate" or field not in _FIELDS or symmetry not in _SYMMETRIES:
        message = f"this is no Matrix Market file: {shown(' '.join(words[2:]))} is unknown"
        raise file_error(file, advice, message, 1)
    return _FIELDS[field], _SYMMETRIES[symmetry]
