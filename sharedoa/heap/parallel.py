"""Bulk work of the host on heap memory: cut to fit the cache, and on all cores where it pays.

NumPy lets other threads run while it copies, so ordinary Python threads will do.
"""

from __future__ import annotations

from collections.abc import Callable

from ..cores import worker_count

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

    # Imported here: it is a tenth of what `import sharedoa` adds to NumPy's import.
    from concurrent.futures import ThreadPoolExecutor

    def work_on(share: int) -> None:
        for chunk in chunks[share::threads]:
            work(*chunk)

    # Threads of their own: a pool that is kept does not survive a fork.
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work_on, range(threads)))
