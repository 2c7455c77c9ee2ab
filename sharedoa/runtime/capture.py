"""``oa.capture()``: a sequence of launches, recorded once and run as often as one likes.

    with oa.capture() as step:
        plan[n](vehicles, seed)
        advance[n](vehicles)
    step.run(1000)

A launch in the block binds as any launch does, outside of what the backend records; only the
packed launches go into that. Before a run every launch is asked whether its binding still holds
(``binding``). If one does not all are bound again, and recorded again where that changed them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..backends.base import KernelLaunch, Slots
from ..errors import ArgumentError, HeapError
from ..heap.arrays import ObjectArray
from ..heap.blocks import Block, entered, exit_of_block
from ..heap.heap import Heap, current_heap
from ..heap.recording import recorder, recording
from . import cpython, knobs
from .geometry import Geometry

if TYPE_CHECKING:
    from dispatch.mode import Mode

    from .binding import Binding
    from .launch import Program

_BLOCK_OPEN = "its block has not ended", "call run() after the with statement"
_DROPPED = "its block ended with an error, which dropped what it had recorded", "capture again"


@dataclass(eq=False)
class _Recorded:
    """One launch of the block; its arguments are kept, packed in slots of its own."""

    program: Program
    geometry: Geometry
    arguments: tuple[Any, ...]
    mode: Mode
    debug: bool
    slots: Slots
    #: Whether numbers among the arguments become constants of the code.
    is_specialised: bool
    binding: Binding | None = None

    def bind(self, heap: Heap) -> Binding:
        # Where an array was a run its address has gone from the slots.
        self.program.plan.pack(self.slots, self.arguments)
        self.binding = self.program.bind(
            heap,
            self.mode,
            self.debug,
            self.slots,
            self.arguments,
            self.geometry,
            self.is_specialised,
        )
        return self.binding

    def prepared(self, heap: Heap) -> KernelLaunch:
        assert self.binding is not None
        return self.program.prepared(heap, self.binding.unit, self.geometry, self.slots)


class Capture:
    """What ``oa.capture()`` gives: a context manager that records the launches of its block on
    ``heap``, and what runs them afterwards."""

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        self._specialises = knobs.specialise.value()
        self._launches: list[_Recorded] = []
        self._unready: tuple[str, str] | None = _BLOCK_OPEN
        self._block: Block | None = None
        self._programs: list[Program] = []
        #: What the launches were bound to last.
        self._bound: list[Binding] = []
        #: The same, once a unit, and with their arguments those whose arguments may be runs; empty
        #: where they are to be bound again.
        self._bindings: list[Binding] = []
        self._with_runs: list[tuple[Binding, tuple[Any, ...]]] = []
        self._is_settled = False
        self._stores_references = False
        self._key: list[Any] = []
        self._ready: Any = None

    # ---------------------------------------------------------------- recording

    @property
    def is_recording(self) -> bool:
        return self._block is not None and self._block.is_open

    def __enter__(self) -> Capture:
        block = entered(self)
        if recorder() is not None:
            raise HeapError(
                "oa.capture() inside a block of oa.capture()",
                "end one block before the next; the captured steps can be run one after another",
            )
        if self._block is not None or self._unready is not _BLOCK_OPEN:
            raise HeapError("a capture has one block", "call oa.capture() again")
        try:
            self._block = block
            recording.set(self)
            return self
        except BaseException:  # a signal: the block is not entered
            self._block, self._unready = None, _DROPPED
            raise

    @exit_of_block
    def __exit__(self, block: Block, kind: Any, error: Any, trace: Any) -> None:
        self._block, self._unready = None, _DROPPED
        recording.set(None)
        if kind is not None:
            self._launches.clear()
            return
        # By id: any order will do, as long as it is everybody's.
        self._programs = sorted({each.program for each in self._launches}, key=id)
        self._locked(self._programs, self._prepare)
        self._unready = None

    def record(
        self,
        program: Program,
        geometry: Geometry,
        arguments: tuple[Any, ...],
        mode: Any = None,
        debug: Any = None,
    ) -> None:
        """Remember a launch, whose arguments and code are checked now."""
        from .launch_settings import own_settings

        slots = program.plan.new_slots()
        heap: Heap = program.plan.pack(slots, arguments) or current_heap()
        if heap is not self.heap:
            raise ArgumentError(
                f"{program.source.name} is launched on another heap than the one that the block of "
                "oa.capture() records",
                "capture the launches on each heap in a block of their own",
            )
        if heap.backend.name == "python":
            arguments = program.plan.host_values(arguments)
        settings = own_settings(heap, mode, debug)
        launch = _Recorded(program, geometry, arguments, *settings, slots, self._specialises)
        if heap.backend.name != "python":
            with program.lock:
                launch.bind(heap)
        if not geometry.is_empty:
            self._launches.append(launch)

    # ---------------------------------------------------------------- running

    def run(self, n: int = 1) -> None:
        """Run the recorded launches in their order, ``n`` times. Returns at once where the backend
        can; what goes wrong in a kernel is raised as DeviceError by whatever waits for it.

        Arrays and objects are those that were passed in the block, with what they hold when they
        run; numbers have the values that they had. Classes and methods that were redefined, objects
        that were made or deleted since are seen as by any launch.

        Raises ArgumentError for an ``n`` that is no whole number or negative, HeapError in the
        block or after one that failed, and whatever launching could raise.
        """
        count = _count(n)
        if self._unready is not None:
            was_left = self._block is not None and not self._block.is_open
            reason, help = _DROPPED if was_left else self._unready
            raise HeapError(f"a captured step cannot run: {reason}", help)
        if recorder() is not None:
            raise HeapError(
                "a captured step is run inside a block of oa.capture(), which records launches",
                "launch its kernels in the block, or run it after the block",
            )
        if count == 0 or not self._launches:
            return
        self._locked(self._programs, lambda: self._run(count))

    def _run(self, count: int) -> None:
        if self.heap.backend.name == "python":
            self._run_in_cpython(count)
            return
        while count:
            count -= self._run_ready(count)

    def _run_ready(self, count: int) -> int:
        """Run the launches up to ``count`` times, as long as they need not be looked at; how often
        they were."""
        heap = self.heap
        if self._called_all:
            self._refuse_receivers()
        launching = heap.memory.launching
        this, is_part = object(), self._programs[0].is_launching
        launching[this] = is_part
        is_new = False
        try:
            while not self._is_current():
                # It looks at everything again, and goes on to use nothing else.
                del launching[this]
                for program in self._programs:
                    program.look_at_names()
                self._prepare()
                is_new = True
                launching[this] = is_part
            may_store_null = self._stores_references and self._called_all
            times = count if self._is_settled and not may_store_null else 1
            if not (self._is_settled or is_new):
                for binding in self._bound:
                    binding.count()
            if not all(each.is_settled and each.left > 0 for each in self._bound):
                self._bindings = []
            heap.before_launch()
            heap.note_launch(self._stores_references)
            heap.backend.replay(self._ready, times)
            heap.memory.last_launch = object()
            return times
        finally:
            launching.pop(this, None)

    @cached_property
    def _called_all(self) -> list[tuple[ObjectArray, str]]:
        """The arrays on all of whose objects a method is called, and its name."""
        calls = [each for each in self._launches if each.program.source.calls_all]
        return [
            (each.arguments[0], each.program.source.name)
            for each in calls
            if isinstance(each.arguments[0], ObjectArray)
        ]

    def _refuse_receivers(self) -> None:
        """Raises ArgumentError if a method would be called on None, by what arrays hold now (a
        launch of the step itself may still store one), HeapError if on a deleted object."""
        for array, name in self._called_all:
            array._refuse_receivers(name)

    def _run_in_cpython(self, count: int) -> None:
        launching = self.heap.memory.launching
        this, is_part = object(), cpython.part_of_launch()
        launching[this] = is_part
        try:
            self.heap.synchronize()
            for _ in range(count):
                self._refuse_receivers()
                for each in self._launches:
                    each.program.run_in_cpython(self.heap, each.arguments, each.geometry)
        finally:
            launching.pop(this, None)

    def _locked(self, programs: list[Program], work: Callable[[], None]) -> None:
        """Nobody else may bind a program between its being bound here and its being run. No signal
        comes between taking a lock and the block of its ``with``."""
        if not programs:
            work()
            return
        with programs[0].lock:
            self._locked(programs[1:], work)

    def _is_current(self) -> bool:
        heap = self.heap
        for binding in self._bindings:
            if not binding.holds(heap):
                return False
        for binding, arguments in self._with_runs:
            if not binding.has_runs(arguments):
                return False
        return bool(self._bindings)

    def _prepare(self) -> None:
        """Bind all launches, and have the backend record them if that changed any."""
        heap, launches = self.heap, self._launches
        if not launches or heap.backend.name == "python":
            return
        self._bindings = []  # until all of the following is done
        bound = [each.bind(heap) for each in launches]
        self._stores_references = any(each.stores_references for each in bound)
        if self._stores_references:
            # After its first run no array is known to be a run, so let it be so in the first, too.
            heap.note_launch()
            bound = [each.bind(heap) for each in launches]
        prepared = [each.prepared(heap) for each in launches]
        key = [(each.handle, each.block, bytes(each.slots)[: 8 * each.count]) for each in prepared]
        if key != self._key:
            self._ready = heap.backend.record(prepared)
            self._key = key
        self._bound = bound
        self._is_settled = all(each.is_settled and each.counted is None for each in bound)
        pairs = zip(bound, launches, strict=True)
        self._with_runs = [(each, launch.arguments) for each, launch in pairs if each.run_places]
        # What the others of a unit were bound to was the same, or is no more.
        self._bindings = [*{each.unit: each for each in bound}.values()]
        if len({each.epoch for each in bound}) > 1:
            self._bindings = []


def _count(n: Any) -> int:
    try:
        count = int(n.__index__())
    except AttributeError:
        raise ArgumentError(
            f"a step is run a whole number of times, not {n!r}", "write step.run(100)"
        ) from None
    if count < 0:
        raise ArgumentError(f"a step cannot be run {count} times", "write step.run(100)")
    return count


def capture() -> Capture:
    """Record launches on the current heap: ``with oa.capture() as step: ...``, then
    ``step.run(n)``, which costs less than launching the kernels one by one, on a GPU most of all.

    Nothing runs in the block. It holds launches on one heap, and calls of methods on arrays of
    objects; the host may not touch the heap there, nor create anything in it (HeapError). An error
    in the block drops what was recorded.
    """
    return Capture(current_heap())
