"""The error record: how a kernel tells the host what went wrong.

128 bytes of zeros in heap memory, written by the first thread that changes ``flag`` from 0 to 1 (a
compare-and-exchange); every later report is dropped. The last two words are no part of the report:
they tell launches apart in debug mode (``shadow``), and stay.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

RECORD_DTYPE = np.dtype(
    {
        "names": [
            "flag", "code", "site", "thread_x", "thread_y", "value", "extra", "other_site",
            "other_thread", "launch", "finished",
        ],
        "formats": [
            np.uint32, np.uint32, np.int64, np.int64, np.int64, np.uint64, np.int64, np.int64,
            np.uint64, np.int64, np.int64,
        ],
        "offsets": [0, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72],
        "itemsize": 128,
    }
)  # fmt: skip
"""``other_thread``: x, and y in the upper half. ``launch``: how many launches of the kernel there
were; ``finished``: on GPUs, how many threads of the one under way have ended."""
REPORT_BYTES = 64
"""What is cleared of a record that was read."""


class ErrorCode(IntEnum):
    """What happened, and what ``value`` and ``extra`` of the record then hold."""

    NULL = 1
    """A null receiver or reference."""
    FOREIGN = 2
    """``value``: a reference to no object of this heap."""
    FREED = 3
    """``value``: a reference to an object that was deleted."""
    INDEX = 4
    """``value``: the index; ``extra``: the length."""
    DIVISION_BY_ZERO = 5
    ASSERTION = 6
    RANGE_STEP_ZERO = 7
    NO_METHOD = 8
    """``value``: a reference to an object of none of the classes that the call knows."""
    NEGATIVE_EXPONENT = 9
    """``value``: the exponent."""
    WRONG_CLASS = 10
    """``value``: a reference to an object of another class than the declared one; ``extra``: the
    type index of that."""
    RECURSION = 11
    """The stack had no room for another call."""
    ADDRESS = 12
    """``value``: an address that the kernel used and nobody has memory at."""
    MEMORY = 13
    """``value``: an address behind which the system had no memory."""
    ARITHMETIC = 14
    """An operation of the processor that has no result."""
    RACE = 15
    """``value``: what ``site`` says of it, an object's address or an index; ``extra``: the kinds of
    the two accesses (``shadow``), the other one's in the upper half; ``other_site`` and
    ``other_thread``: where and who."""
    ROOM = 16
    """There was no place for another object; ``value``: the type index of its class."""
