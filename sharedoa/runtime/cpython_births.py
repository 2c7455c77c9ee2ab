"""Objects that kernels make and end where CPython runs them: in the same places, and seen in the
same way, as where they are compiled."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from dispatch.births import BORN, ENDED, LIVED

from ..errors import ArgumentError, HeapError
from ..heap import hooks
from ..heap.birth_order import part_with_deleted
from ..heap.births import NO_TURNS, AllTurns, Places
from ..heap.construction import field_values, initialise
from ..heap.heap import Heap
from ..heap.living import births_of, settle
from ..heap.placement import FieldPath
from ..heap.quarantine import user_line
from ..ir.births import Births
from ..model.classes import ClassType
from ..model.deleted import DeletedReference
from ..model.object import Object, has_init, require_concrete
from ..model.values import describe
from .host_intrinsics import current_thread


class LaunchInCPython:
    """One launch of ``threads`` threads. Implements ``heap.hooks.KernelObjects``.

    Where objects are made or ended the heap's books are the launch's own, from its beginning or
    from the first object on.
    """

    def __init__(
        self, heap: Heap, births: Births | None, threads: int, turns: AllTurns = NO_TURNS
    ) -> None:
        """``births``: what the program does; None if it cannot be compiled, as CPython runs more
        than kernels may hold."""
        self._heap, self._births, self._threads, self._turns = heap, births, threads, turns
        self._lock = threading.RLock()
        self._is_open = False
        self._places: dict[ClassType, Places] = {}
        self._counts: dict[tuple[ClassType, int], int] = {}
        #: Who took the places of classes of which all threads count together.
        self._makers: defaultdict[ClassType, list[int]] = defaultdict(list)
        self._ended: dict[ClassType, None] = {}
        #: Where in the user's code an object of a class had no place.
        self._refused: dict[ClassType, str] = {}

    def shortage(self, name: str) -> HeapError | None:
        """What to raise after the launch of kernel ``name`` if an object had no place."""
        for cls, line in self._refused.items():
            told = f"kernel {name}: {self._places[cls].shortage}\nat {line}"
            return HeapError(told, f"reserve it before the launch: oa.reserve({cls.name}, n)")
        return None

    def begin(self, in_other_threads: bool) -> None:
        """The launch begins; ``in_other_threads``: the calling thread does not run it itself."""
        if in_other_threads if self._births is None else self._births.changes:
            self._open()

    def _open(self) -> None:
        """Take the heap's books."""
        if self._is_open:
            return
        with self._heap.lock:
            if self._births is not None:
                lent = self._lend(self._births.made)
                self._places = {places.cls: places for places in lent}
            # No signal comes between what is done and the note that it is.
            self._heap.lock.plain.acquire()
            self._is_open = True

    def close(self) -> None:
        """The launch has ended: its objects are the heap's."""
        if not self._is_open:
            return
        with self._heap.lock:
            self._is_open = False
            self._heap.lock.plain.release()
            self._heap.upkeep.births += 1
            for cls, makers in self._makers.items():
                self._places[cls].makers = makers
            settle(self._heap, [*self._places.values()], [*self._ended])

    # ------------------------------------------------------------------ in kernels

    def new(self, cls: ClassType, arguments: tuple[Any, ...], fields: dict[str, Any]) -> Any:
        """None if there is no room, which ``shortage`` then tells."""
        require_concrete(cls)
        with self._lock:
            self._open()
            if arguments and not has_init(cls):
                raise ArgumentError(
                    f"{cls.name} takes its fields by name", f"write {cls.name}(field=value)"
                )
            # Where there is an ``__init__`` the rest are its arguments, as on the host.
            values = field_values(self._heap, cls, {} if has_init(cls) else fields)
            found = self._take(cls)
            if found is None:
                return None
            made = self._begin(cls, found, values)
        if has_init(cls):
            initialise(self._heap, [made], [(arguments, fields)])
        return made

    def delete(self, obj: Any) -> bool:
        with self._lock:
            if not self.is_alive(obj):
                return False
            self._open()
            births_of(self._heap).end(self._address_of(obj))
            self._ended[type(obj).__sharedoa__] = None
            return True

    def is_alive(self, obj: Any) -> bool:
        if obj is None:
            return False
        if not isinstance(obj, Object):
            raise ArgumentError(
                f"a kernel ends, and asks about, one object, not {describe(obj)}", "pass the object"
            )
        if isinstance(obj._reference, DeletedReference):
            return False
        state = births_of(self._heap).state(self._address_of(obj))
        return bool(state & (LIVED | BORN)) and not state & ENDED

    # ------------------------------------------------------------------ places

    def _address_of(self, obj: Object) -> int:
        return int(self._heap.encoding.address(obj._reference))

    def _lend(self, made: Mapping[ClassType, int | None]) -> list[Places]:
        births = births_of(self._heap)
        lent = births.lend(made, self._threads, self._turns)
        try:
            part_with_deleted(self._heap, lent)
        except BaseException:
            births.return_unused(lent)
            raise
        return lent

    def _take(self, cls: ClassType) -> int | None:
        """The address of the next place for the thread that is running."""
        places = self._places.get(cls)
        if places is None:
            (places,) = self._lend({cls: None})
            self._places[cls] = places
        number = self._number(places)
        found = None if number is None else places.at(number)
        if found is None and places.cls not in self._refused:
            self._refused[places.cls] = user_line()
        return found

    def _number(self, places: Places) -> int | None:
        """The number of the next place for the thread that is running; None if it has none."""
        thread = current_thread.get()
        assert thread is not None
        number = thread.index[1] * thread.size[0] + thread.index[0]
        if not places.step:
            self._makers[places.cls].append(number)
            number = 0
        key = places.cls, number
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        if not places.step:
            places.wanted = count + 1
        return places.number_of(number, count)

    def _begin(self, cls: ClassType, address: int, values: dict[str, Any]) -> Any:
        heap = self._heap
        births_of(heap).begin(cls, address)
        for name, value in values.items():
            heap.placement.write_one(address, FieldPath(name), value, None)
        return heap.wrap(int(heap.encoding.encode(address, cls.type_index)))


def _of_this_thread() -> hooks.KernelObjects | None:
    thread = current_thread.get()
    return None if thread is None else thread.objects


hooks.kernel_objects = _of_this_thread
