"""The ``rand()`` of glibc over NumPy arrays: millions of numbers at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from .glibc_random import GlibcRandom

Words = np.ndarray[Any, np.dtype[np.uint32]]

#: Word t is the sum of the words t - 31 and t - 3.
_LONG_LAG, _SHORT_LAG = 31, 3
#: Parts of the sequence that are computed side by side. (With a power of two, columns of the array
#: fall into few lines of the processor's cache.)
_PARTS = 1000


def rand_array(seed: int, count: int) -> Words:
    """The first ``count`` numbers, 0 to RAND_MAX, that ``rand()`` gives after ``srand(seed)``.

    The generator is linear modulo 2**32, so that a power of its matrix leads from the beginning of
    one part of the sequence to that of the next.
    """
    length = -(-count // _PARTS)
    words = np.empty((_LONG_LAG + length, _PARTS), np.uint32)
    jump = _power(_one_step(), length)
    state = np.array(GlibcRandom(seed).state, np.uint32)
    for part in range(_PARTS):
        words[:_LONG_LAG, part] = state
        state = jump @ state
    for t in range(_LONG_LAG, len(words)):
        np.add(words[t - _LONG_LAG], words[t - _SHORT_LAG], out=words[t])
    return (words[_LONG_LAG:] >> np.uint32(1)).T.ravel()[:count]


def _one_step() -> Words:
    matrix = np.eye(_LONG_LAG, k=1, dtype=np.uint32)
    matrix[-1, [0, _LONG_LAG - _SHORT_LAG]] = 1
    return matrix


def _power(matrix: Words, exponent: int) -> Words:
    """Modulo 2**32."""
    result = np.eye(len(matrix), dtype=np.uint32)
    while exponent:
        if exponent & 1:
            result = result @ matrix
        matrix = matrix @ matrix
        exponent >>= 1
    return result
