"""Which launches of a run a profiler looks at, and for how many each of them stands."""

from __future__ import annotations

from itertools import pairwise


def is_sampled(number: int) -> bool:
    """Whether launch ``number`` of a kernel, counted from 0, is looked at: 0, and from 1 on every
    power of two and three times every power of two.

    Launches change most in the beginning of a run, and of n launches only some 2 log2 n are looked
    at, whatever n turns out to be.
    """
    return _is_power(number) or (number % 3 == 0 and _is_power(number // 3))


def weights(launches: int) -> list[int]:
    """For how many launches each of those looked at stands: those until the next one."""
    numbers = [number for number in range(launches) if is_sampled(number)]
    return [end - start for start, end in pairwise([*numbers, launches])]


def _is_power(number: int) -> bool:
    # 0 as well.
    return number & (number - 1) == 0
