"""What there is one of in a process, made at its first use.

``functools.cache`` lets each of several threads that ask first make one of its own, and then keeps
one of them: the code of another one would be unloaded while it runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import Generic, TypeVar

from .forks import renew_in_child

T = TypeVar("T")


class once(Generic[T]):
    """A function without parameters that is called once, whoever asks; what it raises is kept by
    nobody. A forked child has what its parent had."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = renew_in_child(threading.RLock())
        self._made: tuple[T, ...] = ()
        update_wrapper(self, make)

    def __call__(self) -> T:
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made = (self._make(),)
        return self._made[0]

    @property
    def is_made(self) -> bool:
        return bool(self._made)

    def cache_clear(self) -> None:
        """Make another one when it is needed again."""
        self._made = ()
