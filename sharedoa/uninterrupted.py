"""Sections of code that no signal interrupts, and locks that are such sections.

A signal handler that was written in Python, as the one that makes Ctrl-C a KeyboardInterrupt, runs
between any two instructions of the main thread. Bookkeeping that takes several steps is done in a
section: what arrives meanwhile is noted, and handled when the outermost section ends.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any
from weakref import WeakSet

_Handler = Callable[[int, FrameType | None], Any]

# Without the enumerations that ``signal`` wraps around these, which take longer than all the rest.
_handler_of: Callable[[int], Any] = _signal.getsignal
_set_handler: Callable[[int, Any], Any] = _signal.signal
_get_ident = threading.get_ident
_NAMES = ("SIGUSR2", "SIGUSR1", "SIGPROF", "SIGVTALRM", "SIGALRM", "SIGHUP", "SIGTERM", "SIGINT")
_SIGNALS = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))
"""Those whose handlers may raise. The last one is the first that may come again when a section
ends."""
_PATIENCE_SECONDS = 0.05
"""Between looks at what has arrived, while a lock is waited for."""


class _Uninterrupted:
    """``with uninterrupted: ...``, a section; sections may be nested. Python runs handlers in the
    main thread alone, so elsewhere nothing is held back.

    Who waits in a section calls ``checkpoint`` now and then, where the books are in order.
    """

    def __init__(self) -> None:
        self._main = threading.main_thread().ident
        self._depth = 0
        self._handlers: list[tuple[int, _Handler]] = []
        #: What the handlers of all signals were last, and those among them that are functions.
        self._all: tuple[Any, ...] = ()
        self._functions: list[tuple[int, _Handler]] = []
        #: The same object at each use.
        self._set_by_us = self._note
        self._arrived: list[int] = []
        #: Python's own handler has been set since somebody made this false.
        self.has_set_handlers = True

    def __enter__(self) -> None:
        if _get_ident() == self._main:
            if self._depth:
                self._depth += 1
            else:
                self._hold(1)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._depth and _get_ident() == self._main:
            if self._depth > 1:
                self._depth -= 1
            else:
                self._let_go()

    def checkpoint(self) -> None:
        """Handle what has arrived, though the section has not ended."""
        if self._depth and _get_ident() == self._main:
            self._handle()

    def _hold(self, depth: int) -> None:
        handlers = tuple(map(_handler_of, _SIGNALS))
        if handlers != self._all:
            pairs = zip(_SIGNALS, handlers, strict=True)
            self._functions = [(number, each) for number, each in pairs if callable(each)]
            self._all = handlers
        self._handlers = found = self._functions
        try:
            for number, _ in reversed(found):
                _set_handler(number, self._set_by_us)
        except BaseException:
            self._give_back()
            raise
        self._depth = depth  # nothing runs between the last handler and this

    def _let_go(self) -> None:
        self._depth = 0
        try:
            self._give_back()
        except BaseException:
            self._give_back()
            raise
        finally:
            self._handle()

    def _give_back(self) -> None:
        for number, handler in self._handlers:
            if _handler_of(number) is self._set_by_us:  # else somebody has set another one
                _set_handler(number, handler)
        self.has_set_handlers = True

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number not in self._arrived:
            self._arrived.append(number)

    def _handle(self) -> None:
        while self._arrived:
            number = self._arrived.pop()
            dict(self._handlers)[number](number, sys._getframe())

    def _after_fork(self) -> None:
        """The thread that forked is the child's main thread, and the only one."""
        here = _get_ident()
        if here != self._main:
            self._main = here
            self._depth = 0
            self._arrived.clear()


class _Interruptible:
    """``with interruptible(): ...`` within a section: signals are handled as if there was none. For
    waits, where the books are in order or are put in order if the wait is left by an exception."""

    def __init__(self) -> None:
        self._depth = 0

    def __enter__(self) -> None:
        section = uninterrupted
        if section._depth and _get_ident() == section._main:
            depth = section._depth
            try:
                section._let_go()
            except BaseException:
                section._hold(depth)
                raise
            self._depth = depth

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._depth:
            try:
                uninterrupted._hold(self._depth)
            except BaseException:
                uninterrupted._hold(self._depth)
                raise


uninterrupted = _Uninterrupted()
interruptible = _Interruptible


class BooksLock:
    """A re-entrant lock on bookkeeping; a section as long as it is held. ``plain`` is the same lock
    without the section, for who only looks."""

    __slots__ = ("__weakref__", "plain")

    def __init__(self) -> None:
        self.plain = threading.RLock()
        books_locks.add(self)

    def __enter__(self) -> None:
        uninterrupted.__enter__()
        if not self.plain.acquire(False):
            self._wait()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.plain.release()
        uninterrupted.__exit__(kind, error, trace)

    def _wait(self) -> None:
        try:
            while not self.plain.acquire(timeout=_PATIENCE_SECONDS):
                uninterrupted.checkpoint()
        except BaseException:
            uninterrupted.__exit__(None, None, None)
            raise


books_locks: WeakSet[BooksLock] = WeakSet()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=uninterrupted._after_fork)
