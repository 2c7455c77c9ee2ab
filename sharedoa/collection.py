"""No garbage collection while code is compiled.

A compilation makes hundreds of thousands of objects that all live until it ends. Each time that
Python's collector looks at them it finds nothing, for a quarter of the whole time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

from .context_managers import contextmanager
from .forks import tell_child

MANY = 100_000
"""Young objects that take the collector a twentieth of a second to look at."""


class _Old:
    """Objects that the collector looks at only when it looks at all."""

    #: How many there were after the last look at all that this knows of.
    kept = 0

    def take_young(self) -> None:
        """Of many young objects nearly all are programs, which stay: they are not looked at now.
        The collector does not know of them then, so it looks at all here where there are twice as
        many as before: programs may have been dropped. Who has frozen objects keeps them frozen."""
        if gc.get_count()[0] <= MANY or gc.get_freeze_count():
            return
        count = _take_all()
        if count > 2 * self.kept:
            if self.kept:
                gc.collect()
                count = _take_all()
            self.kept = count


def _take_all() -> int:
    gc.freeze()
    try:
        return gc.get_freeze_count()
    finally:
        gc.unfreeze()


_old = _Old()


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
                try:
                    _old.take_young()
                finally:
                    gc.enable()
                    self.is_on = False

    def after_fork(self) -> None:
        """Who compiles is not in the child, unless it is the thread that forked."""
        if self.is_on:
            gc.enable()


nothing_collected = _Pause()
tell_child(nothing_collected)
