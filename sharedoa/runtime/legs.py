"""Legs of a course: launches that wait for each other, and are started as one.

Where a block's memory lies as that of one before did its launches have the arguments of those, so
they are recorded once, with the copies between them (``placed_launches``). The first legs are
short, so that the device begins while the block goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dispatch.dataclass import dataclass

from ..backends.base import MemoryCopy
from ..heap.arrays import ObjectArray
from ..heap.distinct_fields import Field
from ..heap.heap import Heap
from .gradients import TapedLaunch
from .heap_state import Saved
from .launch_sequence import RecordedLaunch
from .launch_settings import own_settings
from .placed_launches import PlacedLaunches
from .same_arguments import is_known_by_itself

_FIRST, _MOST = 4, 32
"""Launches of the first leg, and of the longest; each may have twice as many as the one before."""


class Leg(PlacedLaunches):
    """Launches of a block in a row."""

    def __init__(
        self,
        heap: Heap,
        events: Iterable[Saved | TapedLaunch],
        arguments: Sequence[tuple[Any, ...]],
    ) -> None:
        """``events``: launches, and copies that are made before them or at last; ``arguments``: all
        that each launch is given."""
        super().__init__(heap)
        copies: list[MemoryCopy] = []
        for event in events:
            if isinstance(event, Saved):
                copies += event.copies()
                continue
            program = event.gradient.forward
            assert program is not None
            given = arguments[len(self._launches)], *own_settings(heap, None, None)
            slots = program.plan.new_slots()
            made = RecordedLaunch(program, event.way.geometry, *given, slots, False)
            made.before, copies = copies, []
            self.add(made)
        made.after = copies
        self.end()


@dataclass(eq=False, slots=True)
class LegEvents:
    """What has happened in a block when a leg was launched: what its launches were ``given``, and
    which watched fields had changed when it began, and the bytes of their tapes and of copies."""

    given: Sequence[tuple[Any, ...]]
    changes: Mapping[Field, object]
    bytes: int
    #: Copies and launches one by one.
    events: Callable[[], list[Saved | TapedLaunch]]


def one_by_one(events: Iterable[Any]) -> list[Any]:
    """What has happened, with copies and launches in the place of legs."""
    pairs = ((each.events() if isinstance(each, LegEvents) else [each]) for each in events)
    return [each for pair in pairs for each in pair]


def can_wait_for_others(saved: Saved | None, taped: TapedLaunch | None) -> bool:
    """Whether a launch may be part of a leg: nobody looks at anything before it, nor notes what
    references are copied, its arguments are known by themselves, and it means the same whenever it
    begins."""
    if taped is None or (saved is not None and saved.has_references):
        return False
    if not all(is_known_by_itself(each) for each in taped.arguments):
        return False
    forward = taped.gradient.forward
    assert forward is not None
    # Of these all that lists hold would be looked at.
    return not (forward.source.calls_all and isinstance(taped.arguments[0], ObjectArray))


def cut(can_wait: Sequence[bool]) -> list[tuple[int, int]]:
    """Where legs begin and end in a course, by whether each launch may be part of one."""
    found, start, most = [], 0, _FIRST
    while start < len(can_wait):
        end = start
        while end < len(can_wait) and can_wait[end] and end - start < most:
            end += 1
        if end - start > 1:
            found.append((start, end))
            most = min(2 * most, _MOST)
        start = max(end, start + 1)
    return found
