"""Where in a function objects and arrays come from: which parameter refers to them, if any."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..model.scalars import ScalarType
from ..model.types import ArrayType, InlineType, ReferenceType, TupleType, ValueType, VoidType
from .core import Function, LvalueType, Operation, Region, Type, Value, operations_in
from .operations import Effects, kind_of


class Via(NamedTuple):
    """What an access goes through. ``is_own``: the object or array that parameter number
    ``parameter`` (0: the receiver of a method) refers to; else that or one which is reached from
    there through memory, when the access is made. Without ``parameter``: any object or array.

    Two that differ may be the same object all the same."""

    parameter: int | None
    is_own: bool = False

    @property
    def beyond(self) -> Via:
        """Of what is reached from there."""
        return Via(self.parameter)


def own(parameter: int) -> Via:
    """The object or array that a parameter refers to."""
    return Via(parameter, True)


ANYTHING = Via(None)
Origins = frozenset[Via]
NOBODY: Origins = frozenset()
"""Of null, and of what is no reference."""
#: What an operation that calls functions gives.
OfCall = Callable[[Operation, "dict[Value, Origins]"], Origins]


def origins_in(function: Function, of_call: OfCall) -> dict[Value, Origins]:
    """The origins of every value of a function that is or holds references, and of the objects and
    arrays that lvalues lie in."""
    return _Flow(function, of_call).run()


class _Flow:
    def __init__(self, function: Function, of_call: OfCall) -> None:
        self._function, self._of_call = function, of_call
        self._found: dict[Value, Origins] = {}
        #: Values that are given to others by terminators and loops.
        self._given: list[tuple[Value, Value]] = []

    def run(self) -> dict[Value, Origins]:
        for number, parameter in enumerate(self._function.parameters):
            is_one = isinstance(parameter.type, (ReferenceType, ArrayType))
            self._found[parameter] = _of_type(parameter.type, [Via(number, is_one)])
        self._pass_on(self._function.body, None, None)
        changed = True
        while changed:
            changed = False
            for operation in operations_in(self._function):
                for result in () if operation.regions else operation.results:
                    changed |= self._add(result, self._made(operation, result))
            for source, target in self._given:
                changed |= self._add(target, self._found.get(source, NOBODY))
        return self._found

    def _add(self, value: Value, origins: Iterable[Via]) -> bool:
        before = self._found.get(value)
        after = (before or NOBODY).union(origins)
        self._found[value] = after
        return after != before

    def _pass_on(self, region: Region, holder: Operation | None, loop: Operation | None) -> None:
        """Note who gives what to whom. ``holder`` has the region, ``loop`` is the innermost one.
        What is carried or yielded comes last among operands and arguments."""
        for operation in region.operations:
            kind = kind_of(operation)
            if kind is None or not kind.is_terminator:
                self._enter(operation, loop)
                continue
            target = loop if kind.effects & Effects.LEAVES_LOOP else holder
            if target is not None and Effects.RETURNS not in kind.effects:
                self._give(operation.operands, target.results)

    def _enter(self, operation: Operation, loop: Operation | None) -> None:
        kind = kind_of(operation)
        is_loop = kind is not None and kind.is_loop
        if is_loop:
            self._give(operation.operands, operation.results)
        for region in operation.regions:
            passed = region.arguments[-len(operation.results) :] if operation.results else []
            # Results stand for what is carried, too.
            self._give(operation.results, passed if is_loop else [])
            for argument in region.arguments:
                if not is_loop or argument not in passed:
                    self._found[argument] = _of_type(argument.type, [ANYTHING])
            is_body = is_loop and region is not operation.regions[-1]
            self._pass_on(region, operation, operation if is_body else loop)

    def _give(self, sources: list[Value], targets: list[Value]) -> None:
        """The last of the sources, as many as there are targets."""
        count = min(len(sources), len(targets))
        self._given += zip(sources[len(sources) - count :], targets, strict=False)

    def _made(self, operation: Operation, result: Value) -> Origins:
        """Where what an operation without regions makes comes from."""
        kind = kind_of(operation)
        if kind is None:
            return _of_type(result.type, [ANYTHING])
        found: set[Via] = set()
        if kind.calls:
            found.update(self._of_call(operation, self._found))
        elif kind.effects in (Effects.NOTHING, Effects.READS, Effects.ATOMIC):
            for operand in operation.operands:
                through = self._found.get(operand, NOBODY)
                found.update(_step(kind.effects, operand.type, result.type, through))
            if not _shows_origin(operation, kind.effects):
                found.add(ANYTHING)
        else:
            found.add(ANYTHING)
        return _of_type(result.type, found)


def _step(effects: Effects, operand: Type, result: Type, through: Origins) -> Iterable[Via]:
    """The origins of what is made of an operand that has the origins ``through``."""
    if isinstance(operand, LvalueType) and not isinstance(result, LvalueType):
        # What is read there; computing nothing but a place never gives what lies there.
        return [via.beyond for via in through] if effects else [ANYTHING]
    if isinstance(operand, ArrayType) and isinstance(result, ReferenceType):
        return [via.beyond for via in through]
    return through


def _shows_origin(operation: Operation, effects: Effects) -> bool:
    """Whether references that an operation makes come from its operands, or are null."""
    types = [operand.type for operand in operation.operands]
    if effects:
        return any(isinstance(type, LvalueType) for type in types)
    return operation.kind == "zero" or any(map(_holds_references, types))


def _holds_references(type: Type) -> bool:
    match type:
        case ScalarType() | VoidType():
            return False
        case InlineType():
            return _holds_references(type.element)
        case TupleType():
            return any(map(_holds_references, type.items))
        case ValueType():
            return any(map(_holds_references, type.fields.values()))
    return True


def _of_type(type: Type, origins: Iterable[Via]) -> Origins:
    return frozenset(origins) if _holds_references(type) else NOBODY
