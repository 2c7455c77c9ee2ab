"""Whether launches are recorded instead of executed, and what the host must not do meanwhile; or
whether they are those of a method of all objects, of which other threads may delete some, or wait
for others that they might be one with (``runtime.fusion.block``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Protocol, Self, TypeVar
from weakref import WeakSet

from dispatch.dataclass import dataclass

from ..context_managers import contextmanager
from ..errors import HeapError
from ..forks import call_before
from ..model.world import World
from .blocks import Block, entered

if TYPE_CHECKING:
    from .heap import Heap
    from .launches import HeapOfLaunches


P = ParamSpec("P")
T = TypeVar("T")


class Recorder(ABC):
    """A block of the thread whose launches on ``heap`` it takes (``runtime.capture``)."""

    #: What makes one, and what that is called.
    made_by: ClassVar[str]
    known_as: ClassVar[str]
    #: Whether launches are executed all the same (``runtime.tape``).
    executes: ClassVar[bool] = False
    #: Whether its launches may have arrays in memory of other libraries.
    takes_foreign: ClassVar[bool] = False
    #: Whether the launches run by themselves before anybody can tell that they have not run yet.
    is_lazy: ClassVar[bool] = False

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        self._block: Block | None = None
        self._was_entered = False
        #: Who took the thread's launches before.
        self.outer: Recorder | None = None

    @property
    def is_recording(self) -> bool:
        """Whether its block has not ended."""
        return self._block is not None and self._block.is_open

    def __enter__(self) -> Self:
        block, outer = entered(self), recorder()
        if self._was_entered:
            raise HeapError(f"{self.known_as} has one block", f"call {self.made_by} again")
        takes = self._begins(outer)
        try:
            self._block, self.outer, self._was_entered = block, outer, True
            if takes:
                recording.set(self)
            return self
        except BaseException:  # a signal: the block is not entered
            self._end()
            raise

    @abstractmethod
    def _begins(self, outer: Recorder | None) -> bool:
        """Whether it takes launches in a block within that of ``outer``. Raises HeapError if there
        can be no such block."""

    def _end(self) -> None:
        """Leave the block, and give the thread back to the one around it."""
        if recording.get() is self:
            recording.set(self.outer)
        self._block = self.outer = None  # which refers to this

    @abstractmethod
    def record(
        self,
        program: Any,
        geometry: Any,
        arguments: tuple[Any, ...],
        mode: Any = None,
        debug: Any = None,
    ) -> None:
        """Remember a launch. Raises what launching would raise."""

    def follow(self, program: Any, geometry: Any, arguments: tuple[Any, ...]) -> bool:
        """Take a launch of very arguments that were looked at before, if it is as one was, and the
        block has not ended; False if it has to be looked at."""
        return False

    @abstractmethod
    def record_population_call(self, objects: Any, method: Any, given: tuple[Any, ...]) -> None:
        """Remember a call of a method on all objects of a class that live in each run."""

    def call_again(self, objects: Any, name: str, given: tuple[Any, ...]) -> bool:
        """Take a call of a method on all objects of a class, if it is as one before was; False if
        it has to be looked at."""
        return False

    @abstractmethod
    def record_call(self, call: Callable[[], Any]) -> None:
        """Remember something that every run is to do anew, and to look at the heap for."""


class Deferrer(Recorder):
    """One that is lazy."""

    is_lazy = True

    @abstractmethod
    def defer_population_call(self, objects: Any, method: Any, given: tuple[Any, ...]) -> bool:
        """Keep a call of a method on all objects of a class for later; False if it cannot wait."""


def can_wait(heap: HeapOfLaunches) -> bool:
    """Whether the caller may wait for what another thread launches: it holds nothing that launches
    need."""
    books: Any = heap.lock.plain
    launching = heap.memory.launching
    is_part = launching and any(is_part() for is_part in [*launching.values()])
    return not books._is_owned() and not is_part


class Deferred(Protocol):
    """Launches on a heap that have been asked for and have not run."""

    def is_launching_here(self) -> bool:
        """Whether the calling thread is launching them."""
        ...

    def launch(self) -> None:
        """Launch them, in their order. Raises what launching does."""
        ...


#: Those of which launches may wait.
deferring: WeakSet[Deferred] = WeakSet()


def launch_all_deferred() -> None:
    """Before a fork, as the child would launch what waits once more, and before methods mean
    something else."""
    for each in [*deferring]:
        each.launch()


call_before(launch_all_deferred)
World.before_change.append(launch_all_deferred)


@dataclass
class Listed:
    """A call has listed all objects of a class, and its launches begin later. They look at
    everything, so that they are sure to see whether others have been deleted since."""

    heap: Heap
    #: What ``changes_of`` the heap was before it listed them.
    state: int
    is_recording: ClassVar[bool] = False
    executes: ClassVar[bool] = False
    is_lazy: ClassVar[bool] = False

    def follow(self, program: Any, geometry: Any, arguments: tuple[Any, ...]) -> bool:
        """Each launch has to be looked at."""
        return False


class Own:
    """The thread launches what its tape has a record of."""

    heap: ClassVar[None] = None
    is_recording: ClassVar[bool] = False
    executes: ClassVar[bool] = False
    is_lazy: ClassVar[bool] = False


own = Own()

taping: dict[int, Callable[[], Any]] = {}
"""Tapes whose blocks are open, by id, as weak references. Who launches meanwhile or changes memory
says so, but for what is a tape's ``own``."""


def note_outside(heap: HeapOfLaunches) -> bool:
    """The caller launches or changes memory, of which tapes with open blocks know nothing that are
    those of other threads or tasks; whether there are any."""
    if recording.get() is own or is_taped(heap):
        return False
    is_any = False
    for number, reference in [*taping.items()]:
        tape = reference()
        if tape is None or not tape.is_recording:  # a signal came when its block was left
            if taping.get(number) is reference:
                del taping[number]
        elif tape.heap is heap:
            tape.is_disturbed = is_any = True
    return is_any


class OthersError(Exception):
    """There are other objects than a call has listed; no launch of it has begun."""


recording: ContextVar[Recorder | Listed | Own | None]
recording = ContextVar("sharedoa_recording", default=None)
"""Who records the launches of this thread, if its block is open, or what it has listed; None: they
are executed."""


def recorder() -> Recorder | None:
    """Who records the launches of this thread. An exception may have left the block of one before
    that could be noted."""
    found = recording.get()
    if found is None or isinstance(found, (Listed, Own)):
        return None
    while found is not None and not found.is_recording:
        found = found.outer
        recording.set(found)
    return found


def is_recorded(heap: HeapOfLaunches) -> bool:
    """Whether this thread's launches on ``heap`` are being recorded, and not executed."""
    found = recording.get()
    if found is None or found.executes or found.is_lazy:
        return False
    return found.heap is heap and found.is_recording


def is_taped(heap: HeapOfLaunches) -> bool:
    """Whether a tape of this thread has a record of what happens to ``heap``."""
    found = recording.get()
    return found is not None and found.executes and found.heap is heap and found.is_recording


def refuse_change(heap: HeapOfLaunches) -> None:
    """Raise HeapError if the host changes memory in the block of a tape, which would not know."""
    if is_taped(heap):
        raise HeapError(
            "the host changes fields or arrays inside a block of oa.tape(), which has a record of "
            "launches alone",
            "do it before the block, or in a method or kernel",
        )
    if taping:
        note_outside(heap)


def deferrer(heap: Heap) -> Deferrer | None:
    """Who keeps this thread's launches on ``heap`` for later."""
    found = recording.get()
    if not isinstance(found, Deferrer) or found.heap is not heap or not found.is_recording:
        return None
    return found


@contextmanager
def executing(heap: Heap) -> Iterator[None]:
    """Launches of this thread run at once, after all that ``heap`` has deferred."""
    heap.launch_deferred()
    around = recording.get()
    try:
        recording.set(None)
        yield
    finally:
        recording.set(around)


def refuse_access() -> HeapError:
    """The host looks at memory, or waits, amid launches that have not run."""
    return HeapError(
        "the host reads, writes or waits inside a block of oa.capture(), where launches are "
        "recorded and none has run yet",
        "do it before the block, or after step.run()",
    )


def require_executing(heap: Heap, what: str) -> None:
    """Raise HeapError if ``what``, which would happen once and not in every run, is done while
    launches on ``heap`` are recorded. What was launched before runs first."""
    heap.launch_deferred()
    if is_recorded(heap):
        raise HeapError(
            f"{what} inside a block of oa.capture() would happen once, not in every run",
            "do it before the block",
        )


def changes_of(heap: Heap) -> int:
    """How many deletions, moves and launches that make objects there have been; all only grow. What
    the host makes comes after a call that has listed others."""
    books = heap.books
    return books.deletions + books.moves + heap.upkeep.births


def _listing(heap: Heap, call: Callable[[], T]) -> T:
    """What ``call`` gives, which lists objects of ``heap``, which several threads use, and launches
    on them. ``OthersError``: it is to be made again."""
    if recorder() is not None:  # of another heap, which has a word to say
        return call()
    heap.settle()
    around = recording.get()
    try:
        recording.set(Listed(heap, changes_of(heap)))
        return call()
    finally:
        recording.set(around)


def with_listed(heap: Heap, call: Callable[[], T]) -> T:
    """What ``call`` gives, which lists objects of ``heap`` and launches on them. It is made again
    if another thread deletes or moves some before it launches."""
    upkeep, books = heap.upkeep, heap.books
    while True:
        try:
            if upkeep.is_shared:
                return _listing(heap, call)
            before = upkeep.listed
            upkeep.listed = books.deletions + books.moves + upkeep.births
            try:
                return call()
            finally:
                upkeep.listed = before
        except OthersError:
            continue


def refuse_others(heap: Heap) -> None:
    """A launch, which is noted in ``launching``, is about to begin, and has looked at everything.
    Raises OthersError if it is one of a call that has listed objects of which others have been
    deleted or moved since, or to which launches have added some."""
    listed, upkeep = recording.get(), heap.upkeep
    if isinstance(listed, Listed) and listed.heap is heap:
        known: int | None = listed.state
    else:
        # Of the thread that had the heap for itself when it listed them.
        known = upkeep.listed if get_ident() == upkeep.thread else None
    if known is not None and known != changes_of(heap):
        raise OthersError


def others_since_launched() -> HeapError:
    """What a call raises that cannot be made again, as some of its launches have begun."""
    return HeapError(
        "another thread deleted or moved objects while a method was called on all of a class, "
        "which takes several launches",
        "let one thread wait for the other, or call the method class by class",
    )


@contextmanager
def not_recorded() -> Iterator[None]:
    """In the block launches of this thread are executed and nothing else, as a tape's own."""
    around = recording.get()
    try:
        recording.set(own)
        yield
    finally:
        recording.set(around)


def filling_new_memory(function: Callable[P, T]) -> Callable[P, T]:
    """Launches of ``function`` write to nothing that others have: open tapes of other threads and
    tasks need not know of them."""

    @wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> T:
        if not taping or recording.get() is not None:
            return function(*given, **named)
        with not_recorded():
            return function(*given, **named)

    return call
