"""A tape that keeps few states of memory: its launches are launched again on the way back.

In the block of ``oa.tape(checkpoints=k)`` launches run as they are and keep nothing. What they
touch for the first time is copied before, so that everything can begin again; from there
``reversal_schedule`` says which states to keep, and each launch is recorded when its turn has come
to be reversed. Afterwards memory is as it was.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ir
from ..errors import ArgumentError, HeapError
from ..heap.heap import Heap
from ..ir.core import LvalueType, operations_in
from ..ir.roles import Role, role_of, stored_roles
from .gradients import TapedLaunch, check_taped, launch_taped
from .heap_state import Copies, memory_in
from .reversal_schedule import schedule

if TYPE_CHECKING:
    from .geometry import Geometry
    from .launch import Program

Memory = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class _Launch:
    """A launch as it was asked for; ``code`` is what the program was."""

    program: Program
    code: ir.Program
    geometry: Geometry
    arguments: tuple[Any, ...]
    mode: Any
    debug: Any

    def run(self) -> None:
        launch = self.program.launcher(self.geometry)
        launch(*self.arguments, mode=self.mode, debug=self.debug)

    @cached_property
    def stored(self) -> frozenset[Role]:
        return stored_roles(self.code)

    @cached_property
    def touched(self) -> frozenset[Role]:
        return self.stored | named_roles(self.code)


def named_roles(program: ir.Program) -> frozenset[Role]:
    """The roles of everything that the program names: of no less than it reads."""
    lvalues = (v for each in operations_in(program) for v in each.operands)
    return frozenset(role_of(each) for each in lvalues if isinstance(each.type, LvalueType))


class Checkpoints:
    """The launches of one tape, and at most ``states`` states between them."""

    def __init__(self, heap: Heap, states: int) -> None:
        if isinstance(states, bool) or not isinstance(states, int) or states < 1:
            raise ArgumentError(
                f"oa.tape(checkpoints={states!r}): no number of states",
                "say how many states of memory may be kept: a whole number, 1 or more",
            )
        self._heap, self._states = heap, states
        self._launches: list[_Launch] = []
        self._copies: Copies | None = None
        self._first: dict[int, tuple[Memory, Memory]] = {}
        self._written: dict[int, Memory] = {}

    def launch(
        self,
        program: Program,
        geometry: Geometry,
        arguments: tuple[Any, ...],
        mode: Any,
        debug: Any,
    ) -> None:
        """Launch, and remember that."""
        made = _Launch(program, program.uses().program, geometry, arguments, mode, debug)
        check_taped(program, self._heap, arguments, debug)
        self._copies = self._copies or Copies(self._heap)
        new = {a: m for a, m in self._memory(made.touched).items() if a not in self._first}
        if new:
            self._heap.synchronize()
            self._first |= {address: (memory, memory.copy()) for address, memory in new.items()}
        self._written |= self._memory(made.stored)
        made.run()
        self._launches.append(made)

    def _memory(self, roles: frozenset[Role]) -> dict[int, Memory]:
        return {int(each.ctypes.data): each for each in memory_in(self._heap, roles)}

    @property
    def state_bytes(self) -> int:
        """Of a state: all that launches write to."""
        return sum(each.nbytes for each in self._written.values())

    @property
    def bytes(self) -> int:
        """Of what is kept from the block on: what launches found."""
        return sum(copy.nbytes for _, copy in self._first.values())

    def reversed(self) -> Generator[TapedLaunch | None]:
        """Every launch, newest first, recorded to be reversed; None where there is nothing to
        reverse. Memory is as it was when the iterator has ended or is closed."""
        heap = self._heap
        if any(each.program.uses().program is not each.code for each in self._launches):
            raise HeapError(
                "a class, method or function was defined anew since the tape was recorded, and a "
                "tape with checkpoints launches again",
                "record it again",
            )
        heap.synchronize()
        now = [(memory, memory.copy()) for memory, _ in self._first.values()]
        begin = {address: copy for address, (_, copy) in self._first.items()}
        try:
            _restore(self._first.values())
            at, stored = 0, {0: begin}
            for kind, step in schedule(len(self._launches), self._states):
                if kind == "drop":
                    del stored[step]
                    continue
                start = max(each for each in stored if each <= step)
                if not start <= at <= step:
                    heap.synchronize()
                    _restore((memory, stored[start][a]) for a, memory in self._written.items())
                    at = start
                for each in self._launches[at:step]:
                    each.run()
                at = step
                if kind == "store":
                    heap.synchronize()
                    stored[step] = {a: memory.copy() for a, memory in self._written.items()}
                    continue
                yield self._recorded(self._launches[step])
                at = step + 1
        finally:
            heap.synchronize()
            _restore(now)

    def _recorded(self, launch: _Launch) -> TapedLaunch | None:
        return launch_taped(
            launch.program, self._heap, launch.geometry, launch.arguments, launch.mode, launch.debug
        )


def _restore(pieces: Iterable[tuple[Memory, Memory]]) -> None:
    for memory, copy in pieces:
        memory[...] = copy
