"""Threads of a block with barriers run together or not at all: some alone would wait for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..errors import BackendError
from ..own_threads import OwnThread


def run_together(
    run_member: Callable[[int], None],
    count: int,
    cancel: Callable[[list[threading.Thread]], None],
) -> None:
    """Call ``run_member`` with 0 to count - 1, all at the same time, or none of them. What a
    handler of signals raises meanwhile is raised when they have ended, for which ``cancel`` is
    called. Raises BackendError where the system has no such number of threads."""
    ready, complete = threading.Event(), False

    def member(number: int) -> None:
        ready.wait()
        if complete:
            run_member(number)

    members: list[threading.Thread] = [
        OwnThread(target=member, args=(number,)) for number in range(count)
    ]
    started: list[threading.Thread] = []
    try:
        for thread in members:
            try:
                thread.start()
            except RuntimeError as problem:
                raise BackendError(
                    f"no {count} threads for a block with barriers: {problem}",
                    "launch with a smaller block: kernel[threads, block](...)",
                ) from problem
            started.append(thread)
        complete = True
        ready.set()
        for thread in started:
            thread.join()
    except BaseException:
        ready.set()
        if complete:
            cancel(started)
        raise
    finally:
        ready.set()
        for thread in started:
            thread.join()
