"""``with oa.fuse():`` launches of the block wait, and become one where they may.

    with oa.fuse():
        oa.all(Particle).push(field)
        oa.all(Particle).move(dt)

What waits is launched when the block ends, in any way, and before anybody could tell: before the
host looks at memory or changes it, makes or deletes objects, or waits, before a process is forked,
and before any thread launches something else on the heap. Errors of arguments and of what is
compiled are raised by the call, as always.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from ...errors import HeapError
from ...forks import renew_in_child
from ...heap.arrays import Array
from ...heap.blocks import Block, entered, exit_of_block
from ...heap.heap import Heap, current_heap
from ...heap.population import Population
from ...heap.recording import Recorder, executing, recorder, recording
from ...model.classes import ClassType, Method
from ...model.scalars import ScalarType
from ...model.types import VOID, ArrayType, ReferenceType, Type, ValueType
from ...model.world import World
from .. import knobs
from ..geometry import Geometry
from ..launch import Program
from ..population_plan import PopulationCall
from ..vectorised import receiver_programs
from .grouping import MOST_PARTS, Launched
from .plans import Plans

_MOST_CLASSES = 16
"""Of a population whose calls wait: the methods of all are looked at."""
_WAITING = ScalarType, ArrayType, ReferenceType, ValueType
"""Types of arguments that stay what they were when a launch was asked for."""
_KEPT = 1024

_deferred: WeakKeyDictionary[Heap, _Deferred] = WeakKeyDictionary()
_waiting: WeakSet[_Deferred] = WeakSet()


class _Deferred:
    """The launches on one heap that wait, of all threads in their order."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap.weak
        self._lock: Any = renew_in_child(threading.RLock())
        self._is_launching = False
        self._records: list[Launched | PopulationCall] = []
        self._programs: dict[tuple[ClassType, Method], tuple[tuple[Program, ...], Any]] = {}
        self.plans = Plans(heap)
        _waiting.add(self)

    def is_launching_here(self) -> bool:
        return self._is_launching and bool(self._lock._is_owned())

    def add(self, record: Launched | PopulationCall) -> None:
        """Let a launch wait."""
        heap = self._heap()
        assert heap is not None
        with self._lock:
            self._records.append(record)
            heap.memory.deferred = self
            # Whoever looks whether something was launched comes to launch this.
            heap.memory.last_launch = object()
            if len(self._records) >= MOST_PARTS:
                self._launch(_whole_rounds(self._records))

    def programs_of(self, objects: Population, method: Method) -> tuple[Program, ...]:
        """What calls the method on objects of each class that lives; none, if calls cannot
        wait."""
        heap = self._heap()
        assert heap is not None
        key = objects._cls, method
        known, facts = self._programs.get(key, ((), ()))
        for program in known:
            program.look_at_names()
        if not facts or facts != (World.epoch, heap.placement.population_epoch):
            classes = objects._classes()
            known = ()
            is_void = method.signature.result == VOID
            if is_void and len(classes) <= _MOST_CLASSES and _all_wait(method.signature.types):
                known = tuple(receiver_programs(objects, method, classes))
            if any(program.uses().births for program in known):
                known = ()
            if len(self._programs) >= _KEPT:
                self._programs.clear()
            facts = World.epoch, heap.placement.population_epoch
            self._programs[key] = known, facts
        return known

    def launch(self) -> None:
        heap = self._heap()
        if heap is None or self.is_launching_here():
            return
        # Who holds what another thread's launches need does not wait for them.
        books: Any = heap.lock.plain
        is_free = not books._is_owned() and not any(
            is_part() for is_part in [*heap.memory.launching.values()]
        )
        if not self._lock.acquire(blocking=is_free):
            return
        try:
            self._launch(len(self._records))
        finally:
            self._lock.release()

    def _launch(self, count: int) -> None:
        """Launch the first ``count``; the caller has the lock. An error drops those after the one
        that it comes from, which nobody would have asked for."""
        heap = self._heap()
        records, self._records = self._records[:count], self._records[count:]
        if heap is None or not records:
            return
        token = recording.set(None)
        self._is_launching = True
        try:
            self.plans.run(records)
        except BaseException:
            self._records = []
            raise
        finally:
            self._is_launching = False
            recording.reset(token)
            if not self._records:
                heap.memory.deferred = None


def _whole_rounds(records: Sequence[Any]) -> int:
    """How many of the first records are whole rounds of the loop that launches them, so that the
    next ones begin where these did; all, if they are of no loop."""
    keys = [_key(record) for record in records]
    for length in range(1, len(keys) // 2 + 1):
        if all(keys[n] == keys[n - length] for n in range(length, len(keys))):
            return len(keys) // length * length
    return len(keys)


def _key(record: Launched | PopulationCall) -> Any:
    if isinstance(record, PopulationCall):
        return record.objects._cls, record.method
    return record.program, record.geometry


def _launch_all() -> None:
    """Before a fork: the child would launch what waits once more."""
    for each in [*_waiting]:
        each.launch()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_launch_all)


class Fusion:
    """What ``oa.fuse()`` gives: a context manager whose launches on ``heap`` wait for others."""

    executes = False
    takes_foreign = False
    is_lazy = True

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        self._was_entered = False
        self._block: Block | None = None
        self._outer: Recorder | None = None

    @property
    def is_recording(self) -> bool:
        return self._block is not None and self._block.is_open

    def __enter__(self) -> Fusion:
        block = entered(self)
        if self._was_entered:
            raise HeapError("a value of oa.fuse() has one block", "call oa.fuse() again")
        heap, outer = self.heap, recorder()
        # CPython runs launches one by one; what is captured waits anyway, and is one where it may.
        waits = heap.backend.name != "python" and not (heap.debug or heap.fastmath)
        if knobs.fuse.value() == "0" or (outer is not None and not outer.is_lazy):
            waits = False
        try:
            self._block, self._outer, self._was_entered = block, outer, True
            if waits:
                recording.set(self)
            return self
        except BaseException:  # a signal: the block is not entered
            self._block = self._outer = None
            raise

    @exit_of_block
    def __exit__(self, block: Block, kind: Any, error: Any, trace: Any) -> None:
        if recording.get() is self:
            recording.set(self._outer)
        self._block = self._outer = None  # which refers to this
        self.heap.launch_deferred()

    def explain(self) -> str:
        """Which launches of those that ran last became one, and why the others did not: a line for
        each."""
        self.heap.launch_deferred()
        found = _deferred.get(self.heap)
        return "nothing was launched" if found is None else found.plans.explain()

    # ---------------------------------------------------------------- what launches ask

    def record(
        self,
        program: Program,
        geometry: Geometry,
        arguments: tuple[Any, ...],
        mode: Any = None,
        debug: Any = None,
    ) -> None:
        """Let a launch wait, whose arguments and code are checked now, or launch it."""
        if (
            mode is None
            and debug is None
            and not geometry.is_empty
            and _all_wait(program.source.signature.types)
        ):
            heap = program.plan.pack(program.plan.new_slots(), arguments)
            if heap is self.heap and not program.uses().births:
                self._own.add(Launched(program, geometry, arguments))
                return
        with executing(self.heap):
            program.launcher(geometry)(*arguments, mode=mode, debug=debug)

    def defer_population_call(
        self, objects: Population, method: Method, given: tuple[Any, ...]
    ) -> bool:
        own = self._own
        programs = own.programs_of(objects, method)
        if not programs:
            return False
        types = method.signature.types
        for type, value, bind in zip(types, given, programs[0].plan.binders[1:], strict=True):
            if isinstance(value, Array) and not isinstance(type, ArrayType):
                return False  # one element an object
            if bind(value, []) not in (None, self.heap):
                return False
        own.add(PopulationCall(objects, method, given))
        return True

    @property
    def _own(self) -> _Deferred:
        found = _deferred.get(self.heap)
        if found is None:
            found = _deferred.setdefault(self.heap, _Deferred(self.heap))
        return found

    def record_population_call(self, objects: Any, method: Any, given: tuple[Any, ...]) -> None:
        raise AssertionError("what is lazy is asked to defer it")

    def record_call(self, call: Any) -> None:
        with executing(self.heap):
            call()


def _all_wait(types: Iterable[Type]) -> bool:
    """Whether arguments of these types are what they were whenever they are used."""
    return all(isinstance(type, _WAITING) for type in types)


def fuse() -> Fusion:
    """``with oa.fuse(): ...``: launches on the current heap in the block wait for others, and
    become one launch where nobody can tell but by the clock.

    They are launched at the end of the block, or as soon as the host looks at arrays or objects,
    makes or deletes any, waits, or launches what cannot wait. A NumPy view that was made before the
    block shows what they do after that; oa.synchronize() launches what waits. Launches may be one
    that have as many threads, or call methods on the same population, and whose threads each access
    what is their own of all that any of them changes (docs/language.md). SHAREDOA_FUSE=0 stops it.

    Raises whatever launching raises: where the call is, or for what only a launch finds out, where
    they are launched.
    """
    return Fusion(current_heap())
