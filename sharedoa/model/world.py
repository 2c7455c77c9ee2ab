"""The world counter: raised by every definition that could change what a kernel means.

A launch compares one integer with the value it last saw; only when that differs does it look at
the classes, methods and globals that its code was made from (see ``runtime``).
"""

from __future__ import annotations

from ..uninterrupted import BooksLock


class World:
    """Counts definitions and redefinitions of classes, methods, functions and kernels."""

    epoch = 0
    #: Held while classes change, together with the epoch.
    changing = BooksLock()

    @classmethod
    def advance(cls) -> None:
        cls.epoch += 1
