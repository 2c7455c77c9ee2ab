"""The ``rand()`` of glibc, which the paper's programs build their inputs with."""

from __future__ import annotations

from collections import deque

RAND_MAX = 2**31 - 1


class GlibcRandom:
    """The additive feedback generator behind ``srand(seed)`` and ``rand()``: the same numbers on
    every platform."""

    def __init__(self, seed: int) -> None:
        word = seed & 0xFFFFFFFF
        # glibc reads the seed as a signed int, and takes 1 for 0, which would stay 0 for ever.
        state = [(word - (1 << 32) if word >> 31 else word) or 1]
        for _ in range(30):
            state.append(16807 * state[-1] % RAND_MAX)
        state += state[:3]
        self._state = deque(state, maxlen=31)
        for _ in range(310):
            self._advance()

    def _advance(self) -> int:
        state = self._state
        word = (state[-31] + state[-3]) & 0xFFFFFFFF
        state.append(word)
        return word

    @property
    def state(self) -> list[int]:
        """The words that the next number follows from, the oldest first."""
        return list(self._state)

    def rand(self) -> int:
        """The next number, 0 to ``RAND_MAX``."""
        return self._advance() >> 1
