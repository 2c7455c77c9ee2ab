"""Typed trees by hand, briefly: what the front end would make of small programs."""

from __future__ import annotations

from typing import Any

from sharedoa.frontend import tree
from sharedoa.model import scalars
from sharedoa.model.classes import ClassType, Method, Signature
from sharedoa.model.scalars import ScalarType, boolean, weak_int
from sharedoa.model.types import VOID, ArrayType, ReferenceType, Type, ValueType

HERE = tree.Location("program.py", 1, 0, 1, 1, "program")


def at(line: int) -> tree.Location:
    return tree.Location("program.py", line, 0, line, 1, "program")


# ---------------------------------------------------------------- expressions


def const(value: Any, type: ScalarType = weak_int) -> tree.Constant:
    return tree.Constant(type, HERE, value)


def use(variable: tree.Variable) -> tree.Local:
    return tree.Local(variable.type, HERE, variable)


def binary(operator: Any, left: tree.Expression, right: tree.Expression) -> tree.Binary:
    return tree.Binary(left.type, HERE, operator, left, right)


def add(left: tree.Expression, right: tree.Expression) -> tree.Binary:
    return binary("add", left, right)


def unary(operator: Any, operand: tree.Expression) -> tree.Unary:
    return tree.Unary(operand.type, HERE, operator, operand)


def compare(operator: Any, left: tree.Expression, right: tree.Expression) -> tree.Compare:
    return tree.Compare(boolean, HERE, operator, left, right)


def convert(type: Type, value: tree.Expression) -> tree.Convert:
    return tree.Convert(type, HERE, value)


def call(function: tree.Function, *arguments: tree.Expression) -> tree.DirectCall:
    return tree.DirectCall(function.result, HERE, function.symbol, list(arguments))


def thread() -> tree.ThreadIndex:
    return tree.ThreadIndex(weak_int, HERE, 0)


# --------------------------------------------------------------------- places


def element(
    array: tree.Expression, index: tree.Expression | None = None, wraps: bool = False
) -> tree.ElementPlace:
    """``array[index]``; by default the element of this thread."""
    assert isinstance(array.type, ArrayType)
    index = thread() if index is None else index
    return tree.ElementPlace(array.type.element, HERE, array, index, wraps)


def field_of(object: tree.Expression, name: str) -> tree.FieldPlace:
    assert isinstance(object.type, ReferenceType)
    owner = object.type.cls.field_owner(name)
    assert owner is not None
    return tree.FieldPlace(owner.own_fields[name], HERE, object, owner, name)


def load(place: tree.Place) -> tree.Load:
    return tree.Load(place.type, HERE, place)


# ----------------------------------------------------------------- statements


def assign(variable: tree.Variable, value: tree.Expression) -> tree.Assign:
    return tree.Assign(HERE, variable, value)


def store(place: tree.Place, value: tree.Expression) -> tree.Store:
    return tree.Store(HERE, place, value)


def when(
    test: tree.Expression, then: list[tree.Statement], otherwise: list[tree.Statement] | None = None
) -> tree.If:
    return tree.If(HERE, test, then, otherwise or [])


def give(value: tree.Expression | None = None) -> tree.Return:
    return tree.Return(HERE, value)


# ----------------------------------------------------- functions and programs


def variable(name: str, type: Type = weak_int) -> tree.Variable:
    return tree.Variable(name, type)


def array(name: str, element: Type) -> tree.Variable:
    return tree.Variable(name, ArrayType(element))


def function(
    symbol: str, parameters: list[tree.Variable], result: Type, body: list[tree.Statement]
) -> tree.Function:
    return tree.Function(symbol, symbol, "func", parameters, result, body, HERE)


def program(
    parameters: list[tree.Variable], body: list[tree.Statement], *functions: tree.Function
) -> tree.Program:
    kernel = tree.Function("kernel", "kernel", "kernel", parameters, VOID, body, HERE)
    return tree.Program(kernel, {each.symbol: each for each in (kernel, *functions)})


# -------------------------------------------------------------------- classes


def shared_class(
    name: str,
    base: ClassType | None = None,
    fields: dict[str, Type] | None = None,
    methods: dict[str, bool] | None = None,
) -> ClassType:
    """A class; ``methods`` maps names to whether they are abstract."""
    cls = ClassType(name, object, base, lambda: dict(fields or {}))
    for method, abstract in (methods or {}).items():
        cls.methods[method] = Method(
            method, cls, lambda: None, abstract, lambda: Signature((), (), VOID)
        )
    cls.join()
    return cls


def value_struct(name: str, **fields: Type) -> ValueType:
    return ValueType(name, object, fields, {})


INTEGERS = [
    scalars.SCALARS[name] for name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
]
FLOATS = [scalar for scalar in scalars.SCALARS.values() if scalar.is_float]
