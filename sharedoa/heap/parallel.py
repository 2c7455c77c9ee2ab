"""Bulk work of the host on heap memory: cut to fit the cache, and on all cores where it pays.

NumPy lets other threads run while it copies, so ordinary Python threads will do.
"""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ..cores import worker_count
from ..uninterrupted import uninterrupted

CHUNK_BYTES = 1 << 21
"""What one call works on: stays in a core's cache from one field to the next, and is long enough
that Python's share of the time does not count."""
_CHUNKS_A_THREAD = 4
"""With fewer, starting a thread takes as long as it saves."""


def in_chunks(count: int, item_bytes: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(first, stop)`` for parts of ``range(count)`` that together are all of it, in any
    order and several at once; the parts must not depend on each other. ``item_bytes`` of memory are
    touched for each number."""
    size = max(1, CHUNK_BYTES // item_bytes)
    chunks = [(first, min(first + size, count)) for first in range(0, count, size)]
    threads = len(chunks) // _CHUNKS_A_THREAD
    threads = min(worker_count(), threads)
    if threads <= 1:
        for chunk in chunks:
            work(*chunk)
        return

    def work_on(share: int) -> None:
        for chunk in chunks[share::threads]:
            work(*chunk)

    by_threads(work_on, range(threads))


def by_threads(work: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
    """What ``work`` makes of each piece, by as many threads, of which this is one. Where the system
    gives fewer, or one has no memory to begin, the others take its piece."""
    if len(pieces) == 1:
        return [work(pieces[0])]
    found: list[Any] = [None] * len(pieces)
    errors: list[BaseException] = []
    left, ended = deque(range(len(pieces))), threading.Semaphore(0)

    def run() -> None:
        with suppress(IndexError):
            while True:
                number = left.popleft()
                try:
                    found[number] = work(pieces[number])
                except BaseException as error:
                    errors.append(error)
                ended.release()

    with uninterrupted:  # until none of them runs
        with suppress(RuntimeError, MemoryError):
            for _ in pieces[1:]:
                # ``Thread.start`` would wait for ever for one that has no memory to begin.
                _thread.start_new_thread(run, ())
        run()
        for _ in pieces:
            ended.acquire()
    if errors:
        raise errors[0]
    return found
