"""Ways of a program cut at their calls of one function: what they do before them, and behind them.

A *way* is a region, or the body of a function that is called. It is cut at its first operation that
leads to a call, through arms of branches and through functions, but not into loops; a way without a
call is cut at its end. Where ways end before the calls they *exit*, each with a code. Nothing that
was made before the calls is visible behind them, so exits pass on what is needed there in slots:
values of one type share a slot if they come from ways that exclude one another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dispatch.dataclass import dataclass, field, replace

from ...model.scalars import i32
from ...model.types import VOID, TupleType
from ...model.types import Type as ModelType
from ..core import Function, LvalueType, Operation, Program, Region, Type, Value, operations_in
from ..operations import PURE, Effects, effects_of
from ..rewrite import copy_function, copy_operations, make, replace_uses, uses_in
from .calls import callees

CODE = i32
"""The type of codes: odd ones are those of ways that call the function."""
_LEAVES = Effects.RETURNS | Effects.LEAVES_LOOP
_MOST_EXITS, _MOST_JOINED = 256, 32
"""Of one cut; and branches that leave, each within an arm of the one before."""


class Plan(NamedTuple):
    """How many exits there would be, and how many of them at calls."""

    exits: int
    calls: int


NO_CALL, CALL = Plan(1, 0), Plan(1, 1)


class Plans:
    """Which ways lead to calls of ``symbol``. ``recursive``: functions that are not looked into, as
    they may call themselves."""

    def __init__(self, program: Program, symbol: str, recursive: Callable[[str], bool]) -> None:
        self._program, self._symbol, self._recursive = program, symbol, recursive
        self._functions: dict[str, Plan] = {}
        self._joined = 0

    def of_function(self, symbol: str) -> Plan:
        found = self._functions.get(symbol)
        if found is None:
            found = CALL if symbol == self._symbol else NO_CALL
            function = self._program.functions[symbol]
            if found is NO_CALL and not (self._recursive(symbol) or _has_lists(function)):
                found = self.of(function.body.operations) or NO_CALL
            self._functions[symbol] = found
        return found

    def of(self, operations: Sequence[Operation]) -> Plan | None:
        """None if the way cannot be cut: threads leave it from within a loop."""
        for place, operation in enumerate(operations[:-1]):
            found = self.at(operation, operations[place + 1 :])
            if found is None or found.calls or _leaves(operation):
                return found
        return NO_CALL

    def at(self, operation: Operation, rest: Sequence[Operation]) -> Plan | None:
        """The same of an operation that ``rest`` follows."""
        parts: list[Plan | None]
        if operation.kind in _BRANCHES:
            parts, _ = self.of_arms(operation, rest)
        elif operation.regions:
            parts = [None if _leaves(operation) else NO_CALL]
        else:
            parts = [self.of_function(symbol) for symbol in callees(operation)]
        known = [part for part in parts if part is not None]
        found = Plan(sum(p.exits for p in known), sum(p.calls for p in known))
        fits = not found.calls or found.exits <= _MOST_EXITS
        return found if fits and len(known) == len(parts) else None

    def of_arms(
        self, branch: Operation, rest: Sequence[Operation]
    ) -> tuple[list[Plan | None], bool]:
        """The same of each arm of a branch; and whether that of the only one which goes on to
        ``rest`` is with ``rest``, as this leads to a call."""
        ends = [arm.terminator.kind for arm in branch.regions]
        place = ends.index("yield") if ends.count("yield") == 1 else None
        longer = None
        if place is not None and rest[-1].kind != "condition" and self._joined < _MOST_JOINED:
            self._joined += 1
            longer = self.of([*branch.regions[place].operations[:-1], *rest])
            self._joined -= 1
        joins = longer is not None and longer.calls > 0
        plans = [
            longer if joins and number == place else self.of(arm.operations)
            for number, arm in enumerate(branch.regions)
        ]
        return plans, joins


_BRANCHES = ("if", "switch")


def _has_lists(function: Function) -> bool:
    """Whether there are lists in its frame, which would be gone in its second part."""
    return any(effects_of(each) & Effects.OWNS for each in operations_in(function))


def _leaves(operation: Operation) -> bool:
    return bool(effects_of(operation) & _LEAVES)


@dataclass(eq=False)
class _Way:
    """``before``, then the operation that is cut, if any, then ``rest``. ``ways`` are those of the
    operation's arms, or of the ``functions`` that it calls; ``codes`` those of the exits."""

    before: list[Operation]
    at: Operation | None
    rest: list[Operation]
    ways: list[_Way] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    codes: tuple[int, ...] = ()
    #: Operations of ``before`` that are repeated behind the calls, values that are passed on, and
    #: the latter by slot.
    repeated: list[Operation] = field(default_factory=list)
    passed: list[Value] = field(default_factory=list)
    slots: dict[int, Value] = field(default_factory=dict)


class _Behind(NamedTuple):
    """What is visible behind the calls."""

    code: Value
    result: Value | None
    slots: Sequence[Value]


class Cut:
    """``region.operations[place]`` cut at its calls of ``callee``, as ``plans`` say; the region is
    taken apart. ``types``: of what is passed to the calls: a code, arguments, slots."""

    def __init__(
        self, program: Program, callee: Function, plans: Plans, region: Region, place: int
    ) -> None:
        self._program, self._callee, self._plans = program, callee, plans
        self._exits = 0
        self._slot_of: dict[tuple[Type, int], int] = {}
        _join_rest(plans, region.operations, place)
        operation = region.operations[place]
        self._at = operation.location
        self._root = self._way_at([], operation, [])
        _note_needed(self._root)
        self._give_slots(self._root, Counter())
        arguments = [parameter.type for parameter in callee.parameters]
        self._first_slot = 1 + len(arguments)
        self.types = [CODE, *arguments, *(type for type, _ in self._slot_of)]

    # ------------------------------------------------------------------ ways

    def _way(self, operations: list[Operation]) -> _Way:
        for place, operation in enumerate(operations[:-1]):
            plan = self._plans.at(operation, operations[place + 1 :])
            if plan is None or plan.calls or _leaves(operation):
                _join_rest(self._plans, operations, place)
                return self._way_at(operations[:place], operation, operations[place + 1 :])
        return _Way(operations[:-1], None, operations[-1:], codes=self._code(False))

    def _way_at(self, before: list[Operation], operation: Operation, rest: list[Operation]) -> _Way:
        way = _Way(before, operation, rest)
        if operation.kind in _BRANCHES:
            way.ways = [self._way(arm.operations) for arm in operation.regions]
        elif operation.kind == "call" and operation["symbol"] == self._callee.symbol:
            way.codes = self._code(True)
        else:
            way.functions = [*map(self._function, callees(operation))]
            way.ways = [self._way(each.body.operations) for each in way.functions]
        way.codes += tuple(code for inner in way.ways for code in inner.codes)
        return way

    def _code(self, calls: bool) -> tuple[int, ...]:
        self._exits += 1
        return (2 * self._exits + calls,)

    def _function(self, symbol: str) -> Function:
        """A copy that may be taken apart; for a function that need not be, one that calls it."""
        function = self._program.functions[symbol]
        made = copy_function(function, symbol)
        if symbol == self._callee.symbol or not self._plans.of_function(symbol).calls:
            call = make("call", made.parameters, made.location, [made.result], symbol=symbol)
            end = make("return", _not_void(call.results), made.location)
            made.body.operations = [call, end]
        return made

    def _give_slots(self, way: _Way, taken: Counter[Type]) -> None:
        """``taken``: how many slots of each type are."""
        taken = taken.copy()
        for value in way.passed:
            key = value.type, taken[value.type]
            way.slots[self._slot_of.setdefault(key, len(self._slot_of))] = value
            taken[value.type] += 1
        for inner in way.ways:
            self._give_slots(inner, taken)

    # ------------------------------------------------------------------ before the calls

    def before(self) -> tuple[list[Operation], list[Value]]:
        """What is done before the calls, and what is passed to them."""
        *operations, end = self._before(self._root, {})
        return operations, end.operands

    def _before(self, way: _Way, around: Mapping[int, Value]) -> list[Operation]:
        """``around``: the slots that are filled already. The last operation is a ``yield``."""
        slots = {**around, **way.slots}
        given = {self._first_slot + slot: value for slot, value in slots.items()}
        made: list[Operation] = []

        def add(kind: str, operands: Sequence[Value], type: Type, **attributes: Any) -> Value:
            made.append(make(kind, operands, self._at, [type], **attributes))
            return made[-1].result

        if not way.ways:
            given[0] = add("constant", [], CODE, value=way.codes[0])
            given.update(enumerate(way.at.operands if way.at else [], 1))
        elif way.functions:
            made.append(self._call_first_parts(way))
            whole = made[0].result
            for number, type in enumerate(self.types):
                if number not in given:
                    given[number] = add("tuple_item", [whole], type, index=number)
        else:
            made.append(self._branch(way, slots))
            given = dict(enumerate(made[0].results))
        for number, type in enumerate(self.types):
            if number not in given:
                given[number] = add("anything", [], type)
        end = make("yield", [given[number] for number in range(len(self.types))], self._at)
        return [*way.before, *made, end]

    def _branch(self, way: _Way, slots: Mapping[int, Value]) -> Operation:
        assert way.at is not None
        regions = [Region([], self._before(inner, slots)) for inner in way.ways]
        made = make(way.at.kind, way.at.operands, way.at.location, self.types, regions)
        made.attributes = dict(way.at.attributes)
        return made

    def _call_first_parts(self, way: _Way) -> Operation:
        assert way.at is not None
        together = TupleType(tuple(self.types))  # type: ignore[arg-type]
        symbols: dict[str, str] = {}
        for function, inner in zip(way.functions, way.ways, strict=True):
            *operations, end = self._before(inner, {})
            items = make("make_tuple", end.operands, self._at, [together])
            operations += [items, make("return", items.results, self._at)]
            body = Region(function.parameters, operations)
            symbols[function.symbol] = self._add(function, "before", together, body)
        call = make(way.at.kind, way.at.operands, way.at.location, [together])
        call.attributes = dict(way.at.attributes)
        if call.kind == "call":
            call.attributes["symbol"] = symbols[call["symbol"]]
        else:
            candidates = [replace(each, symbol=symbols[each.symbol]) for each in call["candidates"]]
            call.attributes["candidates"] = tuple(candidates)
        return call

    def _add(self, function: Function, part: str, result: ModelType, body: Region) -> str:
        """The symbol of a new function of the program, which is a part of another one."""
        functions = self._program.functions
        symbol = f"{function.symbol}.{part}.{len(functions)}"
        functions[symbol] = replace(function, symbol=symbol, result=result, body=body)
        return symbol

    # ------------------------------------------------------------------ behind the calls

    def behind(self, code: Value, result: Value | None, slots: Sequence[Value]) -> list[Operation]:
        """What is done behind the calls, which gave ``result``."""
        return self._behind(self._root, _Behind(code, result, slots), {})

    def _behind(
        self, way: _Way, behind: _Behind, replaced: Mapping[Value, Value]
    ) -> list[Operation]:
        """``replaced``: what stands for values that are not visible there."""
        copies: dict[Value, Value] = {}
        made = copy_operations(way.repeated, copies)
        passed = {value: behind.slots[slot] for slot, value in way.slots.items()}
        replaced = {**replaced, **passed, **copies}
        if way.functions:
            regions = [*self._call_last_parts(way, behind)]
            made.append(self._choice(way, behind.code, regions))
        elif way.ways:
            regions = [Region([], self._behind(each, behind, replaced)) for each in way.ways]
            made.append(self._choice(way, behind.code, regions))
        elif way.at is not None and behind.result is not None:
            replaced[way.at.result] = behind.result
        whole = Region([], [*made, *way.rest])
        replace_uses(whole, replaced)
        return whole.operations

    def _choice(self, way: _Way, code: Value, regions: list[Region]) -> Operation:
        """What makes of the exit the results of the operation that was cut."""
        assert way.at is not None
        cases = tuple(inner.codes for inner in way.ways[:-1])
        made = make("switch", [code], way.at.location, [], regions, cases=cases)
        made.results = _not_void(way.at.results)
        for result in made.results:
            result.source = made
        return made

    def _call_last_parts(self, way: _Way, behind: _Behind) -> Iterator[Region]:
        assert way.at is not None
        result = [] if behind.result is None else [behind.result]
        given = [behind.code, *result, *behind.slots]
        for function, inner in zip(way.functions, way.ways, strict=True):
            code, *slots = [Value(each.type, each.name) for each in (behind.code, *behind.slots)]
            results = [Value(each.type, each.name) for each in result]
            own = {value: Value(value.type, value.name) for value in function.parameters}
            visible = _Behind(code, results[0] if results else None, slots)
            operations = self._behind(inner, visible, own)
            body = Region([*own.values(), code, *results, *slots], operations)
            symbol = self._add(function, "behind", function.result, body)
            made, operands = [], [*way.at.operands, *given]
            if way.at.kind == "call_virtual":
                type = function.parameters[0].type
                made.append(make("convert", operands[:1], way.at.location, [type]))
                operands[0] = made[0].result
            call = make("call", operands, way.at.location, [function.result], symbol=symbol)
            end = make("yield", _not_void(call.results), way.at.location)
            yield Region([], [*made, call, end])


def _join_rest(plans: Plans, operations: list[Operation], place: int) -> None:
    """Move what follows a branch into the only arm that goes on to it, if it leads to a call."""
    branch, rest = operations[place], operations[place + 1 :]
    if branch.kind not in _BRANCHES or not plans.of_arms(branch, rest)[1]:
        return
    (arm,) = [arm for arm in branch.regions if arm.terminator.kind == "yield"]
    moved = Region([], rest)
    replace_uses(moved, dict(zip(branch.results, arm.terminator.operands, strict=True)))
    end = moved.terminator
    arm.operations[-1:] = moved.operations
    if end.kind == "yield":
        branch.results = [Value(value.type, value.name, branch) for value in end.operands]
        operations[place + 1 :] = [make("yield", branch.results, end.location)]
    else:
        branch.results = []
        operations[place + 1 :] = [make("unreachable", [], end.location)]


def _note_needed(way: _Way) -> set[Value]:
    """Note what is needed behind the calls of what was made before; what the ways of one function
    use there."""
    used = {*uses_in(Region([], way.rest))}
    within = [_note_needed(inner) for inner in way.ways]
    used.update(*([way.at.operands] if way.at is not None and way.functions else within))
    for operation in reversed(way.before):
        needed = [result for result in operation.results if result in used]
        if needed and _is_repeated(operation):
            way.repeated.insert(0, operation)
            used.update(operation.operands)
        else:
            way.passed += needed
    return used


def _is_repeated(operation: Operation) -> bool:
    """Constants, and lvalues, which cannot be passed on."""
    effects = effects_of(operation)
    if operation.regions or effects & ~Effects.OWNS:
        return False
    # Of lists none is made anew, but their elements are named again.
    names = bool(operation.results) and isinstance(operation.results[0].type, LvalueType)
    return names or (effects == PURE and not operation.operands)


def _not_void(values: Sequence[Value]) -> list[Value]:
    return [value for value in values if value.type != VOID]
