"""Code for where a program's objects lie, and code for objects wherever they lie.

In mode ``auto`` code compares addresses with where ranges begin, which is quicker than to look them
up, and is of no use when a class has got another range. Where kernels make objects that happens
again and again, and to compile takes as long as many launches. On such heaps *general* code, which
looks addresses up in the tree of ranges and is always right, is compiled beside the first launches
(``background``). When there are other ranges launches go on with it at once, and code for these is
compiled beside them; when it is there the layout epoch is raised, and whoever launches next looks
at everything and finds it. Launches begin with general code, too, where an earlier process left
that on disk and none for where objects lie, as it had got these clusters later.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from dispatch.dataclass import dataclass, field
from ptxpass.ir import Ranges

from ..forks import renew_in_child
from ..heap.heap import Heap
from ..ir.job import Uses
from . import background
from .background import Urgency

if TYPE_CHECKING:
    from .launch import Program
    from .unit import Unit

GENERAL = Ranges()
MOST_TIMES = 8
"""How often code for other ranges is compiled beside the launches of a program on a heap."""


class _Wanted(NamedTuple):
    ranges: Ranges
    task: background.Task


@dataclass(eq=False)
class _Known:
    """Of one program on one heap."""

    #: For which launches may have code.
    ranges: set[Ranges] = field(default_factory=set)
    #: For which there will be when all that is being compiled for the heap is there.
    ready: set[Ranges] = field(default_factory=set)
    #: By the unit that launches go on meanwhile.
    wanted: WeakKeyDictionary[Unit, _Wanted] = field(default_factory=WeakKeyDictionary)
    left: int = MOST_TIMES


_known: WeakKeyDictionary[Heap, WeakKeyDictionary[Uses, _Known]] = WeakKeyDictionary()
_growing: WeakSet[Heap] = WeakSet()
_lock = renew_in_child(threading.Lock())
"""Guards both, and what they hold."""


def note_births(heap: Heap) -> None:
    """Kernels make or end objects of the heap."""
    if heap not in _growing:
        with _lock:
            _growing.add(heap)


def for_code(heap: Heap, uses: Uses, ranges: Ranges) -> Ranges:
    """Which ranges code is to know, where objects that a program may meet lie in these."""
    with _lock:
        known = _of(heap, uses)
        if known.ranges and ranges not in known.ranges and _makes_both(heap):
            return GENERAL
        known.ranges.add(ranges)
        return ranges


def may_begin_general(heap: Heap, uses: Uses, ranges: Ranges) -> bool:
    """Whether launches of a program without code may have general code first, where objects that it
    may meet lie in these ranges."""
    return _makes_both(heap) and for_code(heap, uses, ranges) != GENERAL


def begin_general(heap: Heap, uses: Uses) -> None:
    """Launches of a program have general code, and no other."""
    with _lock:
        _of(heap, uses).ranges = {GENERAL}


def prepare(program: Program, heap: Heap, unit: Unit, ranges: Ranges) -> None:
    """Launches go on ``unit`` now, and objects lie in these ranges: have code compiled that they
    will want next."""
    asked = [answer for _, answer in unit.compilation.job.facts.asked("ranges")]
    if not asked or not _makes_both(heap):
        return
    uses, wanted = program.uses(), ranges if asked == [GENERAL] else GENERAL
    with _lock:
        known = _of(heap, uses)
        before = known.wanted.get(unit)
        if before is not None and before.task.is_dropped:  # by a fork, of which this is the child
            before = None
        if wanted in known.ranges or not known.left:
            return
        if before is not None and before.ranges == wanted:
            return
        if before is not None:
            before.task.drop()
        known.left -= wanted != GENERAL
        weak = heap.weak

        def make(task: background.Task) -> None:
            heap = weak()
            if heap is not None and not task.is_dropped:
                try:
                    program.make_ready(unit, heap, ranges=wanted)
                    known.ready.add(wanted)
                finally:
                    _take_over(heap, task)

        urgency = Urgency.NEEDED if wanted == GENERAL else Urgency.LAYOUT
        known.wanted[unit] = _Wanted(wanted, background.submit(make, urgency))


def _take_over(heap: Heap, task: background.Task) -> None:
    """A task has ended. If it was the last one, launches find what there is; before, each would
    have captured steps planned anew."""
    with _lock:
        programs = [*_known.get(heap, {}).values()]
        tasks = (each.task for program in programs for each in program.wanted.values())
        if any(each.is_pending and each is not task for each in tasks):
            return
        is_new = False
        for program in programs:
            is_new |= not program.ready <= {*program.ranges, GENERAL}
            program.ranges |= program.ready
            program.ready.clear()
    if is_new:
        with heap.lock:
            heap.books.change_code()


def _of(heap: Heap, uses: Uses) -> _Known:
    return _known.setdefault(heap, WeakKeyDictionary()).setdefault(uses, _Known())


def _makes_both(heap: Heap) -> bool:
    return heap in _growing and background.is_on()
