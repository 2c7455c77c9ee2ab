"""All memory of one heap: objects, arrays, vtable records and tables out of one capacity."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

import numpy as np

from dispatch import state

from ..context_managers import contextmanager
from ..errors import HeapError
from ..forks import renew_in_child, tell_child
from ..model.classes import ClassType
from ..model.layout import Layout
from ..model.reference import NarrowReference
from ..model.scalars import ScalarType
from ..model.types import ArrayType, Type
from ..uninterrupted import interruptible, uninterrupted
from .alone import Alone
from .array_memory import Addresses, ArrayMemory, ArrayStorage
from .births import Births
from .births_by_class import BirthsByClass
from .births_one_by_one import BirthsOneByOne
from .by_type import ByTypePlacement
from .distinct_fields import DistinctFields
from .extents import SLAB_SIZE, Extent, Extents, NoRoom
from .launch_state import LaunchState
from .pieces import PieceFields
from .placement import FieldPath, Fields, Selection
from .population_lists import PopulationLists
from .recording import Deferred
from .residency import Residency
from .scattered import ScatteredPlacement
from .settings import HeapSettings
from .slots import Slots
from .slots_on_device import SlotsOnDevice
from .slots_on_host import SlotsOnHost
from .statistics import HeapStatistics, heap_statistics
from .transfer import Column, Values
from .vtables import VtableRecords

T = TypeVar("T")

_SMALL_SLAB_SIZE = 1 << 20
_COLLECT_SHARE = 8
"""Arrays that only fields might hold are looked for when they are this part of the memory."""
_LEFT_SHARE = 2
"""Few arrays that nobody holds any more are left to later ones if they are no more than this part
of the memory."""
_LOOK_BYTES = 64 << 20
"""Arrays that were dropped are looked for when that much was given to new ones."""
_WAITS, _WAIT_SECONDS = 100, 0.01
"""How often to wait for launches before giving up, where other threads launch again meanwhile."""
_FIRST_LOOK_SECONDS, _LOOK_SECONDS = 0.00002, 0.001
"""Between looks at whether other threads have given their launches to the backend: at first, and
after a while."""


class Unsettled(Protocol):
    """Which objects live is known to the device alone."""

    def settle(self) -> bool:
        """Take it into the heap's books; whether any objects have gone. Everything launched has
        ended. Raises DeviceError."""
        ...


class HeapMemory:
    """Nothing in here refers back to it, so that it goes at once when the last user does."""

    def __init__(self, settings: HeapSettings) -> None:
        self._settings = settings
        backend = settings.backend
        on_device = backend.target.is_device
        self._retired: list[Extent] = []
        #: Another object before every launch, lest something stop the thread between the launch and
        #: this, and another one after it, as somebody may have waited in between. What is free when
        #: none is under way may be in use if it changed during a wait.
        self.last_launch: object = None
        #: Bytes of arrays that were made since somebody looked for dropped ones.
        self._made_since_look = 0
        #: Whether there may be objects whose fields hold arrays, and in which layout epoch.
        self._holding = -1, True
        #: One item for each launch, of any thread, from when it looks at what the heap gives to
        #: kernels until it has been given to the backend (on a CPU: until it has ended); what it
        #: has looked at stays in use. The value tells whether the calling thread is part of it. An
        #: item is put in and taken out by statements, between which no signal is handled.
        self.launching: dict[object, Callable[[], bool]] = {}
        #: Launches in CPython hold it when they begin; see ``no_launch_in_cpython``.
        self.beginning = renew_in_child(threading.RLock())
        #: Launches that wait for others (``oa.fuse``).
        self.deferred: Deferred | None = None
        #: They let go of arrays that are kept for later calls.
        self.let_go: Sequence[Callable[[], object]] = ()
        #: Who has the heap for itself, if a thread does.
        self.alone: Alone | None = None
        tell_child(self)
        self.residency = (
            Residency(backend.prefetch, backend.transfer) if on_device else Residency(None)
        )
        by_type = settings.mode.placement == "by_type"
        # Where objects lie outside of slabs, these must not take the memory that objects need.
        slab_size = SLAB_SIZE if by_type else min(_SMALL_SLAB_SIZE, settings.capacity // 8)
        self.extents = Extents(
            settings.backend.provider,
            settings.capacity,
            self.residency,
            slab_size,
            settings.encoding if isinstance(settings.encoding, NarrowReference) else None,
        )
        self.arrays = ArrayMemory(self.extents)
        self._vtables = VtableRecords(self.extents, self.residency)
        self.distinct = DistinctFields()
        self.pieces = PieceFields(self.distinct)
        #: What runs of captured steps have changed since the books were settled, which wait for it.
        self.unsettled: Unsettled | None = None
        #: Tells the proxies of objects that these runs have ended, after so many deletions.
        self.bury: Callable[[int], object] = lambda deletions: None
        self.placement = self._place()
        self.births = self._births()
        self.population_lists = self._population_lists()
        self._launch_state = LaunchState(
            self.extents,
            self.placement,
            self.residency,
            settings.debug,
            self._retired.append,
            self.pieces,
            settings.encoding,
        )

    @property
    def _device_settles(self) -> bool:
        """Whether a device notes what kernels make and end. In debug mode the host does, as it
        keeps what was deleted, and who did it."""
        return self._settings.backend.target.is_device and not self._settings.debug

    def _births(self) -> Births[Any]:
        placement, with_room = self.placement, self.with_room
        if isinstance(placement, ByTypePlacement):
            return BirthsByClass(self.extents, placement, self._slots(placement), with_room)
        return BirthsOneByOne(self.extents, placement, self.residency, with_room)

    def _slots(self, placement: ByTypePlacement) -> Slots:
        settings = self._settings
        if self._device_settles:
            return SlotsOnDevice(placement, lambda: settings.backend.slot_lists)
        return SlotsOnHost(placement, self.residency)

    def _population_lists(self) -> PopulationLists | None:
        placement, settings = self.placement, self._settings
        if not self._device_settles or not isinstance(placement, ByTypePlacement):
            return None
        return PopulationLists(
            self.extents,
            placement,
            settings.encoding,
            lambda: settings.backend.slot_lists,
            self._retired.append,
        )

    def _place(self) -> ByTypePlacement | ScatteredPlacement:
        settings = self._settings
        header = _headers(settings, self._vtables)
        if settings.mode.placement == "by_type":
            return ByTypePlacement(
                self.extents,
                settings.layout,
                settings.encoding,
                self.residency,
                settings.initial_region,
                settings.debug,
                header,
                self._retired.append,
                self.pieces,
                in_windows=settings.mode.by_population,
            )
        return ScatteredPlacement(
            self.extents,
            settings.layout,
            settings.encoding,
            self.residency,
            settings.backend,
            settings.debug,
            header,
            self._retired.append,
        )

    def new_objects(self, cls: ClassType, count: int, fields: Fields) -> Selection:
        """``count`` objects with these ``fields``, all others zero. Raises HeapError, having made
        none."""
        self.settle()
        self.wait_for_lists()
        size = self._settings.layout.record(cls).size
        what = f"{count:,} {cls.name} of {size} bytes"
        return self.with_room(what, lambda: self.placement.allocate(cls, count, fields))

    def work_memory(self, size: int) -> Extent:
        """Zeros for tables that are soon given back. Raises NoRoom."""
        return self.extents.allocate(size, from_top=True)

    def free_work(self, extent: Extent) -> None:
        """Give back what ``work_memory`` gave, which nothing uses any more."""
        self.extents.free(extent)

    def new_array(self, size: int, element: Type, zeros: bool = True) -> ArrayStorage:
        """``size`` bytes for an array, of ``zeros`` or anything. Raises HeapError."""
        if self.arrays.has_left:  # for arrays that are not like this one
            self._note_freed(self.arrays.free_left())
        what = f"an array of {element!r}"
        self._made_since_look += size
        if self._made_since_look >= _LOOK_BYTES:
            self._made_since_look = 0
            # A loop may make arrays and drop them, and never look at what its launches did.
            if 2 * self.arrays.bytes_dropped >= _LOOK_BYTES:
                self._collect_when_idle()
        return self.with_room(what, lambda: self.arrays.new(size, element, zeros))

    def at_hand(self, size: int, element: ScalarType) -> ArrayStorage | None:
        """Memory of numbers that were dropped: launches that use it come before those that its new
        user asks for. Not where others wait to be launched."""
        arrays = self.arrays
        if not arrays.has_unheld or self.deferred is not None or self.unsettled is not None:
            return None
        return arrays.again(size, element) if self._uses_dropped else None

    @property
    def _uses_dropped(self) -> bool:
        """Whether new arrays may have memory of others that were dropped: not where fields may hold
        these, or somebody asks what memory is used again."""
        placement = self.placement
        if self._settings.debug or self.extents.given is not None:
            return False
        if not isinstance(placement, ByTypePlacement):
            return False
        if self._holding[0] != placement.layout_epoch:
            fields = (type for cls in placement.holders() for type in cls.fields.values())
            self._holding = placement.layout_epoch, any(isinstance(t, ArrayType) for t in fields)
        return not self._holding[1]

    def note_given(self, are_noted: bool) -> list[tuple[int, int]]:
        """From where to where memory was given out since it ``are_noted``."""
        extents = self.extents
        found, extents.given = extents.given or [], [] if are_noted else None
        return found

    @property
    def has_given(self) -> bool:
        """Whether any was given out since that is noted."""
        return bool(self.extents.given)

    def send(self, column: Column, values: Values) -> bool:
        """Let the device write an array's elements, where it can; otherwise nothing happens."""
        end = column.start + column.count * column.record_bytes
        transfer = self.residency.transfer_between(column.start, end)
        if transfer is None:
            return False
        transfer.write([(column, values)])
        return True

    def others_are_launching(self) -> bool:
        """Whether there is a launch that the calling thread should wait for. Who is part of one
        waits for none: launches of several threads have no order."""
        return bool(self.launching) and self.is_apart

    def finish_launching(self) -> None:
        """Wait until the launches that other threads have begun are given to the backend."""
        begun = dict(self.launching)
        if not begun or not self.is_apart:
            return
        seconds = _FIRST_LOOK_SECONDS
        while any(token in self.launching for token in begun):
            time.sleep(seconds)
            seconds = min(2 * seconds, _LOOK_SECONDS)
            uninterrupted.checkpoint()

    def after_fork(self) -> None:
        """Other threads, and so their launches, are not in the child."""
        for token, is_part in list(self.launching.items()):
            if not is_part():
                del self.launching[token]

    def rearrange(self, layout: Layout) -> None:
        """Give all objects the clusters of ``layout``; the caller holds the heap's lock."""
        self.stand_still(is_code=True)
        self.settle()  # objects that captured steps have made change, too
        assert isinstance(self.placement, ByTypePlacement)
        self.placement.rearrange(layout)

    def stand_still(self, waited_for: object = None, is_code: bool = False) -> None:
        """No launch of compiled code is under way afterwards, until the caller lets go of the
        heap's lock; for launches in CPython there is ``no_launch_in_cpython``. ``waited_for``: the
        last launch that has ended for certain, after which a lost device is not asked. ``is_code``:
        only what code rests on is about to change."""
        # First: launches that begin now look at everything again, for which they need the lock.
        (self.placement.change_code if is_code else self.placement.change_layout)()
        # Launches in CPython access fields as any host code does, and may need the lock.
        backend = self._settings.backend
        with interruptible():
            if backend.name != "python":
                self.finish_launching()
            if self.last_launch is not waited_for:
                backend.synchronize()

    def no_launch_in_cpython(self) -> AbstractContextManager[Any]:
        """None begins in the block, unless the caller is part of one; with ``finish_in_cpython``
        as its first line none is under way. The caller has no lock on the heap yet, which kernels
        may need until they end. No signal comes between taking this lock and the block."""
        is_needed = self._settings.backend.name == "python" and self.is_apart
        return self.beginning if is_needed else nullcontext()

    def finish_in_cpython(self) -> None:
        """Wait until launches of other threads in CPython have ended."""
        if self._settings.backend.name == "python":
            self.finish_launching()

    def begin_in_cpython(self, this: object, is_part: Callable[[], bool]) -> None:
        """A launch in CPython begins; the caller takes it out of ``launching`` in any case."""
        if self.is_apart:
            with self.beginning:
                self.launching[this] = is_part
        else:
            self.launching[this] = is_part

    @property
    def is_apart(self) -> bool:
        """Whether the calling thread is part of no launch."""
        # As a loop: a kernel that CPython runs asks at each access.
        for is_part in [*self.launching.values()]:  # noqa: SIM110
            if is_part():
                return False
        return True

    def launch_words(self, debug: bool) -> list[int]:
        """What kernels must know (``dispatch.state``), with or without the checks of debug mode."""
        if debug and isinstance(self.placement, ByTypePlacement):
            self.with_room("one byte an object, for debug mode", self.placement.show_living)
        if debug:
            self._launch_state.show_classes()
        words = self.with_room("the range table", self._launch_state.words)
        return words if debug else words[: state.WORDS]

    def with_room(self, what: str, attempt: Callable[[], T]) -> T:
        try:
            return attempt()
        except NoRoom:
            for forget in self.let_go:
                forget()
            for _ in range(_WAITS):
                if self._collect_when_idle(thorough=True):
                    self.placement.release_deleted()
                    break
                with interruptible():
                    time.sleep(_WAIT_SECONDS)
        try:
            return attempt()
        except NoRoom as shortage:
            raise self._no_room(what, shortage) from None

    def _collect_when_idle(self, thorough: bool = False) -> bool:
        """Wait for launches, and free what nothing refers to. False if others launch meanwhile.
        Raises DeviceError."""
        backend = self._settings.backend
        with interruptible():
            if backend.name != "python":
                self.finish_launching()
            last = self.last_launch
            backend.synchronize()
        if self.last_launch is not last or self.launching:
            return False
        self.collect(thorough)
        return True

    def _no_room(self, what: str, shortage: NoRoom) -> HeapError:
        held = [
            f"{self.placement.reserved(cls):,} bytes by {cls.name}"
            for cls in self.placement.classes()
        ]
        reason = f"; {shortage.reason}" if shortage.reason else ""
        held.append(f"{self.arrays.bytes_used:,} bytes by arrays")
        return HeapError(
            f"no room for {what}: {shortage.asked:,} bytes asked for, {shortage.free:,} bytes free "
            f"of a capacity of {shortage.capacity:,}; held: {', '.join(held)}{reason}",
            "delete objects or drop arrays, or give the heap more: oa.Heap(capacity=...) or "
            "SHAREDOA_CAPACITY, up to what the machine has free",
        )

    @property
    def has_garbage(self) -> bool:
        """Whether ``collect`` might find something."""
        return bool(self._retired) or self.arrays.has_new_unheld

    def collect(self, thorough: bool = False) -> None:
        """Free what nothing refers to any more. No launch may be under way."""
        if thorough:
            self._launch_state.drop_stale()
        while self._retired:
            self.extents.free(self._retired.pop())
        # Before fields are looked at: an array may be put into one, and dropped, at any time.
        unheld = self.arrays.unheld()
        size = sum(unheld.values())
        if size == 0:
            return
        self.settle()
        is_little = size * _LEFT_SHARE <= self.extents.reserved
        if is_little and not thorough and self._uses_dropped and self.arrays.leave():
            return
        holders = [
            (cls, name)
            for cls in self.placement.classes()
            for name, type in cls.fields.items()
            if isinstance(type, ArrayType)
        ]
        if holders and not thorough and size * _COLLECT_SHARE < self.extents.reserved:
            return  # searching all fields is not worth it yet
        with self._no_launch_begins() if holders else nullcontext(True) as is_still:
            # Else kernels may take arrays from one field to another while these are looked at.
            if is_still:
                self._note_freed(self.arrays.collect(unheld, self._addresses_in(holders)))

    def _note_freed(self, extents: Iterable[Extent]) -> None:
        """Note that arrays have gone."""
        for extent in extents:
            self.pieces.freed(extent.address, extent.end)

    @contextmanager
    def _no_launch_begins(self) -> Iterator[bool]:
        """False if one that CPython runs has begun. The caller holds the heap's lock."""
        self.stand_still()
        if self._settings.backend.name != "python":
            yield True
            return
        is_first = self.beginning.acquire(blocking=False)
        try:
            yield is_first and not self.launching
        finally:
            if is_first:
                self.beginning.release()

    def _addresses_in(self, holders: list[tuple[ClassType, str]]) -> Addresses:
        """The addresses of arrays that fields hold."""
        found = [np.zeros(0, np.uint64)]
        for cls, name in holders:
            found.append(self.placement.objects([cls]).read(FieldPath(name))["address"])
        return np.concatenate(found)

    def settle(self) -> None:
        """Take what runs of captured steps have made and ended into the books; waits for them. The
        caller holds the heap's lock. Raises DeviceError."""
        unsettled = self.unsettled
        if unsettled is not None:
            with interruptible():
                self._settings.backend.synchronize()
            deletions = self.placement.deletions
            if unsettled.settle():
                # Before anybody makes objects, which may get the same references.
                self.bury(deletions)
            self.unsettled = None

    @property
    def has_pending_lists(self) -> bool:
        """Whether the device may be looking which objects live."""
        lists = self.population_lists
        return lists is not None and lists.is_pending

    def wait_for_lists(self) -> None:
        """Let the device look which objects live before there are others."""
        if self.has_pending_lists:
            with interruptible():
                self._settings.backend.synchronize()
            assert self.population_lists is not None
            self.population_lists.is_pending = False

    def statistics(self) -> HeapStatistics:
        self.settle()
        return heap_statistics(
            self.placement,
            self._settings.layout,
            self.arrays.bytes_used,
            self.extents.reserved,
            self.extents.capacity,
        )


def _headers(settings: HeapSettings, vtables: VtableRecords) -> Callable[[ClassType], bytes]:
    """What gives the bytes that an object of a class starts with."""
    mode = settings.mode

    def header(cls: ClassType) -> bytes:
        if cls.foreign is not None:
            if settings.encoding.unit != 1:
                raise HeapError(
                    f"objects of C++, as {cls.name}, hold pointers of 64 bits, and references of "
                    "this heap have 32",
                    "make the heap with oa.Heap(references='64')",
                )
            return cls.foreign.header(mode, settings.backend)
        if mode.header_size == 0:
            return b""
        return mode.header_bytes(cls.type_index, vtables.address(cls))

    return header
