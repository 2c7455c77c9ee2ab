"""What a program is before it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatch.dataclass import dataclass

from ..frontend import Translation
from ..frontend.program import ProgramBuilder
from ..model.classes import Signature


@dataclass(frozen=True)
class Source:
    """A program before compilation: its launch parameters, its typed tree as the world is now, and
    the function that CPython runs for it."""

    name: str
    signature: Signature
    translate: Callable[[], Translation]
    function: Callable[..., None]
    uses_barrier: bool
    #: Whether a method is called on every element of its first argument, so that none may be null.
    calls_all: bool = False
    #: How many of the first parameters are receivers of a method that is called on all of them.
    receivers: int = 0
    #: Whether these are arrays with objects of their very class.
    are_exact: bool = False
    #: Whether references that it stores go only to arrays that nobody knows as runs.
    keeps_arrays: bool = False
    #: Whether it was made of another program: compiled on every backend, and nothing to learn from
    #: how it uses memory.
    is_derived: bool = False
    #: ``KernelLaunch.in_order``.
    in_order: bool = False
    #: Makes it a function of another kernel's program, under a symbol; None if that cannot be.
    add_to: Callable[[ProgramBuilder, str], None] | None = None
    #: Whether its code knows none of the numbers that it is given, however long they stay the same.
    is_general: bool = False
    #: The user's function that it runs; None for several.
    origin: Callable[..., Any] | None = None
