"""Whether threads that go on at their first test are packed (``targets.packed_threads``).

That pays where few go on, and costs where many do, which is known when a program runs only, and
changes in the course of it. So launches that are large enough are compared from time to time: some
with packed threads and some without, in turns, timed by the device. Code for packed threads is
compiled beside them. Each comparison decides until the next one, twice as many launches later.
Which code runs has no effect on results. Launches of captured steps are compared by
``packed_steps``.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..backends.base import Timing
from ..targets.packed_threads import ASKED_AT_ONCE
from . import background
from .geometry import Geometry
from .specialisation import Trial, Verdict

if TYPE_CHECKING:
    from ..heap.heap import Heap
    from .binding import Binding
    from .launch import Program
    from .unit import Unit

_FIRST = 256
"""Launches before the first comparison: constants are worth more, and compiled before."""
_UNTIL_COMPILED = 16
"""Launches between looks for whether code is there."""
_MOST_TIMED = 40
"""Launches that are timed and have not ended: the host may be far ahead."""


def may_pack(heap: Heap, geometry: Geometry) -> bool:
    """Whether it is a launch of one row, in blocks as the backend likes them, which fills the
    device if a thread is several."""
    (nx, ny), backend = geometry.threads, heap.backend
    if not (backend.target.is_device and geometry.is_usual and ny == 1):
        return False
    return bool(backend.keeps_busy((nx // ASKED_AT_ONCE, 1), geometry.block))


class Comparison:
    """Launches that are timed by the device, with packed threads (side 1) and without (side 0)."""

    def __init__(self, binding: Binding) -> None:
        self.trial = Trial(binding)
        #: Launches that have not ended, in their order: side and number of each.
        self._under_way: deque[tuple[int, int, Timing]] = deque()

    def run(
        self,
        side: int,
        number: int,
        start: Callable[[], None],
        timed: Callable[[Callable[[], None]], Timing],
    ) -> Verdict | None:
        """Launch. What the launches that have ended by now say of those of ``number``, if they are
        enough, or cannot be timed."""
        if len(self._under_way) >= _MOST_TIMED:
            start()
        else:
            self._under_way.append((side, number, timed(start)))
        while self._under_way and (seconds := self._under_way[0][2]()) is not None:
            side, number, _ = self._under_way.popleft()
            if math.isnan(seconds):
                return Verdict(False, 0.0)
            self.trial.note(side, number, seconds)
            verdict = self.trial.verdict(number)
            if verdict is not None:
                return verdict
        return None


class Packing:
    """Of one program. All of it happens under the program's lock."""

    def __init__(self) -> None:
        self._is_on = False
        self._comparison: Comparison | None = None
        self._task: background.Task | None = None
        #: Launches since the last comparison, and how many there are before the next one.
        self._launches, self._wait = 0, _FIRST
        self._look_at = _FIRST
        #: How many times as fast the last comparison found packed threads; 0 without one.
        self.speedup = 0.0

    def of_launch(self, heap: Heap, geometry: Geometry) -> bool:
        """Whether code for the next launch packs threads."""
        if not may_pack(heap, geometry):
            return False
        comparison = self._comparison
        return self._is_on if comparison is None else comparison.trial.is_turn_of_variant

    def started(
        self,
        program: Program,
        binding: Binding,
        number: int,
        geometry: Geometry,
        start: Callable[[], None],
    ) -> Callable[[], None]:
        """``start``, which starts launches of ``number`` with ``binding``, and compares them when
        it is time to."""
        heap, unit = binding.heap(), binding.unit
        if heap is None or not binding.is_settled or not may_pack(heap, geometry):
            return start
        if not any(unit.compilation.job.facts.asked("packs")):
            return start  # no thread ends at a first test
        comparison = self._comparison
        if comparison is not None:
            side = comparison.trial.enter(binding, int(binding.is_packed))
            timed = heap.backend.timed
            return lambda: self._try(program, comparison, side, number, start, timed)

        def counted() -> None:
            start()
            self._launches += 1
            if self._launches >= self._look_at and self._comparison is None:
                self._compare(program, binding)

        return counted

    def _compare(self, program: Program, binding: Binding) -> None:
        """Let the next launches be compared, if there is code for both."""
        self._look_at = self._launches + _UNTIL_COMPILED
        heap = binding.heap()
        if heap is None or program.specialisation.is_compiling:
            return
        if background.is_on():
            if self._task is None or self._task.is_dropped:
                unit, packs, known = binding.unit, not self._is_on, heap.weak
                self._task = background.submit(
                    lambda task: make_beside(program, unit, known, packs), background.Urgency.TRIAL
                )
            if not self._task.is_done:
                return
            failure, self._task = self._task.failure, None
            if failure is not None:  # launches go on as they are
                self._decide(program, Verdict(self._is_on, 0.0))
                return
        self._comparison = Comparison(binding)
        program.bind_next(None)

    def _try(
        self,
        program: Program,
        comparison: Comparison,
        side: int,
        number: int,
        start: Callable[[], None],
        timed: Callable[[Callable[[], None]], Timing],
    ) -> None:
        if self._comparison is not comparison:
            start()
            return
        verdict = comparison.run(side, number, start, timed)
        if verdict is None:
            program.bind_next(comparison.trial.next_binding())
        else:
            self._decide(program, verdict)

    def _decide(self, program: Program, verdict: Verdict) -> None:
        self._comparison, self._is_on = None, verdict.is_better
        self.speedup = verdict.speedup
        self._launches, self._wait = 0, 2 * self._wait
        self._look_at = self._wait
        program.bind_next(None)


def make_beside(
    program: Program, unit: Unit, known: Callable[[], Heap | None], packs: bool
) -> None:
    """Compile code like that of ``unit``, which packs threads or does not."""
    heap = known()
    if heap is not None:
        program.make_ready(unit, heap, packs=packs)
