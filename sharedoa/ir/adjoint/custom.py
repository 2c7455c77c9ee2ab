"""Functions whose way back was written by hand (``oa.custom_gradient``): it is called as it is, and
nothing is kept of what they do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ...errors import CompileError, Diagnostic
from ...model.types import TupleType, Type
from ..core import Function, LvalueType, Operation, Program, Value, operations_in, type_of
from ..operations import Effects, kind_of
from ..passes.calls import callees
from ..roles import role_of
from .leaves import Path, float_leaves

if TYPE_CHECKING:
    from .reverse import Backward

_TOUCHES = Effects.WRITES | Effects.ATOMIC | Effects.LIVES | Effects.WAITS


def call(
    to: Backward, operation: Operation, gradient: Function, given: Mapping[Path, Value]
) -> None:
    """The adjoints of a call's arguments, by the function that was given for that."""
    code = to.code
    adjoint = code.whole(type_of(operation.result), given)
    operands = [*map(to.primal, operation.operands), adjoint]
    made = code.value("call", operands, gradient.result, symbol=gradient.symbol)
    with_floats = [each for each in operation.operands if float_leaves(type_of(each))]
    for number, operand in enumerate(with_floats):
        part: Path = () if len(with_floats) == 1 else (number,)
        for path in float_leaves(type_of(operand)):
            to.give(operand, path, code.part(made, (*part, *path)))


def closure(program: Program, symbols: Iterable[str]) -> dict[str, Function]:
    """The functions of these symbols, and all that they call."""
    found: dict[str, Function] = {}
    pending = [*symbols]
    while pending:
        symbol = pending.pop()
        if symbol not in found:
            found[symbol] = program.functions[symbol]
            for operation in operations_in(found[symbol]):
                pending += callees(operation)
    return found


def check(program: Program, function: Function) -> None:
    """Raises CompileError for a way back of other types than that of the function, and for what
    changes memory, or calls a method by the class of an object: that has another meaning there; and
    for a way back that reads memory, which has not been kept for it."""
    assert function.gradient is not None
    gradient = program.functions[function.gradient]
    parameters = [type_of(each) for each in function.parameters]
    results = tuple(each for each in parameters if float_leaves(each))
    wanted = [*parameters, function.result]
    result: Type = results[0] if len(results) == 1 else TupleType(results)
    if not results or not float_leaves(function.result):
        raise _refused(function, "has no floats to go back through", "drop its custom gradient")
    there = [type_of(each) for each in gradient.parameters]
    if there != wanted or gradient.result != result:
        takes = ", ".join(map(repr, wanted))
        raise _refused(
            gradient,
            f"is no way back through {function.name}",
            f"it takes ({takes}), the last being the adjoint of the result, and returns {result!r}",
        )
    for each in closure(program, [function.symbol, gradient.symbol]).values():
        for operation in operations_in(each):
            kind = kind_of(operation)
            if kind is None or kind.effects & _TOUCHES or operation.kind == "call_virtual":
                raise CompileError(
                    [
                        Diagnostic(
                            f"no gradient: {function.name} has a custom gradient, and this changes "
                            "memory or calls a method by class",
                            operation.location,
                            "let such functions compute with numbers and loads alone",
                        )
                    ]
                )
    for each in closure(program, [gradient.symbol]).values():
        for operation in filter(_reads_memory, operations_in(each)):
            raise CompileError(
                [
                    Diagnostic(
                        f"no gradient: the way back through {function.name} reads memory, which "
                        "may have changed since",
                        operation.location,
                        f"give {function.name} what it reads as an argument, which its way back "
                        "gets as it was",
                    )
                ]
            )


def _reads_memory(operation: Operation) -> bool:
    """Whether it reads what others may change."""
    kind = kind_of(operation)
    if kind is None or not kind.effects & Effects.READS:
        return False
    lvalues = [each for each in operation.operands if isinstance(each.type, LvalueType)]
    return not lvalues or any(role_of(each)[:1] != ("list",) for each in lvalues)


def _refused(function: Function, problem: str, help: str) -> CompileError:
    return CompileError([Diagnostic(f"{function.name} {problem}", function.location, help)])
