"""The way back through a block that did what blocks before did, started as one.

Its launches have the arguments of those before: words of the tape and adjoints lie where they lay.
So they are recorded once, with the copies between them that put memory back, and only looked at
before each run (``placed_launches``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.base import MemoryCopy
from ..heap.arrays import ObjectArray
from ..heap.heap import Heap
from .gradients import TapedLaunch
from .heap_state import Saved
from .launch_sequence import RecordedLaunch
from .launch_settings import own_settings
from .legs import LegEvents, one_by_one
from .placed_launches import PlacedLaunches

Event = TapedLaunch | Saved


class WayBack(PlacedLaunches):
    """The launches of a block, newest first."""

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

    def run_on(self, heap: Heap, events: Sequence[Event | LegEvents], distance: int) -> None:
        """Run it on the heap, with events as those that it was made of, in the same places."""
        given: list[tuple[Any, ...]] = []
        for event in reversed(events):
            if isinstance(event, LegEvents):
                given += reversed(event.given)
            elif isinstance(event, TapedLaunch):
                given.append(event.arguments)

        def arguments() -> list[tuple[Any, ...]]:
            launches = [e for e in reversed(one_by_one(events)) if isinstance(e, TapedLaunch)]
            return [each.reverse_arguments(distance) for each in launches]

        self.run_with(heap, given, arguments)


def can_be_one(heap: Heap, events: Sequence[Event | LegEvents], end: Saved | None) -> bool:
    """Whether nobody has to look at anything between the launches of a way back. ``end``: what is
    put back first."""
    if heap.debug or heap.upkeep.is_shared or not (end is None or end.is_known_now):
        return False
    has_launches, changes = False, heap.distinct.changes
    for event in events:
        if isinstance(event, Saved):
            if not event.is_known_now:
                return False
            continue
        has_launches = True
        if isinstance(event, LegEvents):
            if event.changes != changes:
                return False
        # Of these all that lists hold would be looked at.
        elif _calls_all(event):
            return False
    return has_launches


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
