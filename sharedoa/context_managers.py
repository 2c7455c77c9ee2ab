"""Context managers of generators whose blocks are left whatever comes.

Ctrl-C may be raised when a generator has begun a block and its first line has not, or when the
block has ended and ``__exit__`` has not begun. ``contextlib`` then ends the generator when nobody
has the error's traceback any more, and a notebook keeps that of the last error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import _GeneratorContextManager
from functools import partial, wraps
from operator import methodcaller
from typing import Any, ParamSpec, TypeVar
from weakref import ref

P = ParamSpec("P")
T = TypeVar("T")


class _LetGo(ref[Any]):
    """Calls its ``close`` when the referent goes, by no Python code, before which a signal could
    be handled."""

    __slots__ = ("close",)
    close: Callable[[], object]


class _Exit:
    """A ``with`` statement takes hold of ``__exit__`` before it calls ``__enter__``, and lets go of
    it when its block has ended in any way: then the generator is closed."""

    def __get__(self, manager: Any, owner: type) -> Callable[..., bool | None]:
        leave = _GeneratorContextManager.__exit__
        if manager is None:  # ``contextlib.ExitStack`` asks the class
            return leave
        held = partial(leave, manager)
        manager.let_go = _LetGo(held, methodcaller("close"))
        manager.let_go.close = bool
        return held


class _Manager(_GeneratorContextManager[T]):
    #: Of who looked at ``__exit__`` last, if it was looked at of this.
    let_go: _LetGo | None = None
    __exit__ = _Exit()

    def __enter__(self) -> T:
        if self.let_go is not None:
            self.let_go.close = self.gen.close
        return super().__enter__()


def contextmanager(function: Callable[P, Iterator[T]]) -> Callable[P, _GeneratorContextManager[T]]:
    """As that of ``contextlib``."""

    @wraps(function)
    def made(*arguments: P.args, **named: P.kwargs) -> _GeneratorContextManager[T]:
        return _Manager(function, arguments, named)  # type: ignore[arg-type]

    return made
