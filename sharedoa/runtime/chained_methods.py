"""Several methods as one, called one after another on each object (``fusion``).

Its parameters are those of all. What overrides it in a subclass are the methods that override each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dispatch.dataclass import dataclass

from ..model.classes import ClassType, Method, Signature
from ..model.types import VOID

_KEPT = 1024


@dataclass(eq=False)
class ChainedMethod(Method):
    """``members`` are the methods, none of which gives a result."""

    members: tuple[Method, ...] = ()


@lru_cache(maxsize=_KEPT)
def _chained(members: tuple[Method, ...]) -> ChainedMethod:
    first = members[0]
    name = " + ".join(method.name for method in members)
    return ChainedMethod(
        name, first.owner, first.function, False, lambda: _signature(members), members=members
    )


def _signature(members: Sequence[Method]) -> Signature:
    names: list[str] = []
    for method in members:
        for name in method.signature.names:
            names.append(name if name not in names else f"{name}_{len(names)}")
    types = tuple(type for method in members for type in method.signature.types)
    return Signature(tuple(names), types, VOID)


def chained(methods: Sequence[Method]) -> Method:
    """The methods as one; the same one for the same methods."""
    members = tuple(member for method in methods for member in members_of(method))
    return _chained(members) if len(members) > 1 else members[0]


def members_of(method: Method) -> tuple[Method, ...]:
    """The methods that it is."""
    return method.members if isinstance(method, ChainedMethod) else (method,)


def overriding(method: Method, cls: ClassType) -> Method | None:
    """What ``method`` is on objects of ``cls``; None if there is no such method any more."""
    found = [cls.find_method(member.name) for member in members_of(method)]
    known = [each for each in found if each is not None]
    return chained(known) if len(known) == len(found) else None
