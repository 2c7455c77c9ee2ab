"""How a process ends in which CUPTI knows functions of ours.

CUPTI's threads may still call them, which an orderly end of the interpreter takes away under them:
such a process ends at once, with what it printed and its exit status.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress

_at_once = threading.Event()
#: Exit statuses as Python's own: of an error, of a stream that cannot be written, of Ctrl-C.
_ERROR, _UNWRITTEN, _INTERRUPTED = 1, 120, 130


def end_at_once() -> None:
    """From now on ``run`` ends the process in this way."""
    _at_once.set()


def run(main: Callable[[], None]) -> None:
    """Run a command line, the last thing that its process does."""
    try:
        main()
    except BaseException as problem:
        if not _at_once.is_set():
            raise
        _leave(_status(problem))
    if _at_once.is_set():
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
