"""What a launch was made ready for, and whether it still is: the one test, for all who launch.

What code rests on is in its job (``ir.job``), and ``Facts.still_hold`` asks it all again. As
long as nothing of the following has changed, that would give the same answers:

- the world epoch and the heap's layout epoch, which only grow, so that their sum tells;
- names that the program was made from (``bound_names``): binding them raises no epoch;
- the heap, and what the state block of the code holds: other launches may have filled it for them;
- which arguments are runs, and of what form;
- numbers among the arguments that are constants of the code (``specialisation``);
- which arguments are None, of those of which the code knows: quick launches take no None.

The first three are ``HOLDS``, an expression: a function for them would cost launches that are one
function of their own (``launch_code``) a tenth of all they do. The fourth is ``write_runs``, the
fifth ``FITS``; careful launches ask ``takes``, which is all about arguments. Launches whose
arguments stay the same compare the runs alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from dispatch.dataclass import dataclass, field

from ..backends.base import Slots
from ..heap.heap import Heap
from ..heap.run import Run
from ..model.classes import ClassType
from ..model.run_form import RunForm
from ..model.world import World
from . import clustering
from .bound_names import NO_NAMES, BoundNames
from .compared_clusters import Comparison
from .geometry import Geometry
from .specialisation import Constants
from .unit import Unit

_STARTS_KEPT = 256
Runs = tuple[tuple[int, RunForm], ...]
HOLDS = (
    "binding.epoch == World.epoch + heap.books.layout_epoch and binding.heap is heap.weak"
    " and binding.names.hold() and binding.unit.state is binding.state"
)
FITS = "binding.slots_view == binding.known_words"
"""Nothing is compared with nothing where there are no constants."""
_made: dict[str, Any] = {"World": World}
exec(f"def holds(binding, heap): return {HOLDS}", _made)


@dataclass(eq=False)
class Binding:
    """Where a launch goes: a heap, the unit made ready for it, the epochs up to which it is, and
    what the unit's state block holds, another list after every change."""

    heap: Callable[[], Heap | None]
    unit: Unit
    epoch: int
    state: list[int]
    #: Parameters that may be runs: the place of each, its first slot, and the run that it was.
    run_places: tuple[tuple[int, int, Run | None], ...] = ()
    #: Whether a launch may change elements of arrays of references.
    stores_references: bool = False
    #: Watched fields of references that it may change (``heap.distinct_fields``).
    stores_fields: frozenset[tuple[ClassType, str]] = frozenset()
    #: Names that the program was made from.
    names: BoundNames = NO_NAMES
    #: Whether arrays need not be looked at before the next launch (``ArgumentPlan``).
    are_arrays_settled: bool = True
    #: Whether the next launch may begin without a look: that, and it changes no populations.
    is_settled: bool = True
    #: What counts launches until that one which is to be looked at (``clustering``).
    counted: clustering.Launched | None = None
    #: Whether none but small launches need not be looked at, as none of others was.
    is_for_small: bool = False
    #: The words of arguments that are constants of the code, which launches compare, and these.
    slots_view: Any = None
    known_words: Any = None
    #: What it was given as constants, of which the code may know some.
    constants: Constants = ()
    #: Parameters of which the code knows whether they are objects or None, and which they are.
    objects: tuple[tuple[int, bool], ...] = ()
    #: Parameters, and their slots, that may be constants of later launches.
    watched: tuple[tuple[int, int], ...] = ()
    #: Whether its launches may be compared with others, of other code.
    is_compared: bool = False
    #: Whether its code is for blocks of whole warps only (``packing``).
    is_packed: bool = False
    #: For which comparison of clusters its launches are timed.
    compared: Comparison | None = None
    #: What starts the launches of each number, by ``Backend.prepare``.
    starts: dict[int, Callable[[], None]] = field(default_factory=dict)

    #: ``holds(heap)``: whether everything but the arguments is as it was.
    holds = _made["holds"]

    def __post_init__(self) -> None:
        #: Whether a launch is to be noted by more than that there was one.
        self.is_noted = self.stores_references or bool(self.stores_fields)

    @property
    def runs(self) -> Runs:
        found = ((place, run) for place, _, run in self.run_places)
        return tuple((place, run.form) for place, run in found if run is not None)

    def suits(self, geometry: Geometry) -> bool:
        """Whether a launch of so many threads may go the same way without being looked at."""
        if self.is_packed and not geometry.is_usual:
            return False
        if clustering.is_small(geometry):
            return self.is_settled
        return self.is_settled and not self.is_for_small and self.left > 0

    @property
    def left(self) -> float:
        """How many launches may be before one is to be looked at."""
        return math.inf if self.counted is None else self.counted.left

    def count(self) -> None:
        """One more launch went the same way; if the next one is to be looked at, nothing starts it
        without."""
        if self.counted is not None:
            self.counted.launches += 1
            if self.counted.left <= 0:
                self.starts.clear()

    def keep(self, number: int, geometry: Geometry, start: Callable[[], None]) -> None:
        """Launches of this number and geometry start so from now on, but for those with None: quick
        launches are given objects, for which there is other code."""
        if not all(is_object for _, is_object in self.objects):
            return
        if len(self.starts) >= _STARTS_KEPT:
            self.starts.clear()
        if self.counted is None or clustering.is_small(geometry):
            self.starts[number] = start
        elif self.counted.left > 0:
            self.starts[number] = partial(_start_and_count, start, self)

    def takes(self, slots: Slots, arguments: tuple[Any, ...]) -> bool:
        """Whether this was made for such arguments, which are packed in ``slots``. Where runs begin
        is written there."""
        is_known = bool(self.slots_view == self.known_words)
        for place, is_object in self.objects:
            is_known &= (arguments[place] is not None) == is_object
        return is_known and self.write_runs(slots, arguments)

    def write_runs(self, slots: Slots, arguments: tuple[Any, ...]) -> bool:
        """Write where the runs among ``arguments`` begin; False if other arguments are runs, or of
        another form, than this was made for."""
        for place, slot, known in self.run_places:
            run = arguments[place]._run
            if run is None or known is None:
                if run is not known:
                    return False
            elif run.form is known.form or run.form == known.form:
                slots[slot] = run.first
            else:
                return False
        return True


def _start_and_count(start: Callable[[], None], binding: Binding) -> None:
    start()
    binding.count()
