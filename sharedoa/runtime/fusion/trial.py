"""Whether several launches as one are worth it, found out once and remembered.

On a processor the launches are timed by themselves and as one, in turns, before one of both is
chosen. On a device launches return before they have run; there the registers and the stack of the
code tell: as one they must not spill what they do not spill by themselves, nor leave room for fewer
threads than the one of them that leaves least. Small launches that share one fill no device
(``beside``), so these need no room.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from ...backends import Backend
from ...errors import BackendError
from ...heap.heap import Heap
from ...targets.ptxas import assemble
from .. import knobs
from ..unit import Unit

#: Whether they are one in each of the first runs; the first of a kind may compile.
_TURNS = (False, False, True, True, False, True, False, True)
_FIRST = (0, 2)
_SLOWER = 1.02
"""How many times as long one launch may take: clocks are not exact."""
_REGISTERS, _WARP_REGISTERS, _MOST_WARPS = 65536, 256, 64
"""Of a multiprocessor: registers, of which a warp gets a multiple, and warps."""


class Trial:
    """Of one choice of launches. ``pays``: None as long as nobody knows. ``needs_room``: whether
    it matters for how many threads there is room beside each other."""

    def __init__(self, heap: Heap, needs_room: bool = True) -> None:
        self._needs_room = needs_room
        self._is_timed = not heap.backend.target.is_device
        self.pays: bool | None = True if knobs.fuse.value() == "always" else None
        self.reason = ""
        self._seconds: dict[bool, list[float]] = {False: [], True: []}
        self._run = 0
        self._use: Callable[[Unit], _Use | None] = partial(_Use.of, heap.backend)
        self._apart: Sequence[Unit] = ()

    @property
    def is_next_one(self) -> bool:
        """Whether the next run is to be with one launch."""
        if self.pays is not None:
            return self.pays
        return self._turn() if self._is_timed else self._run > 0

    def _turn(self) -> bool:
        # Another thread that runs the same may have come to the end meanwhile.
        return _TURNS[min(self._run, len(_TURNS) - 1)]

    def run(self, launch: Callable[[], None], units: Callable[[bool], Sequence[Unit]]) -> None:
        """Run ``launch``, which is the one that ``is_next_one`` says; ``units``: what ran last by
        themselves (False) or as one (True)."""
        if self.pays is not None:
            launch()
            return
        run, turn = self._run, self._turn()
        before = time.perf_counter()
        launch()
        seconds = time.perf_counter() - before
        if not self._is_timed:
            self._apart = self._apart or units(False)
            self._run += 1
            if self._run > 1:
                self._judge_code(self._apart, units(True))
            return
        if run not in _FIRST:
            self._seconds[turn].append(seconds)
        self._run = run + 1
        if self._run >= len(_TURNS) and all(self._seconds.values()):
            self._judge_times()

    def _judge_times(self) -> None:
        apart, one = min(self._seconds[False]), min(self._seconds[True])
        self.pays = one <= _SLOWER * apart
        self.reason = f"{one * 1e6:.0f} us as one launch, {apart * 1e6:.0f} us by themselves"

    def _judge_code(self, apart: Sequence[Unit], one: Sequence[Unit]) -> None:
        before, after = [*map(self._use, apart)], [*map(self._use, one)]
        known = [each for each in before if each is not None]
        now = [each for each in after if each is not None]
        if len(known) < len(before) or len(now) < len(after) or not (known and now):
            self.pays = True  # nothing speaks against it
            return
        spills = max(each.stack for each in now) > max(each.stack for each in known)
        fewest = min(each.warps for each in known)
        registers = max(each.registers for each in now)
        has_room = not self._needs_room or all(each.warps >= fewest for each in now)
        self.pays = not spills and has_room
        self.reason = f"{registers} registers as one launch"
        if spills:
            self.reason += ", some of them in memory"


class _Use:
    """What a thread of a kernel uses."""

    def __init__(self, registers: int, stack: int) -> None:
        self.registers, self.stack = registers, stack
        each = -(-max(1, registers) * 32 // _WARP_REGISTERS) * _WARP_REGISTERS
        #: That fit on a multiprocessor side by side.
        self.warps = min(_MOST_WARPS, _REGISTERS // each)

    @classmethod
    def of(cls, backend: Backend, unit: Unit) -> _Use | None:
        """By the driver, else by ptxas; None if neither knows."""
        found = backend.attributes(unit.handle)
        if found:
            return cls(found["registers"], found["stack"])
        ptx = unit.compilation.products.get("ptx")
        architecture = getattr(unit.compilation.job.target, "architecture", None)
        if not isinstance(ptx, str) or architecture is None:
            return None
        try:
            report = assemble(ptx, architecture)
        except BackendError:
            return None
        return cls(report.registers, report.stack)
