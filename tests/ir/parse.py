"""Reads programs from their text (``sharedoa.ir.text`` says what it looks like)."""

from __future__ import annotations

import ast
import math
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, Union

from dispatch.dataclass import dataclass, field
from sharedoa.errors import SharedOAError
from sharedoa.ir.core import (
    Candidate,
    Function,
    Lane,
    LvalueType,
    Operation,
    Program,
    Region,
    Value,
)
from sharedoa.ir.text import NOWHERE, PLAIN_TYPES, Named
from sharedoa.location import Location
from sharedoa.model.classes import ClassType
from sharedoa.model.constant_table import ConstantTable
from sharedoa.model.run_form import RunForm
from sharedoa.model.types import ArrayType, InlineType, ListType, ReferenceType, TupleType

T = TypeVar("T")


class ParseError(SharedOAError, ValueError):
    """A text that is no program; ``line`` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line


def parse_program(text: str, names: Mapping[str, Named]) -> Program:
    """The program that a text describes. ``names``: the classes and value structs that it mentions,
    as ``text.type_names`` gives them for a program. What it describes need not be well formed
    (``verify``), but each value that is used has to be made somewhere in its function.

    Raises ParseError.
    """
    return _Parser(_tokens(text), names).program()


# --------------------------------------------------------------------- tokens

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_WORD = r"[a-zA-Z_]\w*(?:\.\d+)?"
_TOKEN = re.compile(
    rf"""(?P<blank>\s+|;[^\n]*)
    | (?P<string>{_STRING})
    | (?P<value>%(?:\d+|(?:[a-zA-Z_]\w*|{_STRING})(?:\.\d+)?))
    | (?P<symbol>@(?:[\w.$]+|{_STRING}))
    | (?P<location>\#\d+)
    | (?P<number>nan:[0-9a-f]{{16}}|-?(?:inf\b|\d+(?:\.\d+)?(?:e[+-]?\d+)?))
    | (?P<word>{_WORD})
    | (?P<mark>->|[<>()\[\]{{}},:=])
    | (?P<end>\Z)""",
    re.VERBOSE | re.ASCII,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int

    def __str__(self) -> str:
        return self.text or "the end"


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    place, line = 0, 1
    while not found or found[-1].kind != "end":
        match = _TOKEN.match(text, place)
        if match is None:
            raise ParseError(line, f"cannot be read: {text[place : place + 20]!r}")
        kind = match.lastgroup or ""
        if kind != "blank":
            found.append(_Token(kind, match[0], line))
        place, line = match.end(), line + match[0].count("\n")
    return found


def _string(token: _Token, quoted: str) -> str:
    if "\\" not in quoted:
        return quoted[1:-1]
    try:
        found = ast.literal_eval(quoted)
    except (SyntaxError, ValueError):
        raise ParseError(token.line, f"no string: {quoted}") from None
    assert isinstance(found, str)
    return found


def _name_of(token: _Token) -> str:
    """The name of a value, without what made it unique."""
    text = token.text[1:]
    if text.isdecimal():
        return ""
    base, dot, number = text.rpartition(".")
    if dot and number.isdecimal() and not text.endswith('"'):
        text = base
    return _string(token, text) if text.startswith('"') else text


# -------------------------------------------------------------------- grammar


@dataclass
class _Names:
    """The values of a function, and where they are used before all of them are known."""

    made: dict[str, Value] = field(default_factory=dict)
    uses: list[tuple[Operation, list[_Token]]] = field(default_factory=list)


class _Parser:
    def __init__(self, tokens: list[_Token], names: Mapping[str, Named]) -> None:
        self._tokens, self._names = tokens, names
        self._place = 0
        self._values = _Names()
        self._located: list[tuple[Union[Function, Operation], _Token]] = []

    def program(self) -> Program:
        self._expect("program")
        kernel = self._token("symbol", "the symbol of the kernel")
        functions: dict[str, Function] = {}
        while self._next.kind in ("word", "string") and self._next.text != "locations":
            token = self._next
            function = self._function()
            if function.symbol in functions:
                raise ParseError(token.line, f"there are two functions @{function.symbol}")
            functions[function.symbol] = function
        self._locations()
        if self._next.kind != "end":
            raise self._unexpected("a function or locations")
        symbol = self._symbol(kernel)
        if symbol not in functions:
            raise ParseError(kernel.line, f"there is no function {kernel}")
        return Program(functions[symbol], functions)

    # ------------------------------------------------------------- functions

    def _function(self) -> Function:
        kind = self._word("a kind of function")
        symbol = self._symbol(self._token("symbol", "a symbol"))
        name = self._quoted()
        self._values = _Names()
        body = Region(self._arguments())
        self._expect("->")
        result = self._type()
        facts = self._attributes()
        try:
            made = Function(symbol, name, kind, result, body, NOWHERE, **facts)  # type: ignore[arg-type]
        except TypeError as error:
            raise ParseError(self._next.line, f"of a function: {error}") from None
        self._at(made)
        self._operations(body)
        for operation, used in self._values.uses:
            operation.operands = [self._value(token) for token in used]
        return made

    def _value(self, token: _Token) -> Value:
        found = self._values.made.get(token.text)
        if found is None:
            raise ParseError(token.line, f"nothing makes {token}")
        return found

    def _arguments(self) -> list[Value]:
        return self._listed("(", self._made, ")")

    def _made(self) -> Value:
        token = self._token("value", "a value")
        self._expect(":")
        value = Value(self._type(), _name_of(token))
        if self._values.made.setdefault(token.text, value) is not value:
            raise ParseError(token.line, f"{token} is made twice")
        return value

    def _operations(self, region: Region) -> None:
        self._expect("{")
        while not self._accept("}"):
            region.operations.append(self._operation())

    def _operation(self) -> Operation:
        results = []
        if self._next.kind == "value":
            results = self._several(self._made)
            self._expect("=")
        operation = Operation(self._word("a kind of operation"), [], NOWHERE, {}, results)
        for result in results:
            result.source = operation
        # Without operands the next operation may follow, which begins with its result.
        if self._next.kind == "value" and self._tokens[self._place + 1].text != ":":
            used = self._several(lambda: self._token("value", "a value"))
            self._values.uses.append((operation, used))
        operation.attributes = self._attributes()
        self._at(operation)
        while self._next.text in ("(", "{"):
            region = Region(self._arguments() if self._next.text == "(" else [])
            self._operations(region)
            operation.regions.append(region)
        return operation

    # ------------------------------------------------------------- locations

    def _at(self, part: Union[Function, Operation]) -> None:
        if self._next.kind == "location":
            self._located.append((part, self._take()))

    def _locations(self) -> None:
        table: dict[str, Location] = {}
        if self._accept("locations"):
            while self._next.kind == "location":
                number = self._take().text
                self._expect("=")
                file = self._quoted()
                line, column = self._integer(), self._after(":", self._integer)
                self._expect("to")
                end_line, end_column = self._integer(), self._after(":", self._integer)
                function = self._after("in", self._quoted)
                table[number] = Location(file, line, column, end_line, end_column, function)
        for part, token in self._located:
            if token.text not in table:
                raise ParseError(token.line, f"{token} is not among the locations")
            part.location = table[token.text]

    # ------------------------------------------------- types and attributes

    def _type(self) -> Any:
        if self._next.text == "(":
            return TupleType(self._tuple(self._type))
        token = self._take()
        if token.text in ("Array", "inline", "list", "lvalue") and self._accept("["):
            element = self._type()
            made: Any = {"Array": ArrayType, "list": ListType, "lvalue": LvalueType}.get(token.text)
            if made is None:
                shape = [self._after(",", self._integer)]
                while self._next.text == ",":
                    shape.append(self._after(",", self._integer))
                made = lambda element: InlineType(element, tuple(shape))
            self._expect("]")
            return made(element)
        if token.text in PLAIN_TYPES:
            return PLAIN_TYPES[token.text]
        named = self._named(token)
        return ReferenceType(named) if isinstance(named, ClassType) else named

    def _named(self, token: _Token) -> Named:
        name = _string(token, token.text) if token.kind == "string" else token.text
        if token.kind not in ("word", "string") or name not in self._names:
            raise ParseError(token.line, f"there is no type {token}")
        return self._names[name]

    def _class(self) -> ClassType:
        token = self._take()
        found = self._named(token)
        if not isinstance(found, ClassType):
            raise ParseError(token.line, f"{token} is no class")
        return found

    def _attributes(self) -> dict[str, Any]:
        if self._next.text != "<":
            return {}
        pairs = self._listed("<", lambda: self._pair(self._name, "="), ">")
        return dict(pairs)

    def _pair(self, key: Callable[[], T], mark: str) -> tuple[T, Any]:
        return key(), self._after(mark, self._attribute)

    def _name(self) -> str:
        return self._word("the name of an attribute")

    def _attribute(self) -> Any:
        token = self._next
        if token.kind in ("word", "string") and self._tokens[self._place + 1].text == "->":
            cls = self._class()
            self._expect("->")
            return Candidate(cls, self._symbol(self._token("symbol", "a symbol")))
        match token.text:
            case "(":
                return self._tuple(self._attribute)
            case "[":
                return self._listed("[", self._attribute, "]")
            case "{":
                return dict(self._listed("{", lambda: self._pair(self._attribute, ":"), "}"))
        if token.kind == "string":
            return self._quoted()
        self._take()
        if token.kind == "number":
            return _number(token.text)
        match token.text:
            case "none":
                return None
            case "true" | "false":
                return token.text == "true"
            case "inf" | "nan":
                return float(token.text)
            case "class":
                return self._class()
            case "type":
                return self._type()
            case "lane":
                return Lane(self._integer())
            case "run":
                return self._run_form()
            case "table":
                return self._table()
        raise ParseError(token.line, f"{token} is no attribute")

    def _table(self) -> ConstantTable:
        self._expect("(")
        element = self._type()
        shape = self._after(",", lambda: self._tuple(self._integer))
        name = self._after(",", self._quoted)
        token = self._next
        data = self._after(",", self._quoted)
        self._expect(")")
        try:
            return ConstantTable(name, element, shape, bytes.fromhex(data))
        except ValueError:
            raise ParseError(token.line, "the numbers of a table are no bytes") from None

    def _run_form(self) -> RunForm:
        self._expect("(")
        cls, near, whole = self._class(), False, None
        while self._accept(","):
            if self._accept("whole"):
                whole = self._integer()
            else:
                self._expect("near")
                near = True
        self._expect(")")
        return RunForm(cls, near, whole)

    # --------------------------------------------------------------- tokens

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self) -> _Token:
        token = self._next
        if token.kind != "end":
            self._place += 1
        return token

    def _unexpected(self, wanted: str) -> ParseError:
        return ParseError(self._next.line, f"{self._next} instead of {wanted}")

    def _accept(self, text: str) -> bool:
        found = self._next.text == text
        self._place += found
        return found

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._unexpected(text)

    def _token(self, kind: str, what: str) -> _Token:
        if self._next.kind != kind:
            raise self._unexpected(what)
        return self._take()

    def _after(self, mark: str, read: Callable[[], T]) -> T:
        self._expect(mark)
        return read()

    def _several(self, read: Callable[[], T]) -> list[T]:
        found = [read()]
        while self._accept(","):
            found.append(read())
        return found

    def _listed(self, start: str, read: Callable[[], T], end: str) -> list[T]:
        self._expect(start)
        if self._accept(end):
            return []
        found = self._several(read)
        self._expect(end)
        return found

    def _tuple(self, read: Callable[[], T]) -> tuple[T, ...]:
        """``()``, ``(a,)``, ``(a, b)``."""
        self._expect("(")
        found: list[T] = []
        while not self._accept(")"):
            found.append(read())
            if not self._accept(",") and self._next.text != ")":
                raise self._unexpected(")")
        return tuple(found)

    def _word(self, what: str) -> str:
        if self._next.kind == "string":
            return self._quoted()
        return self._token("word", what).text

    def _quoted(self) -> str:
        token = self._token("string", "a string")
        return _string(token, token.text)

    def _symbol(self, token: _Token) -> str:
        text = token.text[1:]
        return _string(token, text) if text.startswith('"') else text

    def _integer(self) -> int:
        token = self._token("number", "a whole number")
        found = _number(token.text)
        if not isinstance(found, int):
            raise ParseError(token.line, f"{token} is no whole number")
        return found


def _number(text: str) -> int | float:
    if text.startswith("nan:"):
        (found,) = struct.unpack(">d", bytes.fromhex(text[4:]))
        assert isinstance(found, float) and math.isnan(found)
        return found
    return int(text) if text.lstrip("-").isdecimal() else float(text)
