"""What is made once for a class, and goes with it: a class that was defined anew, as in a notebook,
leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

from .classes import ClassType

Make = TypeVar("Make", bound=Callable[..., Any])


def kept_by_class(make: Make) -> Make:
    """As ``functools.cache``, of a function of a class and other positional arguments."""

    @wraps(make)
    def found(cls: ClassType, *given: Hashable) -> Any:
        key = (make, *given)
        if key not in cls.made:
            # Of two threads both get what the first one made.
            cls.made.setdefault(key, make(cls, *given))
        return cls.made[key]

    return found  # type: ignore[return-value]
