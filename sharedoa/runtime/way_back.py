"""The way back through a block that did what blocks before did, started as one.

Its launches have the arguments of those before: words of the tape and adjoints lie where they lay.
So they are recorded once, with the copies between them that put memory back, and only looked at
before each run (``launch_sequence``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.base import MemoryCopy
from ..heap.arrays import ObjectArray
from ..heap.heap import Heap
from .binding import Binding
from .gradients import TapedLaunch
from .heap_state import Saved
from .launch_sequence import LaunchSequence, RecordedLaunch
from .launch_settings import own_settings

Event = TapedLaunch | Saved


class WayBack(LaunchSequence):
    """Between runs it keeps neither the heap nor anybody's arrays."""

    def __init__(
        self,
        heap: Heap,
        events: Sequence[Event],
        before: Sequence[MemoryCopy],
        after: Sequence[MemoryCopy],
        distance: int,
    ) -> None:
        """``events``: launches, of which there is one at least, and copies of what they were about
        to change, oldest first; ``before`` and ``after`` it all memory is copied; ``distance``:
        that of adjoints."""
        super().__init__(heap)
        copies = [*before]
        for event in reversed(events):
            if isinstance(event, Saved):
                copies += event.copies_back()
                continue
            made = _recorded(heap, event, distance)
            made.before, copies = copies, []
            self.add(made)
        made.after = [*copies, *after]
        self.end()
        self._forget()

    def run_on(self, heap: Heap, events: Sequence[Event], distance: int) -> None:
        """Run it on the heap, with events as those that it was made of, in the same places."""
        launches = [each for each in reversed(events) if isinstance(each, TapedLaunch)]
        for recorded, launch in zip(self._launches, launches, strict=True):
            recorded.arguments = launch.reverse_arguments(distance)
        self.heap = heap
        try:
            self.run(1)
        finally:
            self._forget()

    def _forget(self) -> None:
        del self.heap
        self._runs = []
        for launch in self._launches:
            launch.arguments = ()

    def _is_current(self) -> bool:
        if not self._bindings or not all(each.holds(self.heap) for each in self._bindings):
            return False
        pairs = zip(self._bound, self._launches, strict=True)
        return all(_has_runs(binding, launch.arguments) for binding, launch in pairs)


def can_be_one(heap: Heap, events: Sequence[Event], end: Saved | None) -> bool:
    """Whether nobody has to look at anything between the launches of a way back. ``end``: what is
    put back first."""
    copies = [*([] if end is None else [end]), *(e for e in events if isinstance(e, Saved))]
    launches = [each for each in events if isinstance(each, TapedLaunch)]
    if heap.debug or heap.upkeep.is_shared or not launches:
        return False
    if not all(each.is_known_now for each in copies):
        return False
    # Of these all that lists hold would be looked at.
    return not any(_calls_all(each) for each in launches)


def _recorded(heap: Heap, launch: TapedLaunch, distance: int) -> RecordedLaunch:
    program = launch.gradient.reverse
    assert program is not None
    arguments, slots = launch.reverse_arguments(distance), program.plan.new_slots()
    settings = own_settings(heap, launch.mode, None)
    return RecordedLaunch(program, launch.way.geometry, arguments, *settings, slots, False)


def _calls_all(launch: TapedLaunch) -> bool:
    reverse = launch.gradient.reverse
    assert reverse is not None
    return reverse.source.calls_all and isinstance(launch.arguments[0], ObjectArray)


def _has_runs(binding: Binding, arguments: tuple[Any, ...]) -> bool:
    """Whether the runs among the arguments begin where those did that it was made for."""
    for place, _, known in binding.run_places:
        run = arguments[place]._run
        if run is None or known is None:
            if run is not known:
                return False
        elif run.form != known.form or run.first != known.first:
            return False
    return True
