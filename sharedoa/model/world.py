"""The world counter: raised by every definition that could change what a kernel means.

A launch compares one integer with the value it last saw; only when that differs does it look at
the classes, methods and globals that its code was made from (see ``runtime``).
"""

from __future__ import annotations

from collections.abc import Callable

from ..uninterrupted import BooksLock


class _World:
    """Counts definitions and redefinitions of classes, methods, functions and kernels."""

    def __init__(self) -> None:
        self.epoch = 0
        #: Held while classes change, together with the epoch.
        self.changing = BooksLock()
        #: Called before methods mean something else: what launches that wait are to run is what
        #: methods meant when they were asked for.
        self.before_change: list[Callable[[], None]] = []

    def about_to_change(self) -> None:
        """A method is going to mean something else; the caller holds no lock."""
        for hook in self.before_change:
            hook()

    def advance(self) -> None:
        self.epoch += 1


#: An object, whose fields launches read sooner than those of a class.
World = _World()
