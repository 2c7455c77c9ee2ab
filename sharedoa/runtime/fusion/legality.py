"""Whether launches that follow one another may be one: then a thread does all that they have it do,
one after another, before or after other threads have begun.

1. They are over the same: the same population, or as many threads; in none are objects made or
   ended.
2. Of all memory that one of them changes and another one touches, all accesses of both are a
   thread's own, to the same element or object. What several only add to with integer atomics, and
   none reads, may come in any order. Objects that have passed tests which no object can pass both
   are two, as what these tests read does not change either.
3. None waits for the host or for other threads, nor tells the host anything.
4. A write that is made now and then counts as read and write; what is not known as everything.
5. Numbers stay what they are, bit for bit: no function of a math library is computed when code is
   compiled because an earlier launch has stored a constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dispatch.dataclass import dataclass

from ...ir.roles import EVERYTHING, Role, describe, may_meet
from ...ir.thread_accesses import ThreadAccess
from ...location import Location
from ...tracebacks import short_place
from .part import Part, effect_reason, may_be_same

_ATOMICS = ("add", "min", "max")


@dataclass(frozen=True)
class Refusal:
    """Why a launch cannot be one with those before it: words, and lines of both."""

    reason: str
    lines: tuple[Location, ...] = ()

    def __str__(self) -> str:
        places = ", ".join(dict.fromkeys(short_place(each.file, each.line) for each in self.lines))
        return f"{self.reason} ({places})" if places else self.reason


def refusal_of(part: Part) -> Refusal | None:
    """Why it is one with no other launch."""
    if part.refusal:
        return Refusal(part.refusal)
    found = effect_reason(part.found.effects)
    if found is not None:
        return Refusal(found[0], (found[1],))
    if part.found.uses_tiles is not None:
        return Refusal("it uses memory that a block shares", (part.found.uses_tiles,))
    return None


def refusal(group: Sequence[Part], new: Part) -> Refusal | None:
    """Why ``new`` cannot be one with the launches of ``group``, which may be one and come before
    it; None if it can."""
    first = group[0]
    found = refusal_of(first) or refusal_of(new)
    if found is not None:
        return found
    if first.calls is not new.calls:
        return Refusal("they are not over the same objects")
    if first.geometry != new.geometry:
        return Refusal("they have other threads")
    for before in group:
        found = _Pair(before, new).refusal()
        if found is not None:
            return found
    return _inexact(group, new)


def _inexact(group: Sequence[Part], new: Part) -> Refusal | None:
    """Whether a launch lets compilers know what a function of a math library is given in another
    one: by a constant that it stores, or by a test."""
    for part in group:
        roles = part.found.constants | part.found.tested
        found = _known(new, roles) or _known(part, new.found.tested)
        if found is not None:
            return found
    return None


def _known(part: Part, roles: Iterable[Role]) -> Refusal | None:
    inexact = part.found.inexact
    if inexact is None:
        return None
    for role in roles:
        for access in part.found.accesses:
            if access.how == "read" and may_meet(access.role, role):
                reason = f"a function would be computed of constants in {_named(access.role)}"
                return Refusal(reason, (inexact,))
    return None


class _Pair:
    """Two launches, the earlier one first."""

    def __init__(self, one: Part, other: Part) -> None:
        self._one, self._other = one, other
        self._changed = [
            (part, access)
            for part in (one, other)
            for access in part.found.accesses
            if access.how != "read"
        ]

    def refusal(self) -> Refusal | None:
        one, other = self._one, self._other
        for a, at in one.found.accesses.items():
            for b, there in other.found.accesses.items():
                if self._may_fuse(a, b):
                    continue
                what = f"{_named(a.role)} is {_done(a)} and then {_done(b)}"
                return Refusal(what, (at, there))
        return None

    def _may_fuse(self, a: ThreadAccess, b: ThreadAccess) -> bool:
        if not may_be_same(a.role, b.role) or self._are_apart((self._one, a), (self._other, b)):
            return True
        if a.how == "read" == b.how and not self._is_changed(a, b):
            return True
        if not may_meet(a.role, b.role):
            return False  # as one launch, compilers would take them for different memory
        if any(one.excludes(other) for one in a.tested for other in b.tested):
            # Two objects. Both launches have read what tells them apart, so whoever changes that
            # is no part of the launch, unless all of it is each thread's own.
            return True
        if a.how == b.how and a.how in _ATOMICS and a.is_exact and b.is_exact:
            return True
        return self._are_same(a, b)

    def _is_changed(self, a: ThreadAccess, b: ThreadAccess) -> bool:
        """Whether either launch changes memory that both accesses may be to."""
        return any(
            may_be_same(access.role, a.role)
            and may_be_same(access.role, b.role)
            and not self._are_apart((part, access), (self._one, a))
            and not self._are_apart((part, access), (self._other, b))
            for part, access in self._changed
        )

    def _are_apart(self, one: tuple[Part, ThreadAccess], other: tuple[Part, ThreadAccess]) -> bool:
        (p, a), (q, b) = one, other
        if "own reference" in (a.reach.via, b.reach.via):
            return False  # and nobody is asked what they refer to
        here, there = p.memory(a.reach), q.memory(b.reach)
        return here is not None and there is not None and here.is_apart(there)

    def _are_same(self, a: ThreadAccess, b: ThreadAccess) -> bool:
        """Whether each thread accesses the same that no other one does."""
        if a.reach.via != b.reach.via or not a.reach.is_own:
            return False
        here, there = self._one.memory(a.reach), self._other.memory(b.reach)
        return here is not None and here == there


def _named(role: Role) -> str:
    return "memory" if role == EVERYTHING else describe(role)


def _done(access: ThreadAccess) -> str:
    how = {"read": "read", "write": "written"}.get(access.how, f"added to ({access.how})")
    whose = {
        "own element": "by its own thread",
        "own object": "by its own thread",
        "own reference": "through another object",
        "uniform": "through an argument",
        "other": "through another object or array",
    }
    return f"{how} {whose[access.reach.via]}"
