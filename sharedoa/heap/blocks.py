"""Blocks of ``with`` that are left whatever comes.

Ctrl-C may be raised before the first instruction of an ``__exit__`` that is written in Python,
which then has undone nothing. But a ``with`` statement takes hold of ``__exit__`` before it calls
``__enter__``, and lets go of it when its block has ended in any way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref


class Block:
    """A block of ``manager``. Without a ``with`` statement (``heap.__enter__()``) it is open until
    ``__exit__`` is called."""

    __slots__ = ("_exit", "manager", "stays_open", "was_entered")

    def __init__(self, manager: Any) -> None:
        self.manager = manager
        self.was_entered = False
        #: For those who came into it by a copy of a context, which keep it.
        self.stays_open = False
        self._exit: Callable[[], Any] | None = None

    @property
    def is_open(self) -> bool:
        return self._exit is None or self._exit() is not None or self.stays_open

    def bind(self, leave: Any) -> Any:
        """It is open for as long as somebody holds ``leave``."""
        self._exit = ref(leave)
        return leave


class _Looked(threading.local):
    block: Block | None = None


_looked = _Looked()


class exit_of_block:
    """Makes ``__exit__(self, kind, error, trace)`` of a method that gets the ``Block``, too, before
    ``kind``: that of the ``with`` statement, or one that was never entered."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function

    def __get__(self, manager: Any, owner: type) -> Callable[..., None]:
        if manager is None:  # ``contextlib.ExitStack`` asks the class
            return lambda manager, *error: self._function(manager, Block(manager), *error)
        block = _looked.block = Block(manager)
        leave: Callable[..., None] = block.bind(partial(self._function, manager, block))
        return leave


def entered(manager: Any) -> Block:
    """The block that ``manager`` is entering: called first in ``__enter__``."""
    block, _looked.block = _looked.block, None
    if block is None or block.manager is not manager or not block.is_open:
        block = Block(manager)
    block.was_entered = True
    return block


def without(blocks: tuple[Block, ...], left: Block) -> tuple[Block, ...]:
    """The open blocks without ``left``, or if that was never entered, the innermost of its heap:
    generators may leave theirs in any order, or in a context that never entered it."""
    found = [each for each in blocks if each.is_open and each is not left]
    if not left.was_entered:
        last = next((each for each in reversed(found) if each.manager is left.manager), None)
        found = [each for each in found if each is not last]
    return tuple(found)
