"""The way back through one function: regions in reverse, each with what it needs of the way there.

The reverse of a region first computes again what its operations computed, as far as somebody needs
it, and then goes through them from the last to the first. What cannot be computed again, as memory
has changed since, is kept in a frame (``frames``): what was loaded, what calls, branches and loops
gave. Values are asked for when they are needed, so nothing is kept that nobody needs.

An operation that may leave its round or its function, with others behind it, tells by how these
ended (``Frame.ends``) whether it did; if so the way back does not lead through those behind.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dispatch.dataclass import dataclass, field

from ...errors import CompileError, Diagnostic
from ...model.scalars import i64, u64, weak_int
from ...model.types import VOID, ArrayType, ListType, TupleType
from ..core import Candidate, Function, LvalueType, Operation, Region, Value, type_of
from ..operations import PURE, Adjoint, Effects, effects_of, kind_of
from . import custom, loops, memory
from .branches import depends_on_floats
from .code import Code
from .frames import END, Frame, callee_of
from .leaves import Path, float_leaves
from .rules import RULES

if TYPE_CHECKING:
    from .loops import Round
    from .program import Plan

Given = dict[Path, Value]
"""Adjoints of the floats of a value that have one."""
#: What is computed again though it is not pure: nothing that others could have changed.
_AGAIN = frozenset({"thread_index", "grid_size", "list_element", "type_test"})
_LEAVES = Effects.LEAVES_LOOP | Effects.RETURNS
_ENDS = frozenset({"continue", "break", "return", "condition"})


@dataclass(eq=False)
class Framed:
    """Something that has a frame, on the way back: a function, or a round of a loop."""

    frame: Frame
    #: The number of the frame's first word.
    base: Value
    round: Round | None = None
    scope: Scope | None = None
    end: Value | None = None


@dataclass(eq=False)
class Scope:
    """The reverse of a region, or of a part of one: ``again``, which computes what is needed, then
    ``back``."""

    framed: Framed
    again: Code
    back: Code
    #: What values of the region are on the way back.
    known: dict[Value, Value] = field(default_factory=dict)
    adjoints: dict[Value, Given] = field(default_factory=dict)
    #: Adjoints of what its ``yield`` passes on, by number.
    results: Sequence[Given] = ()

    @property
    def operations(self) -> list[Operation]:
        return [*self.again.operations, *self.back.operations]


class Backward:
    """One function on its way back."""

    def __init__(self, plan: Plan, function: Function) -> None:
        self.plan, self.function = plan, function
        self.frame = Frame()
        self.tape = Value(ArrayType(u64), "tape")
        self.delta = Value(u64, "delta")
        self.results: list[Given] = []
        #: Values that are others: what a test passes on to the body.
        self.same: dict[Value, Value] = {}
        self._owner: dict[Value, Scope] = {}
        self._active: dict[Value, bool] = {}
        framed = Framed(self.frame, Value(weak_int, "base"))
        self.scope = framed.scope = self._new_scope(framed, ())
        number_ends(self.frame, [function.body])

    def made(self) -> Function:
        """The reverse function: it has the function's parameters, the adjoints of its result, the
        tape, the first word of its frame, and how far adjoints are away; it gives those of the
        parameters. That of a kernel has the kernel's parameters, the whole tape, the words that
        each thread has there, and the distance."""
        function, scope = self.function, self.scope
        parameters = [Value(each.type, each.name) for each in function.parameters]
        for own, given in zip(function.parameters, parameters, strict=True):
            self._owner[own], scope.known[own] = scope, given
        if function.kind == "kernel":
            whole, room = Value(ArrayType(u64), "tape"), Value(i64, "room")
            parameters += [whole, room, self.delta]
            self.tape = thread_part(scope.again, whole, room, self.plan.lanes)
            scope.framed.base = scope.again.integer(0)
        else:
            self.results = [{}]
            for path, type in float_leaves(function.result).items():
                self.results[0][path] = Value(type, "adjoint")
            parameters += [*self.results[0].values(), self.tape, scope.framed.base, self.delta]
        self.sequence(function.body.operations)
        result = reverse_result(function)
        adjoints = [
            scope.adjoints.get(own, {}).get(path) or scope.back.number(0.0, type)
            for own in function.parameters
            for path, type in float_leaves(type_of(own)).items()
        ]
        if function.kind == "kernel" or result == VOID:
            scope.back.add("return", [])
        else:
            scope.back.add("return", [scope.back.value("make_tuple", adjoints, result)])
        return Function(
            reverse_symbol(function.symbol), f"{function.name}, reversed", function.kind,
            VOID if function.kind == "kernel" else result, Region(parameters, scope.operations),
            function.location, function.owner,
        )  # fmt: skip

    def _new_scope(self, framed: Framed, results: Sequence[Given]) -> Scope:
        at = self.function.location
        return Scope(framed, Code(at), Code(at), results=results)

    # ------------------------------------------------------------ values

    @property
    def code(self) -> Code:
        return self.scope.back

    def primal(self, value: Value) -> Value:
        """What a value was, in the region on the way back that belongs to its own."""
        value = self.same.get(value, value)
        owner = self._owner[value]
        found = owner.known.get(value)
        if found is None:
            again = self._computed_again(value, owner)
            if again is None:
                again = self.kept(owner, value)
            found = owner.known[value] = again
        return found

    def _computed_again(self, value: Value, owner: Scope) -> Value | None:
        source = value.source
        if source is None or source.regions or not self._is_repeatable(source):
            return None
        operands = [self.primal(operand) for operand in source.operands]
        code, attributes = owner.again, dict(source.attributes)
        code.location = source.location
        if source.kind == "list":
            # On the way back it holds the adjoints of what it held.
            type = type_of(value)
            assert isinstance(type, ListType)
            attributes["repeat"] *= len(operands)
            operands = [code.zero(type.element)]
        made = code.value(source.kind, operands, value.type, **attributes)
        made.name = value.name
        return made

    def _is_repeatable(self, operation: Operation) -> bool:
        kind = kind_of(operation)
        if operation.kind == "load":
            return self.plan.loads_receiver(operation) or self.plan.again.loads(operation)
        if operation.kind == "list":
            return True
        if operation.kind == "call":
            return self.plan.can_call_again(operation)
        return kind is not None and (kind.effects == PURE or operation.kind in _AGAIN)

    def kept(self, owner: Scope, value: Value) -> Value:
        """A value that the frame has."""
        if isinstance(value.type, LvalueType) or isinstance(type_of(value), ListType):
            source = value.source
            at = self.function.location if source is None else source.location
            raise CompileError(
                [
                    Diagnostic(
                        "a list that is chosen by a branch, a loop or a call has no adjoint", at,
                        "use the list where it is made, or pass it to functions",
                    )
                ]
            )  # fmt: skip
        framed = owner.framed
        place = owner.again.at(framed.base, framed.frame.place(value))
        found = self.read(owner.again, place, value.type)
        found.name = value.name
        return found

    def read(self, code: Code, place: Value, type: Any) -> Value:
        """What the thread's tape has at a place."""
        return code.value("frame_read", [self.tape, place], type, lanes=self.plan.lanes)

    def word(self, framed: Framed, what: Hashable) -> Value:
        """One of the words that the frame has for something else; read in the current region."""
        place = self.code.at(framed.base, framed.frame.word(what))
        return self.read(self.code, place, weak_int)

    def is_active(self, value: Value) -> bool:
        """Whether a value has floats that may depend on memory or on parameters of functions."""
        found = self._active.get(value)
        if found is None:
            found = self._active[value] = self._depends(value)
        return found

    def _depends(self, value: Value) -> bool:
        if isinstance(value.type, LvalueType) or not float_leaves(value.type):
            return False
        source = value.source
        if source is None:
            is_parameter = value in self.function.parameters
            return not (is_parameter and self.function.kind == "kernel")
        kind = kind_of(source)
        if source.regions or kind is None or kind.effects != PURE:
            return True
        return kind.adjoint is Adjoint.RULE and any(map(self.is_active, source.operands))

    # ---------------------------------------------------------- adjoints

    def give(self, value: Value, path: Path, adjoint: Value) -> None:
        """Add to the adjoint of a float of ``value``."""
        if not self.is_active(value):
            return
        known = self.scope.adjoints.setdefault(value, {})
        before = known.get(path)
        known[path] = adjoint if before is None else self.code.binary("add", before, adjoint)

    def take(self, value: Value) -> Given:
        """The adjoint of a value that nobody behind has more to add to."""
        return self.scope.adjoints.pop(value, {})

    def refusal(self, operation: Operation, problem: str, help: str) -> CompileError:
        return CompileError([Diagnostic(f"no gradient: {problem}", operation.location, help)])

    # ----------------------------------------------------------- regions

    def own(self, values: Iterable[Value]) -> None:
        self._owner.update(dict.fromkeys(values, self.scope))

    def within(self, framed: Framed | None = None, results: Sequence[Given] = ()) -> Scope:
        """A new region within this one."""
        return self._new_scope(framed or self.scope.framed, results)

    def arm(self, region: Region, results: Sequence[Given]) -> Scope:
        """The reverse of a region of a branch, which has yielded what has these adjoints."""
        scope, before = self.within(results=results), self.scope
        self.scope = scope
        self.own(region.arguments)
        self.sequence(region.operations)
        self.scope = before
        return scope

    def sequence(self, operations: Sequence[Operation]) -> None:
        """The reverse of operations up to a terminator."""
        parted = next((n for n, each in enumerate(operations[:-1]) if _may_leave(each)), None)
        if parted is None or operations[parted + 1].kind == "unreachable":
            *before, terminator = operations
            self.own(result for each in before for result in each.results)
            self._seed(terminator)
        else:
            before = [*operations[: parted + 1]]
            self.own(result for each in before for result in each.results)
            self._behind(before[-1], operations[parted + 1 :])
        self.reverse_all(before)

    def reverse_all(self, operations: Sequence[Operation]) -> None:
        for operation in reversed(operations):
            self.code.location = operation.location
            self._reverse(operation)

    def _behind(self, leaving: Operation, operations: Sequence[Operation]) -> None:
        """The reverse of what was run only if ``leaving`` did not leave."""
        scope = self.scope
        rest = self.within(results=scope.results)
        self.scope = rest
        self.sequence(operations)
        self.scope = scope
        if not rest.back.operations and not self.passed_out(rest):
            return
        framed = scope.framed
        numbers = [n for end, n in framed.frame.ends.items() if _is_within(end, leaving)]
        ended, code = self._end(framed), scope.back
        before = code.compare("lt", ended, code.integer(min(numbers)))
        after = code.compare("gt", ended, code.integer(max(numbers)))
        came = code.either(before, after)
        self.merge("if", [came], [rest, self.within()])

    def _end(self, framed: Framed) -> Value:
        """The number of the terminator with which it ended."""
        if framed.end is None:
            assert framed.scope is not None
            code = framed.scope.again
            place = code.at(framed.base, framed.frame.word(END))
            framed.end = self.read(code, place, weak_int)
        return framed.end

    def ended_with(self, framed: Framed, terminator: Operation) -> Value:
        """Whether it ended with this terminator."""
        number = self.code.integer(framed.frame.ends[terminator])
        return self.code.compare("eq", self._end(framed), number)

    def _seed(self, terminator: Operation) -> None:
        """What is passed on gets the adjoints of what it becomes."""
        round = self.scope.framed.round
        given: Sequence[Given] = ()
        if terminator.kind == "yield":
            given = self.scope.results
        elif terminator.kind == "return":
            given = self.results
        elif terminator.kind == "continue" and round is not None:
            given = round.carried
        elif terminator.kind == "break" and round is not None:
            given = round.results
        for operand, adjoints in zip(terminator.operands, given, strict=False):
            for path, adjoint in adjoints.items():
                self.give(operand, path, adjoint)

    def passed_out(self, scope: Scope) -> dict[tuple[Value, Path], Value]:
        """The adjoints of values from outside that a region has found."""
        return {
            (value, path): adjoint
            for value, given in scope.adjoints.items()
            if self._owner[self.same.get(value, value)] is not scope
            for path, adjoint in given.items()
        }

    def merge(
        self,
        kind: str,
        operands: Sequence[Value],
        arms: Sequence[Scope],
        more: Sequence[Sequence[Value]] = (),
        **attributes: Any,
    ) -> list[Value]:
        """Run one of the arms, and take the adjoints that it has for values from outside. ``more``:
        of each arm, what else it gives."""
        outside = [self.passed_out(arm) for arm in arms]
        keys = list(dict.fromkeys(key for found in outside for key in found))
        if not keys and not any(arm.back.operations for arm in arms) and not any(more):
            return []
        types = [next(found[key].type for found in outside if key in found) for key in keys]
        others = more or [[] for _ in arms]
        regions = []
        for arm, found, extra in zip(arms, outside, others, strict=True):
            pairs = zip(keys, types, strict=True)
            yielded = [found.get(key) or arm.back.value("zero", [], t) for key, t in pairs]
            arm.back.add("yield", [*yielded, *extra])
            regions.append(Region([], arm.operations))
        types += [each.type for each in others[0]]
        made = self.code.add(kind, operands, types, regions, **attributes)
        for (value, path), result in zip(keys, made.results, strict=False):
            self.give(value, path, result)
        return made.results[len(keys) :]

    # -------------------------------------------------------- operations

    def _reverse(self, operation: Operation) -> None:
        kind = kind_of(operation)
        if kind is None or kind.adjoint is None:
            raise self.refusal(
                operation, f"the operation {operation.kind} has no adjoint", "write it another way"
            )
        if kind.adjoint is Adjoint.CONSTANT:
            return
        special = _SPECIAL.get(operation.kind)
        if special is not None:
            special(self, operation)
            return
        given = self.take(operation.result)
        if given:
            RULES[operation.kind](self, operation, given)

    def choose(self, operation: Operation) -> None:
        """An ``if`` or a ``switch``."""
        results = [self.take(result) for result in operation.results]
        if not any(results) and not (self.plan.touches(operation) or _may_leave(operation)):
            self.leave(operation)
            return
        self.note_branch(operation, operation.operands[0])
        test = self.primal(operation.operands[0])
        arms = [self.arm(region, results) for region in operation.regions]
        self.merge(operation.kind, [test], arms, **operation.attributes)

    def note_branch(self, operation: Operation, test: Value) -> None:
        """The way back follows the way that was taken here."""
        if depends_on_floats(self, test):
            self.plan.branches.setdefault(operation.location.line_in_file, operation.location)

    def call(self, operation: Operation) -> None:
        """The reverse of the function that was called, by the same receiver."""
        given = self.take(operation.result)
        if not given and not self.plan.touches(operation):
            self.leave(operation)
            return
        gradient = self.plan.gradient_of(operation)
        if gradient is not None:
            custom.call(self, operation, gradient, given)
            return
        if self.plan.only_reads(operation):
            self._call_unless_zero(operation, given)
        else:
            self._call_reverse(operation, given)

    def _call_unless_zero(self, operation: Operation, given: Given) -> None:
        """Where its result made no difference, what was called has no adjoints to add to memory. It
        did not for most threads that chose one of many results."""
        code, matters = self.code, None
        for adjoint in given.values():
            differs = code.compare("ne", adjoint, code.value("zero", [], adjoint.type))
            matters = differs if matters is None else code.either(matters, differs)
        assert matters is not None
        called, scope = self.within(), self.scope
        self.scope = called
        self._call_reverse(operation, given)
        self.scope = scope
        self.merge("if", [matters], [called, self.within()])

    def _call_reverse(self, operation: Operation, given: Given) -> None:
        code = self.code
        operands = [self.primal(operand) for operand in operation.operands]
        for path, type in float_leaves(type_of(operation.result)).items():
            operands.append(given.get(path) or code.number(0.0, type))
        operands += [self.tape, self._callee_base(operation), self.delta]
        leaves = [
            (operand, path, type)
            for operand in operation.operands
            for path, type in float_leaves(type_of(operand)).items()
        ]
        result = TupleType(tuple(type for *_, type in leaves)) if leaves else VOID
        attributes = dict(operation.attributes)
        if operation.kind == "call":
            attributes["symbol"] = reverse_symbol(attributes["symbol"])
        else:
            attributes["candidates"] = tuple(
                Candidate(each.cls, reverse_symbol(each.symbol)) for each in operation["candidates"]
            )
        made = code.value(operation.kind, operands, result, **attributes)
        for number, (operand, path, type) in enumerate(leaves):
            if self.is_active(operand):
                self.give(operand, path, code.value("tuple_item", [made], type, index=number))

    def leave(self, operation: Operation) -> None:
        """The way back does not lead through it: it runs as it is. Where it calls methods by class,
        a table has those of the way there alone, and what they keep needs room."""
        if self.plan.leave(operation):
            return
        frame, size = self.scope.framed.frame, None
        if Effects.CALLS in effects_of(operation) and not operation.regions:
            size = self.plan.callee_size(operation)
        if size is not None:
            frame.word(callee_of(operation), size)
        for region in operation.regions:
            for each in region.operations:
                self.leave(each)

    def _callee_base(self, operation: Operation) -> Value:
        framed = self.scope.framed
        size = self.plan.callee_size(operation)
        if size is None:
            return self.word(framed, callee_of(operation))
        return self.code.at(framed.base, framed.frame.word(callee_of(operation), size))


def reverse_symbol(symbol: str) -> str:
    return f"{symbol}_reverse"


def reverse_result(function: Function) -> Any:
    """What the reverse of a function gives: the adjoints of its parameters' floats."""
    parameters = map(type_of, function.parameters)
    leaves = tuple(leaf for each in parameters for leaf in float_leaves(each).values())
    return TupleType(leaves) if leaves else VOID


def thread_number(code: Code) -> Value:
    """The thread's number among those of the launch."""

    def ask(kind: str, axis: int) -> Value:
        return code.value(kind, [], weak_int, axis=axis)

    row = code.binary("mul", ask("thread_index", 1), ask("grid_size", 0))
    return code.binary("add", row, ask("thread_index", 0))


def thread_part(code: Code, whole: Value, room: Value, lanes: int) -> Value:
    """The thread's own words of the tape, ``room`` of them: those of ``lanes`` threads lie by
    turns."""
    start = thread_number(code)
    words = code.value("convert", [room], weak_int)
    if lanes == 1:
        start = code.binary("mul", start, words)
    else:
        lane = code.binary("and", start, code.integer(lanes - 1))
        first = code.binary("sub", start, lane)
        start = code.binary("add", code.binary("mul", first, words), lane)
    return code.value("slice", [whole, start, words], whole.type)


def number_ends(frame: Frame, regions: Iterable[Region]) -> None:
    """Number the terminators with which what has the frame may end. Those within one operation have
    numbers one after another."""
    for region in regions:
        for operation in region.operations:
            number_ends(frame, operation.regions)
            if operation.kind in _ENDS:
                frame.ends[operation] = len(frame.ends)


def _may_leave(operation: Operation) -> bool:
    return bool(operation.regions and effects_of(operation) & _LEAVES)


def _is_within(operation: Operation, holder: Operation) -> bool:
    pending = [*holder.regions]
    while pending:
        for each in pending.pop().operations:
            if each is operation:
                return True
            pending += each.regions
    return False


_SPECIAL: Mapping[str, Any] = {
    "load": memory.load,
    "store": memory.store,
    "atomic": memory.atomic,
    "list": memory.new_list,
    "if": Backward.choose,
    "switch": Backward.choose,
    "for": loops.reverse_loop,
    "while": loops.reverse_loop,
    "call": Backward.call,
    "call_virtual": Backward.call,
}
