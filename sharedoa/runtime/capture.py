"""``oa.capture()``: a sequence of launches, recorded once and run as often as one likes.

    with oa.capture() as step:
        plan[n](vehicles, seed)
        advance[n](vehicles)
    step.run(1000)

Launches whose objects are those that they were given follow one another without a look by the host
(``launch_sequence``). Between such sequences stand calls that each run makes anew: launches that
make or end objects, and methods of ``oa.all(C)``, which are called on those that live then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, HeapError
from ..heap.blocks import Block, entered, exit_of_block
from ..heap.heap import Heap, current_heap
from ..heap.living import births_of
from ..heap.recording import recorder, recording
from . import knobs
from .geometry import Geometry
from .launch_sequence import LaunchSequence, RecordedLaunch

if TYPE_CHECKING:
    from .launch import Program

_BLOCK_OPEN = "its block has not ended", "call run() after the with statement"
_DROPPED = "its block ended with an error, which dropped what it had recorded", "capture again"


class Capture:
    """What ``oa.capture()`` gives: a context manager that records the launches of its block on
    ``heap``, and what runs them afterwards."""

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        self._specialises = knobs.specialise.value()
        self._parts: list[LaunchSequence | Callable[[], Any]] = []
        self._unready: tuple[str, str] | None = _BLOCK_OPEN
        self._block: Block | None = None

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
            self._parts.clear()
            return
        for part in self._parts:
            if isinstance(part, LaunchSequence):
                part.end()
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
        is_compiled = heap.backend.name != "python"
        if is_compiled and program.uses().births:
            births_of(heap)
            self.record_call(lambda: self._launch(program, geometry, arguments, mode, debug))
            return
        settings = own_settings(heap, mode, debug)
        values = arguments if is_compiled else program.plan.host_values(arguments)
        launch = RecordedLaunch(program, geometry, values, *settings, slots, self._specialises)
        if is_compiled:
            with program.lock:
                launch.bind(heap)
        if geometry.is_empty:
            return
        if not self._parts or not isinstance(self._parts[-1], LaunchSequence):
            self._parts.append(LaunchSequence(heap))
        last = self._parts[-1]
        assert isinstance(last, LaunchSequence)
        last.add(launch)

    def record_call(self, call: Callable[[], Any]) -> None:
        """Remember something that every run is to do anew, and to look at the heap for."""
        self._parts.append(call)

    def _launch(
        self,
        program: Program,
        geometry: Geometry,
        arguments: tuple[Any, ...],
        mode: Any,
        debug: Any,
    ) -> None:
        # Without arrays among its arguments it is launched on the current heap.
        with self.heap:
            program.launcher(geometry)(*arguments, mode=mode, debug=debug)

    # ---------------------------------------------------------------- running

    def run(self, n: int = 1) -> None:
        """Run the recorded launches in their order, ``n`` times. Returns at once where the backend
        can; what goes wrong in a kernel is raised as DeviceError by whatever waits for it. Launches
        that make or end objects are waited for.

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
        parts = self._parts
        if len(parts) == 1 and isinstance(parts[0], LaunchSequence):
            parts[0].run(count)
            return
        for _ in range(count if parts else 0):
            for part in parts:
                part.run(1) if isinstance(part, LaunchSequence) else part()


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
