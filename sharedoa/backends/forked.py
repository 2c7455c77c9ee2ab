"""Processes that were forked from one which uses a GPU: its driver works in that one only."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import BackendError
from ..forks import call_in_child

_forked: list[str] = []


def watch_forks(what: str, forget: Callable[[], None]) -> None:
    """The process uses a driver, of ``what``; a child forked from it shall ``forget`` it."""
    call_in_child(lambda: note_fork(what, forget))


def note_fork(what: str, forget: Callable[[], None]) -> None:
    """This process was forked from one that uses the driver."""
    _forked.append(what)
    forget()


def was_forked() -> bool:
    """Whether a parent of this process had loaded a driver."""
    return bool(_forked)


def forked() -> BackendError:
    return BackendError(
        f"this process was forked from one that uses {_forked[0]}, whose driver does not allow "
        "that: neither the GPU nor the parent's objects on it can be used here",
        "start processes with multiprocessing.get_context('spawn'), or fork before the first heap "
        "on the GPU is made; heaps of backend='cpu' work here",
    )
