"""Which receivers are the same object for every thread of a warp.

COAL leaves a call alone whose receiver is uniform: its header is then one load for the whole warp,
cheaper than a search ("Judging a Type by Its Pointer", section 5). This decides speed only, never
correctness.

*Uniform* means equal for all threads of the warp that run the code together. Thread indices are
divergent, and so is what is computed from them; kernel arguments, constants and loads from uniform
addresses are not. What branches and loops pass on is divergent where threads that part there bring
different values. A loop is *uneven* that some threads leave in an earlier round than others: what
it carries stays uniform inside, among the threads still there, but not behind it.

Functions are followed from the kernel through direct calls and to every candidate of virtual ones;
a parameter is uniform if it is at all calls. Everything counts as uniform until shown otherwise,
so recursion needs no care. In a program with an operation that nobody declared, or that moves
control in a way which is not known here, nothing is uniform.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dispatch.dataclass import dataclass, field

from ..model.types import VOID
from .core import Function, LvalueType, Operation, Program, Region, Value, operations_in
from .operations import PURE, Effects, effects_of, kind_of
from .passes.calls import callees, is_known

_FLOW = frozenset(
    {
        "if", "switch", "for", "while", "yield", "condition", "continue", "break", "return",
        "unreachable",
    }
)  # fmt: skip
"""Kinds that move control or hold regions, and what they do is known here."""
_MOVES = Effects.LEAVES_LOOP | Effects.RETURNS


def uniform_receivers(program: Program, debug: bool = False) -> frozenset[Operation]:
    """The virtual calls and type tests whose receiver is uniform when the kernel runs. In ``debug``
    mode a call gives zero where its receiver is no object."""
    if not all(map(_is_followed, operations_in(program))):
        return frozenset()
    return frozenset(
        operation
        for function in _Program(program, debug).reached()
        for operation in operations_in(function.function)
        if operation.kind in ("call_virtual", "type_test")
        and operation.operands[0] not in function.divergent
    )


def shared_lvalues(program: Program) -> frozenset[Value]:
    """The lvalues in memory that threads choose among a few: each is uniform, or one of several
    that are, as branches choose. Whether threads have the same one shows when they run."""
    if any(not _is_followed(each) for each in operations_in(program)):
        return frozenset()
    return frozenset(
        operand
        for function in _Program(program, False, chooses=True).reached()
        for operation in operations_in(function.function)
        for operand in operation.operands
        if isinstance(operand.type, LvalueType) and operand not in function.divergent
    )


def is_of_launch(value: Value, function: Function, also: Effects = Effects.NOTHING) -> bool:
    """Whether a value is computed from nothing but constants and arguments of the launch; ``also``:
    by operations that have these effects."""
    pending = [value]
    seen: set[Value] = {*function.parameters} if function.kind == "kernel" else set()
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        source = each.source
        if source is None or effects_of(source) & ~also:
            return False
        pending += source.operands
        for region in source.regions:
            pending += region.terminator.operands
    return True


def _is_followed(operation: Operation) -> bool:
    """Whether it is known where threads go behind an operation, and what it calls."""
    kind = kind_of(operation)
    if kind is None or not is_known(operation):
        return False
    moves = kind.effects & _MOVES or kind.is_terminator or operation.regions
    return operation.kind in _FLOW or not moves


class _Program:
    """All functions that the kernel reaches, and a list of those to look at again."""

    def __init__(self, program: Program, debug: bool, chooses: bool = False) -> None:
        """``chooses``: what is chosen among uniform values counts as uniform."""
        self._program, self.debug, self.chooses = program, debug, chooses
        self._functions: dict[str, _Function] = {}
        self._work: list[_Function] = []
        self.enter(program.kernel.symbol, ())
        while self._work:
            self._work.pop().analyse()

    def reached(self) -> Iterable[_Function]:
        return self._functions.values()

    def enter(self, symbol: str, divergent: Iterable[int]) -> _Function:
        """Note a call of a function with the parameters of these numbers divergent."""
        known = self._functions.get(symbol)
        if known is None:
            known = self._functions[symbol] = _Function(self, self._program.functions[symbol])
            self._work.append(known)
        before = len(known.divergent)
        known.divergent.update(known.function.parameters[number] for number in divergent)
        if len(known.divergent) > before:
            self.look_again(known)
        return known

    def look_again(self, function: _Function) -> None:
        if function not in self._work:
            self._work.append(function)


@dataclass(eq=False)
class _Join:
    """Where ways meet that bring values ``into`` others; ``depth`` loops are around it. ``ways``:
    the values of each, and the loops around where it begins."""

    into: Sequence[Value]
    depth: int
    ways: list[tuple[Sequence[Value], tuple[Operation, ...]]] = field(default_factory=list)


@dataclass(frozen=True)
class _At:
    """The loops around a place, and how many of these are also around the innermost branch or loop
    there whose threads part; -1 if there is none."""

    loops: tuple[Operation, ...] = ()
    parted: int = -1


class _Function:
    """One function: ``divergent`` holds what was found so of its values."""

    def __init__(self, program: _Program, function: Function) -> None:
        self._program, self.function = program, function
        self.divergent: set[Value] = set()
        self._callers: set[_Function] = set()
        self._returned = [] if function.result == VOID else [Value(function.result)]
        #: How many loops are around where a value is made.
        self._depth: dict[Value, int] = {}
        self._joins: list[_Join] = []
        #: Where threads that part may bring different values. Where a loop ends: it is uneven.
        self._parted: set[_Join] = set()
        self._returns = self._join(self._returned, 0)
        #: Where a branch or loop ends, and where a loop's next round begins.
        self._end: dict[Operation, _Join] = {}
        self._next: dict[Operation, _Join] = {}
        self._survey(function.body, (), self._returns)

    def returns_divergent(self, caller: _Function) -> bool:
        """Whether threads get different results; ``caller`` is told when that changes."""
        self._callers.add(caller)
        return not self.divergent.isdisjoint(self._returned)

    # ------------------------------------------------------------ where values meet

    def _join(self, into: Sequence[Value], depth: int) -> _Join:
        self._joins.append(_Join(into, depth))
        return self._joins[-1]

    def _survey(self, region: Region, loops: tuple[Operation, ...], end: _Join) -> None:
        """Find the joins; what the region yields comes to ``end``."""
        self._depth.update(dict.fromkeys(region.arguments, len(loops)))
        for operation in region.operations:
            self._depth.update(dict.fromkeys(operation.results, len(loops)))
            way = operation.operands, loops
            match operation.kind:
                case "yield":
                    end.ways.append(way)
                case "continue":
                    self._next[loops[-1]].ways.append(way)
                case "break":
                    self._end[loops[-1]].ways.append(way)
                case "return":
                    self._returns.ways.append(way)
                case "if" | "switch":
                    self._end[operation] = self._join(operation.results, len(loops))
                    for arm in operation.regions:
                        self._survey(arm, loops, self._end[operation])
                case "for" | "while":
                    self._survey_loop(operation, loops)

    def _survey_loop(self, loop: Operation, outer: tuple[Operation, ...]) -> None:
        loops = (*outer, loop)
        *rounds, last = loop.regions
        head, bounds = (rounds[0].arguments, 0)
        if loop.kind == "for":
            head, bounds = head[1:], 3
        passed = head if loop.kind == "for" else rounds[0].terminator.operands[1:]
        self._join(head, len(loops)).ways.append((loop.operands[bounds:], outer))
        self._join(last.arguments, len(outer)).ways.append((passed, loops))
        for body in rounds[1:]:
            self._join(body.arguments, len(loops)).ways.append((passed, loops))
        self._next[loop] = self._join(head, len(loops))
        self._end[loop] = self._join(loop.results, len(outer))
        for region in rounds:
            self._survey(region, loops, self._end[loop])
        self._survey(last, outer, self._end[loop])

    def _differs(self, join: _Join, number: int) -> bool:
        """Whether threads that come there have different values for ``into[number]``."""
        if self._program.chooses:
            return any(values[number] in self.divergent for values, _ in join.ways)
        given = [(values[number], loops[join.depth :]) for values, loops in join.ways]
        if join in self._parted and any(not _same(value, given[0][0]) for value, _ in given):
            return True
        return any(
            value in self.divergent or any(map(self._is_uneven, left[: self._made_in(value, join)]))
            for value, left in given
        )

    def _made_in(self, value: Value, join: _Join) -> int:
        """In how many of the loops that are left on the way to a join a value is made."""
        return max(0, self._depth[value] - join.depth)

    def _is_uneven(self, loop: Operation) -> bool:
        return self._end[loop] in self._parted

    # ------------------------------------------------------------ what threads do

    def analyse(self) -> None:
        did_return = self.divergent.intersection(self._returned)
        before = None
        while before != (now := (len(self.divergent), len(self._parted))):
            before = now
            self._region(self.function.body, _At())
            for join in self._joins:
                for number, value in enumerate(join.into):
                    if value not in self.divergent and self._differs(join, number):
                        self.divergent.add(value)
        if did_return != self.divergent.intersection(self._returned):
            for caller in self._callers:
                self._program.look_again(caller)

    def _region(self, region: Region, at: _At) -> None:
        for operation in region.operations:
            match operation.kind:
                case "if" | "switch":
                    self._branch(operation, at)
                case "for" | "while":
                    self._loop(operation, at)
                case "continue" if at.parted == len(at.loops):
                    self._parted.add(self._next[at.loops[-1]])
                case "break" if at.parted == len(at.loops):
                    self._parted.add(self._end[at.loops[-1]])
                case "return" if at.parted >= 0:
                    self._parted.add(self._returns)
                    self._parted.update(self._end[loop] for loop in at.loops[: at.parted])
                case _:
                    if self._diverges(operation):
                        self.divergent.update(operation.results)

    def _branch(self, branch: Operation, at: _At) -> None:
        if branch.operands[0] in self.divergent:
            self._parted.add(self._end[branch])
            at = _At(at.loops, len(at.loops))
        for region in branch.regions:
            self._region(region, at)

    def _loop(self, loop: Operation, at: _At) -> None:
        *rounds, last = loop.regions
        if loop.kind == "for":
            tests, (start, _, step) = loop.operands[:3], loop.operands[:3]
            if not self.divergent.isdisjoint([start, step]):
                self.divergent.add(rounds[0].arguments[0])
        else:
            tests = rounds[0].terminator.operands[:1]
        if not self.divergent.isdisjoint(tests):
            self._parted.add(self._end[loop])
        apart = _At(at.loops, len(at.loops)) if self._is_uneven(loop) else at
        for region in rounds:
            self._region(region, _At((*at.loops, loop), apart.parted))
        # Threads that left by ``break`` do not come to the last region.
        has_break = any(loop in loops for _, loops in self._end[loop].ways)
        self._region(last, apart if has_break else at)

    def _diverges(self, operation: Operation) -> bool:
        """Whether the results of an operation that passes nothing on are divergent."""
        divergent = [n for n, each in enumerate(operation.operands) if each in self.divergent]
        if self._program.chooses and operation.kind == "select":
            return divergent not in ([], [0])
        kind = kind_of(operation)
        assert kind is not None
        if kind.calls:
            return self._call_diverges(operation, divergent)
        return bool(divergent) or not (kind.of_launch or kind.effects in (PURE, Effects.READS))

    def _call_diverges(self, call: Operation, divergent: Sequence[int]) -> bool:
        targets = callees(call)
        returns = [
            self._program.enter(target, divergent).returns_divergent(self) for target in targets
        ]
        # Another object may have another method.
        chooses = call.kind == "call_virtual" and (len(targets) > 1 or self._program.debug)
        return any(returns) or (chooses and 0 in divergent)


def _same(one: Value, other: Value) -> bool:
    """Whether two values that meet are one; equal constants are."""
    a, b = one.source, other.source
    if one is other or a is None or b is None or a.operands or b.operands:
        return one is other
    kind = kind_of(a)
    is_constant = kind is not None and kind.effects == PURE and not a.regions
    # Numbers may be equal and not the same: 0.0 and -0.0.
    return is_constant and (a.kind, repr(a.attributes)) == (b.kind, repr(b.attributes))
