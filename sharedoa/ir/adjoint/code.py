"""Operations in the making: a stretch of a region to which each call appends one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...location import Location
from ...model.scalars import ScalarType, boolean, weak_int
from ...model.types import InlineType, TupleType, ValueType
from ...model.types import Type as ModelType
from ..core import LvalueType, Operation, Region, Type, Value, element_of, type_of
from ..rewrite import make
from .leaves import Path, parts_of

_MAKE = {ValueType: "make_value", TupleType: "make_tuple", InlineType: "make_inline"}


class Code:
    """``operations`` so far; all are said to be of one place of the source, which may change."""

    def __init__(self, location: Location) -> None:
        self.operations: list[Operation] = []
        self.location = location

    def add(
        self,
        kind: str,
        operands: Sequence[Value],
        types: Sequence[Type] = (),
        regions: Sequence[Region] = (),
        **attributes: Any,
    ) -> Operation:
        made = make(kind, operands, self.location, types, regions, **attributes)
        self.operations.append(made)
        return made

    def value(self, kind: str, operands: Sequence[Value], type: Type, **attributes: Any) -> Value:
        """The result of a new operation."""
        return self.add(kind, operands, [type], **attributes).result

    # ------------------------------------------------------------ numbers

    def integer(self, value: int) -> Value:
        return self.value("constant", [], weak_int, value=value)

    def number(self, value: float, type: ScalarType) -> Value:
        return self.value("constant", [], type, value=value)

    def binary(self, operator: str, left: Value, right: Value) -> Value:
        return self.value("binary", [left, right], left.type, operator=operator)

    def negative(self, value: Value) -> Value:
        return self.value("unary", [value], value.type, operator="neg")

    def compare(self, operator: str, left: Value, right: Value) -> Value:
        return self.value("compare", [left, right], boolean, operator=operator)

    def both(self, left: Value, right: Value) -> Value:
        return self.value("binary", [left, right], boolean, operator="and")

    def either(self, left: Value, right: Value) -> Value:
        return self.value("binary", [left, right], boolean, operator="or")

    def negation(self, test: Value) -> Value:
        return self.value("unary", [test], boolean, operator="not")

    def select(self, test: Value, then: Value, otherwise: Value) -> Value:
        return self.value("select", [test, then, otherwise], then.type)

    def math(self, name: str, *arguments: Value) -> Value:
        return self.value("math", arguments, arguments[0].type, name=name)

    def at(self, base: Value, offset: int) -> Value:
        """The number of the word that many after ``base``."""
        return self.binary("add", base, self.integer(offset)) if offset else base

    # ---------------------------------------------------------- compounds

    def part(self, value: Value, path: Path) -> Value:
        """A part of a compound value."""
        while path:
            type = type_of(value)
            if isinstance(type, InlineType):
                count = len(type.shape)
                indices = [self.integer(int(index)) for index in path[:count]]
                no = (False,) * count
                operands = [value, *indices]
                value = self.value("inline_item", operands, type.element, may_be_negative=no)
                path = path[count:]
                continue
            name, *rest = path
            path = tuple(rest)
            if isinstance(type, TupleType):
                assert isinstance(name, int)
                value = self.value("tuple_item", [value], type.items[name], index=name)
            else:
                assert isinstance(type, ValueType) and isinstance(name, str)
                value = self.value("value_field", [value], type.fields[name], name=name)
        return value

    def place(self, lvalue: Value, path: Path) -> Value:
        """The place of a part of what lies at ``lvalue``."""
        for name in path:
            type = element_of(lvalue)
            if isinstance(type, InlineType):
                index = self.integer(int(name))
                part = LvalueType(type.item)
                lvalue = self.value("inline_element", [lvalue, index], part, may_be_negative=False)
            else:
                assert isinstance(type, ValueType) and isinstance(name, str)
                lvalue = self.value("member", [lvalue], LvalueType(type.fields[name]), name=name)
        return lvalue

    def whole(self, type: ModelType, given: Mapping[Path, Value]) -> Value:
        """A value with these floats, and zero for all that is not given."""
        kind = _MAKE.get(type.__class__)
        if kind is None:
            return given.get(()) or self.zero(type)
        values = []
        for name, part in parts_of(type):
            inside = {path[1:]: value for path, value in given.items() if path[0] == name}
            values.append(self.whole(part, inside))
        return self.value(kind, values, type)

    def zero(self, type: ModelType) -> Value:
        return self.value("zero", [], type)
