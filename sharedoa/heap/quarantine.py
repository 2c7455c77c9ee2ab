"""What debug mode does with the memory of deleted objects: it stays theirs for a while.

A reference that somebody kept then meets a dead object, which is reported, and not another one.
Memory is given out again oldest first, once more than a share of the heap is held, or when there is
no other room.
"""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from dispatch.dataclass import dataclass

SHARE = 4
"""Which part of a heap's capacity deleted objects may hold: the fourth."""

Owner = TypeVar("Owner")
Places = np.ndarray[Any, Any]
_OWN = str(Path(__file__).parent.parent), contextlib.__file__


@dataclass
class Batch(Generic[Owner]):
    """Objects that were deleted together: ``places`` says where in what ``owner`` keeps they lie,
    ``size`` is the bytes of one, ``where`` the line that deleted them."""

    owner: Owner
    places: Places
    size: int
    where: str


class Quarantine(Generic[Owner]):
    """Deleted objects whose memory is not given out again yet, oldest first."""

    def __init__(self, capacity: int) -> None:
        """``capacity``: that of the heap, in bytes."""
        self._limit = capacity // SHARE
        self._bytes = 0
        self._batches: deque[Batch[Owner]] = deque()

    def add(self, owner: Owner, places: Places, size: int, where: str) -> None:
        self._batches.append(Batch(owner, places, size, where))
        self._bytes += len(places) * size

    def overdue(self) -> Iterator[Batch[Owner]]:
        """Take out the oldest until no more is held than may be."""
        yield from self._oldest(self._limit)

    def everything(self) -> Iterator[Batch[Owner]]:
        yield from self._oldest(0)

    def _oldest(self, limit: int) -> Iterator[Batch[Owner]]:
        while self._bytes > limit:
            batch = self._batches[0]
            count = min(len(batch.places), -((limit - self._bytes) // batch.size))
            taken, rest = batch.places[:count], batch.places[count:]
            if len(rest):
                batch.places = rest
            else:
                self._batches.popleft()
            self._bytes -= count * batch.size
            yield Batch(batch.owner, taken, batch.size, batch.where)

    def move(self, owner: Owner, to: Owner) -> None:
        """The memory of ``owner`` is now that of another."""
        for batch in self._batches:
            if batch.owner is owner:
                batch.owner = to

    def find(self, owner: Owner, place: int) -> str | None:
        """The line that deleted the object at a place; None if none is held there."""
        for batch in reversed(self._batches):
            if batch.owner is owner and place in batch.places:
                return batch.where
        return None


def user_line() -> str:
    """``file:line`` of the innermost call that was not made in this package, or for it where a
    block of one of its context managers ends."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
