"""Which launches of a captured step pack threads (``packing``).

Once a step has run for a while, code for the other way is compiled beside it. Then its runs are
compared: each launch that may pack is made ready both ways, apart from the others, and goes one way
or the other, timed by the device, until all are decided. To compare takes as long as a hundred runs
of a short step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..backends.base import Backend, Recordable
from ..uninterrupted import uninterrupted
from . import background
from .packing import Comparison, make_beside, may_pack
from .specialisation import Verdict

if TYPE_CHECKING:
    from ..heap.heap import Heap
    from .binding import Binding
    from .launch_sequence import RecordedLaunch

_FIRST, _TIMES_LATER = 128, 4
"""Runs before the first comparison, and how many times as many there are before each next one."""
_UNTIL_COMPILED = 16
"""Runs between looks for whether code is there."""
_NEVER = 1 << 62


class PackedSteps:
    """Of one sequence of launches. All of it happens under the locks of its programs."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._runs, self._wait, self._look_at = 0, _FIRST, _FIRST
        self._tasks: list[background.Task] | None = None
        self._parts: list[_Together | _Compared] | None = None

    @property
    def is_comparing(self) -> bool:
        return self._parts is not None

    def drop(self) -> None:
        """Launches are bound anew: what was compared, or compiled for that, may be no more."""
        self._parts = self._tasks = None

    def stop(self) -> None:
        """Nothing is compared, and the heap is not kept: launches have no arguments between runs,
        with which they would be made ready another way."""
        self._look_at = _NEVER
        del self._heap

    @property
    def until_due(self) -> int:
        """How many runs may be until launches are looked at."""
        return max(1, self._look_at - self._runs)

    def is_due(self, runs: int) -> bool:
        """Whether launches are to be looked at after so many ``runs`` more."""
        self._runs += runs
        return self._runs >= self._look_at and self._parts is None

    def begin(self, launches: Sequence[RecordedLaunch]) -> list[Binding]:
        """Compare the next runs, if there is code for it. What launches may go on then, beside what
        they are bound to."""
        self._look_at = self._runs + _UNTIL_COMPILED
        may = [each for each in launches if _may(self._heap, each)]
        if not may:
            self._wait_longer()
            return []
        if background.is_on():
            if self._tasks is None:
                self._tasks = [_submit(self._heap, each) for each in dict.fromkeys(may)]
            if any(task.is_pending for task in self._tasks):
                return []
            if any(task.is_dropped or task.failure is not None for task in self._tasks):
                may = []  # the step goes on as it is
        self._tasks = None
        try:
            return self._compare(launches, may)
        except Exception:  # a step does not fail as code does that it does not need
            self.drop()
            self._wait_longer()
            return []

    def _compare(
        self, launches: Sequence[RecordedLaunch], may: Sequence[RecordedLaunch]
    ) -> list[Binding]:
        ways: dict[RecordedLaunch, _Compared] = {}
        others = []
        for launch in dict.fromkeys(may):
            usual = launch.binding
            assert usual is not None
            try:
                other = launch.bind(self._heap, [usual.counted], packs=not launch.packs)
                if _differ_in_packing_alone(usual, other):
                    ways[launch] = _Compared(self._heap, launch, usual, other)
                    others.append(other)
            finally:
                launch.binding = usual
        self._parts = self._cut(launches, ways) if ways else None
        if not ways:
            self._wait_longer()
        return others

    def _cut(
        self, launches: Sequence[RecordedLaunch], ways: dict[RecordedLaunch, _Compared]
    ) -> list[_Together | _Compared]:
        parts: list[_Together | _Compared] = []
        together: list[Recordable] = []
        for launch in launches:
            compared = ways.get(launch)
            if compared is None:
                together += launch.prepared(self._heap)
                continue
            if together:
                parts.append(_Together(self._heap.backend.record(together)))
                together = []
            parts.append(compared)
        if together:
            parts.append(_Together(self._heap.backend.record(together)))
        return parts

    def run(self) -> bool:
        """Run the step once. Whether all launches are decided, and some are to be bound anew."""
        assert self._parts is not None
        with uninterrupted:  # else a step could stop half-way, which is one graph otherwise
            for part in self._parts:
                part.run(self._heap.backend)
        compared = [each for each in self._parts if isinstance(each, _Compared)]
        if any(each.verdict is None for each in compared):
            return False
        changed = False
        for each in compared:
            assert each.verdict is not None
            changed |= each.launch.packs != each.verdict.is_better
            each.launch.packs = each.verdict.is_better
        self.drop()
        self._wait_longer()
        return changed

    def _wait_longer(self) -> None:
        self._runs, self._wait = 0, _TIMES_LATER * self._wait
        self._look_at = self._wait


class _Together:
    """Launches that are replayed as they are."""

    def __init__(self, ready: Any) -> None:
        self._ready = ready

    def run(self, backend: Backend) -> None:
        backend.replay(self._ready, 1)


class _Compared:
    """A launch that goes two ways."""

    def __init__(self, heap: Heap, launch: RecordedLaunch, usual: Binding, other: Binding) -> None:
        self.launch = launch
        self.verdict: Verdict | None = None
        self._comparison = Comparison(usual)
        program, backend = launch.program, heap.backend
        #: What starts it without packed threads, and with them.
        self._starts = [
            backend.prepare(program.prepared(heap, each.unit, launch.geometry, launch.slots))
            for each in sorted((usual, other), key=lambda binding: binding.is_packed)
        ]

    def run(self, backend: Backend) -> None:
        if self.verdict is not None:
            self._starts[self.verdict.is_better]()
            return
        trial = self._comparison.trial
        side = int(trial.is_turn_of_variant)
        self.verdict = self._comparison.run(side, 0, self._starts[side], backend.timed)
        trial.next_binding()


def _may(heap: Heap, launch: RecordedLaunch) -> bool:
    """Whether the code of a launch has a first test, and nothing else is launched around it."""
    binding = launch.binding
    if binding is None or not binding.is_settled or launch.births is not None:
        return False
    if launch.before or launch.after or not may_pack(heap, launch.geometry):
        return False
    if not launch.program.may_specialise(heap, launch.debug):
        return False
    return any(binding.unit.compilation.job.facts.asked("packs"))


def _differ_in_packing_alone(usual: Binding, other: Binding) -> bool:
    """Whether launches may go on either: their slots hold the same for both."""
    return (
        other.is_packed != usual.is_packed
        and other.is_settled
        and other.run_places == usual.run_places
        and other.stores_fields == usual.stores_fields
    )


def _submit(heap: Heap, launch: RecordedLaunch) -> background.Task:
    binding = launch.binding
    assert binding is not None
    program, unit, known, packs = launch.program, binding.unit, heap.weak, not launch.packs
    return background.submit(
        lambda task: make_beside(program, unit, known, packs), background.Urgency.TRIAL
    )
