"""The error record: how a kernel tells the host what went wrong.

64 bytes of zeros in heap memory, written by the first thread that changes ``flag`` from 0 to 1 (a
compare-and-exchange); every later report is dropped.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

RECORD_DTYPE = np.dtype(
    {
        "names": ["flag", "code", "site", "thread_x", "thread_y", "value", "extra"],
        "formats": [np.uint32, np.uint32, np.int64, np.int64, np.int64, np.uint64, np.int64],
        "offsets": [0, 4, 8, 16, 24, 32, 40],
        "itemsize": 64,
    }
)


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
