"""What operations on numbers make of numbers that are known when code is compiled.

Only what every target computes to the last bit is computed here: integers wrap, floats are rounded
to their own width after each operation. What is undefined elsewhere, or computed by a library, is
left to the machine: division of integers by zero, shifts by more than there is, powers, functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Union

import numpy as np

from ..model.scalars import ScalarType
from .core import Operation, Type
from .frozen import FrozenPlace, part_of_frozen
from .number_parts import KnownStruct

Number = Union[int, float, bool]
Known = Union[Number, FrozenPlace, KnownStruct, None]
"""What is known of a value: None where that is nothing."""

_UNARY: Mapping[str, Callable[[Number], Number]] = {
    "neg": lambda a: -a, "abs": abs, "invert": lambda a: ~int(a), "not": lambda a: not a,
}  # fmt: skip
_INTEGERS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b,
    "lshift": lambda a, b: a << b, "rshift": lambda a, b: a >> b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
}  # fmt: skip
_FLOATS: Mapping[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
}  # fmt: skip
_COMPARE: Mapping[str, Callable[[Number, Number], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def evaluated(operation: Operation, given: Sequence[Known]) -> Known:
    """The number, or the place in a frozen object, that is the operation's only result, where its
    operands are ``given``; None if that is not known. A number is of Python's class for the
    result's type, and no NaN."""
    (result,) = operation.results
    if any(isinstance(each, FrozenPlace) for each in given):
        made: Known = part_of_frozen(operation, given)
        return made
    if operation.kind == "value_field" and isinstance(given[0], KnownStruct):
        part: Known = given[0].part(operation["name"])
        return part
    if not isinstance(result.type, ScalarType):
        return None
    if operation.kind in ("constant", "zero"):
        return _exactly(operation.attributes.get("value", 0), result.type)
    if operation.kind == "select":
        return _chosen(*given)
    others = NoneType, FrozenPlace, KnownStruct
    numbers = [number for number in given if not isinstance(number, others)]
    compute = _COMPUTE.get(operation.kind)
    if compute is None or len(numbers) < len(given):
        return None
    found = compute(operation, *numbers)
    return None if found is None else _of_type(found, result.type)


def same(one: Known, other: Known) -> bool:
    """Whether both are the same number of one type, bit for bit, or the same place."""
    if isinstance(one, FrozenPlace) or isinstance(other, FrozenPlace):
        return one == other
    return repr(one) == repr(other)  # tells 0.0 from -0.0


def _exactly(value: Number, type: ScalarType) -> Number | None:
    if type.is_integer and not type.range[0] <= value <= type.range[1]:
        return None
    return _of_type(value, type)


def _of_type(value: Number, type: ScalarType) -> Number | None:
    """The number as one of ``type``, with its rounding and wrapping; None for NaN, of which there
    are many."""
    with np.errstate(all="ignore"):
        made = type(value)
    number: Number = made.item() if isinstance(made, np.generic) else made
    return number if number == number else None


def _chosen(test: Known, then: Known, otherwise: Known) -> Known:
    if test is not None:
        return then if test else otherwise
    return then if same(then, otherwise) else None


def _unary(operation: Operation, value: Number) -> Number | None:
    if _scalar(operation.result.type).kind == "bool":
        return not value if operation["operator"] in ("not", "invert") else None
    compute = _UNARY.get(operation["operator"])
    return None if compute is None else compute(value)


def _binary(operation: Operation, left: Number, right: Number) -> Number | None:
    type, operator = _scalar(operation.result.type), operation["operator"]
    if type.is_float:
        return _of_floats(operator, left, right)
    compute = _INTEGERS.get(operator)
    if compute is None or (operator in ("floordiv", "mod") and right == 0):
        return None
    if operator in ("lshift", "rshift") and not 0 <= right < type.bits:
        return None
    return compute(int(left), int(right))


def _of_floats(operator: str, left: Number, right: Number) -> Number | None:
    """With 64 bits: as that is more than twice the digits of f32, rounding again is rounding once
    (Figueroa 1995)."""
    compute = _FLOATS.get(operator)
    if compute is None:
        return None
    with np.errstate(all="ignore"):
        return float(compute(left, right))


def _compare(operation: Operation, left: Number, right: Number) -> Number | None:
    compute = _COMPARE.get(operation["operator"])
    return None if compute is None else compute(left, right)


def _scalar(type: Type) -> ScalarType:
    assert isinstance(type, ScalarType)
    return type


_COMPUTE: Mapping[str, Callable[..., Number | None]] = {
    "convert": lambda operation, value: value,
    "truth": lambda operation, value: bool(value),
    "unary": _unary,
    "binary": _binary,
    "compare": _compare,
}
