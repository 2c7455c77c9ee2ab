"""Programs as text, from which tests read them back (``tests/ir/parse.py``).

    program @run

    kernel @run "run" (%self: Circle, %n: int) -> void #1 {
      %area.2: lvalue[f32] = field %self <owner = class Shape, name = "area"> #2
      %3: f32 = load %area.2 #2
      %r: f32 = for %n, %n, %n, %3 #3 (%i: int, %r.2: f32) {
        continue %r.2 #4
      } (%r.3: f32) { yield %r.3 #3 }
      return #5
    }

    locations
    #1 = "shapes.py" 3:0 to 9:12 in "run"

Attributes stand in ``<>``, arguments of regions in ``()``; ``#4`` is where the user's source says
so, if anywhere. Nothing here knows kinds of operations. The names of values and types are made
unique by a number; ``;`` begins a comment.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

from dispatch.dataclass import fields

from ..errors import InternalError
from ..location import Location
from ..model.array2_type import Array2Type
from ..model.classes import ClassType
from ..model.constant_table import ConstantTable
from ..model.grid_type import GridType
from ..model.run_form import RunForm
from ..model.scalars import SCALARS, ScalarType, live_byte, weak_float, weak_int
from ..model.types import (
    NULL,
    VOID,
    ArrayType,
    InlineType,
    ListType,
    ReferenceType,
    TupleType,
    ValueType,
)
from .core import (
    Candidate,
    Function,
    Lane,
    LvalueType,
    Operation,
    Program,
    Region,
    Value,
    operations_in,
)

Named = Union[ClassType, ValueType]
"""Types that texts refer to by name."""

#: Of what stands nowhere in the user's source.
NOWHERE = Location("", 0, 0, 0, 0, "")
#: The types whose names mean the same in every program.
PLAIN_TYPES = {
    **{each.name: each for each in (*SCALARS.values(), weak_int, weak_float, live_byte)},
    "void": VOID,
    "null": NULL,
}
#: What every text of a function says of it; the rest is said where it is not as usual.
HEADER = ("symbol", "name", "kind", "result", "body", "location")
_TAKEN = {*PLAIN_TYPES, "Array", "inline", "lvalue"}
_BARE_NAME = re.compile(r"[a-zA-Z_]\w*", re.ASCII)
_BARE_TYPE = re.compile(r"[a-zA-Z_]\w*(\.\d+)?", re.ASCII)
_BARE_SYMBOL = re.compile(r"[\w.$]+", re.ASCII)
_WIDTH = 100


def type_names(program: Program) -> dict[str, Named]:
    """The classes and value structs that the program mentions, by the names that its text has for
    them: ``Shape.2`` is the second one that is called Shape, in the order in which they appear."""
    found: dict[str, Named] = {}
    for each in dict.fromkeys(_mentioned(program)):
        name, number = each.name, 1
        while name in found or name in _TAKEN:
            number += 1
            name = f"{each.name}.{number}"
        found[name] = each
    return found


def program_text(program: Program, names: Mapping[str, Named] | None = None) -> str:
    """``names``: what to call classes and value structs, ``type_names`` if it is not given.

    Raises InternalError for an attribute of a type that no text was thought of."""
    types = TypeTexts(type_names(program) if names is None else names)
    text, locations = code_text(program, types)
    if locations:
        table = (f"#{number} = {_location(at)}" for number, at in enumerate(locations, start=1))
        text += "\n".join(["\nlocations", *table, ""])
    return text


def code_text(program: Program, types: TypeTexts) -> tuple[str, list[Location]]:
    """The text but for where locations are, and these in order. Raises InternalError for an
    attribute or type without text."""
    locations: dict[Location, int] = {}
    parts = [f"program {_symbol(program.kernel.symbol)}"]
    parts += ["\n".join(_Function(f, types, locations).lines()) for f in program.functions.values()]
    return "\n\n".join(parts) + "\n", list(locations)


# ---------------------------------------------------------------------- types


class TypeTexts:
    """Types and attributes as text."""

    def __init__(self, names: Mapping[str, Named]) -> None:
        self._names = {type: name for name, type in names.items()}

    def named(self, type: Named) -> str:
        name = self._names.get(type)
        if name is None:
            raise InternalError(f"no name for {type!r}")
        return name if _BARE_TYPE.fullmatch(name) else quoted(name)

    def type(self, type: Any) -> str:
        match type:
            case ReferenceType():
                return self.named(type.cls)
            case ValueType():
                return self.named(type)
            case ArrayType():
                return f"Array[{self.type(type.element)}]"
            case InlineType():
                return f"inline[{self.type(type.element)}, {', '.join(map(str, type.shape))}]"
            case ListType():
                return f"list[{self.type(type.element)}]"
            case LvalueType():
                return f"lvalue[{self.type(type.element)}]"
            case TupleType():
                return _tuple([self.type(item) for item in type.items])
            case ScalarType():
                return type.name
        plain = next((name for name, each in PLAIN_TYPES.items() if each == type), None)
        if plain is None:
            raise InternalError(f"no text for the type {type!r}")
        return plain

    def attribute(self, value: Any) -> str:
        write = _ATTRIBUTES.get(type(value))
        if write is None:
            raise InternalError(f"no text for the attribute {value!r}")
        return write(self, value)

    def attributes(self, values: Mapping[str, Any]) -> str:
        pairs = (f"{_word(name)} = {self.attribute(value)}" for name, value in values.items())
        return f" <{', '.join(pairs)}>" if values else ""

    def run_form(self, form: RunForm) -> str:
        near = ", near" if form.near else ""
        whole = "" if form.whole is None else f", whole {form.whole}"
        return f"run({self.named(form.cls)}{near}{whole})"

    def table(self, table: ConstantTable) -> str:
        shape = _tuple([str(length) for length in table.shape])
        name, data = quoted(table.name), quoted(table.data.hex())
        return f"table({table.element}, {shape}, {name}, {data})"

    def mapping(self, values: Mapping[Any, Any]) -> str:
        pairs = (f"{self.attribute(key)}: {self.attribute(of)}" for key, of in values.items())
        return f"{{{', '.join(pairs)}}}"


_ATTRIBUTES: dict[type, Callable[[TypeTexts, Any], str]] = {
    type(None): lambda types, value: "none",
    bool: lambda types, value: str(value).lower(),
    int: lambda types, value: str(value),
    float: lambda types, value: _float(value),
    str: lambda types, value: quoted(value),
    tuple: lambda types, value: _tuple([types.attribute(each) for each in value]),
    list: lambda types, value: f"[{', '.join(types.attribute(each) for each in value)}]",
    dict: TypeTexts.mapping,
    ClassType: lambda types, value: f"class {types.named(value)}",
    Candidate: lambda types, value: f"{types.named(value.cls)} -> {_symbol(value.symbol)}",
    RunForm: TypeTexts.run_form,
    Lane: lambda types, value: f"lane {value.number}",
    ConstantTable: TypeTexts.table,
    **dict.fromkeys(
        [ReferenceType, ValueType, GridType, Array2Type, ArrayType, InlineType, ListType,
         LvalueType, TupleType, ScalarType, type(NULL), type(VOID)],
        lambda types, value: f"type {types.type(value)}",
    ),
}  # fmt: skip


def _mentioned(program: Program) -> Iterator[Named]:
    """Every mention of a class or value struct, in the order of the text."""
    for function in program.functions.values():
        yield from _named_in([value.type for value in function.parameters])
        yield from _named_in([function.result, *facts_of(function).values()])
        for operation in operations_in(function):
            yield from _named_in([result.type for result in operation.results])
            yield from _named_in(operation.attributes.values())
            for region in operation.regions:
                yield from _named_in([argument.type for argument in region.arguments])


def _named_in(parts: Iterable[Any]) -> Iterator[Named]:
    """The classes and value structs that types or attributes mention."""
    for part in parts:
        match part:
            case ClassType() | ValueType():
                yield part
            case ReferenceType() | Candidate() | RunForm():
                yield part.cls
            case ArrayType() | InlineType() | ListType() | LvalueType():
                yield from _named_in([part.element])
            case TupleType():
                yield from _named_in(part.items)
            case tuple() | list():
                yield from _named_in(part)
            case dict():
                yield from _named_in([*part.keys(), *part.values()])


def facts_of(function: Function) -> dict[str, Any]:
    """What is said of a function beside its header, where that is not what is said of most."""
    found = {}
    for field in fields(function):
        if field.name in HEADER:
            continue
        value = getattr(function, field.name)
        if value != field.usual():
            found[field.name] = dict(value) if isinstance(value, Mapping) else value
    return found


# ------------------------------------------------------------------ functions


class _Function:
    """One function on its way to text. ``locations`` are those that texts referred to so far."""

    def __init__(
        self, function: Function, types: TypeTexts, locations: dict[Location, int]
    ) -> None:
        self._function, self._types, self._locations = function, types, locations
        self._names = _value_names(function)

    def lines(self) -> Iterator[str]:
        function, types = self._function, self._types
        yield (
            f"{_word(function.kind)} {_symbol(function.symbol)} {quoted(function.name)} "
            f"({self._made(function.parameters)}) -> {types.type(function.result)}"
            f"{types.attributes(facts_of(function))}{self._at(function.location)} {{"
        )
        yield from self._body(function.body, "  ")
        yield "}"

    def _body(self, region: Region, indent: str) -> Iterator[str]:
        for operation in region.operations:
            yield from self._operation(operation, indent)

    def _operation(self, operation: Operation, indent: str) -> Iterator[str]:
        line = indent + self._head(operation)
        for region in operation.regions:
            line += f" ({self._made(region.arguments)})" if region.arguments else ""
            short = self._short(region)
            if short is not None and len(line) + len(short) < _WIDTH:
                line += f" {{ {short} }}"
                continue
            yield line + " {"
            yield from self._body(region, indent + "  ")
            line = f"{indent}}}"
        yield line

    def _short(self, region: Region) -> str | None:
        """A region that fits into a line."""
        match region.operations:
            case [only] if not only.regions:
                return self._head(only)
        return None

    def _head(self, operation: Operation) -> str:
        made = f"{self._made(operation.results)} = " if operation.results else ""
        used = ", ".join(map(self._used, operation.operands))
        attributes = self._types.attributes(operation.attributes)
        at = self._at(operation.location)
        return f"{made}{_word(operation.kind)}{used and ' ' + used}{attributes}{at}"

    def _made(self, values: Sequence[Value]) -> str:
        return ", ".join(f"{self._used(each)}: {self._types.type(each.type)}" for each in values)

    def _used(self, value: Value) -> str:
        # Texts of malformed programs are for people only.
        return self._names.get(value) or f"%?{value.name}"

    def _at(self, location: Location) -> str:
        if location == NOWHERE:
            return ""
        return f" #{self._locations.setdefault(location, len(self._locations) + 1)}"


def _value_names(function: Function) -> dict[Value, str]:
    """A name for each value that is made in a function, in the order of the text."""
    found: dict[Value, str] = {}
    met: Counter[str] = Counter()
    for value in _made_in(function.body):
        if value not in found:
            found[value] = _value_name(value.name, len(found), met)
    return found


def _value_name(name: str, number: int, met: Counter[str]) -> str:
    if not name:
        return f"%{number}"
    met[name] += 1
    word = name if _BARE_NAME.fullmatch(name) else quoted(name)
    return f"%{word}" if met[name] == 1 else f"%{word}.{met[name]}"


def _made_in(region: Region) -> Iterator[Value]:
    yield from region.arguments
    for operation in region.operations:
        yield from operation.results
        for inner in operation.regions:
            yield from _made_in(inner)


# ---------------------------------------------------------------------- words


def quoted(text: str) -> str:
    """Any string, in ASCII."""
    escaped = text.encode("unicode_escape").decode("ascii")
    return '"' + escaped.replace('"', '\\"') + '"'


def _float(value: float) -> str:
    """With the bits of a NaN that is not the usual one."""
    bits = struct.pack(">d", value)
    if value == value or bits == struct.pack(">d", math.nan):
        return repr(value)
    return f"nan:{bits.hex()}"


def _word(text: str) -> str:
    return text if _BARE_NAME.fullmatch(text) else quoted(text)


def _symbol(text: str) -> str:
    return f"@{text if _BARE_SYMBOL.fullmatch(text) else quoted(text)}"


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _location(at: Location) -> str:
    lines = f"{at.line}:{at.column} to {at.end_line}:{at.end_column}"
    return f"{quoted(at.file)} {lines} in {quoted(at.function)}"
