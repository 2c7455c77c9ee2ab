"""A heap that one thread has for itself: memory is meanwhile other than what it seems to be, so
other threads are refused, each with its own error, whatever they do to it. None of them waits, as
somebody might wait for them: who has the heap may be a thread that another one has started, as
PyTorch's is.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING

from ..errors import HeapError

if TYPE_CHECKING:
    from .heap import Heap


class Alone:
    """What the thread that has made it has for itself; stands where launches that wait for others
    do (``recording.Deferred``), at which all launches look."""

    def __init__(self) -> None:
        self._owner = get_ident()

    def is_launching_here(self) -> bool:
        """Whether the calling thread is the one."""
        return get_ident() == self._owner

    def launch(self) -> None:
        """Raises HeapError for other threads."""
        if not self.is_launching_here():
            raise HeapError(
                "another thread goes back through a tape (tape.backward), and memory of the heap "
                "is meanwhile as launches have found it",
                "use the heap when it has come back: join the thread, or have a lock; or give the "
                "work a heap of its own",
            )


def alone(heap: Heap, work: Callable[[], None]) -> None:
    """``work`` while the heap is the calling thread's alone, after all that others have launched.
    Raises HeapError if it is another one's already."""
    memory, upkeep, made = heap.memory, heap.upkeep, Alone()
    before = upkeep.thread

    def give_back() -> None:
        with heap.lock:
            if memory.alone is made:
                upkeep.thread, memory.deferred, memory.alone = before, None, None

    try:
        try:
            # A signal that comes while the lock is held is handled as soon as it is not.
            while memory.alone is not made:
                heap.launch_deferred()
                with heap.lock:
                    if memory.deferred is None:
                        memory.deferred = memory.alone = made
                        # Whoever is another one has to say so before it looks at anything.
                        before, upkeep.thread = upkeep.thread, get_ident()
            heap.synchronize()
            work()
        finally:
            give_back()
    finally:
        # An interruption may have come before the first one did anything.
        give_back()
