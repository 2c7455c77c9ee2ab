"""Which launches of a captured step may run side by side: those that cannot meet.

Launches meet if one of them changes memory that another one touches; integer atomics of one kind
that nobody reads between do not. What is only known to be of one role may be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ...ir.operations import Effects
from ...ir.roles import may_meet
from .part import Part

_ATOMICS = ("add", "min", "max")
_TELLING = (Effects.UNKNOWN, Effects.LIVES, Effects.REPORTS)
ALONE = -1


def sides(groups: Sequence[Sequence[Part | None]]) -> list[int]:
    """Of each launch, which is one of several parts, a number that those in a row have which may
    run side by side; ``ALONE`` for the others."""
    rows: list[list[int]] = []
    for number, group in enumerate(groups):
        before = rows[-1] if rows else []
        if before and not any(_meet(groups[each], group) for each in before):
            before.append(number)
        else:
            rows.append([number])
    return [n if len(row) > 1 else ALONE for n, row in enumerate(rows) for _ in row]


def _meet(one: Sequence[Part | None], other: Sequence[Part | None]) -> bool:
    return any(p is None or q is None or _parts_meet(p, q) for p, q in product(one, other))


def _parts_meet(one: Part, other: Part) -> bool:
    for part in (one, other):
        if part.calls is not None or any(effect in part.found.effects for effect in _TELLING):
            return True
    for a, b in product(one.found.accesses, other.found.accesses):
        if a.how == "read" == b.how or not may_meet(a.role, b.role):
            continue
        if a.how == b.how and a.how in _ATOMICS and a.is_exact and b.is_exact:
            continue
        here, there = one.memory(a.reach), other.memory(b.reach)
        if here is None or there is None or not here.is_apart(there):
            return True
    return False
