"""Of the whole product of parameters, few combinations in which every two values still meet.

Where what one parameter chooses is made in another place than what the others choose (a mode, how
objects were reached, an index), a fault needs at most two of them together; the rest of the product
is marked slow.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from .modes import name_of, parameter


def pairwise(*dimensions: Iterable[Any]) -> list[Any]:
    """Parameters: the product of the dimensions, all but such a choice marked slow; the same choice
    each time. Values may be ``pytest.param`` of one value, whose marks stay; marked ones meet no
    others in the choice's stead."""
    axes = [[parameter(value) for value in dimension] for dimension in dimensions]
    chosen = set(_covering([[n for n, each in enumerate(a) if not each.marks] for a in axes]))
    found = []
    for places in itertools.product(*(range(len(axis)) for axis in axes)):
        values = [axis[place] for axis, place in zip(axes, places, strict=True)]
        marks = [mark for value in values for mark in value.marks]
        if not marks and places not in chosen:
            marks = [pytest.mark.slow]
        plain = [value.values[0] for value in values]
        name = "-".join(value.id or name_of(value.values[0]) for value in values)
        found.append(pytest.param(*plain, marks=marks, id=name))
    return found


def _covering(axes: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Combinations, each the one with most pairs that no earlier one has; of several the one whose
    values were chosen least."""
    every = list(itertools.product(*axes))
    if len(axes) < 2:
        return every
    bits: dict[Any, int] = {}
    pairs = [
        sum(
            1 << bits.setdefault(two, len(bits))
            for two in itertools.combinations(enumerate(one), 2)
        )
        for one in every
    ]
    missing = (1 << len(bits)) - 1
    uses = Counter[tuple[int, int]]()
    chosen = []
    while missing:
        news = [(each & missing).bit_count() for each in pairs]
        most = max(news)
        best = min(
            (number for number, new in enumerate(news) if new == most),
            key=lambda number: sum(uses[each] for each in enumerate(every[number])),
        )
        chosen.append(every[best])
        missing &= ~pairs[best]
        uses.update(enumerate(every[best]))
    return chosen
