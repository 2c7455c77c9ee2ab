"""When objects move without being asked: where less than half of a class's room has been needed for
a while, what lives of it goes side by side.

Nobody may notice but by the memory. So nothing moves by itself while somebody has a view of fields
or goes through a population, once references have been given out as numbers, where several threads
use the heap, where another compiler's code knows objects, and in debug mode, which keeps what was
deleted in its place. Whether it does depends on numbers of objects and on the room that their class
has been in need of (``NeededRoom``), so the same program does the same everywhere.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from ..context_managers import contextmanager
from ..errors import HeapError
from ..model.classes import ClassType
from . import hooks
from .by_type import ByTypePlacement
from .moving import put_together
from .placement import Selection
from .recording import is_recorded
from .region_selection import RegionSelection
from .regions import Region

if TYPE_CHECKING:
    from .heap import Heap

T = TypeVar("T")
_PATIENCE = 8
"""Launches in a row that need less than half of the room."""
_SHARE = 8
"""Classes that move have this part of the heap's room at least, as all references are looked at."""


class Upkeep:
    """What one heap knows of who might notice that objects move, and of classes with much room."""

    def __init__(self) -> None:
        #: One for each view of fields, walk through a population and tape that there is: a set, as
        #: threads that add to a number at the same time lose one.
        self.held: set[object] = set()
        #: Whether references have been given out as numbers, or another thread uses the heap.
        self.is_known_outside = False
        #: Whether several threads use the heap, other than as parts of one launch. It becomes so
        #: under the lock on the heap's books; who has that may go by it.
        self.is_shared = False
        #: Whether there are adjoints, which lie as the objects do.
        self.has_adjoints = False
        #: One for each who has copies of memory that will be put back, which lie as objects did.
        self.copies: set[object] = set()
        self.thread: int | None = None
        #: Launches that have made objects.
        self.births = 0
        #: What ``recording.changes_of`` the heap was when this thread's call listed objects of it.
        self.listed: int | None = None
        #: Of classes that launches change, how many in a row have needed less than half.
        self._low: dict[ClassType, int] = {}
        #: Objects that the host has deleted since the class moved.
        self._deleted: dict[ClassType, int] = {}

    @property
    def keeps_clusters(self) -> bool:
        """Whether something lies as the objects do: adjoints, or copies that will be put back."""
        return self.has_adjoints or bool(self.copies)

    def note_thread(self) -> None:
        """The calling thread uses objects."""
        if self.thread is None:
            self.thread = threading.get_ident()
        elif self.thread != threading.get_ident():
            self.is_known_outside = True

    @contextmanager
    def still(self) -> Iterator[None]:
        """In the block nothing moves by itself."""
        mark = object()
        self.held.add(mark)
        try:
            yield
        finally:
            self.held.discard(mark)

    def holding(self, values: Iterable[T]) -> Iterator[T]:
        """``values``, as long as which nothing moves by itself."""
        with self.still():
            yield from values

    # ------------------------------------------------------------------ what is due

    def after_deletion(self, heap: Heap, selection: Selection) -> None:
        """The host has deleted these objects."""
        if isinstance(selection, RegionSelection):
            # One number a class, however many pieces its objects lie in.
            gone = Counter[ClassType]()
            for part in selection.parts:
                gone[part.region.cls] += part.count
            self.after_deletions(heap, gone)

    def after_deletions(self, heap: Heap, gone: Mapping[ClassType, int]) -> None:
        """The host has deleted so many objects of these classes, which have regions."""
        placement, due = heap.books, False
        assert isinstance(placement, ByTypePlacement)
        for cls, count in gone.items():
            deleted = self._deleted[cls] = self._deleted.get(cls, 0) + count
            used = placement.count(cls)
            if deleted >= used and _is_loose(placement, cls, used):
                if cls in self._low:
                    self._low[cls] += 1
                due |= self._low.get(cls, _PATIENCE) >= _PATIENCE
        if due:
            self._compact(heap)

    def after_launch(self, heap: Heap, needed: Callable[[], Mapping[ClassType, int]]) -> None:
        """A launch has made or ended objects of these classes; so many there were, with those that
        it might have made. Nothing of it is under way."""
        placement, due = heap.books, False
        if self.held or not isinstance(placement, ByTypePlacement):
            return
        for cls, count in needed().items():
            placement.needed.note(cls, count)
            is_loose = _is_loose(placement, cls, count)
            low = self._low[cls] = self._low.get(cls, 0) + 1 if is_loose else 0
            due |= low >= _PATIENCE
        if due:
            self._compact(heap)

    def _compact(self, heap: Heap) -> None:
        placement = heap.books
        assert isinstance(placement, ByTypePlacement)
        loose = [
            cls
            for cls in placement.holders()
            if _is_loose(placement, cls, placement.count(cls))
            and self._low.get(cls, _PATIENCE) >= _PATIENCE
        ]
        room = placement.needed_room
        if _SHARE * sum(map(room, loose)) < sum(map(room, placement.classes())):
            return
        regions = [region for cls in loose for region in placement.regions(cls)]
        with heap.lock:  # under which another thread that begins to use the heap says so
            if not self._may_move(heap, regions):
                return
            for cls in loose:
                self._low.pop(cls, None)
                self._deleted.pop(cls, None)
            # Without memory for a second place, or for the code that moves them, they stay.
            with suppress(HeapError, MemoryError):
                put_together(heap, placement, loose, keeps_deleted=True)

    def _may_move(self, heap: Heap, regions: Iterable[Region]) -> bool:
        memory = heap.memory
        return not (
            heap.debug
            or self.held
            or self.keeps_clusters
            or self.is_known_outside
            or memory.launching
            or memory.deferred is not None
            or memory.unsettled is not None
            or is_recorded(heap)
            or hooks.kernel_objects() is not None
            or any(cls.foreign is not None for cls in heap.books.classes())
            or any(region.is_viewed for region in regions)
        )


def _is_loose(placement: ByTypePlacement, cls: ClassType, needed: int) -> bool:
    room = placement.needed_room(cls)
    return room > placement.first_room and 2 * needed < room
