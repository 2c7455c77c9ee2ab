"""Whether a program is well formed: every pass may rely on that, and must leave it so."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InternalError
from ..model.scalars import live_byte, weak_int
from ..model.types import VOID, ArrayType
from .core import Function, LvalueType, Operation, Program, Region, Type, Value, type_of
from .operations import kind_of


def verify(program: Program, after: str = "the front end") -> None:
    """Raises InternalError, naming the function, the operation and the pass ``after`` which the
    program was found malformed."""
    for symbol, function in program.functions.items():
        if function.symbol != symbol:
            raise InternalError(f"after {after}: {symbol} holds the function {function.symbol}")
        _Function(program, function, after).run()
    if program.functions.get(program.kernel.symbol) is not program.kernel:
        raise InternalError(f"after {after}: the kernel is not among its functions")


class _Function:
    def __init__(self, program: Program, function: Function, after: str) -> None:
        self._program, self._function, self._after = program, function, after
        self._made: set[Value] = set()

    def run(self) -> None:
        self._region(self._function.body, None, [], set())

    def _fail(self, operation: Operation | None, problem: str) -> InternalError:
        where = "" if operation is None else f" at {operation!r}, line {operation.location.line}"
        return InternalError(f"after {self._after}: {self._function.symbol}{where}: {problem}")

    def _region(
        self,
        region: Region,
        holder: Operation | None,
        loops: Sequence[Operation],
        visible: set[Value],
    ) -> None:
        visible = set(visible)
        for argument in region.arguments:
            self._make(argument, None, visible)
        if not region.operations:
            raise self._fail(holder, "a region without operations")
        for operation in region.operations:
            kind = kind_of(operation)
            is_last = operation is region.operations[-1]
            if (kind is not None and kind.is_terminator) != is_last:
                raise self._fail(operation, "a terminator is what a region ends with, only there")
            for operand in operation.operands:
                if operand not in visible:
                    raise self._fail(operation, f"{operand!r} is not visible here")
            self._declared(operation)
            self._passed(operation, region, holder, loops)
            for inner in operation.regions:
                is_body = operation.kind in _LOOPS and inner is not operation.regions[-1]
                self._region(inner, operation, [*loops, operation] if is_body else loops, visible)
            for result in operation.results:
                if result.source is not operation:
                    raise self._fail(operation, f"{result!r} names another source")
                self._make(result, operation, visible)

    def _make(self, value: Value, operation: Operation | None, visible: set[Value]) -> None:
        if value in self._made:
            raise self._fail(operation, f"{value!r} is made twice")
        self._made.add(value)
        visible.add(value)

    def _declared(self, operation: Operation) -> None:
        """Numbers of operands, results and regions, and attributes, are as declared."""
        kind = kind_of(operation)
        if kind is None:
            return
        for what, wanted, there in (
            ("operands", kind.operands, operation.operands),
            ("results", kind.results, operation.results),
            ("regions", kind.regions, operation.regions),
        ):
            if wanted is not None and wanted != len(there):
                raise self._fail(operation, f"{len(there)} {what} instead of {wanted}")
        there_are = operation.attributes.keys()
        if not there_are >= kind.required:
            missing = [name for name in kind.attributes if name not in there_are]
            raise self._fail(operation, f"without {', '.join(missing)}")
        if not there_are <= kind.possible:
            more = there_are - kind.possible
            raise self._fail(operation, f"with undeclared {', '.join(sorted(more))}")
        problem = _type_problem(operation, self._program)
        if problem:
            raise self._fail(operation, problem)

    def _passed(
        self,
        operation: Operation,
        region: Region,
        holder: Operation | None,
        loops: Sequence[Operation],
    ) -> None:
        """What a terminator passes on is what is awaited there."""
        kind, given = operation.kind, operation.operands
        if kind == "return":
            result = self._function.result
            wanted: list[Type] = [] if result == VOID else [result]
        elif kind == "yield":
            if holder is None or (holder.kind not in _CHOICES and region is not holder.regions[-1]):
                raise self._fail(operation, "yields to nobody")
            wanted = [result.type for result in holder.results]
        elif kind in ("continue", "break"):
            if not loops:
                raise self._fail(operation, "is in no loop")
            wanted = [result.type for result in loops[-1].results]
        elif kind == "condition":
            if holder is None or holder.kind != "while" or region is not holder.regions[0]:
                raise self._fail(operation, "tests for no loop")
            wanted = [result.type for result in holder.results]
            given = given[1:]
        else:
            return
        if (problem := _differ(given, wanted)) is not None:
            raise self._fail(operation, problem)


_LOOPS = frozenset({"for", "while"})
_CHOICES = frozenset({"if", "switch"})


def _differ(values: Sequence[Value], wanted: Sequence[Type]) -> str | None:
    there = [value.type for value in values]
    return None if there == list(wanted) else f"passes {there!r} where {wanted!r} is awaited"


def _type_problem(operation: Operation, program: Program) -> str | None:
    """What is wrong with the types of a declared operation."""
    kind, operands, results = operation.kind, operation.operands, operation.results
    if kind not in _TAKES_LVALUES:
        for operand in operands:
            if isinstance(operand.type, LvalueType):
                return "takes an lvalue"
    if kind not in _TYPED:
        return None
    if kind in _SAME and {operand.type for operand in operands[_SAME[kind] :]} != {results[0].type}:
        return "operands and result differ in type"
    if kind == "compare" and operands[0].type != operands[1].type:
        return "compares different types"
    if kind == "load" and operands[0].type != LvalueType(type_of(results[0])):
        return "loads another type"
    if kind == "switch" and len(operation["cases"]) != len(operation.regions) - 1:
        return f"{len(operation['cases'])} cases for {len(operation.regions)} regions"
    if kind in ("opaque", "together") and operands[0].type != results[0].type:
        return "gives another type"
    if kind == "store" and operands[1].type != LvalueType(type_of(operands[0])):
        return "stores another type"
    if kind == "call":
        callee = program.functions.get(operation["symbol"])
        if callee is None:
            return f"{operation['symbol']} is not part of the program"
        types = [parameter.type for parameter in callee.parameters]
        return _differ(operands, types) or _result_problem(operation, callee)
    if kind == "call_virtual":
        for candidate in operation["candidates"]:
            if candidate.symbol not in program.functions:
                return f"{candidate.symbol} is not part of the program"
    if kind == "delete":
        place = [each.type for each in operands[1:]]
        if not operands or place not in ([], _PLACE_OF_ONE):
            return "takes an object, or one with the bytes of its region and its slot"
    if kind in _LOOPS:
        return _loop_problem(operation)
    return None


_TAKES_LVALUES = frozenset(
    {"load", "store", "atomic", "count", "prefetch", "inline_element", "member", "shadow"}
)
#: Kinds whose operands, from the one of that number on, have the type of the result.
_SAME = {"binary": 0, "select": 1}
#: Which bytes of its region say that an object lives, and which of these.
_PLACE_OF_ONE: Sequence[Type] = [ArrayType(live_byte), weak_int]
#: Kinds of which more is asked than that they take no lvalues.
_TYPED = frozenset(
    {
        *_SAME,
        *_LOOPS,
        "switch",
        "opaque",
        "together",
        "compare",
        "load",
        "store",
        "call",
        "call_virtual",
        "delete",
    }
)


def _result_problem(operation: Operation, callee: Function) -> str | None:
    there = [result.type for result in operation.results]
    return None if there == [callee.result] else f"gives {there!r}, not {callee.result!r}"


def _loop_problem(operation: Operation) -> str | None:
    bounds = 3 if operation.kind == "for" else 0
    types = [result.type for result in operation.results]
    problem = _differ(operation.operands[bounds:], types)
    for place, region in enumerate(operation.regions):
        own = 1 if operation.kind == "for" and place == 0 else 0
        problem = problem or _differ(region.arguments[own:], types)
    return problem
