"""No garbage collection while code is compiled.

A compilation makes hundreds of thousands of objects that all live until it ends. Each time that
Python's collector looks at them it finds nothing, for a quarter of the whole time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from .forks import tell_child


class _Pause:
    """The one who has turned the collector off turns it on again."""

    is_on = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """A block in which nothing is collected. Of several threads, or blocks in one another, the
        first one to end may end the pause of all."""
        is_ours = gc.isenabled()
        try:
            if is_ours:
                self.is_on = True
                gc.disable()
            yield
        finally:
            if is_ours:
                gc.enable()
                self.is_on = False

    def after_fork(self) -> None:
        """Who compiles is not in the child, unless it is the thread that forked."""
        if self.is_on:
            gc.enable()


nothing_collected = _Pause()
tell_child(nothing_collected)
