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

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from threading import get_ident
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ...errors import SharedOAError
from ...forks import renew_in_child
from ...heap.arrays import Array
from ...heap.blocks import Block, exit_of_block
from ...heap.heap import Heap, current_heap
from ...heap.population import Population
from ...heap.recording import Deferrer, Recorder, can_wait, deferring, executing, recording
from ...model.classes import ClassType, Method
from ...model.scalars import ScalarType
from ...model.types import VOID, ArrayType, ReferenceType, Type, ValueType
from ...model.world import World
from .. import knobs
from ..arguments import Binder, kept, packed_as_is
from ..bound_names import BoundNames, as_they_were
from ..geometry import Geometry
from ..launch import Program
from ..population_plan import PopulationCall
from ..vectorised import receiver_programs
from .grouping import MOST_PARTS, Launched
from .plans import Key, Plans, key_of

_MOST_CLASSES = 16
"""Of a population whose calls wait: the methods of all are looked at."""
_WAITING = ScalarType, ArrayType, ReferenceType, ValueType
"""Types of arguments that stay what they were when a launch was asked for."""
_KEPT = 1024
_new_call = tuple.__new__
"""In half of the time that the class takes to do the same."""

_deferred: WeakKeyDictionary[Heap, _Deferred] = WeakKeyDictionary()


_Asked = tuple[Launched | PopulationCall, Key, tuple[BoundNames, ...], "Fusion"]
"""A launch that waits, what it is to plans, what its programs were made from, and whose it is."""


class _Waiting(NamedTuple):
    """How calls of a method on all objects of a class wait, as long as ``facts`` are the same: the
    ``programs`` of which they would be, and what takes each argument. Where all of these are
    numbers, ``key`` is of all of them (``key_of``), and ``are_plain`` says whether so many numbers
    are packed as they are."""

    method: Method
    facts: int
    programs: tuple[Program, ...]
    names: tuple[BoundNames, ...]
    types: tuple[Type, ...]
    binders: tuple[Binder, ...]
    key: Key | None
    are_plain: Callable[[tuple[Any, ...]], bool]


class _Deferred:
    """The launches on one heap that wait, of all threads in their order."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap.weak
        self._lock: Any = renew_in_child(threading.RLock())
        self._is_launching = False
        self._records: list[_Asked] = []
        #: By class and name of the method.
        self.known: dict[tuple[ClassType, str], _Waiting] = {}
        #: Kernels that make no objects: in which world, and what they were made from.
        self._kernels: dict[Program, tuple[int, BoundNames]] = {}
        self.plans = Plans(heap)
        deferring.add(self)

    def is_launching_here(self) -> bool:
        return self._is_launching and bool(self._lock._is_owned())

    def add(self, asked: _Asked) -> None:
        """Let a launch wait."""
        heap = self._heap()
        assert heap is not None
        with self._lock:
            if not self._records:
                heap.memory.deferred = self
                # Whoever looks whether something was launched comes to launch this.
                heap.memory.last_launch = object()
            self._records.append(asked)
            if len(self._records) >= MOST_PARTS:
                self._launch(_whole_rounds(self._records))

    def waits(self, program: Program) -> bool:
        """Whether launches of a kernel are known to wait."""
        found = self._kernels.get(program)
        return found is not None and found[0] == World.epoch and found[1].hold()

    def look_at_kernel(self, program: Program) -> bool:
        """Whether launches of a kernel wait: it makes and ends no objects."""
        if self.waits(program):
            return True
        if program.uses().births:
            return False
        if len(self._kernels) >= _KEPT:
            self._kernels.clear()
        self._kernels[program] = World.epoch, program.names
        return True

    def look_at(self, objects: Population, method: Method) -> _Waiting | None:
        """How calls of the method on objects of each class that lives wait; None if they do not."""
        heap = self._heap()
        assert heap is not None
        cls, types = objects._cls, method.signature.types
        found = self.known.get((cls, method.name))
        for program in found.programs if found is not None else ():
            program.look_at_names()
        if found is None or found.facts != _facts(heap) or found.method is not method:
            classes = objects._classes()
            programs: tuple[Program, ...] = ()
            is_void = method.signature.result == VOID
            if is_void and len(classes) <= _MOST_CLASSES and _all_wait(types):
                programs = tuple(receiver_programs(objects, method, classes))
            if not programs or any(program.uses().births for program in programs):
                self.known.pop((cls, method.name), None)
                return None
            if len(self.known) >= _KEPT:
                self.known.clear()
            have_numbers = all(isinstance(type, ScalarType) for type in types)
            found = self.known[cls, method.name] = _Waiting(
                method,
                _facts(heap),
                programs,
                tuple([program.names for program in programs]),
                types,
                tuple(programs[0].plan.binders[1:]),
                (cls, method, *[None] * len(types)) if have_numbers else None,
                _plain_numbers([type for type in types if isinstance(type, ScalarType)]),
            )
        return found

    def launch(self) -> None:
        heap = self._heap()
        if heap is None or self.is_launching_here():
            return
        if not self._lock.acquire(blocking=can_wait(heap)):
            return
        try:
            self._launch(len(self._records))
        finally:
            self._lock.release()

    def _launch(self, count: int) -> None:
        """Launch the first ``count``; the caller has the lock. An error drops those of the same
        block after the one that it comes from, which nobody would have asked for."""
        heap = self._heap()
        records, self._records = self._records[:count], self._records[count:]
        if heap is None or not records:
            return
        around = recording.get()
        self._is_launching = True
        left = records
        try:
            recording.set(None)
            for block, own in groupby(records, _block_of):
                launched = [*own]
                left = left[len(launched) :]
                try:
                    self._launch_of_one(launched)
                except BaseException:
                    every = [*left, *self._records]
                    self._records = [each for each in every if each[3] is not block]
                    raise
        finally:
            self._is_launching = False
            recording.set(around)
            if not self._records:
                heap.memory.deferred = None

    def _launch_of_one(self, records: Sequence[_Asked]) -> None:
        """Launch what one block has asked for."""
        asked, keys, names, _ = zip(*records, strict=True)
        every = {each for own in names for each in own}
        if all(each.hold() or each.are_equal() for each in every):
            self.plans.run(asked, keys, every)
        else:
            self._launch_as_it_was(records)

    def _launch_as_it_was(self, records: Iterable[_Asked]) -> None:
        """Launch one after another what was asked for when names meant something else."""
        for record, key, names, _ in records:
            with as_they_were(names):
                self.plans.run([record], (key,))


def _plain_numbers(types: Sequence[ScalarType]) -> Callable[[tuple[Any, ...]], bool]:
    every = [packed_as_is(type) for type in types]
    if len(every) == 1:  # as most often, and this is asked in every call
        ((kind, low, high),) = every

        def is_plain(given: tuple[Any, ...]) -> bool:
            (value,) = given
            return value.__class__ is kind and low <= value <= high

        return is_plain

    def are_plain(given: tuple[Any, ...]) -> bool:
        pairs = zip(given, every, strict=True)
        return all(v.__class__ is kind and low <= v <= high for v, (kind, low, high) in pairs)

    return are_plain


def _block_of(asked: _Asked) -> Fusion:
    return asked[3]


def _facts(heap: Heap) -> int:
    # Both only grow.
    return World.epoch + heap.placement.population_epoch


def _whole_rounds(records: Sequence[_Asked]) -> int:
    """How many of the first records are whole rounds of the loop that launches them, so that the
    next ones begin where these did; all, if they are of no loop."""
    keys = [_key(record) for record, *_ in records]
    for length in range(1, len(keys) // 2 + 1):
        if all(keys[n] == keys[n - length] for n in range(length, len(keys))):
            return len(keys) // length * length
    return len(keys)


def _key(record: Launched | PopulationCall) -> Any:
    if isinstance(record, PopulationCall):
        return record.objects._cls, record.method
    return record.program, record.geometry


class Fusion(Deferrer):
    """What ``oa.fuse()`` gives: a context manager whose launches on ``heap`` wait for others."""

    made_by, known_as = "oa.fuse()", "a value of oa.fuse()"

    def __init__(self, heap: Heap) -> None:
        super().__init__(heap)
        #: Where launches wait, once there is one.
        self._deferred: _Deferred | None = None

    def _begins(self, outer: Recorder | None) -> bool:
        heap = self.heap
        # CPython runs launches one by one; what is captured waits anyway, and is one where it may.
        if heap.backend.name == "python" or (outer is not None and not outer.is_lazy):
            return False
        self._deferred = _deferred.get(heap)
        return not (heap.debug or heap.fastmath) and knobs.fuse.value() != "0"

    @exit_of_block
    def __exit__(self, block: Block, kind: Any, error: Any, trace: Any) -> None:
        self._end()
        self._deferred = None  # which refers to this
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
        types = program.source.signature.types
        if mode is None and debug is None and not geometry.is_empty and _all_wait(types):
            binders, own = program.plan.binders, self._own
            later = None
            if own.waits(program):
                later, heap = _taken(types, binders, arguments)
            if later is None:
                heap = program.plan.pack(program.plan.new_slots(), arguments)
                later = program.plan.kept(arguments)
            if heap is self.heap and own.look_at_kernel(program):
                launched = Launched(program, geometry, later)
                own.add((launched, key_of(launched), (program.names,), self))
                return
        with executing(self.heap):
            program.launcher(geometry)(*arguments, mode=mode, debug=debug)

    def defer_population_call(
        self, objects: Population, method: Method, given: tuple[Any, ...]
    ) -> bool:
        own = self._own
        waiting = own.look_at(objects, method)
        if waiting is None:
            return False
        for type, value, bind in zip(method.signature.types, given, waiting.binders, strict=True):
            if isinstance(value, Array) and not isinstance(type, ArrayType):
                return False  # one element an object
            if bind(value, []) not in (None, self.heap):
                return False
        where = f"kernel {method.owner.name}.{method.name}, argument "
        call = PopulationCall(objects, method, kept(method.signature, given, where))
        own.add((call, key_of(call), waiting.names, self))
        return True

    def call_again(self, objects: Population, name: str, given: tuple[Any, ...]) -> bool:
        """As ``defer_population_call``, of calls as there were before."""
        heap, own, block = self.heap, self._deferred, self._block
        if own is None or objects._heap is not heap or block is None or not block.is_open:
            return False
        waiting = own.known.get((objects._class, name))
        if waiting is None or waiting.facts != World.epoch + heap.placement.population_epoch:
            return False
        for names in waiting.names:
            if not names.hold():
                return False
        if len(given) != len(waiting.binders) or get_ident() != heap.upkeep.thread:
            return False
        numbers: list[Any] = []
        try:
            if waiting.key is not None:
                if waiting.are_plain(given):
                    call = _new_call(PopulationCall, (objects, waiting.method, given))
                    own.add((call, waiting.key, waiting.names, self))
                    return True
                for bind, value in zip(waiting.binders, given, strict=True):
                    bind(value, numbers)
                call = PopulationCall(objects, waiting.method, tuple(numbers))
                own.add((call, waiting.key, waiting.names, self))
                return True
        except SharedOAError:
            return False  # said, or converted, with more care
        later, owner = _taken(waiting.types, waiting.binders, given)
        if later is None or owner not in (None, heap):
            return False
        call = PopulationCall(objects, waiting.method, later)
        own.add((call, key_of(call), waiting.names, self))
        return True

    @property
    def _own(self) -> _Deferred:
        found = self._deferred
        if found is None:
            found = _deferred.get(self.heap)
            if found is None:
                found = _deferred.setdefault(self.heap, _Deferred(self.heap))
            self._deferred = found
        return found

    def record_population_call(self, objects: Any, method: Any, given: tuple[Any, ...]) -> None:
        raise AssertionError("what is lazy is asked to defer it")

    def record_call(self, call: Any) -> None:
        with executing(self.heap):
            call()


def _taken(
    types: Iterable[Type], binders: Iterable[Binder], given: Iterable[Any]
) -> tuple[tuple[Any, ...] | None, Heap | None]:
    """Arguments that are as usual, with numbers as they are now, and the heap that they lie in. No
    arguments, if they are to be looked at with more care."""
    numbers: list[Any] = []
    later: list[Any] = []
    heap: Heap | None = None
    try:
        for type, bind, value in zip(types, binders, given, strict=True):
            if isinstance(type, ValueType) and not isinstance(value, type.python_class):
                return None, None
            owner = bind(value, numbers)
            if owner is not heap and owner is not None:
                if heap is not None:
                    return None, None
                heap = owner
            later.append(numbers[-1] if isinstance(type, ScalarType) else value)
    except SharedOAError:
        return None, None
    return tuple(later), heap


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
