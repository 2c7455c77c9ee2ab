"""``oa.capture()``: a sequence of launches, recorded once and run as often as one likes.

    with oa.capture() as step:
        plan[n](vehicles, seed)
        advance[n](vehicles)
    step.run(1000)

Launches whose objects are those that they were given follow one another without a look by the host
(``launch_sequence``). With launches that make or end objects, and methods of ``oa.all(C)``, which
are called on those that live then, that is so where a device knows itself what lives
(``population_sequence``); elsewhere each run makes these calls anew, between such sequences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, HeapError
from ..heap.arrays import Array
from ..heap.blocks import Block, exit_of_block
from ..heap.heap import Heap, current_heap
from ..heap.population import Population
from ..heap.recording import Recorder, executing, is_taped, recorder, recording
from ..ir.births import NO_BIRTHS
from ..model.classes import Method
from ..model.types import ArrayType
from . import knobs
from .arguments import kept
from .fusion.steps import Parts, Recorded, StepFusion
from .geometry import Geometry
from .launch_sequence import LaunchSequence, RecordedLaunch
from .population_plan import ChangingLaunch, Planned, PopulationCall
from .population_sequence import PopulationSequence
from .vectorised import call, call_method

if TYPE_CHECKING:
    from .launch import Program

_BLOCK_OPEN = "its block has not ended", "call run() after the with statement"
_DROPPED = "its block ended with an error, which dropped what it had recorded", "capture again"


class Capture(Recorder):
    """What ``oa.capture()`` gives: a context manager that records the launches of its block on
    ``heap``, and what runs them afterwards."""

    made_by, known_as = "oa.capture()", "a capture"
    takes_foreign = True

    def __init__(self, heap: Heap) -> None:
        super().__init__(heap)
        self._specialises = knobs.specialise.value()
        self._records: list[Recorded] = []
        self._recorded: Sequence[Recorded] = ()
        self._fusion: StepFusion | None = None

    # ---------------------------------------------------------------- recording

    def _begins(self, outer: Recorder | None) -> bool:
        if outer is not None and not outer.is_lazy:
            raise HeapError(
                "oa.capture() inside a block of oa.capture() or oa.tape()",
                "end one block before the next; the captured steps can be run one after another",
            )
        self.heap.launch_deferred()
        return True

    @exit_of_block
    def __exit__(self, block: Block, kind: Any, error: Any, trace: Any) -> None:
        self._end()
        self._recorded, self._records = self._records, []
        if kind is None:
            self._fusion = StepFusion(self.heap, self._recorded, self._arranged)

    def _arranged(self, records: Sequence[Recorded]) -> Parts:
        """What a run does, part after part."""
        parts: Parts = []
        for record in records:
            if not isinstance(record, RecordedLaunch):
                parts.append(partial(self._call, record))
                continue
            if not parts or not isinstance(parts[-1], LaunchSequence):
                parts.append(LaunchSequence(self.heap))
            last = parts[-1]
            assert isinstance(last, LaunchSequence)
            last.add(record)
        for part in parts:
            if isinstance(part, LaunchSequence):
                part.end()
        known = [each for each in records if not callable(each)]
        is_settled = self.heap.memory.population_lists is None or len(known) < len(records)
        if is_settled or all(isinstance(each, RecordedLaunch) for each in records):
            return parts
        every = [_planned(each) if isinstance(each, RecordedLaunch) else each for each in known]
        each_anew = partial(_run_parts, self.heap, parts)
        return [PopulationSequence(self.heap, every, self._specialises, each_anew)]

    def _call(self, record: ChangingLaunch | PopulationCall | Callable[[], Any]) -> None:
        """Do what a run does with a look at the heap."""
        if isinstance(record, PopulationCall):
            call_method(record.objects, record.method, [*record.given])
        elif isinstance(record, ChangingLaunch):
            # Without arrays among its arguments it is launched on the current heap.
            with self.heap:
                launch = record.program.launcher(record.geometry)
                launch(*record.arguments, mode=record.mode, debug=record.debug)
        else:
            record()

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
        is_compiled = heap.backend.name != "python"
        if is_compiled and program.uses().births:
            if not geometry.is_empty:
                arguments = program.plan.kept(arguments)
                changing = ChangingLaunch(program, geometry, arguments, mode, debug)
                self._records.append(changing)
            return
        settings = own_settings(heap, mode, debug)
        plan = program.plan
        values = plan.kept(arguments) if is_compiled else plan.host_values(arguments)
        launch = RecordedLaunch(program, geometry, values, *settings, slots, self._specialises)
        if is_compiled:
            with program.lock:
                launch.bind(heap)
        if geometry.is_empty:
            return
        self._records.append(launch)

    def record_population_call(
        self, objects: Population, method: Method, given: tuple[Any, ...]
    ) -> None:
        """Remember a call of a method, without results, on all objects of a class that live in
        each run."""
        types = method.signature.types
        if any(
            isinstance(value, Array) and not isinstance(type, ArrayType)
            for value, type in zip(given, types, strict=True)
        ):
            # An array with an element for each object has as many as there are now.
            # By position where that may be: the method may have other names when it runs.
            names, most = method.signature.names, method.signature.most_by_position
            first, named = given[:most], dict(zip(names[most:], given[most:], strict=True))
            self.record_call(lambda: call(objects, method.name, first, named))
        else:
            where = f"kernel {method.owner.name}.{method.name}, argument "
            given = kept(method.signature, given, where)
            self._records.append(PopulationCall(objects, method, given))

    def record_call(self, call: Callable[[], Any]) -> None:
        """Remember something that every run is to do anew, and to look at the heap for."""
        self._records.append(call)

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
        count = count_of(n)
        fusion = self._made("run")
        if recording.get() is None:
            self.heap.launch_deferred()
            fusion.run(count, self._run)
            return
        if is_taped(self.heap):
            for _ in range(count):
                self._run_one_by_one()
            return
        outer = recorder()
        if outer is not None and not outer.is_lazy:
            raise HeapError(
                "a captured step is run inside a block of oa.capture(), which records launches",
                "launch its kernels in the block, or run it after the block",
            )
        with executing(self.heap):
            fusion.run(count, self._run)

    def _made(self, what: str) -> StepFusion:
        """What the block came to. Raises HeapError if it has not ended, or failed."""
        if self._fusion is None:
            has_failed = self._was_entered and not self.is_recording
            reason, help = _DROPPED if has_failed else _BLOCK_OPEN
            raise HeapError(f"a captured step cannot {what}: {reason}", help)
        return self._fusion

    def _run(self, parts: Parts, count: int) -> None:
        if len(parts) == 1 and isinstance(parts[0], LaunchSequence):
            parts[0].run(count)
            return
        for _ in range(count if parts else 0):
            _run_parts(self.heap, parts)

    def _run_one_by_one(self) -> None:
        """Launch as if nothing was captured: somebody has a record of each launch."""
        for record in self._recorded:
            if isinstance(record, RecordedLaunch):
                record.launch()
            else:
                self._call(record)

    def explain(self) -> str:
        """Which launches are one, and why the others are not: a line for each, with the field and
        the lines that forbid it.

        Raises HeapError in the block or after one that failed.
        """
        return self._made("be explained").explain()


def _run_parts(heap: Heap, parts: Parts) -> None:
    # Where a device plans runs nothing moves amid them, so it does not elsewhere.
    with heap.upkeep.still():
        for part in parts:
            part.run(1) if isinstance(part, LaunchSequence) else part()


def _planned(launch: RecordedLaunch) -> Planned:
    program, geometry = launch.program, launch.geometry
    threads = math.prod(geometry.threads)
    settings = launch.mode.name, launch.debug
    arguments = launch.arguments
    return Planned(program, NO_BIRTHS, arguments, (), threads, settings, geometry)


def count_of(n: Any) -> int:
    """How often ``run(n)`` runs a step. Raises ArgumentError for what is no such number."""
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
