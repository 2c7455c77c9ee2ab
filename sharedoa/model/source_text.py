"""The text of the user's files as it was when functions were defined.

Kernels are compiled when they are launched first, by when their file may have been edited. What
CPython runs is what the file held when it was imported, and so is what is compiled.
"""

from __future__ import annotations

import linecache
import time
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

_STARTED = time.time()


class SourceText(NamedTuple):
    """The lines of a function's file. ``is_sure``: it was not edited since this process began, so
    these are what the function was made from."""

    lines: list[str]
    is_sure: bool


_known: WeakKeyDictionary[Callable[..., Any], tuple[CodeType, SourceText]] = WeakKeyDictionary()


def remember_source(function: Callable[..., Any]) -> None:
    """Keep the text of the file that ``function`` was just defined in."""
    _known[function] = function.__code__, text_now(function)


def remembered_source(function: Callable[..., Any]) -> tuple[CodeType, SourceText]:
    """The code that ``function`` was defined with, and the text of its file then."""
    return _known.get(function) or (function.__code__, text_now(function))


def source_text(function: Callable[..., Any]) -> SourceText:
    """The text that ``function`` was defined in; no lines if there is none."""
    known = _known.get(function)
    return known[1] if known is not None and known[0] is function.__code__ else text_now(function)


def text_now(function: Callable[..., Any]) -> SourceText:
    """The text of its file as it is."""
    file = function.__code__.co_filename
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    entry = linecache.cache.get(file, ())
    # Cells of notebooks have no time, and do not change.
    edited = entry[1] if len(entry) == 4 else None
    return SourceText(lines, edited is None or edited < _STARTED)
