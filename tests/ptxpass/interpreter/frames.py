"""What a thread is doing: frames of functions, and what operations tell the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ptxpass.text.syntax import Function

from .memory import Block
from .scopes import Names

RETURN, EXIT, BARRIER = "return", "exit", "barrier"


Pass = Callable[["Frame"], "bytearray | None"]
Fetch = Callable[["Frame", "bytearray | None"], None]


@dataclass(frozen=True)
class Invocation:
    """A call of ``name``: bytes of (results, arguments), what gives the arguments out of the
    caller's frame, and what puts the results into it."""

    name: str
    sizes: tuple[list[int], list[int]]
    passed: list[Pass]
    fetched: list[Fetch]


@dataclass(eq=False, slots=True)
class Frame:
    """``bits``: every register's, None before the first write. ``buffers``: parameters, None where
    nothing was stored; those of a kernel cannot be written."""

    code: Code
    bits: list[Any]
    buffers: list[bytearray | bytes | None]
    at: int = 0
    blocks: list[Block] = field(default_factory=list)
    #: Where the caller wants the results.
    fetched: Sequence[Fetch] = ()


Operation = Callable[[Frame], Any]


@dataclass(eq=False, slots=True)
class Stretch:
    """``operations`` one after another, the one behind them, and the number of what follows it."""

    operations: tuple[Operation, ...]
    last: Operation
    following: int
    #: How often it was run, and what does so since it was run often.
    runs: int = 0
    fused: Any = None


@dataclass(eq=False, slots=True)
class Thread:
    """``lane``: its number in its warp. ``waits_at``: what stopped it, BARRIER or a ``Collective``;
    None once it has ended."""

    index: tuple[int, int, int]
    lane: int
    frames: list[Frame]
    steps: int = 0
    waits_at: Any = None


@dataclass(eq=False)
class Code:
    """``lines``: line and text of each operation."""

    function: Function
    names: Names
    operations: list[Operation]
    lines: list[tuple[int, str]]
    #: Whether an operation may say what is next: by a signal or the frame's ``at``.
    decides: list[bool]
    #: Parameters whose address is taken.
    addressed: set[int] = field(default_factory=set)
    #: What ``stretch`` has found.
    stretches: dict[int, Stretch] = field(default_factory=dict)

    def stretch(self, at: int) -> Stretch:
        """From an operation to the first that decides, which a loop runs without looking at where
        it is after each."""
        last = self.decides.index(True, at)
        found = Stretch(tuple(self.operations[at:last]), self.operations[last], last + 1)
        self.stretches[at] = found
        return found
