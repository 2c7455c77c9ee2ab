"""Which launches of a captured step share one launch, whose threads are shared out to them: small
ones that cannot meet.

Launches meet if one of them changes memory that another one touches; integer atomics of one kind
that nobody reads between do not. What is only known to be of one role may be the same. Launches
that print are told in their order; of assertions that fail the host hears of one, whichever it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from ...ir.operations import Effects
from ...ir.roles import may_meet
from ...ir.storing import threads_at_once
from ..launch import Program
from .part import Part, may_be_same
from .threads import Share

_ATOMICS = ("add", "min", "max")
_ANYWHERE = (Effects.UNKNOWN, Effects.LIVES)
_ALONE = (*_ANYWHERE, Effects.WAITS)
_MOST = 8
"""Launches that share one: each thread asks whose it is."""
_MOST_ARGUMENTS = 64

Group = Sequence[Part | None]


def share_of(part: Part | None, is_small: Callable[[int], bool]) -> Share | None:
    """The threads that one launch takes of a shared one; None if it can have none. ``is_small``:
    whether so many threads leave room on the device."""
    if part is None or part.geometry is None or part.refusal or not part.geometry.is_usual:
        return None
    found = part.found
    if found.uses_tiles is not None or found.tells is not None:
        return None
    if any(effect in found.effects for effect in _ALONE):
        return None
    (program,), (own, _) = part.programs, part.geometry.threads
    each = threads_at_once(program.uses().program)
    return Share(program.source.name, own, each) if is_small(-(-own // each)) else None


def beside(groups: Sequence[Group], shares: Sequence[Share | None]) -> list[list[int]]:
    """The groups of launches by number, those together that share a launch, in an order that nobody
    can tell from theirs. Each goes to the launch with the fewest threads among those that it may
    share, as these leave most of the device idle."""
    found: list[list[int]] = []
    for number, share in enumerate(shares):
        best: list[int] | None = None
        fewest = 0
        for row in reversed(found if share is not None else ()):
            if any(_meet(groups[each], groups[number]) for each in row):
                break
            every = [shares[each] for each in row]
            known = [each for each in every if each is not None]
            if len(known) < len(every) or not _fit([*row, number], groups):
                continue
            threads = sum(each.threads for each in known)
            if best is None or threads < fewest:
                best, fewest = row, threads
        if best is None:
            found.append([number])
        else:
            best.append(number)
    return found


def _fit(row: Sequence[int], groups: Sequence[Group]) -> bool:
    programs: list[Program] = [p for n in row for part in groups[n] if part for p in part.programs]
    return len(row) <= _MOST and sum(p.plan.leaf_count for p in programs) <= _MOST_ARGUMENTS


def _meet(one: Group, other: Group) -> bool:
    return any(p is None or q is None or _parts_meet(p, q) for p, q in product(one, other))


def _parts_meet(one: Part, other: Part) -> bool:
    for part in (one, other):
        if part.calls is not None or any(effect in part.found.effects for effect in _ANYWHERE):
            return True
    for a, b in product(one.found.accesses, other.found.accesses):
        if a.how == "read" == b.how or not may_be_same(a.role, b.role):
            continue
        is_exact = a.is_exact and b.is_exact and may_meet(a.role, b.role)
        if a.how == b.how and a.how in _ATOMICS and is_exact:
            continue
        here, there = one.memory(a.reach), other.memory(b.reach)
        if here is None or there is None or not here.is_apart(there):
            return True
    return False
