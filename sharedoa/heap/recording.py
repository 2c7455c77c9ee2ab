"""Whether launches are recorded instead of executed, and what the host must not do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import HeapError

if TYPE_CHECKING:
    from .heap import Heap


class Recorder(Protocol):
    """Takes the launches of the block that it records (``runtime.capture``)."""

    heap: Heap

    @property
    def is_recording(self) -> bool:
        """Whether its block has not ended."""
        ...

    def record(
        self,
        program: Any,
        geometry: Any,
        arguments: tuple[Any, ...],
        mode: Any = None,
        debug: Any = None,
    ) -> None:
        """Remember a launch. Raises what launching would raise."""
        ...

    def record_population_call(self, objects: Any, method: Any, given: tuple[Any, ...]) -> None:
        """Remember a call of a method on all objects of a class that live in each run."""
        ...

    def record_call(self, call: Callable[[], Any]) -> None:
        """Remember something that every run is to do anew, and to look at the heap for."""
        ...


recording: ContextVar[Recorder | None] = ContextVar("sharedoa_recording", default=None)
"""Who records the launches of this thread, if its block is open; None: they are executed."""


def recorder() -> Recorder | None:
    """Who records the launches of this thread. An exception may have left the block of one before
    that could be noted."""
    found = recording.get()
    if found is not None and not found.is_recording:
        recording.set(None)
        return None
    return found


def is_recorded(heap: Heap) -> bool:
    """Whether this thread's launches on ``heap`` are being recorded."""
    found = recording.get()
    return found is not None and found.heap is heap and found.is_recording


def refuse_access() -> HeapError:
    """The host looks at memory, or waits, amid launches that have not run."""
    return HeapError(
        "the host reads, writes or waits inside a block of oa.capture(), where launches are "
        "recorded and none has run yet",
        "do it before the block, or after step.run()",
    )


def require_executing(heap: Heap, what: str) -> None:
    """Raise HeapError if ``what``, which would happen once and not in every run, is done while
    launches on ``heap`` are recorded."""
    if is_recorded(heap):
        raise HeapError(
            f"{what} inside a block of oa.capture() would happen once, not in every run",
            "do it before the block",
        )
