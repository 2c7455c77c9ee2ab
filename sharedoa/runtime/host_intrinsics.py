"""Intrinsics in CPython: atomics on the host, and a kernel's own thread on the ``python`` backend.

Importing this module makes them work.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import Any

import numpy as np

from dispatch.dataclass import dataclass

from ..errors import ArgumentError, DeviceError
from ..heap.hooks import KernelObjects
from ..model import intrinsics
from ..model.annotations import Scope, resolve
from ..model.extent import Extent
from ..model.field_access import InlineField
from ..model.object import Object
from ..model.types import InlineType, ReferenceType, ScalarType, Type, ValueType
from ..model.values import convert, describe, zero_of


class BlockMemory:
    """What ``oa.shared`` is in CPython: elements that the threads of a block share."""

    def __init__(self, element: Type, count: int) -> None:
        self.__sharedoa_element__ = element
        self._values = [zero_of(element)] * count

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        return self._values[self._place(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        place = self._place(index)
        self._values[place] = convert(self.__sharedoa_element__, value, "an element of oa.shared")

    def _place(self, index: Any) -> int:
        place = int(index)
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} is outside shared memory of {len(self)} elements")
        return place


class BlockBarrier:
    """Lets the threads of a block go on together; a thread that has returned is not waited for."""

    def __init__(self, threads: int) -> None:
        self._running = threads
        self._waiting = 0
        self._generation = 0
        self._changed = threading.Condition()
        self._tiles: dict[Hashable, BlockMemory] = {}

    def tile(self, site: Hashable, element: Type, count: int) -> BlockMemory:
        """The memory of the block that the call at ``site`` makes."""
        with self._changed:
            return self._tiles.setdefault(site, BlockMemory(element, count))

    def wait(self) -> None:
        with self._changed:
            generation = self._generation
            self._waiting += 1
            self._open_if_complete()
            while generation == self._generation:
                self._changed.wait()

    def leave(self) -> None:
        """This thread returned."""
        with self._changed:
            self._running -= 1
            self._open_if_complete()

    def _open_if_complete(self) -> None:
        if self._waiting and self._waiting >= self._running:
            self._waiting = 0
            self._generation += 1
            self._changed.notify_all()


@dataclass(eq=False)
class HostThread:
    """The thread of a launch that CPython is running."""

    index: tuple[int, int]
    size: tuple[int, int]
    barrier: BlockBarrier | None
    #: The user's function that errors name where no line of the user's is under way.
    function: Callable[..., Any]
    #: Makes and ends objects for it.
    objects: KernelObjects | None = None
    #: Of a launch along three axes.
    extent: Extent | None = None


#: Which thread of a launch runs now; unset outside kernels.
current_thread: ContextVar[HostThread | None] = ContextVar("sharedoa_thread", default=None)


class _InCPython:
    """Implements ``model.intrinsics.HostIntrinsics``."""

    def __init__(self) -> None:
        # One lock for all memory: the host's atomics exclude each other.
        self._lock = threading.Lock()

    def thread_index(self) -> tuple[int, int, int]:
        thread = self._thread("oa.grid")
        (x, row), extent = thread.index, thread.extent
        return (x, row, 0) if extent is None else (x, int(extent.y(row)), int(extent.z(row)))

    def grid_size(self) -> tuple[int, int, int]:
        thread = self._thread("oa.gridsize")
        (nx, rows), extent = thread.size, thread.extent
        return (nx, rows, 1) if extent is None else (nx, int(extent.height), int(extent.depth))

    def barrier(self) -> None:
        barrier = self._thread("oa.syncthreads").barrier
        assert barrier is not None
        barrier.wait()

    def tile(self, element: Any, count: int) -> Any:
        barrier = self._thread("oa.shared").barrier
        assert barrier is not None
        frame = sys._getframe(2)
        site = frame.f_code, frame.f_lasti
        return barrier.tile(site, resolve(element, Scope({}, ""), "oa.shared"), int(count))

    def _thread(self, function: str) -> HostThread:
        thread = current_thread.get()
        if thread is None:
            raise DeviceError(
                f"{function} was called outside a kernel",
                "call it in a function decorated with @oa.kernel, and launch that",
            )
        return thread

    def atomic(
        self,
        operator: intrinsics.AtomicOperator,
        target: Any,
        place: Any,
        value: Any,
        compare: Any = None,
    ) -> Any:
        type = _place_type(operator, target, place)
        value = convert(type, value, f"oa.atomic_{operator}")
        with self._lock, np.errstate(all="ignore"):
            old = getattr(target, place) if isinstance(place, str) else target[place]
            if operator != "cas":
                new = _combine(operator, old, value)
            elif old == convert(type, compare, "oa.atomic_cas"):
                new = value
            else:
                return old
            if isinstance(place, str):
                setattr(target, place, new)
            else:
                target[place] = new
        return old


def _place_type(operator: str, target: Any, place: Any) -> Type:
    """The type of a field or element, refused where it has no such atomic operation."""
    type: Type | None = None
    if isinstance(place, str):
        shared = getattr(target, "__sharedoa__", None)
        type = shared.fields.get(place) if isinstance(target, Object) and shared else None
    elif isinstance(target, InlineField):
        type = target.element_type
    else:
        type = getattr(target, "__sharedoa_element__", None)
    if type is None or isinstance(type, InlineType):
        raise ArgumentError(
            f"oa.atomic_{operator} found no place {place!r} in {describe(target)}",
            'write oa.atomic_add(obj, "field", value) or oa.atomic_add(array, index, value)',
        )
    arithmetic = isinstance(type, ScalarType) and type.kind != "bool"
    if isinstance(type, ValueType):
        arithmetic = bool(type.shape) and operator in ("add", "sub")
    if not arithmetic and (operator not in ("exch", "cas") or not isinstance(type, ReferenceType)):
        raise ArgumentError(
            f"oa.atomic_{operator} does not work on {type!r}",
            "numbers have all atomic operations, vectors add and sub, references exch and cas",
        )
    return type


def _combine(operator: str, old: Any, value: Any) -> Any:
    match operator:
        case "add":
            return old + value
        case "sub":
            return old - value
        case "min":
            return min(old, value)
        case "max":
            return max(old, value)
    return value


intrinsics.host = _InCPython()
