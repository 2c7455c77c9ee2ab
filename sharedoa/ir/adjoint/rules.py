"""Adjoints of operations that compute: what each operand's adjoint gets of the result's.

A rule gets the adjoint of each float of the result that has one, by its path in the result. Where a
function has several derivatives, or none, it is that of the way it took: of ``min`` that of the
smaller one, of ``abs`` at 0 that from the right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from ...model.scalars import ScalarType
from ...model.types import InlineType, TupleType, ValueType
from ..core import Operation, Value, constant_of, type_of
from .code import Code
from .leaves import Path

if TYPE_CHECKING:
    from ...errors import CompileError

Adjoints = Mapping[Path, Value]


class Reversing(Protocol):
    """What a rule may ask of who reverses an operation."""

    @property
    def code(self) -> Code: ...

    def primal(self, value: Value) -> Value:
        """What the value was."""
        ...

    def is_active(self, value: Value) -> bool:
        """Whether adjoints of it are of use."""
        ...

    def give(self, value: Value, path: Path, adjoint: Value) -> None:
        """Add to the adjoint of a float of the value."""
        ...

    def refusal(self, operation: Operation, problem: str, help: str) -> CompileError: ...


Rule = Callable[[Reversing, Operation, Adjoints], None]
RULES: dict[str, Rule] = {}


def rule(kind: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES[kind] = function
        return function

    return register


# ------------------------------------------------------------------ passing on


@rule("opaque")
def _opaque(to: Reversing, operation: Operation, adjoints: Adjoints) -> None:
    for path, adjoint in adjoints.items():
        to.give(operation.operands[0], path, adjoint)


@rule("convert")
def _convert(to: Reversing, operation: Operation, adjoints: Adjoints) -> None:
    (given,) = operation.operands
    source = given.type
    if not isinstance(source, ScalarType):
        return
    if source.is_float and () in adjoints:
        to.give(given, (), to.code.value("convert", [adjoints[()]], source))


@rule("select")
def _select(to: Reversing, operation: Operation, adjoints: Adjoints) -> None:
    test, *choices = operation.operands
    for number, choice in enumerate(choices):
        if not to.is_active(choice):
            continue
        chosen = to.primal(test)
        for path, adjoint in adjoints.items():
            assert isinstance(adjoint.type, ScalarType)
            nothing = to.code.number(0.0, adjoint.type)
            ways = (nothing, adjoint) if number else (adjoint, nothing)
            to.give(choice, path, to.code.select(chosen, *ways))


@rule("make_value")
@rule("make_tuple")
@rule("make_inline")
def _make(to: Reversing, operation: Operation, adjoints: Adjoints) -> None:
    type = operation.result.type
    names: list[str | int] = [*range(len(operation.operands))]
    if isinstance(type, ValueType):
        names = [*type.fields]
    for (name, *rest), adjoint in adjoints.items():
        to.give(operation.operands[names.index(name)], tuple(rest), adjoint)


@rule("value_field")
def _value_field(to: Reversing, operation: Operation, adjoints: Adjoints) -> None:
    for path, adjoint in adjoints.items():
        to.give(operation.operands[0], (operation["name"], *path), adjoint)


@rule("tuple_item")
def _tuple_item(to: Reversing, operation: Operation, adjoints: Adjoints) -> None:
    assert isinstance(type_of(operation.operands[0]), TupleType)
    for path, adjoint in adjoints.items():
        to.give(operation.operands[0], (operation["index"], *path), adjoint)


@rule("inline_item")
def _inline_item(to: Reversing, operation: Operation, adjoints: Adjoints) -> None:
    """Of an index that is not known, each element gets the adjoint or nothing."""
    array, *indices = operation.operands
    type, code = type_of(array), to.code
    assert isinstance(type, InlineType)
    places: list[tuple[Path, Value | None]] = [((), None)]
    for index, length, wraps in zip(
        indices, type.shape, operation["may_be_negative"], strict=False
    ):
        known = constant_of(index)
        found: list[tuple[Path, Value | None]] = []
        for path, test in places:
            if known is not None:
                found.append(((*path, int(known) % length), test))
                continue
            for number in range(length):
                holds = _is_index(to, index, number, length, wraps)
                found.append(((*path, number), holds if test is None else code.both(test, holds)))
        places = found
    for place, test in places:
        for path, adjoint in adjoints.items():
            if test is not None:
                assert isinstance(adjoint.type, ScalarType)
                adjoint = code.select(test, adjoint, code.number(0.0, adjoint.type))
            to.give(array, (*place, *path), adjoint)


def _is_index(to: Reversing, index: Value, number: int, length: int, wraps: bool) -> Value:
    code, given = to.code, to.primal(index)
    assert isinstance(given.type, ScalarType)

    def same(value: int) -> Value:
        return code.compare("eq", given, code.value("constant", [], given.type, value=value))

    if not wraps:
        return same(number)
    return code.value("binary", [same(number), same(number - length)], same(0).type, operator="or")


# ------------------------------------------------------------------- operators


@rule("unary")
def _unary(to: Reversing, operation: Operation, adjoints: Adjoints) -> None:
    (given,), adjoint = operation.operands, adjoints.get(())
    if adjoint is None:
        return
    negative = to.code.negative(adjoint)
    if operation["operator"] == "neg":
        to.give(given, (), negative)
    elif operation["operator"] == "abs":
        to.give(given, (), _if_negative(to, given, negative, adjoint))
    else:
        raise to.refusal(operation, f"the operator {operation['operator']}", "write it another way")


def _if_negative(to: Reversing, value: Value, then: Value, otherwise: Value) -> Value:
    assert isinstance(value.type, ScalarType)
    test = to.code.compare("lt", to.primal(value), to.code.number(0.0, value.type))
    return to.code.select(test, then, otherwise)


@rule("binary")
def _binary(to: Reversing, operation: Operation, adjoints: Adjoints) -> None:
    adjoint = adjoints.get(())
    if adjoint is None:
        return
    operator = operation["operator"]
    partials = _BINARY.get(operator)
    if partials is None:
        raise to.refusal(operation, f"the operator {operator}", "write it another way")
    left, right = operation.operands
    for operand, partial in zip((left, right), partials, strict=True):
        if partial is not None and to.is_active(operand):
            to.give(operand, (), partial(to, operation, adjoint))


Partial = Callable[[Reversing, Operation, Value], Value]


def _same(to: Reversing, operation: Operation, adjoint: Value) -> Value:
    return adjoint


def _negated(to: Reversing, operation: Operation, adjoint: Value) -> Value:
    return to.code.negative(adjoint)


def _times(number: int) -> Partial:
    def partial(to: Reversing, operation: Operation, adjoint: Value) -> Value:
        return to.code.binary("mul", adjoint, to.primal(operation.operands[number]))

    return partial


def _of_numerator(to: Reversing, operation: Operation, adjoint: Value) -> Value:
    return to.code.binary("truediv", adjoint, to.primal(operation.operands[1]))


def _of_denominator(to: Reversing, operation: Operation, adjoint: Value) -> Value:
    code = to.code
    by = to.primal(operation.operands[1])
    quotient = code.binary("truediv", to.primal(operation.result), by)
    return code.negative(code.binary("mul", adjoint, quotient))


def _of_base(to: Reversing, operation: Operation, adjoint: Value) -> Value:
    """n x^(n - 1), also at x = 0, where a quotient would be none; and 0 where n is 0."""
    code, (base, exponent) = to.code, operation.operands
    assert isinstance(exponent.type, ScalarType)
    x, n = to.primal(base), to.primal(exponent)
    if constant_of(exponent) == 2.0:
        return code.binary("mul", adjoint, code.binary("mul", n, x))
    less = code.binary("sub", n, code.number(1.0, exponent.type))
    slope = code.binary("mul", n, code.binary("pow", x, less))
    nothing = code.number(0.0, exponent.type)
    slope = code.select(code.compare("eq", n, nothing), nothing, slope)
    return code.binary("mul", adjoint, slope)


def _of_exponent(to: Reversing, operation: Operation, adjoint: Value) -> Value:
    """x^n log x, and 0 where x is 0."""
    code, (base, _) = to.code, operation.operands
    x, power = to.primal(base), to.primal(operation.result)
    assert isinstance(x.type, ScalarType)
    nothing = code.number(0.0, x.type)
    slope = code.binary("mul", power, code.math("log", x))
    is_positive = code.compare("gt", x, nothing)
    return code.binary("mul", adjoint, code.select(is_positive, slope, nothing))


def _of_divisor(to: Reversing, operation: Operation, adjoint: Value) -> Value:
    """x % y is x - y floor(x / y)."""
    code, (x, y) = to.code, operation.operands
    whole = code.binary("floordiv", to.primal(x), to.primal(y))
    return code.negative(code.binary("mul", adjoint, whole))


_BINARY: Mapping[str, tuple[Partial | None, Partial | None]] = {
    "add": (_same, _same),
    "sub": (_same, _negated),
    "mul": (_times(1), _times(0)),
    "truediv": (_of_numerator, _of_denominator),
    "pow": (_of_base, _of_exponent),
    "mod": (_same, _of_divisor),
    "floordiv": (None, None),
}

# ------------------------------------------------------------------- functions

Slope = Callable[[Code, Value, Value], Value]
"""The derivative, from the argument and the result."""


def _over(code: Code, one: Value) -> Value:
    assert isinstance(one.type, ScalarType)
    return code.binary("truediv", code.number(1.0, one.type), one)


def _plus(code: Code, value: Value, number: float) -> Value:
    assert isinstance(value.type, ScalarType)
    return code.binary("add", value, code.number(number, value.type))


def _scaled(code: Code, value: Value, factor: float) -> Value:
    assert isinstance(value.type, ScalarType)
    return code.binary("mul", value, code.number(factor, value.type))


def _squared(code: Code, value: Value) -> Value:
    return code.binary("mul", value, value)


def _one_less_square(code: Code, value: Value) -> Value:
    return _plus(code, code.negative(_squared(code, value)), 1.0)


def _bell(code: Code, x: Value, factor: float) -> Value:
    return _scaled(code, code.math("exp", code.negative(_squared(code, x))), factor)


_LN2, _LN10, _BELL = math.log(2.0), math.log(10.0), 2.0 / math.sqrt(math.pi)
_SLOPES: Mapping[str, Slope] = {
    "sqrt": lambda c, x, y: _over(c, _scaled(c, y, 2.0)),
    "cbrt": lambda c, x, y: _over(c, _scaled(c, _squared(c, y), 3.0)),
    "exp": lambda c, x, y: y,
    "exp2": lambda c, x, y: _scaled(c, y, _LN2),
    "expm1": lambda c, x, y: _plus(c, y, 1.0),
    "log": lambda c, x, y: _over(c, x),
    "log2": lambda c, x, y: _over(c, _scaled(c, x, _LN2)),
    "log10": lambda c, x, y: _over(c, _scaled(c, x, _LN10)),
    "log1p": lambda c, x, y: _over(c, _plus(c, x, 1.0)),
    "sin": lambda c, x, y: c.math("cos", x),
    "cos": lambda c, x, y: c.negative(c.math("sin", x)),
    "tan": lambda c, x, y: _plus(c, _squared(c, y), 1.0),
    "asin": lambda c, x, y: _over(c, c.math("sqrt", _one_less_square(c, x))),
    "acos": lambda c, x, y: c.negative(_over(c, c.math("sqrt", _one_less_square(c, x)))),
    "atan": lambda c, x, y: _over(c, _plus(c, _squared(c, x), 1.0)),
    "sinh": lambda c, x, y: c.math("cosh", x),
    "cosh": lambda c, x, y: c.math("sinh", x),
    "tanh": lambda c, x, y: _one_less_square(c, y),
    "asinh": lambda c, x, y: _over(c, c.math("sqrt", _plus(c, _squared(c, x), 1.0))),
    "acosh": lambda c, x, y: _over(
        c, c.math("sqrt", c.binary("mul", _plus(c, x, -1.0), _plus(c, x, 1.0)))
    ),
    "atanh": lambda c, x, y: _over(c, _one_less_square(c, x)),
    "erf": lambda c, x, y: _bell(c, x, _BELL),
    "erfc": lambda c, x, y: _bell(c, x, -_BELL),
}
#: Steps: the derivative is 0 wherever there is one; and what gives no float.
_FLAT = frozenset({"floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite"})
MATH = frozenset({*_SLOPES, *_FLAT, "fabs", "copysign", "fmod", "hypot", "atan2", "pow", "fma"})
"""The functions that have an adjoint."""


@rule("math")
def _math(to: Reversing, operation: Operation, adjoints: Adjoints) -> None:
    name, adjoint, given = operation["name"], adjoints.get(()), operation.operands
    if adjoint is None or name in _FLAT:
        return
    code = to.code
    slope = _SLOPES.get(name)
    if slope is not None:
        found = slope(code, to.primal(given[0]), to.primal(operation.result))
        to.give(given[0], (), code.binary("mul", adjoint, found))
        return
    if name not in MATH:
        raise to.refusal(
            operation, f"{name} has no adjoint", "give its derivative with @oa.custom_gradient"
        )
    if name == "fabs":
        to.give(given[0], (), _if_negative(to, given[0], code.negative(adjoint), adjoint))
    elif name == "copysign":
        is_same = code.compare("eq", to.primal(operation.result), to.primal(given[0]))
        to.give(given[0], (), code.select(is_same, adjoint, code.negative(adjoint)))
    elif name == "fmod":
        to.give(given[0], (), adjoint)
        if to.is_active(given[1]):
            quotient = code.binary("truediv", to.primal(given[0]), to.primal(given[1]))
            whole = code.math("trunc", quotient)
            to.give(given[1], (), code.negative(code.binary("mul", adjoint, whole)))
    elif name == "fma":
        to.give(given[0], (), code.binary("mul", adjoint, to.primal(given[1])))
        to.give(given[1], (), code.binary("mul", adjoint, to.primal(given[0])))
        to.give(given[2], (), adjoint)
    elif name == "pow":
        for operand, partial in zip(given, (_of_base, _of_exponent), strict=True):
            if to.is_active(operand):
                to.give(operand, (), partial(to, operation, adjoint))
    else:
        _of_two_sides(to, operation, adjoint)


def _of_two_sides(to: Reversing, operation: Operation, adjoint: Value) -> None:
    """``hypot`` and ``atan2``."""
    code, given = to.code, operation.operands
    y, x = map(to.primal, given)
    if operation["name"] == "hypot":
        for operand, side in zip(given, (y, x), strict=True):
            share = code.binary("truediv", side, to.primal(operation.result))
            to.give(operand, (), code.binary("mul", adjoint, share))
        return
    square = code.binary("add", _squared(code, x), _squared(code, y))
    part = code.binary("truediv", adjoint, square)
    to.give(given[0], (), code.binary("mul", part, x))
    to.give(given[1], (), code.negative(code.binary("mul", part, y)))
