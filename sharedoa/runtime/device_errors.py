"""What a kernel did wrong while it ran, from the records that it left in memory.

Every loaded kernel has its own record, so that a failure found long after an asynchronous launch
still names the kernel. The first thread to fail fills it (``dispatch.errors`` has the format).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatch import shadow
from dispatch.dataclass import dataclass
from dispatch.errors import RECORD_DTYPE, REPORT_BYTES, ErrorCode

from ..errors import DeviceError, Diagnostic, HeapError, SharedOAError
from ..heap.provider import Slab
from ..ir.core import Stretch
from ..ir.roles import AN_ELEMENT
from ..model.classes import class_of_index
from ..model.scalars import i64, u64

if TYPE_CHECKING:
    from ..heap.heap import Heap
    from ..location import Location
    from .code_cache.descriptions import Outline

RECORDS_PER_SLAB = 1024
_DEBUG_HELP = "run the same launch with debug=True (or SHAREDOA_DEBUG=1)"

_MESSAGES: dict[int, tuple[str, str]] = {
    ErrorCode.NULL: ("a null reference is used", "test it first: if x is not None"),
    ErrorCode.FOREIGN: (
        "reference {address:#x} is no object of this heap",
        "create objects in the heap of the launch; where objects are placed one by one, a deleted "
        "one is told by this too",
    ),
    ErrorCode.FREED: (
        "the object at {address:#x} was deleted",
        "drop every reference to an object before oa.delete",
    ),
    ErrorCode.INDEX: (
        "index {index} is out of bounds for length {extra}",
        "compare the index with len(array) first",
    ),
    ErrorCode.DIVISION_BY_ZERO: ("an integer is divided by zero", "test the divisor first"),
    ErrorCode.ASSERTION: ("an assertion failed", "the assert on that line says what must hold"),
    ErrorCode.RANGE_STEP_ZERO: ("range() has the step 0", "give a step that is not 0"),
    ErrorCode.NO_METHOD: (
        "the object at {address:#x} has no class that this call expects",
        "a reference must point to a live object of the declared class",
    ),
    ErrorCode.WRONG_CLASS: (
        "the object at {address:#x} is of another class",
        "a reference must point to an object of the declared class or of one below it: look for "
        "what put it there, such as data of value structs or numbers from elsewhere",
    ),
    ErrorCode.ROOM: (
        "there is no room for another object",
        "reserve it before the launch: oa.reserve({class_name}, n)",
    ),
    ErrorCode.RACE: (
        "{what} is {done} here, and {other} of the same launch {does} it, in no order",
        "let one thread write what others touch, use atomics in both (oa.atomic_add, ...), or make "
        "two launches of it",
    ),
    ErrorCode.NEGATIVE_EXPONENT: (
        "an integer has the negative exponent {index}",
        "convert the base to a float first",
    ),
    ErrorCode.RECURSION: (
        "calls are nested so deep that the stack is full",
        "let the recursion end earlier, or write it as a loop",
    ),
    ErrorCode.ADDRESS: (
        "there is no memory at address {address:#x}",
        "an index may be out of bounds, or a reference may be to a deleted object",
    ),
    ErrorCode.MEMORY: (
        "the system has no memory for address {address:#x}",
        "use less memory, or give the machine or the container more",
    ),
    ErrorCode.ARITHMETIC: ("the processor has no result for a division", "test the divisor first"),
}


#: What a thread does to a scalar, by the kinds of ``dispatch.shadow``.
_ACCESSES = {
    shadow.READS: ("read", "reads"),
    shadow.WRITES: ("written", "writes"),
    shadow.ATOMICS: ("changed atomically", "changes"),
}
#: What is said of references to deleted objects.
_OF_DELETED = (ErrorCode.FREED, ErrorCode.FOREIGN)


#: Of a record, what an assertion may fill with numbers.
_WORDS = ("value", "extra", "other_site", "other_thread")


@dataclass(frozen=True)
class Word:
    """A word of a record as the number that it is to the program, for ``str.format``."""

    raw: int

    @property
    def bool(self) -> bool:
        return self.raw != 0

    @property
    def int(self) -> Any:
        return i64(self.raw)

    @property
    def uint(self) -> Any:
        return u64(self.raw)

    @property
    def float32(self) -> str:
        # To format NumPy's number gives it more digits than str does.
        return str(np.uint32(self.raw & 0xFFFFFFFF).view(np.float32))

    @property
    def float64(self) -> Any:
        return u64(self.raw).view(np.float64)


def null_reference_used() -> DeviceError:
    """What compiled kernels report, for those that CPython runs."""
    return DeviceError(*_MESSAGES[ErrorCode.NULL])


@dataclass(eq=False)
class Loaded:
    """Code that a backend has loaded, and what is told of its errors. It outlives its unit, program
    and classes until what was launched has ended."""

    name: str
    outline: Outline
    debug: bool
    handle: Any
    #: ``ir.Program.stretches``.
    stretches: Sequence[Stretch] = ()
    #: The heap that it was bound to last.
    heap: Callable[[], Heap | None] = lambda: None


class ErrorRecords:
    """Error records of the kernels that one backend has loaded, in memory that it can write."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._slabs: list[Slab] = []
        #: Of each slab, and how many of them were ever claimed.
        self._records: list[Any] = []
        self._claimed: list[int] = []
        self._free: list[tuple[int, int]] = []
        self._loaded: dict[tuple[int, int], Loaded] = {}
        #: Whose units are no more, but launches may still be under way.
        self.left: deque[Loaded] = deque()

    def claim(self, loaded: Loaded) -> int:
        """The address of a cleared record for it."""
        if not self._free:
            self._grow()
        place = self._free.pop()
        self._loaded[place] = loaded
        slab, index = place
        self._claimed[slab] = max(self._claimed[slab], index + 1)
        return int(self._slabs[slab].address + index * RECORD_DTYPE.itemsize)

    def release(self, loaded: Loaded) -> None:
        place = next(place for place, owner in list(self._loaded.items()) if owner is loaded)
        del self._loaded[place]
        self._free.append(place)

    def take_left(self) -> list[Loaded]:
        """Take what is left out of ``left``: nobody else gets the same."""
        taken = []
        with suppress(IndexError):
            while True:
                taken.append(self.left.popleft())
        return taken

    def _grow(self) -> None:
        slab = self._provider.allocate(RECORDS_PER_SLAB * RECORD_DTYPE.itemsize)
        slab.memory[:] = 0
        self._slabs.append(slab)
        size = RECORDS_PER_SLAB * RECORD_DTYPE.itemsize
        self._records.append(slab.memory[:size].view(RECORD_DTYPE))
        self._claimed.append(0)
        self._free += [(len(self._slabs) - 1, i) for i in reversed(range(RECORDS_PER_SLAB))]

    def raise_first(self) -> None:
        """Clear all records; raise DeviceError for the first that was filled, or HeapError where an
        object had no place.

        Call it when nothing is under way of what the calling thread launched. A record that the
        kernel of another thread is still filling has no code yet; it is for that thread to find.
        """
        # To look at all of a slab after each wait would take longer than launches do.
        for number, claimed in enumerate(self._claimed):
            records = self._records[number][:claimed]
            if not records["flag"].any():
                continue
            filled = np.flatnonzero(records["flag"])
            copies = records[filled]
            told = np.flatnonzero(copies["code"])
            if not len(told):
                continue
            filled, record = filled[told], copies[told[0]]
            loaded = self._loaded[number, int(filled[0])]
            reports = records.view(np.uint8).reshape(-1, RECORD_DTYPE.itemsize)
            reports[filled, :REPORT_BYTES] = 0
            raise _error(loaded, record)


def _deleted(loaded: Loaded, address: int) -> str | None:
    """What is known of a deleted object at an address."""
    heap = loaded.heap()
    if heap is None:
        return None
    with heap.lock:
        gone = heap.placement.deleted_at(address)
    return None if gone is None else f"the {gone[0]} at {address:#x} was deleted by {gone[1]}"


def _wrong_class(loaded: Loaded, address: int, type_index: int) -> str | None:
    """What is known of an object that should be of the class with that type index."""
    heap, wanted = loaded.heap(), class_of_index(type_index)
    if heap is None or wanted is None:
        return None
    try:
        with heap.lock:
            found = heap.placement.class_of(address)
    except HeapError:
        return None  # it was deleted since
    return f"the object at {address:#x} is of class {found}, and {wanted} is declared"


def _location(loaded: Loaded, site: int) -> Location | None:
    sites = loaded.outline.source_sites
    return sites[site] if 0 <= site < len(sites) else None


def _whose_thread(loaded: Loaded, record: Any) -> str:
    """The kernel, and which of its threads it was."""
    x, y = int(record["thread_x"]), int(record["thread_y"])
    if x < 0:
        return loaded.name
    whose = [each for each in loaded.stretches if each.first <= x]
    own = whose[-1] if whose else Stretch(0, loaded.name)
    return f"{own.name}, {_named_thread(x - own.first, y)}"


def _named_thread(x: int, y: int) -> str:
    return f"thread {x if y <= 0 else (x, y)}"


def _race(loaded: Loaded, record: Any, message: str) -> str:
    """Two threads at one scalar: what each does, and where."""
    site, value, kinds = int(record["site"]), int(record["value"]), int(record["extra"])
    place = loaded.outline.assertion_texts[site]
    if AN_ELEMENT in place:
        what = place.replace(AN_ELEMENT, f"element {value} of an array")
    else:
        what = f"{place} of the object at {value:#x}"
    other = int(record["other_thread"])
    other_thread = _named_thread(other & 0xFFFFFFFF, other >> 32)
    done, does = _ACCESSES[kinds & 0xFFFFFFFF][0], _ACCESSES[kinds >> 32][1]
    text = message.format(what=what, done=done, other=other_thread, does=does)
    first = Diagnostic(f"kernel {_whose_thread(loaded, record)}: {text}", _location(loaded, site))
    there = f"{other_thread} {does} it here"
    return f"{first}\n{Diagnostic(there, _location(loaded, int(record['other_site'])))}"


def _no_room(loaded: Loaded, type_index: int) -> str:
    """What is known of a class of which there was no place for another object."""
    heap, cls = loaded.heap(), class_of_index(type_index)
    text = f"there is no room for another object of {cls}"
    return text if heap is None or cls is None else heap.memory.births.shortages.get(cls, text)


def _error(loaded: Loaded, record: Any) -> SharedOAError:
    code, value = int(record["code"]), int(record["value"])
    message, help = _MESSAGES[code]
    extra = int(record["extra"])
    if code == ErrorCode.RACE:
        return DeviceError(_race(loaded, record, message), help)
    text = message.format(
        address=value,
        index=value - (1 << 64) if value >> 63 else value,
        extra=extra,
    )
    if code == ErrorCode.WRONG_CLASS:
        text = _wrong_class(loaded, value, extra) or text
    if code == ErrorCode.ROOM:
        text = _no_room(loaded, value)
        help = help.format(class_name=class_of_index(value))
    gone = _deleted(loaded, value) if code in _OF_DELETED else None
    if gone is not None:
        text, help = gone, _MESSAGES[ErrorCode.FREED][1]
    site, outline = int(record["site"]), loaded.outline
    if asserted := outline.assertion_texts.get(site):
        words = [Word(int(record[name])) for name in _WORDS]
        text = f"{text}: {asserted.format(*words)}"
    text = f"kernel {_whose_thread(loaded, record)}: {text}"
    location = _location(loaded, site)
    if location is None and not loaded.debug:
        help = f"{help}; {_DEBUG_HELP} to see the source line"
    kind = HeapError if code == ErrorCode.ROOM else DeviceError
    return kind(str(Diagnostic(text, location)), help)
