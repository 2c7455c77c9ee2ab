"""Of two tests that must both hold, the one that loads a field is made before the one that runs a
loop.

On a GPU the threads of a warp wait for the slowest of them, and each load that a thread makes by
itself takes its turn. ``a and b`` runs ``a`` in every thread; where ``a`` searches and ``b`` asks
for a field, few threads need to search. Both only compute and load, so nobody sees which came
first; and ``b`` may be asked of an object because ``a`` always asks it, too.

    %t = call %o <symbol = "search">            %f = load (field %o <name = "flag">)
    %r = if %t {                                %r = if %f {
      %f = load (field %o <name = "flag">)  ->    %t = call %o <symbol = "search">
      yield %f                                    yield %t
    } { yield false }                           } { yield false }

The same for ``or``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...model.scalars import ScalarType
from ...model.types import ReferenceType
from ..core import (
    Function,
    Lane,
    Operation,
    Program,
    Region,
    Remark,
    Value,
    constant_of,
    element_of,
    operations_in,
    root_of,
    rounds_of,
    unconverted,
)
from ..field_loads import field_of
from ..job import Job
from ..operations import PURE, Effects, effects_of, kind_of
from ..rewrite import Use, make, replace_uses, uses_in
from .calls import callees, is_known

_LOOKING = Effects.READS | Effects.CALLS
#: Of what a function does that only looks, and of what its loops do.
_WITHIN = _LOOKING | Effects.RETURNS | Effects.LEAVES_LOOP
_MOST_LOADS = 4
"""Of a test that every thread makes instead."""
_PLACES_AND_ARMS = ("field", "member", "inline_element", "if", "yield")
_EXACT_OPERATORS = frozenset({"and", "or", "xor"})
_TEXT = "this is asked last, as it takes longest and changes nothing"


def order_tests(program: Program, job: Job) -> None:
    """Let tests that search wait for those that do not."""
    looking = _Looking(program, job.mode.closed_world)
    for function in program.functions.values():
        if not any(isinstance(fact, Lane) for fact in function.known.values()):
            _Order(program, function, looking).region(function.body)


class _Looking:
    """What functions of a program do, of which passes do not change anything but the order."""

    def __init__(self, program: Program, closed_world: bool) -> None:
        self._functions, self._closed_world = program.functions, closed_world
        self._looks: dict[str, bool] = {}
        self._searches: dict[str, bool] = {}

    def looks(self, operation: Operation) -> bool:
        """Whether it only computes and loads, and comes to an end."""
        return not effects_of(operation) & ~_LOOKING and self._calls_look(operation)

    def _calls_look(self, operation: Operation) -> bool:
        if not is_known(operation) or (operation.kind == "call_virtual" and not self._closed_world):
            return False
        within = (each for region in operation.regions for each in operations_in(region))
        return all(map(self._function_looks, callees(operation))) and all(
            is_known(each)
            and (each.kind != "call_virtual" or self._closed_world)
            and all(map(self._function_looks, callees(each)))
            for each in within
        )

    def _function_looks(self, symbol: str) -> bool:
        if symbol not in self._looks:
            self._looks[symbol] = False  # one that calls itself may go on for ever
            self._looks[symbol] = all(
                not effects_of(each) & ~_WITHIN and self._calls_look(each)
                for each in self._functions[symbol].body.operations
            )
        return self._looks[symbol]

    def searches(self, operation: Operation) -> bool:
        """Whether it has a loop in which it loads."""
        kind = kind_of(operation)
        inside = [each for region in operation.regions for each in operations_in(region)]
        if kind is not None and kind.is_loop and any(map(self._loads, inside)):
            return True
        return any(map(self.searches, inside)) or any(map(self._searching, callees(operation)))

    def _searching(self, symbol: str) -> bool:
        if symbol not in self._searches:
            self._searches[symbol] = False
            operations = self._functions[symbol].body.operations
            self._searches[symbol] = any(map(self.searches, operations))
        return self._searches[symbol]

    def _loads(self, operation: Operation) -> bool:
        return bool(effects_of(operation) & Effects.READS) or any(
            any(map(self._loads, operations_in(self._functions[symbol])))
            for symbol in callees(operation)
        )

    def asks(self, operations: Sequence[Operation], value: Value) -> bool:
        """Whether a field of the object is loaded whenever the operations are run."""
        for operation in operations:
            if operation.kind == "load":
                root = root_of(operation.operands[0])
                if root is not None and root.kind == "field" and _object_of(root) is value:
                    return True
            elif operation.kind == "call":
                callee = self._functions[operation["symbol"]]
                given = zip(callee.parameters, operation.operands, strict=True)
                for parameter, operand in given:
                    if unconverted(operand) is value and self._asked(callee, parameter):
                        return True
            elif operation.kind == "for" and rounds_of(operation):
                return self.asks(operation.regions[0].operations, value)
            if operation.regions or effects_of(operation) & ~_LOOKING:
                return False
        return False

    def _asked(self, function: Function, parameter: Value) -> bool:
        return not any(isinstance(fact, Lane) for fact in function.known.values()) and self.asks(
            function.body.operations, parameter
        )


def _object_of(field: Operation) -> Value:
    return unconverted(field.operands[0])


class _Order:
    """Puts the tests of one function in order."""

    def __init__(self, program: Program, function: Function, looking: _Looking) -> None:
        self._program, self._function, self._looking = program, function, looking
        self._uses: dict[Value, list[Use]] = uses_in(function)

    def region(self, region: Region) -> None:
        """Those of a region, and of all within."""
        for operation in [*region.operations]:
            for inner in operation.regions:
                self.region(inner)
            if operation.kind == "if":
                self._choice(region, operation)

    def _choice(self, region: Region, choice: Operation) -> None:
        known = _only_if(choice)
        if known is None:
            return
        is_and, second = known
        place = region.operations.index(choice)
        first = self._first(region, place, choice)
        if not any(map(self._looking.searches, first)):
            return

        def is_asked(value: Value) -> bool:
            return self._looking.asks(first, value)

        if not _is_cheap(second, is_asked):
            return
        *tests, end = second.operations
        at, (asked,), (test,) = choice.location, end.operands, choice.operands
        settled = make("constant", [], at, [test.type], value=not is_and)
        search = Region([], [*first, make("yield", [test], at)])
        no = Region([], [settled, make("yield", [settled.result], at)])
        arms = [search, no] if is_and else [no, search]
        made = make("if", [asked], at, [choice.result.type], arms)
        before = [each for each in region.operations[:place] if each not in first]
        region.operations[:] = [*before, *tests, made, *region.operations[place + 1 :]]
        replace_uses(self._function, {choice.result: made.result})
        self._uses = uses_in(self._function)
        self._program.remarks.append(Remark(first[0].location, _TEXT))

    def _first(self, region: Region, place: int, choice: Operation) -> list[Operation]:
        """What the test is computed by, from the region's operations before ``place``, and nothing
        else is in need of; behind which nothing is done but computing."""
        found: list[Operation] = []
        moved: set[Operation] = {choice}
        for operation in reversed(region.operations[:place]):
            uses = [use for result in operation.results for use in self._uses.get(result, ())]
            is_ours = bool(uses) and all(use.operation in moved for use in uses)
            if is_ours and self._looking.looks(operation):
                found.append(operation)
                moved.add(operation)
            elif effects_of(operation) & ~Effects.READS:
                break
        return found[::-1]


def _only_if(choice: Operation) -> tuple[bool, Region] | None:
    """Of ``a and b`` and ``a or b``: whether it is the former, and ``b``."""
    if len(choice.results) != 1 or choice.result.type != choice.operands[0].type:
        return None
    for is_and, other, second in ((True, 1, 0), (False, 0, 1)):
        end = choice.regions[other].terminator
        if end.kind != "yield":
            continue
        constant = constant_of(end.operands[0])
        is_settled = constant is not None and bool(constant) is not is_and
        others = choice.regions[other].operations[:-1]
        if is_settled and all(effects_of(each) == PURE for each in others):
            return is_and, choice.regions[second]
    return None


def _is_cheap(second: Region, is_asked: Callable[[Value], bool]) -> bool:
    """Whether a test loads little, and may be made wherever the objects for which ``is_asked``
    holds are ones."""
    loads = 0
    for operation in operations_in(second):
        if operation.kind == "load":
            loads += 1
            if not _is_there(operation.operands[0], is_asked):
                return False
        elif operation.kind not in _PLACES_AND_ARMS and not _is_exact(operation):
            return False
    return 0 < loads <= _MOST_LOADS


def _is_there(lvalue: Value, is_asked: Callable[[Value], bool]) -> bool:
    """Whether it is a scalar of an object that is one, of a field that all of its class have."""
    if not isinstance(element_of(lvalue), ScalarType | ReferenceType):
        return False
    chain = field_of(lvalue)
    if chain is None:
        return False
    field = chain[0]
    object = _object_of(field)
    is_its = isinstance(object.type, ReferenceType) and field["owner"] in object.type.cls.ancestry()
    return is_its and is_asked(object)


def _is_exact(operation: Operation) -> bool:
    """Whether what it gives is defined for all operands, so that a branch may rest on it."""
    if operation.kind == "binary":
        return operation["operator"] in _EXACT_OPERATORS
    kind = kind_of(operation)
    return effects_of(operation) == PURE and kind is not None and kind.is_total
