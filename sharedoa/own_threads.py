"""Threads that nobody waits for where they have no memory to begin."""

from __future__ import annotations

import threading

PATIENCE_SECONDS = 10.0
"""Until a thread that has not begun is taken for one that never will."""


class _Begun(threading.Event):
    """``threading.Thread.start`` waits for it without a limit, and a thread that finds no memory
    for its first steps ends before it says that it has begun."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(PATIENCE_SECONDS)


class OwnThread(threading.Thread):
    """Whoever gets one that has not begun in time may meet it later: what it runs asks first
    whether it is still wanted."""

    _started: threading.Event

    def start(self) -> None:
        """Raises RuntimeError where the system gives no thread, or no memory to begin."""
        self._started = _Begun()
        super().start()
        if not self._started.is_set():
            raise RuntimeError("a thread has not begun, as there is no memory for it")
