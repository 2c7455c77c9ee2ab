"""Whether threads that go on at their first test are packed (``targets.packed_threads``).

That pays where few go on, and costs where many do, which is known when a program runs only, and
changes in the course of it. So launches that are large enough are compared from time to time: some
with packed threads and some without, in turns, timed by the device. Code for packed threads is
compiled beside them. Each comparison decides until the next one, twice as many launches later.
Which code runs has no effect on results.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..backends.base import Timing
from ..ir.storing import AT_ONCE
from . import background
from .geometry import Geometry
from .specialisation import Trial

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


class Packing:
    """Of one program. All of it happens under the program's lock."""

    def __init__(self) -> None:
        self._is_on = False
        self._trial: Trial | None = None
        self._task: background.Task | None = None
        #: Launches since the last comparison, and how many there are before the next one.
        self._launches, self._wait = 0, _FIRST
        self._look_at = _FIRST
        #: Launches that are timed, in their order: side and number of each.
        self._under_way: deque[tuple[int, int, Timing]] = deque()
        #: How many times as fast the last comparison found packed threads; 0 without one.
        self.speedup = 0.0

    def of_launch(self, heap: Heap, geometry: Geometry) -> bool:
        """Whether code for the next launch packs threads."""
        if not self._may(heap, geometry):
            return False
        return self._is_on if self._trial is None else self._trial.is_turn_of_variant

    def _may(self, heap: Heap, geometry: Geometry) -> bool:
        """A launch of one row, in blocks as the backend likes them, which fills the device if a
        thread is several."""
        (nx, ny), backend = geometry.threads, heap.backend
        if not (backend.target.is_device and geometry.is_usual and ny == 1):
            return False
        return bool(backend.keeps_busy((nx // AT_ONCE, 1), geometry.block))

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
        if heap is None or not binding.is_settled or not self._may(heap, geometry):
            return start
        if not any(unit.compilation.job.facts.asked("packs")):
            return start  # no thread ends at a first test
        trial = self._trial
        if trial is not None:
            side = trial.enter(binding, int(binding.is_packed))
            timed = heap.backend.timed
            return lambda: self._try(program, trial, side, number, start, timed)

        def counted() -> None:
            start()
            self._launches += 1
            if self._launches >= self._look_at and self._trial is None:
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
                    lambda task: _make(program, unit, known, packs), background.Urgency.TRIAL
                )
            if not self._task.is_done:
                return
            self._task = None
        self._trial = Trial(binding)
        self._under_way.clear()
        program.bind_next(None)

    def _try(
        self,
        program: Program,
        trial: Trial,
        side: int,
        number: int,
        start: Callable[[], None],
        timed: Callable[[Callable[[], None]], Timing],
    ) -> None:
        if self._trial is not trial or len(self._under_way) >= _MOST_TIMED:
            start()
        else:
            self._under_way.append((side, number, timed(start)))
        if self._trial is not trial:
            return
        while self._under_way and (seconds := self._under_way[0][2]()) is not None:
            side, number, _ = self._under_way.popleft()
            if math.isnan(seconds):
                self._decide(program, False, 0.0)
                return
            trial.note(side, number, seconds)
            verdict = trial.verdict(number)
            if verdict is not None:
                self._decide(program, verdict.is_better, verdict.speedup)
                return
        program.bind_next(trial.next_binding())

    def _decide(self, program: Program, is_on: bool, speedup: float) -> None:
        self._trial, self._is_on, self.speedup = None, is_on, speedup
        self._under_way.clear()
        self._launches, self._wait = 0, 2 * self._wait
        self._look_at = self._wait
        program.bind_next(None)


def _make(program: Program, unit: Unit, known: Callable[[], Heap | None], packs: bool) -> None:
    heap = known()
    if heap is not None:
        program.make_ready(unit, heap, packs=packs)
