"""A user's mistake is shown with the user's own lines: tracebacks end there, ours are left out.

What is raised keeps all of its frames; only where Python or IPython shows an exception that nobody
caught are they hidden. Faults of ours (``InternalError``) are shown whole.
"""

from __future__ import annotations

import os
import sys
import traceback
from functools import wraps
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any

_PACKAGES = Path(__file__).resolve().parents[1]
_OURS = tuple(f"{_PACKAGES / name}{os.sep}" for name in ("sharedoa", "dispatch", "ptxpass"))
_LIBRARY = f"{Path(os.__file__).resolve().parent}{os.sep}"


def is_ours(file: str) -> bool:
    """Whether ``file`` belongs to this package."""
    return file.startswith(_OURS)


def trimmed(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without frames of this package, and of Python's own library below them. As it
    is if nothing remained."""
    kept: list[TracebackType] = []
    is_hidden, each = False, trace
    while each is not None:
        file = each.tb_frame.f_code.co_filename
        is_library = file.startswith(_LIBRARY) and "-packages" not in file
        is_hidden = is_ours(file) or (is_hidden and is_library)
        if not is_hidden:
            kept.append(each)
        each = each.tb_next
    found = None
    for each in reversed(kept):
        found = TracebackType(found, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return found or trace


def _ipython() -> Any:
    """The shell of IPython that this process is; None if it is not."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def shown_file(file: str) -> str:
    """``file`` as IPython's tracebacks name it: a cell of a notebook by its number."""
    shell = _ipython()
    words = None if shell is None else shell.compile.format_code_name(file)
    return file if words is None else " ".join(words)


def short_place(file: str, line: int) -> str:
    """A line of a file, without folders."""
    return f"{PurePath(shown_file(file)).name}:{line}"


def rendered(error: BaseException) -> list[str]:
    """What IPython shows of an exception, in its own style; used elsewhere, what Python does."""
    trace = trimmed(error.__traceback__)
    shell = _ipython()
    if shell is None:
        return traceback.format_exception(type(error), error, trace)
    found: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, trace)
    return found


def hide_our_frames(mistakes: type[BaseException]) -> None:
    """Let ``sys.excepthook`` show these without our frames, by whatever hook there is."""
    shown_by = sys.excepthook

    @wraps(shown_by)
    def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if not isinstance(error, mistakes):
            shown_by(kind, error, trace)
            return
        whole = error.__traceback__
        error.__traceback__ = trimmed(trace)
        try:
            shown_by(kind, error, error.__traceback__)
        finally:
            error.__traceback__ = whole

    sys.excepthook = hook
