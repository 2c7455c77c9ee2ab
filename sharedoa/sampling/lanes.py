"""What a value is in each of the sampled threads, the *lanes*; found when somebody asks.

What decides where threads go, and which objects they touch, is a small part of what a program
computes; the rest need not be known. Nothing changes while threads are sampled, so a value is the
same whenever it is found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from ..model.classes import ClassType
from ..model.types import Type

if TYPE_CHECKING:
    from ..heap.run import Run

#: An array with an element a lane, or one number that all lanes have (uniform).
Numbers = Any
Flags = Any
#: How often each lane runs something; 0 where it does not. Always an array.
Weights = np.ndarray[Any, np.dtype[np.float64]]

ALL = np.True_
_NUMBERS = (np.ndarray, np.generic)


class Scalars(NamedTuple):
    """A number a lane, or an object's address (u64) where the type is a reference."""

    values: Numbers
    known: Flags = ALL


class Arrays(NamedTuple):
    """An ``oa.Array`` a lane, from ``address`` on; or objects of a ``run`` side by side."""

    address: Numbers
    length: Numbers
    known: Flags = ALL
    run: Run | None = None


class Lvalue(NamedTuple):
    """An lvalue of ``type`` a lane: ``offset`` bytes (u64) into the record of the object at
    ``base``, as part of its field ``name``; or from address ``base`` on where there is no
    ``owner``. ``reference``: what lies there, if nobody need look. As a value: that of a value
    struct in memory."""

    type: Type
    base: Numbers
    offset: Numbers
    known: Flags
    owner: ClassType | None = None
    name: str = ""
    reference: Scalars | None = None

    def part(self, type: Type, distance: Any, known: Flags = ALL) -> Lvalue:
        """What lies ``distance`` bytes further."""
        both = self.known if known is ALL else self.known & known
        return self._replace(type=type, offset=self.offset + distance, known=both)


#: A value struct or tuple is its fields by name, or items by number. None: nobody knows.
Value = Union[Scalars, Arrays, Lvalue, dict[Any, Any], None]


class Later:
    """A value that is computed from others when somebody asks for it."""

    __slots__ = ("compute", "given", "value")

    def __init__(self, compute: Callable[..., Value], *given: Lazy) -> None:
        self.compute: Callable[..., Value] | None = compute
        self.given = given
        self.value: Value = None


Lazy = Union[Value, Later]


def now(value: Lazy) -> Any:
    """The value itself, not ``Later``."""
    if not isinstance(value, Later):
        return value
    # Chains of values are long: recursion would go too deep.
    pending = [value]
    while pending:
        last = pending[-1]
        before = [v for v in last.given if isinstance(v, Later) and v.compute is not None]
        pending += before
        if not before:
            pending.pop()
            if last.compute is not None:
                given = (v.value if isinstance(v, Later) else v for v in last.given)
                last.value = last.compute(*given)
                last.compute, last.given = None, ()
    return value.value


def merged(old: Value, new: Value, lanes: Flags) -> Value:
    """``new`` in ``lanes``, ``old`` elsewhere; only ``new`` where the two do not go together."""
    if new is old:
        return new
    if new is None:
        return only_in(old, ~lanes)
    if isinstance(new, dict) and isinstance(old, dict):
        return {key: merged(old[key], new[key], lanes) for key in new}
    if isinstance(new, tuple) and type(old) is type(new):
        pairs = [(a, b, isinstance(b, _NUMBERS)) for a, b in zip(old, new, strict=True)]
        if all(is_number or a == b for a, b, is_number in pairs):
            return type(new)(
                *(np.where(lanes, b, a) if n and a is not b else b for a, b, n in pairs)
            )
    return only_in(new, lanes)


def only_in(value: Value, lanes: Flags) -> Value:
    """``value`` in ``lanes``, unknown elsewhere."""
    if isinstance(value, dict):
        return {key: only_in(part, lanes) for key, part in value.items()}
    return None if value is None else value._replace(known=value.known & lanes)


def joined(old: Value, new: Value, lanes: Flags, both: Flags) -> Value:
    """``new`` in ``lanes``, ``old`` elsewhere. In ``both`` it may be either: of two that are as
    likely the new one is as good as the old one, but for what decides where threads go."""
    found = merged(old, new, lanes)
    if isinstance(found, Scalars) and found.values.dtype == bool and both.any():
        if isinstance(old, Scalars) and isinstance(new, Scalars):
            both = both & (old.values != new.values)
        return found._replace(known=found.known & ~both)
    return found
