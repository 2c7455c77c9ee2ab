"""``read_module``: PTX text, versions 6.0 to 9.x, into a tree that prints the same text again."""

from __future__ import annotations

import re
from functools import lru_cache

from .lexer import END, Source, Token
from .operands import (
    integer,
    opcode_of,
    operand_of,
    parse_operands,
    parse_values,
    side_by_side,
)
from .syntax import (
    Call,
    Declaration,
    Directive,
    Function,
    Group,
    Instruction,
    Label,
    Module,
    Name,
    Operand,
    Parameter,
    Prototype,
    PtxError,
    Raw,
    Scope,
    Statement,
    Variable,
)

OLDEST_VERSION, NEWEST_VERSION = (6, 0), (9, 99)

#: Brackets in brackets; PTX has three.
_DEEPEST = 50
_LINKAGES = (".visible", ".extern", ".weak", ".common")
_SPACES = (".global", ".const", ".shared", ".local", ".param", ".reg", ".sreg", ".tex")
#: Directives that end with their line, not with a semicolon.
_LINES = (".version", ".target", ".address_size", ".file", ".loc", ".maxntid", ".minnctapersm")

#: An instruction as compilers print most: predicate, opcode with modifiers, parts between commas.
#: What the parts are is not said here.
_PART = r"[\w$%+!|-][\w$%.+!|-]*|\[[\w$%.+-]+\]|\{[\w$%.+, -]*\}"
_PLAIN = re.compile(
    rf"""\s*((?:@(!?)([A-Za-z_$%][\w$]*)[ \t]+)?([a-z][\w.:]*)
         (?:[ \t]+((?:{_PART})(?:,[ ]?(?:{_PART}))*))?;)""",
    re.ASCII | re.VERBOSE,
)
_PARTS = re.compile(_PART, re.ASCII)
#: What else compilers print much of: a label, an opening brace, a declaration.
_PLAIN_OTHERS = re.compile(
    r"\s*(([A-Za-z_$%][\w$]*):|\{|\.(?:reg|param|local|shared)[ \t][\w$%.<>, \t\[\]]*;)", re.ASCII
)


def read_module(text: str, name: str = "<ptx>") -> Module:
    """The tree of a module; ``name`` stands in messages.

    Raises PtxError, with the line, for text that is no PTX or of an unknown version.
    """
    return _Reader(Source(text, name)).module()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        #: Those read so far; plain instructions are read without.
        self._tokens: list[Token] = []
        self._at = 0
        self._done = 0

    # ------------------------------------------------------------ tokens

    @property
    def _token(self) -> Token:
        if self._at == len(self._tokens):
            self._read_on()
        return self._tokens[self._at]

    def _following(self) -> Token:
        """The token after this one, which is not the end."""
        if self._at + 1 == len(self._tokens):
            self._read_on()
        return self._tokens[self._at + 1]

    def _read_on(self) -> None:
        end = max(self._done, self._tokens[-1].end) if self._tokens else 0
        self._tokens += self._source.tokens(end)

    def _advance(self) -> Token:
        token = self._token
        if token.kind == END:
            raise self._source.error("the text ends too early", token.start, "is the file whole?")
        self._at += 1
        return token

    def _expect(self, text: str, where: str) -> Token:
        if self._token.text != text:
            message = f"expected {text!r} {where}, found {self._token.text!r}"
            raise self._source.error(message, self._token.start)
        return self._advance()

    def _upto(self, *ends: str) -> list[Token]:
        """The tokens before the first of ``ends`` that is in no bracket; it is not taken."""
        first, depth = self._at, 0
        while depth or self._token.text not in ends:
            token = self._token
            if token.kind == END or (not depth and token.text in "})]"):
                found = "the text ends" if token.kind == END else f"{token.text!r} stands"
                message = f"{found} where {' or '.join(map(repr, ends))} was expected"
                start = self._tokens[first]
                raise self._source.error(
                    f"{message}, after {start.text!r}", start.start, "is the file whole?"
                )
            depth += token.text in ("(", "[", "{")
            if depth > _DEEPEST:
                raise self._source.error("brackets are nested too deep", token.start)
            depth -= token.text in (")", "]", "}")
            self._at += 1
        return self._tokens[first : self._at]

    def _rest_of_line(self) -> None:
        line = self._source.line(self._token.start)
        while self._token.kind != END and self._source.line(self._token.start) == line:
            if self._token.text in ("{", "}"):
                break
            self._at += 1

    def _text_from(self, start: Token) -> tuple[str, str, int]:
        """(leading, text, line) of the node that began at ``start`` and ends here."""
        end = self._tokens[self._at - 1].end
        leading = self._source.text[self._done : start.start]
        self._done = end
        return leading, self._source.text[start.start : end], self._source.line(start.start)

    # ------------------------------------------------------------ modules

    def module(self) -> Module:
        items: list[Statement] = []
        while self._token.kind != END:
            items.append(self._item())
        version, target = self._header(items)
        end = self._source.text[self._done :]
        return Module(self._source.name, version, target, items, end)

    def _header(self, items: list[Statement]) -> tuple[tuple[int, int], str]:
        found = {item.name: item for item in items if isinstance(item, Raw)}
        version = found.get(".version")
        if version is None:
            help = "pass PTX text, as nvcc -ptx, NVRTC or clang print it"
            raise PtxError("the text has no .version: it is no PTX", self._source.name, 1, help)
        number = version.text.split()[1] if len(version.text.split()) > 1 else ""
        major, _, minor = number.partition(".")
        if not (major.isdigit() and minor.isdigit()):
            raise PtxError(f"{version.text!r} is no version", self._source.name, version.line)
        known = int(major), int(minor)
        if not OLDEST_VERSION <= known <= NEWEST_VERSION:
            raise PtxError(
                f"PTX version {number} is not known; versions 6.0 to 9.x are",
                self._source.name,
                version.line,
                "compile with a CUDA toolkit from 9.0 to 13.x",
            )
        target = found.get(".target")
        if target is None:
            raise PtxError("the text has no .target", self._source.name, version.line)
        return known, target.text.removeprefix(".target").split(",")[0].strip()

    def _item(self) -> Statement:
        start = self._token
        linkage = ""
        while self._token.text in _LINKAGES:
            linkage = self._advance().text
        directive = self._token
        if directive.text in (".func", ".entry"):
            return self._function(start, linkage)
        if directive.text in _SPACES:
            return self._variable(start, linkage)
        if directive.text == ".section":
            self._advance()
            self._upto("{")
            self._block()
        elif directive.text in _LINES or directive.text == "@":
            self._rest_of_line()
        elif directive.kind == "dot":
            self._upto(";")
            self._advance()
        elif directive.text == ";":
            self._advance()
        else:
            help = "only directives, variables and functions stand outside of functions"
            message = f"unexpected {directive.text!r} outside of a function"
            raise self._source.error(message, directive.start, help)
        return Raw(*self._text_from(start), name=directive.text)

    def _block(self) -> None:
        self._expect("{", "before a block")
        self._upto("}")
        self._advance()

    def _variable(self, start: Token, linkage: str) -> Variable:
        space = self._advance().text[1:]
        head = self._upto(";", "=")
        has_initialiser = self._token.text == "="
        values = None
        if has_initialiser:
            self._advance()
            values = parse_values(self._upto(";"))
        self._expect(";", "after a variable")
        parameter = self._parameter(head, self._tokens[self._at - 1])
        text = self._text_from(start)
        name, count = parameter.name, parameter.count
        return Variable(*text, name, space, parameter.type, count, linkage, values, has_initialiser)

    # ------------------------------------------------------------ functions

    def _function(self, start: Token, linkage: str) -> Function:
        is_entry = self._advance().text == ".entry"
        self._skip_attributes()
        results: tuple[Parameter, ...] = ()
        if self._token.text == "(":
            results = self._parameters()
        if self._token.kind != "word":
            message = f"expected the name of a function, found {self._token.text!r}"
            raise self._source.error(message, self._token.start)
        name = self._advance().text
        parameters: tuple[Parameter, ...] = ()
        if self._token.text == "(":
            parameters = self._parameters()
        self._upto("{", ";")
        if self._advance().text == ";":
            text = self._text_from(start)
            return Function(*text, name, is_entry, linkage, results, parameters, None)
        text = self._text_from(start)
        body, tail = self._body(start)
        return Function(*text, name, is_entry, linkage, results, parameters, body, tail)

    def _skip_attributes(self) -> None:
        while self._token.kind == "dot":
            if self._advance().text == ".attribute":
                self._expect("(", "after .attribute")
                self._upto(")")
                self._advance()

    def _parameters(self) -> tuple[Parameter, ...]:
        self._expect("(", "before parameters")
        found: list[Parameter] = []
        while self._token.text != ")":
            found.append(self._parameter(self._upto(",", ")"), self._token))
            if self._token.text == ",":
                self._advance()
        self._advance()
        return tuple(found)

    def _parameter(self, tokens: list[Token], at: Token) -> Parameter:
        """From ``.param .align 8 .b8 name[16]``, with or without the space."""
        type, alignment, name, count = "", 0, "", None
        tokens = _without_attributes(tokens)
        for i, token in enumerate(tokens):
            if token.text == ".align":
                alignment = self._integer(tokens, i + 1) or 0
            elif token.kind == "dot" and token.text not in _SPACES and token.text != ".ptr":
                type = _wider(type, token.text[1:])
            elif token.kind == "word" and not name:
                name = token.text
            elif token.text == "[":
                length = self._integer(tokens, i + 1) or 0
                count = length * (1 if count is None else count)
        if not name:
            raise self._source.error("a declaration without a name", at.start)
        return Parameter(name, type or "b64", alignment, count)

    def _integer(self, tokens: list[Token], place: int) -> int | None:
        """The number at a place, None for a bracket (an array without a length)."""
        token = tokens[place] if place < len(tokens) else None
        if token is None or token.text == "]":
            return None
        value = integer(token.text) if token.kind == "number" else None
        if value is None:
            raise self._source.error(f"expected a number, found {token.text!r}", token.start)
        return value

    def _body(self, start: Token) -> tuple[list[Statement], str]:
        statements: list[Statement] = []
        depth = 0
        while True:
            statement = self._plain_instruction() or self._plain_other()
            if statement is None:
                if not depth and self._token.text == "}":
                    break
                if self._token.kind == END:
                    raise self._source.error(
                        "a function's body does not end", start.start, "is the file whole?"
                    )
                statement = self._statement()
            if isinstance(statement, Scope):
                depth += 1 if statement.kind == "open" else -1
            statements.append(statement)
        closing = self._advance()
        leading, text, _ = self._text_from(closing)
        return statements, leading + text

    def _plain_instruction(self) -> Instruction | None:
        """What stands here, if it is an instruction like most; None leaves it to be read by tokens,
        as everything could be."""
        match = _PLAIN.match(self._source.text, self._done)
        if match is None:
            return None
        _, negated, predicate, head, parts = match.groups()
        known = opcode_of(head)
        if known is None or known[0] == "call":
            return None
        operands = []
        for part in _PARTS.findall(parts) if parts else ():
            operand = operand_of(part)
            if operand is None:
                return None
            operands.append(operand)
        named = Name(predicate, negated=bool(negated)) if predicate else None
        return Instruction(*self._passed(*match.span(1)), *known, tuple(operands), named)

    def _plain_other(self) -> Statement | None:
        """What stands here, if it is another statement of which there are many."""
        match = _PLAIN_OTHERS.match(self._source.text, self._done)
        if match is None:
            return None
        text, label = match.groups()
        if label is not None:
            return Label(*self._passed(*match.span(1)), label)
        if text == "{":
            return Scope(*self._passed(*match.span(1)), "open")
        declared = _declaration(text)
        return declared and Declaration(*self._passed(*match.span(1)), *declared)

    def _passed(self, start: int, end: int) -> tuple[str, str, int]:
        """(leading, text, line) of a node that stands there, which is not read by tokens."""
        text = self._source.text
        leading = text[self._done : start]
        del self._tokens[self._at :]
        self._done = end
        return leading, text[start:end], self._source.line(start)

    def _statement(self) -> Statement:
        start = self._token
        if start.text in ("{", "}"):
            self._advance()
            return Scope(*self._text_from(start), "open" if start.text == "{" else "close")
        if start.kind == "word" and self._following().text == ":":
            self._at += 2
            return Label(*self._text_from(start), start.text)
        if start.kind == "dot":
            return self._directive(start)
        if start.text == ";":
            self._advance()
            return Directive(*self._text_from(start), "", ())
        return self._instruction(start)

    def _directive(self, start: Token) -> Statement:
        if start.text in _LINES:
            self._rest_of_line()
            return Directive(*self._text_from(start), start.text, ())
        self._advance()
        if start.text == ".callprototype":
            return self._prototype(start)
        tokens = self._upto(";")
        self._advance()
        text = self._text_from(start)
        if start.text in _SPACES:
            type, names = self._declared(tokens)
            return Declaration(*text, start.text[1:], type, names)
        words = tuple(token.text for token in tokens if token.kind == "word")
        return Directive(*text, start.text, words)

    def _declared(self, tokens: list[Token]) -> tuple[str, tuple[tuple[str, int | None], ...]]:
        """Type and names of ``.b64 %rd<5>, x;``"""
        type = ""
        names: list[tuple[str, int | None]] = []
        for i, token in enumerate(tokens):
            following = tokens[i + 1].text if i + 1 < len(tokens) else ""
            if token.kind == "dot" and token.text != ".align":
                type = _wider(type, token.text[1:])
            elif token.kind == "word":
                counted = following == "<" and i + 2 < len(tokens)
                names.append((token.text, self._integer(tokens, i + 2) if counted else None))
        return type, tuple(names)

    def _prototype(self, start: Token) -> Prototype:
        results = self._parameters() if self._token.text == "(" else ()
        self._expect("_", "in a prototype")
        parameters = self._parameters() if self._token.text == "(" else ()
        self._upto(";")
        self._advance()
        return Prototype(*self._text_from(start), results, parameters)

    def _instruction(self, start: Token) -> Instruction:
        predicate = None
        if start.text == "@":
            self._advance()
            negated = self._token.text == "!"
            if negated:
                self._advance()
            predicate = Name(self._word("a predicate"), negated=negated)
        opcode = self._word("an instruction")
        modifiers = []
        while self._token.kind == "dot":
            modifiers.append(self._advance().text[1:])
        first = self._token
        tokens = self._upto(";")
        self._advance()
        text = self._text_from(start)
        operands = self._operands(tokens, first)
        if opcode == "call":
            return self._call(text, tuple(modifiers), operands, predicate, first)
        return Instruction(*text, opcode, tuple(modifiers), operands, predicate)

    def _word(self, what: str) -> str:
        if self._token.kind != "word":
            message = f"expected {what}, found {self._token.text!r}"
            raise self._source.error(message, self._token.start)
        return self._advance().text

    def _operands(self, tokens: list[Token], first: Token) -> tuple[Operand, ...]:
        pair = side_by_side(tokens)
        if pair is not None:
            message = f"{pair[0].text!r} and {pair[1].text!r} stand side by side"
            help = "is there a ';' or ',' missing?"
            raise self._source.error(message, pair[1].start, help)
        return parse_operands(tokens)

    def _call(
        self,
        text: tuple[str, str, int],
        modifiers: tuple[str, ...],
        operands: tuple[Operand, ...],
        predicate: Name | None,
        at: Token,
    ) -> Call:
        rest = list(operands)
        results = _taken_group(rest)
        target = rest.pop(0) if rest else None
        if not isinstance(target, Name):
            raise self._source.error("a call without a function", at.start)
        arguments = _taken_group(rest)
        prototype = rest[0].text if rest and isinstance(rest[0], Name) else None
        return Call(
            *text, "call", modifiers, operands, predicate, results, target, arguments, prototype
        )


Declared = tuple[str, str, tuple[tuple[str, int | None], ...]]


@lru_cache(1 << 10)
def _declaration(text: str) -> Declared | None:
    """Space, type and names of the declaration that a text is; None if it is none."""
    try:
        found = _Reader(Source(text, ""))._statement()
    except PtxError:
        return None
    if not isinstance(found, Declaration) or found.text != text:
        return None
    return found.space, found.type, found.names


def _without_attributes(tokens: list[Token]) -> list[Token]:
    """Without ``.attribute(...)``, which may stand before a type."""
    found = []
    inside = False
    for token in tokens:
        inside |= token.text == ".attribute"
        if not inside:
            found.append(token)
        inside &= token.text != ")"
    return found


def _taken_group(operands: list[Operand]) -> tuple[Operand, ...]:
    """The parts of the group that comes first, which is taken off; none if there is none."""
    if operands and isinstance(operands[0], Group):
        first = operands.pop(0)
        assert isinstance(first, Group)
        return first.parts
    return ()


def _wider(type: str, word: str) -> str:
    """A vector's width stands before its type: ``.v4 .f32`` is ``f32x4``."""
    if type.startswith("v") and type[1:].isdigit():
        return f"{word}x{type[1:]}"
    return word if word[:1] in "bufsvp" and word not in ("shared", "param", "ptr") else type
