"""What there is one of in a process, or one for each of some keys, made at its first use.

``functools.cache`` lets each of several threads that ask first make one of its own, and then keeps
one of them: the code of another one would be unloaded while it runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import update_wrapper
from typing import Generic, TypeVar

from .forks import renew_in_child

T = TypeVar("T")


class once(Generic[T]):
    """A function that is called once, or once for each of its arguments, whoever asks; what it
    raises is kept by nobody. A forked child has what its parent had."""

    def __init__(self, make: Callable[..., T]) -> None:
        self._make = make
        self._lock = renew_in_child(threading.RLock())
        self._made: dict[tuple[Hashable, ...], T] = {}
        update_wrapper(self, make)

    def __call__(self, *key: Hashable) -> T:
        if key not in self._made:
            with self._lock:
                if key not in self._made:
                    self._made[key] = self._make(*key)
        return self._made[key]

    @property
    def is_made(self) -> bool:
        return bool(self._made)

    def cache_clear(self) -> None:
        """Make another one when it is needed again."""
        self._made.clear()
