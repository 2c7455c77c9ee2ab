"""How a process ends in which CUPTI knows functions of ours.

CUPTI's threads may still call them, which an orderly end of the interpreter takes away under them:
they are kept, and such a process ends at once, with what it printed and its exit status.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

#: What nobody refers to any more, and must not go.
_kept: list[Any] = []
#: Exit statuses as Python's own: of an error, of a stream that cannot be written, of Ctrl-C.
_ERROR, _UNWRITTEN, _INTERRUPTED = 1, 120, 130


def keep(owner: Any) -> None:
    """CUPTI is about to know functions or memory of ``owner``."""
    _kept.append(owner)


def run(main: Callable[[], None]) -> None:
    """Run a command line, the last thing that its process does."""
    try:
        main()
    except BaseException as problem:
        if not _kept:
            raise
        _leave(_status(problem))
    if _kept:
        _leave(0)


def _status(problem: BaseException) -> int:
    """The exit status after an exception, which is told as the interpreter would."""
    if isinstance(problem, SystemExit):
        if problem.code is None or isinstance(problem.code, int):
            return problem.code or 0
        print(problem.code, file=sys.stderr)
        return _ERROR
    traceback.print_exception(problem)
    return _INTERRUPTED if isinstance(problem, KeyboardInterrupt) else _ERROR


def _leave(status: int) -> None:
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        status = status or _UNWRITTEN
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)
