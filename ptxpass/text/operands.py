"""Operands of instructions and values of initialisers, from tokens."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from .lexer import Token, tokens_of
from .syntax import Group, Memory, Name, Number, Opaque, Operand, PtxError, SymbolValue

_CLOSING = {"(": ")", "[": "]", "{": "}"}


@lru_cache(1 << 14)
def operand_of(text: str) -> Operand | None:
    """The one operand that a text is, None if it is none. Modules mention the same ones again and
    again."""
    try:
        tokens = tokens_of(text)
    except PtxError:
        return None
    if side_by_side(tokens) is not None:
        return None
    operands = parse_operands(tokens)
    return operands[0] if len(operands) == 1 else None


@lru_cache(1 << 10)
def opcode_of(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Opcode and modifiers, None if a text is something else."""
    try:
        opcode, *modifiers = tokens_of(text)
    except PtxError:
        return None
    if opcode.kind != "word" or any(token.kind != "dot" for token in modifiers):
        return None
    return opcode.text, tuple(token.text[1:] for token in modifiers)


def side_by_side(tokens: list[Token]) -> tuple[Token, Token] | None:
    """The first words or numbers between which something is missing."""
    for one, other in pairwise(tokens):
        if one.kind in ("word", "number") and other.kind in ("word", "number"):
            return one, other
    return None


def parse_operands(tokens: list[Token]) -> tuple[Operand, ...]:
    """The operands between commas."""
    return tuple(_operand(part) for part in _split(tokens, ","))


def parse_values(tokens: list[Token]) -> list[int | SymbolValue] | None:
    """The values of an initialiser; None if one is neither a number nor a symbol's address."""
    if tokens and tokens[0].text == "{" and tokens[-1].text == "}":
        tokens = tokens[1:-1]
    values: list[int | SymbolValue] = []
    for part in _split(tokens, ","):
        value = _value(part)
        if value is None:
            return None
        values.append(value)
    return values


def integer(text: str) -> int | None:
    """The value of a literal, None for a float."""
    if text[:2] in ("0f", "0F", "0d", "0D") or "." in text:
        return None
    digits = text.rstrip("U")
    if digits[:2].lower() in ("0x", "0b"):
        return int(digits, 0)
    return int(digits, 8) if len(digits) > 1 and digits[0] == "0" else int(digits)


def _split(tokens: list[Token], mark: str) -> list[list[Token]]:
    """The parts between ``mark`` outside of brackets; none for no tokens."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += token.text in _CLOSING
        depth -= token.text in _CLOSING.values()
        if token.text == mark and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if tokens else []


def _operand(tokens: list[Token]) -> Operand:
    if not tokens:
        return Opaque("", ())
    first, last = tokens[0].text, tokens[-1].text
    if _CLOSING.get(first) == last and _closes(tokens):
        inside = tokens[1:-1]
        return _memory(inside, tokens) if first == "[" else Group(parse_operands(inside))
    bars = _split(tokens, "|")
    if len(bars) > 1:
        return Group(tuple(_operand(part) for part in bars))
    negated = first == "!"
    base, offset = _with_offset(tokens[negated:])
    if base is None:
        return _opaque(tokens)
    if isinstance(base, Number):
        return base if not negated and not offset else _opaque(tokens)
    return Name(base.text, offset, negated)


def _memory(inside: list[Token], tokens: list[Token]) -> Operand:
    first, *others = _split(inside, ",") or [[]]
    base, offset = _with_offset(first)
    if base is None:
        return _opaque(tokens)
    return Memory(base, offset, tuple(_operand(part) for part in others))


def _with_offset(tokens: list[Token]) -> tuple[Name | Number | None, int]:
    """``name``, ``name.x``, ``name+8``, ``name+-8`` or a number; None for anything else."""
    if not tokens:
        return None, 0
    sign, rest = 1, tokens
    if rest[0].text == "-":
        sign, rest = -1, rest[1:]
    if rest and rest[0].kind == "number" and len(rest) == 1:
        value = integer(rest[0].text)
        return Number("-" * (sign < 0) + rest[0].text, None if value is None else sign * value), 0
    if sign < 0 or not rest or rest[0].kind != "word":
        return None, 0
    text, place = rest[0].text, 1
    while place < len(rest) and rest[place].kind == "dot":
        text += rest[place].text
        place += 1
    if place == len(rest):
        return Name(text), 0
    signs = rest[place:-1]
    if rest[-1].kind != "number" or not signs or any(t.text not in "+-" for t in signs):
        return None, 0
    value = integer(rest[-1].text)
    if value is None:
        return None, 0
    negative = sum(token.text == "-" for token in signs) % 2
    return Name(text), -value if negative else value


def _closes(tokens: list[Token]) -> bool:
    """Whether the first bracket is closed by the last token and not before."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += token.text in _CLOSING
        depth -= token.text in _CLOSING.values()
        if depth == 0:
            return place == len(tokens) - 1
    return False


def _opaque(tokens: list[Token]) -> Opaque:
    text = " ".join(token.text for token in tokens)
    return Opaque(text, tuple(token.text for token in tokens if token.kind == "word"))


def _value(tokens: list[Token]) -> int | SymbolValue | None:
    texts = [token.text for token in tokens]
    generic = texts[:2] == ["generic", "("] and ")" in texts
    if generic:
        close = texts.index(")")
        tokens = tokens[2:close] + tokens[close + 1 :]
    base, offset = _with_offset(tokens)
    if isinstance(base, Number):
        return base.value
    return None if base is None else SymbolValue(base.text, offset, generic)
