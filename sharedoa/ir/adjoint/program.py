"""A program's way there and back, and what makes it possible."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from dispatch.dataclass import dataclass, field

from ...errors import CompileError, Diagnostic
from ...location import Location
from ...model.scalars import weak_int
from ...model.types import VOID, TupleType, Type
from ..core import (
    Function,
    LvalueType,
    Operation,
    Program,
    Value,
    constant_of,
    element_of,
    operations_in,
    root_of,
    rounds_of,
    type_of,
)
from ..operations import Effects, effects_of, kind_of
from ..passes.calls import called_by, callees
from ..passes.unused import remove_unused
from ..rewrite import copy_program
from ..roles import Role, role_of
from ..summary import summarize
from ..uniformity import shared_lvalues
from . import custom
from .again import Again, array_of
from .bounds import Bounds
from .exact import specialise_by_class
from .forward import Forward
from .frames import Frame
from .inlined import inline_small
from .leaves import float_leaves
from .loads import forward_loads
from .loops import may_end_early
from .reverse import Backward

_MOST_WORDS = 1 << 12
"""Of the rounds of a loop that lie within another frame."""


@dataclass(frozen=True, eq=False)
class Differentiated:
    """``forward`` does what the program did, and keeps on a tape what ``reverse`` needs; words of a
    thread: ``words`` at least, and if ``grows``, as many more as it says. Without ``forward``
    nothing is to be reversed. ``bounds`` says how many words it is at most, for some launches.
    ``shares``: whether several threads may add to one adjoint."""

    forward: Program | None
    reverse: Program | None
    words: int = 0
    grows: bool = False
    shares: bool = False
    bounds: Bounds | None = None
    #: So many words are needed beside those that are counted, for what is of no use.
    waste: int = 0
    #: What the way back loads again, which must then be there as it was.
    again: Again = field(default_factory=lambda: Again())
    #: Where which way threads go depends on floats that have adjoints.
    branches: tuple[Location, ...] = ()


def differentiate(
    program: Program,
    receivers: int,
    is_own: Callable[[Role], bool],
    atomic: bool = False,
    debug: bool = False,
    lanes: int = 1,
    loads_again: bool = False,
    own: Collection[int] = (),
    are_exact: bool = False,
) -> Differentiated:
    """The way there and back of a program. ``receivers``: how many of the kernel's first parameters
    are arrays whose elements are what they were, whenever. ``is_own``: whether no other thread adds
    to adjoints in a role. ``atomic``: whether threads that add to others run at the same time.
    ``lanes``: so many threads have their words of the tape by turns, a power of two.
    ``loads_again``: whether the way back finds memory that the program does not change as it was.
    ``own``: parameters of the kernel of whose elements each is touched by one thread alone.
    ``are_exact``: whether those arrays hold objects of their very class.

    Raises CompileError, with every place, for what has no adjoint.
    """
    program = copy_program(program)
    if are_exact:
        specialise_by_class(program, receivers)
    inline_small(program)
    differentiable = _differentiable(program)
    is_reversed = any(
        touches_floats(each) for one in differentiable.values() for each in operations_in(one)
    )
    for function in differentiable.values():
        refuse(function, is_reversed)
    if not is_reversed:
        return Differentiated(None, None)
    for function in differentiable.values():
        forward_loads(function)
    remove_unused(program, debug)
    again = Again(program) if loads_again else Again()
    linked: set[Operation] = set()
    while True:
        plan = Plan(program, differentiable, receivers, is_own, atomic, lanes, again, linked, own)
        if not plan.changes_floats:
            return Differentiated(None, None)
        try:
            return plan.made()
        except KeepsWords as found:
            linked.add(found.loop)


_REFUSED = {
    "new": ("an object is made", "make objects before the block of oa.tape()"),
    "delete": ("an object is deleted", "delete objects after the block of oa.tape()"),
    "is_alive": ("oa.is_alive is asked", "keep in a field whether an object takes part"),
    "tile": ("threads share memory of a block", "use an oa.Array, in a launch of its own"),
    "count": (
        "threads of a warp count together",
        "use oa.atomic_add, whose result nobody looks at",
    ),
    "fence": ("blocks wait for each other", "write a kernel for each side of it"),
    "barrier": ("threads wait for each other", "write two kernels, one for each side of it"),
}


def _differentiable(program: Program) -> dict[str, Function]:
    """The functions that the way back leads through: all that the kernel calls, but not through
    those whose way back was written."""
    found: dict[str, Function] = {}
    pending = [program.kernel.symbol]
    while pending:
        symbol = pending.pop()
        function = program.functions[symbol]
        if symbol in found:
            continue
        if function.gradient is not None:
            custom.check(program, function)
            continue
        found[symbol] = function
        pending += called_by(function)
    return found


#: Of these, what takes no object away: nothing, to programs that change no floats in memory.
_BETWEEN_THREADS = frozenset({"tile", "count", "fence", "barrier"})


def touches_floats(operation: Operation) -> bool:
    """Whether it changes floats in memory itself, or nobody knows."""
    kind = kind_of(operation)
    if kind is None:
        return True
    return kind.changes and any(
        float_leaves(element_of(each))
        for each in operation.operands
        if isinstance(each.type, LvalueType)
    )


def refuse(function: Function, is_reversed: bool = True) -> None:
    """Raises CompileError for operations without an adjoint, each with its line. ``is_reversed``:
    whether the program changes floats in memory."""
    found = []
    for operation in operations_in(function):
        kind = kind_of(operation)
        if kind is not None and kind.adjoint is not None:
            continue
        if not is_reversed and operation.kind in _BETWEEN_THREADS:
            continue
        what, help = _REFUSED.get(
            operation.kind, (f"{operation.kind} has no adjoint", "write it another way")
        )
        found.append(Diagnostic(f"no gradient: {what}", operation.location, help))
    if found:
        raise CompileError(found)


class KeepsWords(Exception):
    """The rounds of a loop keep something, though it was to be counted again."""

    def __init__(self, loop: Operation) -> None:
        super().__init__()
        self.loop = loop


class Plan:
    """What is known of a program whose functions are made one by one."""

    def __init__(
        self,
        program: Program,
        functions: Mapping[str, Function],
        receivers: int,
        is_own: Callable[[Role], bool],
        atomic: bool,
        lanes: int,
        again: Again,
        linked: Collection[Operation],
        own: Collection[int],
    ) -> None:
        """``functions``: those of the program that the way back leads through. ``linked``: loops of
        which it is known that their rounds keep something."""
        self.again, self._linked, self._own = again, linked, own
        #: By place, ``Differentiated.branches``.
        self.branches: dict[str, Location] = {}
        self.program, self._functions, self.lanes = program, functions, lanes
        self._receivers = program.kernel.parameters[:receivers]
        self._is_own, self._atomic = is_own, atomic
        self._shares = False
        self._backward: dict[str, Backward] = {}
        self._round_frames: dict[Operation, Frame] = {}
        self._static_loops: dict[Operation, bool] = {}
        #: Operations that the way back does not lead through: they run as they are.
        self.plain: set[Operation] = set()
        self._summaries = summarize(program)
        self._again: set[str] = set()
        #: Whether loops keep what is of no use, each round in the place of the one before.
        self._wastes = False

    def made(self) -> Differentiated:
        functions = self._functions
        reverse = {}
        for symbol in self._order:
            backward = self._backward[symbol] = Backward(self, functions[symbol])
            made = backward.made()
            reverse[made.symbol] = made
        forward = {}
        for symbol in self._order:
            made = Forward(self, functions[symbol]).made()
            forward[made.symbol] = made
        kernel = self.program.kernel
        written = [f for f in self.program.functions.values() if f.gradient is not None]
        as_they_are = [symbol for each in self.plain for symbol in self._called_in(each)]
        forward |= custom.closure(self.program, [*as_they_are, *(f.symbol for f in written)])
        gradients = [f.gradient for f in written if f.gradient]
        reverse |= custom.closure(self.program, [*self._again, *gradients])
        there, back = (
            Program(found[f"{kernel.symbol}_{way}"], found)
            for way, found in (("forward", forward), ("reverse", reverse))
        )
        frames = [*self._round_frames.values(), *(each.frame for each in self._backward.values())]
        words = max(frame.size for frame in frames)
        bounds = Bounds(self, functions) if self.is_dynamic else None
        waste = words if self.is_dynamic and self._wastes else 0
        return Differentiated(
            there,
            back,
            words,
            self.is_dynamic,
            self._shares,
            bounds,
            waste,
            self.again,
            tuple(self.branches.values()),
        )

    # ---------------------------------------------------------- functions

    def gradient_of(self, call: Operation) -> Function | None:
        """The way back that was written for what is called."""
        if call.kind != "call":
            return None
        gradient = self.program.functions[call["symbol"]].gradient
        return None if gradient is None else self.program.functions[gradient]

    def can_call_again(self, call: Operation) -> bool:
        """Whether a call gives the same on the way back, where it is noted if so: it computes with
        what it is given alone, and not for long."""
        if call.kind != "call" or call["symbol"] in self._circular:
            return False
        summary = self._summaries[call["symbol"]]
        if summary.accesses or summary.effects & ~Effects.ASKS_THREAD:
            return False
        called = custom.closure(self.program, [call["symbol"]])
        kinds = {each.kind for f in called.values() for each in operations_in(f)}
        if kinds & {"for", "while", "call_virtual"}:
            return False
        self._again.add(call["symbol"])
        return True

    def only_reads(self, call: Operation) -> bool:
        """Whether what is called reads memory, and changes none of the floats there."""
        reads = any(self._summaries[symbol].accesses for symbol in callees(call))
        return reads and not self.touches(call)

    def leave(self, operation: Operation) -> bool:
        """Note that the way back does not lead through it; whether it can run as it is."""
        called = custom.closure(self.program, self._called_in(operation))
        inside = [each for function in called.values() for each in operations_in(function)]
        inside += [operation, *(o for region in operation.regions for o in operations_in(region))]
        if any(each.kind == "call_virtual" for each in inside):
            self._wastes = True
            return False
        self.plain.add(operation)
        return True

    def _called_in(self, operation: Operation) -> list[str]:
        """What is called by an operation and those in its regions."""
        inside = (each for region in operation.regions for each in operations_in(region))
        return [symbol for each in (operation, *inside) for symbol in callees(each)]

    def is_circular(self, symbol: str) -> bool:
        """Whether a function may call itself, or lead to one that does."""
        return symbol in self._circular

    def _callees(self, operation: Operation) -> list[str]:
        """What it may call that the way back leads through."""
        return [symbol for symbol in callees(operation) if symbol in self._functions]

    def _called_by(self, function: Function) -> set[str]:
        return {symbol for symbol in called_by(function) if symbol in self._functions}

    @cached_property
    def _circular(self) -> frozenset[str]:
        """Functions that may call themselves, or lead to some that do."""
        calls = {s: self._called_by(f) for s, f in self._functions.items()}
        found: set[str] = set()
        while True:
            left = {s: c - found for s, c in calls.items() if s not in found}
            try:
                TopologicalSorter(left).prepare()
                break
            except CycleError as error:
                found.update(error.args[1])
        while True:
            more = {s for s, c in calls.items() if s not in found and c & found}
            if not more:
                return frozenset(found)
            found |= more

    @cached_property
    def _order(self) -> list[str]:
        """Functions after those that they call, but in circles."""
        calls = {
            s: self._called_by(f) - self._circular if s not in self._circular else set()
            for s, f in self._functions.items()
        }
        ordered = TopologicalSorter(calls).static_order()
        return sorted(ordered, key=lambda symbol: symbol in self._circular)

    @cached_property
    def is_dynamic(self) -> bool:
        """Whether threads keep more than is known."""
        return not all(map(self._is_static, self._functions))

    @cached_property
    def _static(self) -> dict[str, bool]:
        return {}

    def _is_static(self, symbol: str) -> bool:
        """Whether it is known how much a function keeps."""
        found = self._static.get(symbol)
        if found is None:
            function = self._functions[symbol]
            found = self._static[symbol] = symbol not in self._circular and all(
                self._is_static_here(each) for each in operations_in(function)
            )
        return found

    def _is_static_here(self, operation: Operation) -> bool:
        if operation.kind in ("for", "while") and self._has_frames(operation):
            return not self.has_linked_rounds(operation)
        return all(map(self._is_static, self._callees(operation)))

    def frame(self, symbol: str) -> Frame:
        """What a function keeps."""
        return self._backward[symbol].frame

    def forward_result(self, function: Function) -> Type:
        """What a function gives on its way there."""
        if not self.is_dynamic:
            return function.result
        own = () if function.result == VOID else (function.result,)
        return TupleType((*own, weak_int))

    def callee_size(self, call: Operation) -> int | None:
        """How many words a call keeps, within the frame of what calls; None if it takes others."""
        called = self._callees(call)
        if not all(map(self._is_static, called)):
            return None
        return max((self.frame(symbol).size for symbol in called), default=0)

    # -------------------------------------------------------------- loops

    def _has_frames(self, loop: Operation) -> bool:
        """Whether the way back leads through the loop."""
        if self.touches(loop) or effects_of(loop) & Effects.RETURNS:
            return True
        return any(float_leaves(type_of(each)) for each in loop.results)

    def has_linked_rounds(self, loop: Operation) -> bool:
        """Whether it is not known how many rounds there are, or how much they keep."""
        if self.counts_again(loop):
            return False
        found = self._static_loops.get(loop)
        if found is None:
            rounds = rounds_of(loop) if loop.kind == "for" else None
            found = rounds is not None and 0 < len(rounds) <= _MOST_WORDS
            found = found and all(
                self._is_static_here(each)
                for region in loop.regions
                for each in operations_in(region)
            )
            self._static_loops[loop] = found
        return not found

    def counts_again(self, loop: Operation) -> bool:
        """Whether the way back counts as the way there did, through rounds that keep nothing."""
        if loop in self._linked or loop.kind != "for" or may_end_early(loop):
            return False
        return rounds_of(loop) is None and bool(constant_of(loop.operands[2]))

    def counts_rounds(self, loop: Operation) -> bool:
        """Whether the way back goes through as many rounds as are known."""
        return not self.has_linked_rounds(loop) and not may_end_early(loop)

    def note_round_frame(self, loop: Operation, frame: Frame) -> None:
        if frame.size and self.counts_again(loop):
            raise KeepsWords(loop)
        self._round_frames[loop] = frame

    def round_frame(self, loop: Operation) -> Frame | None:
        """What a round keeps; None for loops that the way back does not lead through."""
        return self._round_frames.get(loop)

    # ------------------------------------------------------------- memory

    def touches(self, operation: Operation) -> bool:
        """Whether the operation, with what it calls and holds, changes floats in memory."""
        if touches_floats(operation):
            return True
        if any(self._touching[symbol] for symbol in self._callees(operation)):
            return True
        return any(self.touches(each) for region in operation.regions for each in region.operations)

    @property
    def changes_floats(self) -> bool:
        """Whether there is anything to be reversed."""
        return any(self._touching.values())

    @cached_property
    def _touching(self) -> Mapping[str, bool]:
        found = {
            symbol: any(map(touches_floats, operations_in(function)))
            for symbol, function in self._functions.items()
        }
        changed = True
        while changed:
            changed = False
            for symbol, function in self._functions.items():
                if not found[symbol] and any(found[each] for each in self._called_by(function)):
                    found[symbol] = changed = True
        return found

    @cached_property
    def _used(self) -> frozenset[Value]:
        return frozenset(o for each in operations_in(self.program) for o in each.operands)

    def is_used(self, value: Value) -> bool:
        """Whether anybody looks at it."""
        return value in self._used

    def adds_plainly(self, lvalue: Value) -> bool:
        """Whether no other thread adds to adjoints of what lies there at the same time."""
        root = root_of(lvalue)
        if (root is not None and root.kind == "list_element") or self._is_own(role_of(lvalue)):
            return True
        if self._own and array_of(lvalue, self.program.kernel.parameters) in self._own:
            return True
        self._shares = True
        return not self._atomic

    @cached_property
    def _shared_lvalues(self) -> frozenset[Value]:
        return shared_lvalues(self.program)

    def is_shared(self, lvalue: Value) -> bool:
        """Whether threads of a warp are likely to name the same place."""
        return lvalue in self._shared_lvalues

    def loads_receiver(self, load: Operation) -> bool:
        """Whether it is an element of an array that is as it was."""
        place = load.operands[0].source
        return (
            place is not None and place.kind == "element" and place.operands[0] in self._receivers
        )
