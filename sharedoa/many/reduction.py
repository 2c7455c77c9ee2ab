"""Sums, minima and the like of arrays: a tree of partial results that depends on the length alone.

A *piece* of an array is ROWS rows of LANES elements, read row by row. What is in a column is
combined from top to bottom; then the right half of the columns with the left one, until one is
left. So neighbours in memory are read by neighbouring threads of a GPU, or by one vector
instruction of a processor. The results of pieces are an array that is reduced likewise.

Devices have plans of it (``reduction_plan``); processors go over it with NumPy (``on_host``).
"""

from __future__ import annotations

LANES, ROWS = 256, 32
PIECE = LANES * ROWS


def piece_counts(length: int) -> list[int]:
    """How many pieces a positive number of elements has, how many their results have, and so on
    until there is one."""
    counts = [-(-length // PIECE)]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // PIECE))
    return counts
