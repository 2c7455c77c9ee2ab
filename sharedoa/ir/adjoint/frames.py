"""What a thread keeps for the way back: frames of words on its tape.

A function has a frame, and so has each round of a loop. What a function keeps of its callees lies
within its frame where it is known how much that is; so do the rounds of a loop whose number is
known. Other frames are taken from the end of the tape, and the number of their first word is kept.
"""

from __future__ import annotations

from collections.abc import Hashable

from dispatch.dataclass import dataclass, field

from ..core import Operation, Value, type_of
from .leaves import words


@dataclass(eq=False)
class Frame:
    """The words of a frame that are given out so far."""

    size: int = 0
    #: By value, or by what else a word is kept for, the number of the first word.
    places: dict[Hashable, int] = field(default_factory=dict)
    #: Numbers of the terminators with which what has the frame may end, in order.
    ends: dict[Operation, int] = field(default_factory=dict)

    def word(self, what: Hashable, count: int = 1) -> int:
        """The first of ``count`` words kept for something."""
        found = self.places.get(what)
        if found is None:
            found = self.places[what] = self.size
            self.size += count
        return found

    def place(self, value: Value) -> int:
        """Where a value is kept."""
        return self.word(value, words(type_of(value)))


#: What words are kept for beside values: which terminator ended a round or a function; the frame of
#: the round before; and by operation the frame of a loop's last round, how the loop ended, and the
#: frame of what was called.
END, PREVIOUS = "end", "previous"


def last_of(loop: Operation) -> Hashable:
    return "last", loop


def ended_of(loop: Operation) -> Hashable:
    return "ended", loop


def callee_of(call: Operation) -> Hashable:
    return "callee", call


def rounds_at(loop: Operation) -> Hashable:
    """The rounds of a loop, where they lie within a frame."""
    return "rounds", loop


NO_FRAME = -1
#: How a loop ended: no round was left, by a break, by a return.
EXHAUSTED, BROKEN, RETURNED = 0, 1, 2
