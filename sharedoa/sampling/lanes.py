"""What an expression is in each of the sampled threads, the *lanes*."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np

if TYPE_CHECKING:
    from ..heap.run import Run
    from .memory import Lvalue

Numbers = np.ndarray[Any, Any]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
#: How often each lane runs something; 0 where it does not.
Weights = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Scalars:
    """A number a lane, or an object's address (u64) where the type is a reference."""

    values: Numbers
    known: Flags


@dataclass(frozen=True)
class Arrays:
    """An ``oa.Array`` a lane."""

    address: Numbers
    length: Numbers
    known: Flags


@dataclass(frozen=True)
class Objects:
    """An array of ``length`` objects side by side, the same wherever it is known."""

    run: Run
    length: int
    known: Flags

    def is_like(self, other: Objects) -> bool:
        return self.run is other.run and self.length == other.length


@dataclass(frozen=True)
class Parts:
    """A value struct or tuple: its fields by name, or items by number."""

    parts: dict[Any, Value]


@dataclass(frozen=True)
class Stored:
    """A value struct in memory, whose fields are read when they are asked for."""

    lvalue: Lvalue


#: None: nobody knows.
Value = Union[Scalars, Arrays, Objects, Parts, Stored, None]


def merged(old: Value, new: Value, lanes: Flags) -> Value:
    """``new`` in ``lanes``, ``old`` elsewhere; only ``new`` where the two do not go together."""
    if lanes.all():
        return new
    if new is None:
        return only_in(old, ~lanes)
    if isinstance(old, Scalars) and isinstance(new, Scalars):
        values = np.where(lanes, new.values, old.values).astype(new.values.dtype)
        return Scalars(values, np.where(lanes, new.known, old.known))
    if isinstance(old, Arrays) and isinstance(new, Arrays):
        return Arrays(
            np.where(lanes, new.address, old.address),
            np.where(lanes, new.length, old.length),
            np.where(lanes, new.known, old.known),
        )
    if isinstance(old, Objects) and isinstance(new, Objects) and old.is_like(new):
        return Objects(new.run, new.length, np.where(lanes, new.known, old.known))
    if isinstance(old, Stored) and isinstance(new, Stored) and old.lvalue.is_like(new.lvalue):
        return Stored(old.lvalue.merged(new.lvalue, lanes))
    if isinstance(old, Parts) and isinstance(new, Parts) and old.parts.keys() == new.parts.keys():
        return Parts({key: merged(old.parts[key], new.parts[key], lanes) for key in new.parts})
    return only_in(new, lanes)


def only_in(value: Value, lanes: Flags) -> Value:
    """``value`` in ``lanes``, unknown elsewhere."""
    if isinstance(value, Scalars):
        return Scalars(value.values, value.known & lanes)
    if isinstance(value, Arrays):
        return Arrays(value.address, value.length, value.known & lanes)
    if isinstance(value, Objects):
        return Objects(value.run, value.length, value.known & lanes)
    if isinstance(value, Parts):
        return Parts({key: only_in(part, lanes) for key, part in value.parts.items()})
    return None if value is None else Stored(value.lvalue.only_in(lanes))
