"""The shadow table: which threads of a launch have touched which scalars (debug mode).

A table of entries, found by hashing a scalar's address. An entry belongs to one scalar for one
launch of one kernel, and knows who read it, who wrote it and who accessed it atomically: of each
kind one thread, and one other. All others find it occupied for as long as the launch lasts, try a
few more entries, and are not noted: a race may be missed, but none is told that is none.
"""

from __future__ import annotations

import numpy as np

ENTRY_BYTES = 256
ENTRIES = 1 << 18
TABLE_BYTES = ENTRIES * ENTRY_BYTES
PROBES = 4
"""Entries that a scalar may have, one after another."""

READS, WRITES, ATOMICS = 0, 1, 2
ACCESSES = 2
"""Accesses of each kind that an entry knows: one of a thread, and one of another thread."""

ACCESS_DTYPE = np.dtype(
    [
        ("thread", np.uint64),
        ("block", np.uint64),
        ("value", np.uint64),
        ("site", np.uint32),
        ("phase", np.uint32),
    ]
)
"""``thread`` and ``block``: x, and y in the upper half. ``value``: the bits that were written.
``site``: the number of the place in the source, plus 1; 0 if there is no such access. ``phase``:
how many barriers the thread had passed, times 2; plus 1 if the write changed what was there."""

ENTRY_DTYPE = np.dtype(
    {
        "names": ["lock", "address", "owner", "launch", "accesses"],
        "formats": [np.uint32, np.uint64, np.uint64, np.int64, (ACCESS_DTYPE, (3, ACCESSES))],
        "offsets": [0, 8, 16, 24, 32],
        "itemsize": ENTRY_BYTES,
    }
)
"""``owner``: address of the kernel's error record, whose ``launch`` it is of."""
