"""A tape that keeps few states of memory: its launches are launched again on the way back.

In the block of ``oa.tape(checkpoints=k)`` launches run as they are and keep nothing. What they
touch for the first time is copied before, so that everything can begin again; from there
``reversal_schedule`` says which states to keep, and each launch is recorded when its turn has come
to be reversed. Afterwards memory is as it was.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from dispatch.dataclass import dataclass

from .. import ir
from ..errors import ArgumentError, HeapError
from ..heap.heap import Heap
from ..ir.core import LvalueType, operations_in
from ..ir.roles import Role, role_of, stored_roles
from .gradients import Gradient, TapedLaunch, launch_taped, way_of
from .heap_state import Copies, Piece, Saved, arrays_made, memory_in
from .reversal_schedule import schedule

if TYPE_CHECKING:
    from .geometry import Geometry
    from .launch import Program


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


@dataclass(frozen=True)
class _Roles:
    """Of a program: what it stores to, and with that what it names."""

    stored: frozenset[Role]
    touched: frozenset[Role]


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
        #: How launches will be reversed, by the program's name.
        self.gradients: dict[str, Gradient] = {}
        self._copies: Copies | None = None
        self._roles: dict[ir.Program, _Roles] = {}
        #: What launches have named, by address, and copies of it as it was before they did.
        self._named: dict[int, Piece] = {}
        self._first: list[Saved] = []
        self._written: dict[int, Piece] = {}
        #: By program that has been looked at, how many arrays there had been.
        self._seen: dict[ir.Program, int] = {}

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
        way = way_of(program, self._heap, geometry, arguments, debug, loads_again=True)
        self.gradients[program.source.name] = way.gradient
        self._copies = self._copies or Copies(self._heap)
        self._look_at(made.code)
        made.run()
        self._launches.append(made)

    def _look_at(self, code: ir.Program) -> None:
        """Keep what a launch of it may touch that no launch before has touched."""
        if code not in self._roles:
            stored = stored_roles(code)
            self._roles[code] = _Roles(stored, stored | named_roles(code))
        roles = self._roles[code]
        arrays = arrays_made(self._heap, roles.touched)
        if self._seen.get(code) == arrays:
            return
        self._seen[code] = arrays
        touched = self._memory(roles.touched)
        new = {address: piece for address, piece in touched.items() if address not in self._named}
        if new:
            self._first.append(Saved(self._heap, list(new.values())))
            self._named |= new
        written = self._memory(roles.stored)
        self._written |= {address: self._named[address] for address in written}

    def _memory(self, roles: frozenset[Role]) -> dict[int, Piece]:
        return {each.address: each for each in memory_in(self._heap, roles)}

    @property
    def state_bytes(self) -> int:
        """Of a state: all that launches write to."""
        return sum(each.size for each in self._written.values())

    @property
    def bytes(self) -> int:
        """Of what is kept from the block on: what launches found."""
        return sum(each.bytes for each in self._first)

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
        now = Saved(heap, list(self._named.values()))
        written = self._written
        idle: list[Saved] = []
        try:
            for each in self._first:
                each.put_back()
            at, stored = 0, {0: self._first}
            for kind, step in schedule(len(self._launches), self._states):
                if kind == "drop":
                    idle += stored.pop(step)
                    continue
                start = max(each for each in stored if each <= step)
                if not start <= at <= step:
                    for state in stored[start]:
                        state.put_back(each for each in state.pieces if each.address in written)
                    at = start
                for launch in self._launches[at:step]:
                    launch.run()
                at = step
                if kind == "store":
                    if idle:
                        stored[step] = [idle.pop()]
                        stored[step][0].take()
                    else:
                        stored[step] = [Saved(heap, list(written.values()))]
                    continue
                yield self._recorded(self._launches[step])
                at = step + 1
        finally:
            now.put_back()

    def _recorded(self, launch: _Launch) -> TapedLaunch | None:
        how = launch.geometry, launch.arguments, launch.mode, launch.debug
        # It is reversed at once.
        return launch_taped(launch.program, self._heap, *how, leave=lambda *_: True)
