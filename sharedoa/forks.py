"""Forks: the child gets whole books and no lock that a thread holds which it does not have.

Locks on bookkeeping that takes several steps (``BooksLock``, and those given to ``take_for_forks``)
are taken before a fork, and released on both sides. What other locks guard is whole at any moment,
as each change of it is one step; they are made new in the child (``renew_in_child``).
"""

from __future__ import annotations

import _imp
import importlib._bootstrap
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol
from weakref import WeakSet

from .errors import HeapError
from .uninterrupted import BooksLock, books_locks

_PATIENCE_SECONDS = 10.0
"""How long other threads may take to release all locks; the fork then happens all the same."""
_MOMENT_SECONDS = 0.002
_OURS = ("sharedoa", "dispatch", "ptxpass")
#: What CPython keeps of modules that are being imported.
_module_locks: dict[str, Any] = getattr(importlib._bootstrap, "_module_locks", {})


class Inherited(Protocol):
    def after_fork(self) -> None:
        """Called in the child, whose only thread forked."""
        ...


_taken: WeakSet[Any] = WeakSet()
_renewed: WeakSet[Any] = WeakSet()
_inherited: WeakSet[Any] = WeakSet()
_held: list[Any] = []
_lost: list[BooksLock] = []


def take_for_forks(lock: Any) -> Any:
    """A re-entrant lock, which nobody holds for long."""
    _taken.add(lock)
    return lock


def renew_in_child(lock: Any) -> Any:
    """A lock that the child shall find free, unless the thread that forked holds it."""
    _renewed.add(lock)
    return lock


def tell_child(inherited: Inherited) -> None:
    """``inherited.after_fork`` is called in every child."""
    _inherited.add(inherited)


class _LostLock(BooksLock):
    """Guards what another thread was changing when this process was forked."""

    __slots__ = ()

    def __enter__(self) -> None:
        raise HeapError(
            "this process was forked while another thread was changing the heap, which is not "
            "whole here",
            "make a heap of its own in the child, or start it with multiprocessing's spawn",
        )


class _ImportLock:
    """CPython's own: as long as it is held no thread begins an import."""

    release = staticmethod(_imp.release_lock)


def _before() -> None:
    patience = time.monotonic() + _PATIENCE_SECONDS
    while True:
        _take_locks(patience)
        _imp.acquire_lock()
        _held.append(_ImportLock)
        if not _is_importing() or time.monotonic() >= patience:
            return
        _after()
        time.sleep(_MOMENT_SECONDS)


def _is_importing() -> bool:
    """Whether another thread imports a module of ours, as the first launch does with the compiler.
    The lock of such a module would stay locked in the child."""
    locks = [(name, ref()) for name, ref in list(_module_locks.items())]
    owners = {getattr(lock, "owner", None) for name, lock in locks if name.split(".")[0] in _OURS}
    return bool(owners - {None, threading.get_ident()})


def _take_locks(patience: float) -> None:
    """Take all, whatever the order in which others take them: whoever holds one may wait for one
    that is held here, so what cannot be had at once is waited for with empty hands."""
    locks = [*((each, each.plain) for each in books_locks), *((None, each) for each in _others())]
    while True:
        left = max(0.0, patience - time.monotonic())
        for place, (owner, plain) in enumerate(locks):
            if plain.acquire(timeout=min(left, _MOMENT_SECONDS) if _held else left):
                _held.append(plain)
            elif left:
                locks.insert(0, locks.pop(place))
                break
            elif owner is not None:
                _lost.append(owner)
        else:
            return
        _after()


def _others() -> list[Any]:
    """Locks that are taken while a lock on books is held. llvmlite keeps one while it compiles."""
    llvm = sys.modules.get("llvmlite.binding.ffi")
    its = getattr(getattr(getattr(llvm, "lib", None), "_lock", None), "_lock", None)
    return [*_taken, *([] if its is None else [its])]


def _after() -> None:
    while _held:
        _held.pop().release()
    _lost.clear()


def _in_child() -> None:
    for owner in _lost:
        owner.__class__ = _LostLock
    _after()
    for each in list(_inherited):
        each.after_fork()
    for lock in [*_renewed, *_taken, *_cached_property_locks()]:
        if not (hasattr(lock, "_is_owned") and lock._is_owned()):
            lock._at_fork_reinit()


def _cached_property_locks() -> list[Any]:
    """Python 3.11 keeps one lock for each cached property of a class, for all of its instances."""
    if sys.version_info >= (3, 12):
        return []
    found: list[Any] = []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in _OURS:
            classes = [each for each in vars(module).values() if isinstance(each, type)]
            members = [member for each in classes for member in vars(each).values()]
            found += [
                each.__dict__["lock"] for each in members if isinstance(each, cached_property)
            ]
    return found


def call_before(call: Callable[[], object]) -> None:
    """Call it before every fork, ahead of all that ``take_for_forks`` takes: what is registered
    last is called first."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=call)


def call_in_child(call: Callable[[], object]) -> None:
    """Call it in every child; where processes are not forked, never."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=call)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
