"""Rows of numbers in text: two ids a row, and what follows them."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from sharedoa.errors import ArgumentError

from .text_file import file_error, shown

Ids = np.ndarray[Any, np.dtype[np.int64]]


def read_ids(file: Path, text: bytes, advice: str, numbers: int | None = None) -> Ids:
    """The first two numbers of every row that is not empty, of shape (rows, 2), which are whole.
    ``numbers``: how many more every row has; what follows is else ignored.

    Raises ArgumentError, with the line in ``text``.
    """
    if not text.strip():
        return np.empty((0, 2), np.int64)
    lines = io.BytesIO(text)
    try:
        if numbers is None:
            return np.loadtxt(lines, np.int64, comments=None, usecols=(0, 1), ndmin=2)
        dtype = np.dtype([("ids", np.int64, (2,)), ("numbers", np.float64, (numbers,))])
        ids: Ids = np.loadtxt(lines, dtype, comments=None, ndmin=1)["ids"]
        return ids
    except ValueError:
        raise _bad_row(file, text, advice, numbers) from None


def _bad_row(file: Path, text: bytes, advice: str, numbers: int | None) -> ArgumentError:
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.decode("latin-1").split()
        if len(fields) == 1 and numbers is None:
            return file_error(file, advice, "the line has one field instead of two", number)
        for field in fields[:2]:
            if not re.fullmatch(r"[+-]?[0-9]{1,18}", field):
                message = f"{shown(field)} is not the id of a vertex"
                return file_error(file, advice, message, number)
        if fields and numbers is not None and len(fields) != 2 + numbers:
            message = f"the line has {len(fields)} fields instead of {2 + numbers}"
            return file_error(file, advice, message, number)
    return file_error(file, advice, "a row is not made of numbers")
