"""Objects that launches make and end: places for new ones before, the heap's books afterwards.

The table that kernels read (``dispatch.births``), and the lists that it leads to, lie in one piece
of heap memory, which every launch fills anew. From ``lend`` to ``settle`` free places are lent to
the launch, and nobody else takes or frees them; the caller holds the lock on the heap's books.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from weakref import WeakMethod

import numpy as np

from dispatch.births import ENTRY_DTYPE, NO_RANK, Turns
from dispatch.dataclass import dataclass

from ..errors import HeapError
from ..model.classes import ClassType
from .extents import Extent, Extents
from .placement import Placement, Selection

ALIGNMENT = 64
Words = np.ndarray[Any, np.dtype[np.uint64]]
Ranks = np.ndarray[Any, np.dtype[np.uint8]]
NO_RANKS: Ranks = np.zeros(0, np.uint8)
AllTurns = Mapping[ClassType, Turns]
NO_TURNS: AllTurns = MappingProxyType({})
WithRoom = Callable[[str, Callable[[], Any]], Any]
"""Calls something that may raise NoRoom, collects what is free if it does, and tries again; then
raises HeapError, which names what room is for."""


@dataclass(eq=False)
class Places(ABC):
    """Where a launch may make objects of one class. ``step``: how many are each thread's own, 0
    where all threads take from the same; ``wanted``: how many were asked for, if that was more than
    there are; ``makers``: where threads count together, the number of the thread that took each
    place, as far as any did."""

    cls: ClassType
    step: int
    #: Which threads make an object, if only some do and their numbers say which.
    turns: Turns | None = None

    wanted: int = 0
    makers: Sequence[int] | Words = ()
    #: Where in the birth table threads note that.
    makers_at: int = 0

    @property
    @abstractmethod
    def room(self) -> int:
        """How many there are."""

    @abstractmethod
    def at(self, number: int) -> int | None:
        """The address of the place of that number."""

    def number_of(self, thread: int, made: int) -> int | None:
        """The number of the place that a thread with places of its own takes next, which has made
        so many objects; None if it has none."""
        if self.turns is not None:
            return None if made else self.turns.number(thread)
        return thread * self.step + made

    def numbering(self) -> tuple[int, int, Ranks]:
        """For the birth table: step, period, and the ranks in it (``dispatch.births``)."""
        if self.turns is None:
            return self.step, 0, NO_RANKS
        ranks = [NO_RANK if rank is None else rank for rank in self.turns.ranks]
        return max(1, self.turns.each), self.turns.period, np.array(ranks, np.uint8)

    def thread_order(self) -> np.ndarray[Any, np.dtype[np.intp]] | None:
        """After a launch: of the places that were taken, those whose objects come first, second and
        so on in the order of the threads; None if they lie so."""
        makers = np.asarray(self.makers, np.uint64)[: self.room]
        if (makers[1:] >= makers[:-1]).all():
            return None
        # A thread has counted upwards.
        return np.argsort(makers, kind="stable")

    @property
    def shortage(self) -> str:
        """In words, when more were asked for."""
        return (
            f"there is room for {self.room:,} new objects of {self.cls}, and {self.wanted:,} were "
            "to be made; the others are None to the program"
        )


Lent = TypeVar("Lent", bound=Places)


class Births(ABC, Generic[Lent]):
    """Of one heap."""

    def __init__(self, extents: Extents, placement: Placement, with_room: WithRoom) -> None:
        self._extents = extents
        self._placement = placement
        # What holds this would else be held by it.
        self._weak_with_room = WeakMethod(with_room)
        self._table: Extent | None = None
        self._reserved: dict[ClassType, int] = {}
        #: What the last launch had no room for, in words.
        self.shortages: dict[ClassType, str] = {}

    @property
    def table(self) -> int:
        """The address of the birth table; 0 before the first launch that needs it."""
        return 0 if self._table is None else self._table.address

    def _with_room(self, what: str, attempt: Callable[[], Any]) -> Any:
        with_room = self._weak_with_room()
        assert with_room is not None
        return with_room(what, attempt)

    def reserve(self, cls: ClassType, count: int) -> None:
        """Room for ``count`` more objects, now and for each launch of which nobody knows how many
        it makes. Raises HeapError, having changed nothing."""
        self._make_room(cls, count)
        self._reserved[cls] = count

    def wanted(
        self, cls: ClassType, each: int | None, threads: int, turns: AllTurns = NO_TURNS
    ) -> int:
        """Places for threads that make so many objects of a class each, None for any number."""
        if each is None:
            return self._reserved.get(cls, threads)
        return turns[cls].count(threads) if cls in turns else threads * each

    def _make_room(self, cls: ClassType, count: int) -> None:
        what = f"{count:,} more objects of {cls.name}"
        self._with_room(what, lambda: self._find_room(cls, count))

    # ------------------------------------------------------------------ before a launch

    @abstractmethod
    def show_living(self) -> None:
        """Let kernels see which objects live. Raises HeapError."""

    def lend(
        self, made: Mapping[ClassType, int | None], threads: int, turns: AllTurns = NO_TURNS
    ) -> list[Lent]:
        """Room for what ``threads`` threads may make, each so many objects of a class, None for any
        number, but for those that do it in turn. Where there is no room for what all may make,
        there is what fits."""
        lent: list[Lent] = []
        try:
            for cls, each in made.items():
                wanted = self.wanted(cls, each, threads, turns)
                try:
                    self._make_room(cls, wanted)
                except HeapError:
                    each = None  # as many as there is room for
                lent.append(self._lend(cls, each or 0, wanted))
                lent[-1].turns = turns.get(cls) if each else None
        except BaseException:
            self.return_unused(lent)
            raise
        return lent

    @abstractmethod
    def publish(self, places: Sequence[Lent], ended: Iterable[ClassType], threads: int) -> None:
        """Write the table for a launch that makes objects in ``places`` and ends some of exactly
        the classes ``ended``. Raises HeapError without room for it."""

    @abstractmethod
    def _find_room(self, cls: ClassType, count: int) -> None:
        """Let there be so many free places. Raises NoRoom, having changed nothing."""

    @abstractmethod
    def _lend(self, cls: ClassType, step: int, count: int) -> Lent:
        """So many free places, or as many as there is room for."""

    def _hold(self, size: int) -> Extent:
        """Memory for a table of ``size`` bytes; kernels are told of another address."""
        wanted = self.table_bytes(size)
        if self._table is not None and not wanted:
            return self._table
        made: Extent = self._with_room(
            "the list of places for new objects",
            lambda: self._extents.allocate(wanted, from_top=True),
        )
        if self._table is not None:
            self._extents.free(self._table)
        self._table = made
        self._placement.change_layout()
        return made

    def table_bytes(self, size: int) -> int:
        """What is to be allocated for a table of so many bytes: those to come may be longer."""
        return 0 if self._table is not None and self._table.size >= size else 2 * size

    # ------------------------------------------------------------------ after a launch

    @abstractmethod
    def settle(self, lent: Sequence[Lent], ended: Iterable[ClassType]) -> Ended:
        """Note the objects that were made, and those that were ended, of exactly the classes
        ``ended``."""

    @abstractmethod
    def free(self, gone: Selection, ended: Iterable[ClassType], where: str) -> None:
        """Free objects that ``settle`` has found, of these classes (``Placement.free``)."""

    @abstractmethod
    def return_unused(self, lent: Iterable[Lent]) -> None:
        """There was no launch."""

    def note_takers(self, lent: Sequence[Lent]) -> None:
        """After a launch: who has taken places where threads count together, and of which classes
        they asked for more than there was room for."""
        self.shortages = {}
        for number, places in enumerate(lent):
            if places.step:
                continue
            assert self._table is not None and ENTRY_DTYPE.fields is not None
            asked_at = number * ENTRY_DTYPE.itemsize + ENTRY_DTYPE.fields["next"][1]
            places.wanted = int(self._read(self._table, asked_at, 1)[0])
            taken = min(places.wanted, places.room)
            if taken:
                places.makers = self._read(self._table, places.makers_at, taken)
            if places.wanted > places.room:
                self.shortages[places.cls] = places.shortage

    @abstractmethod
    def _read(self, table: Extent, place: int, count: int) -> Words:
        """So many words of 64 bits from this place of the table on, after the launch."""

    # ------------------------------------------------------------------ where CPython runs kernels

    @abstractmethod
    def state(self, address: int) -> int:
        """The byte that says whether an object lives there (``dispatch.births``); 0 where none
        can."""

    @abstractmethod
    def end(self, address: int) -> None:
        """Mark the object as ended."""

    @abstractmethod
    def begin(self, cls: ClassType, address: int) -> None:
        """Mark an object as born in a lent place, all zero."""


@dataclass(frozen=True)
class Ended:
    """The objects that a launch has ended: ``to_free`` are still there; others may be free already
    (``are_freed``)."""

    to_free: Selection | None = None
    are_freed: bool = False


def period_of(places: Iterable[Places]) -> int:
    """In how many threads what they make objects of repeats (``dispatch.births``)."""
    return max((each.turns.period for each in places if each.turns is not None), default=1)


def laid_out(sizes: Iterable[int]) -> list[int]:
    """Where parts of so many bytes begin that lie one after another, aligned, and the end."""
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
    return starts
