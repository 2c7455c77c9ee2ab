"""A system that has no memory for the first steps of a thread."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sharedoa import own_threads

_PATIENCE_SECONDS = 20


@contextmanager
def no_thread_begins() -> Iterator[None]:
    """In the block the system gives threads that never begin. TimeoutError: somebody waits for one
    all the same."""

    def late(*given: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_start_new_thread", "_start_joinable_thread"):  # before, and since, 3.13
            patch.setattr(threading, name, lambda *given, **named: None, raising=False)
        patch.setattr(own_threads, "PATIENCE_SECONDS", 0.01)
        signal.alarm(_PATIENCE_SECONDS)
        try:
            yield
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
