"""Captured steps do with few objects what they else do with hundreds of thousands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from sharedoa.runtime import population_sequence, slot_calls


@contextmanager
def small_steps(seed: int) -> Iterator[None]:
    """Of three seeds two call slot by slot; every second leaves classes alone that stay as they
    are."""
    with ExitStack() as entered:
        if seed % 3:
            entered.enter_context(patch.multiple(slot_calls, _FEWEST=1, _MOST_SLOTS=1 << 20))
        if seed % 2:
            entered.enter_context(patch.multiple(population_sequence, _STILL=2, _MANY=1))
        yield
