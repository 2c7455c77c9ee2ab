"""Two threads in a chosen order: another thread does something exactly when this one comes to a
line.

CPython changes threads at calls, at jumps back and where it lets go of its lock. A trace function
stops this thread at a line of ours, lets the other one go on until it has ended or stands still, as
it waits for something that this thread holds, and goes on.
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import sharedoa

_PACKAGE = str(Path(sharedoa.__file__).parent)
_MOMENT_SECONDS = 0.002
_STILL = 15
"""Looks at a thread that is where it was, until it is taken to wait."""
_PATIENCE_SECONDS = 30.0


class Place(NamedTuple):
    """A line of a function, when a thread comes to it for the ``nth`` time."""

    code: str
    file: str
    line: int
    nth: int = 1


def place(function: Callable[..., Any], text: str, nth: int = 1) -> Place:
    """The one line of ``function`` that begins with ``text``."""
    code = inspect.unwrap(function).__code__
    lines, first = inspect.getsourcelines(code)
    (found,) = (n for n, line in enumerate(lines, first) if line.strip().startswith(text))
    return Place(code.co_name, code.co_filename, found, nth)


class OtherThread:
    """What the other thread does, once."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._thread: threading.Thread | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        #: Whether it had to wait for the thread that stopped.
        self.has_waited = False

    @property
    def has_begun(self) -> bool:
        return self._thread is not None

    def go(self) -> None:
        """Go on until it ends or waits."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.has_waited = _stands_still(self._thread)

    def _run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:
            self.error = error

    def end(self) -> None:
        """Raises what it has raised."""
        assert self._thread is not None, "nobody came by"
        self._thread.join(_PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "two threads wait for each other"
        if self.error is not None:
            raise self.error


def _stands_still(thread: threading.Thread) -> bool:
    last: list[FrameType] = []
    same, end = 0, time.monotonic() + _PATIENCE_SECONDS
    while thread.is_alive() and same < _STILL and time.monotonic() < end:
        thread.join(_MOMENT_SECONDS)
        frames = [*_frames(sys._current_frames().get(thread.ident or 0))]
        same = same + 1 if frames == last and _sleeps(thread) else 0
        last = frames
    return thread.is_alive()


def _sleeps(thread: threading.Thread) -> bool:
    """Whether it is not running, as it does in native code, too; True where nobody knows."""
    try:
        text = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] == "S"


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@contextmanager
def switching(at: Place, work: Callable[[], Any]) -> Iterator[OtherThread]:
    """The first time that this thread comes to ``at`` within the block, another one does ``work``;
    it has ended when the block has."""
    other, came = OtherThread(work), 0

    def visit(found: Place) -> bool:
        nonlocal came
        came += found[:3] == at[:3]
        if came < at.nth:
            return False
        other.go()
        return True

    with _tracing(visit):
        yield other
    other.end()


def places(work: Callable[[], Any]) -> list[Place]:
    """The lines of ours that ``work`` comes to in this thread, each when it first does."""
    found: dict[Place, None] = {}

    def visit(at: Place) -> bool:
        found[at] = None
        return False

    with _tracing(visit):
        work()
    return [*found]


@contextmanager
def _tracing(visit: Callable[[Place], bool]) -> Iterator[None]:
    """``visit`` is called with each line of ours, until it says that this is enough."""
    before, is_enough = sys.gettrace(), False

    def lines(frame: FrameType, event: str, given: Any) -> Any:
        nonlocal is_enough
        if is_enough:
            return None
        code = frame.f_code
        if event == "line" and visit(Place(code.co_name, code.co_filename, frame.f_lineno)):
            is_enough = True
            sys.settrace(before)
            return None
        return lines

    def calls(frame: FrameType, event: str, given: Any) -> Any:
        return lines if _is_ours(frame.f_code) and not is_enough else None

    sys.settrace(calls)
    try:
        yield
    finally:
        sys.settrace(before)


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(_PACKAGE)


def in_heap(heap: sharedoa.Heap, work: Callable[[], Any]) -> Callable[[], None]:
    """``work`` for another thread."""

    def run() -> None:
        with heap:
            work()

    return run
