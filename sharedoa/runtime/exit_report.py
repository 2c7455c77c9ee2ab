"""What went wrong in launches that a program ended without waiting for: said, and in its status."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..errors import SharedOAError


class _FailingStream:
    """A stream that cannot be flushed when the interpreter ends. That is what makes Python end with
    a status other than 0 (it is 120) and yet do all that it does at its end."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def flush(self) -> None:
        self._stream.flush()
        with suppress(ValueError):
            sys._getframe(1)  # there is a caller, so it is a program's own
            return
        raise OSError("a launch that nobody waited for has failed")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def report_at_exit(wait: Callable[[], None]) -> None:
    """At the end of this process call ``wait``, which raises what went wrong. Children that are
    forked from it do not report what it has launched."""
    process = os.getpid()

    def report() -> None:
        if os.getpid() != process:
            return
        try:
            wait()
        except SharedOAError as problem:
            if sys.stderr is not None:
                name = f"{type(problem).__module__}.{type(problem).__qualname__}"
                print(f"In launches that nobody waited for:\n{name}: {problem}", file=sys.stderr)
                sys.stderr = _FailingStream(sys.stderr)

    atexit.register(report)
