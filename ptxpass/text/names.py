"""Mangled names (Itanium ABI, section 5.1), as far as the pass needs them: readable names of
classes, destructors, and what a function itself is called.

The grammar is read forwards, as names have lengths and may contain anything: ``makeD1`` is no
destructor. What is not understood (expressions, local names) counts as an ordinary name.
"""

from __future__ import annotations

import re

#: A name of more digits than that is not in any text.
_LENGTH = re.compile(r"\d{1,9}")
_BUILTIN = re.compile(r"[vwbcahstijlmxynofdegz]|D[dfehsuain]")
_QUALIFIERS = re.compile(r"[rVK]*[RO]?")
_SUBSTITUTION = re.compile(r"S(?:[0-9A-Z]*_|[absiod])")
_PARAMETER = re.compile(r"T\d*_")
_LITERAL = re.compile(r"Ln?(?:[wbcahstijlmxyno])n?\d+E")
_ARRAY = re.compile(r"A\d*_")
_DESTRUCTOR = re.compile(r"D[012]Ev")


class _Unknown(Exception):
    """A name, or a part of one, that this grammar does not have."""


def class_name(mangled: str) -> str:
    """``6Circle`` is ``Circle``, ``N3geo6CircleE`` is ``geo::Circle``; what is not made of plain
    names (templates) stays as it is."""
    nested = mangled.startswith("N") and mangled.endswith("E")
    rest = mangled[1:-1] if nested else mangled
    parts = []
    while match := _LENGTH.match(rest):
        start, end = match.end(), match.end() + int(match[0])
        if end > len(rest):
            return mangled
        parts.append(rest[start:end])
        rest = rest[end:]
    if rest or not parts or (len(parts) > 1 and not nested):
        return mangled
    return "::".join("(anonymous)" if part.startswith("_GLOBAL__N_") else part for part in parts)


def is_destructor(symbol: str) -> bool:
    """Whether a function is certainly a destructor."""
    if not symbol.startswith("_ZN"):
        return False
    try:
        at = _after_prefix(symbol, len("_ZN"))
    except (_Unknown, RecursionError):
        return False
    return _DESTRUCTOR.fullmatch(symbol, at) is not None


def own_names(symbol: str) -> tuple[str, ...]:
    """The namespaces, classes and the function in a function's name, up to its first template
    argument: nothing of its parameters. A name that is not mangled is its own; of names that are
    made around a mangled one (``nvcc -rdc=true``, for static functions) nothing is known."""
    if not symbol.startswith("_Z"):
        return () if "_Z" in symbol else (symbol,)
    nested = symbol.startswith("_ZN")
    at = len("_ZN") if nested else len("_Z")
    if nested:
        at = _end(_QUALIFIERS, symbol, at)
    found = []
    try:
        while at < len(symbol) and symbol[at].isdigit():
            end = _after_source_name(symbol, at)
            found.append(_LENGTH.sub("", symbol[at:end], count=1))
            at = end
            if not nested:
                break
    except _Unknown:
        return ()
    return tuple(found)


# ---------------------------------------------------------------- the grammar: places in a name


def _after_prefix(text: str, at: int) -> int:
    """Behind the parts of a nested name: names, template arguments, substitutions."""
    at = start = _end(_QUALIFIERS, text, at)
    while at < len(text):
        if text[at].isdigit():
            at = _after_source_name(text, at)
        elif text[at] == "I" and at > start:
            at = _after_arguments(text, at)
        elif text.startswith("St", at):
            at += 2
        elif match := _SUBSTITUTION.match(text, at):
            at = match.end()
        else:
            break
    return at


def _after_source_name(text: str, at: int) -> int:
    match = _LENGTH.match(text, at)
    if match is None or match[0][0] == "0" or match.end() + int(match[0]) > len(text):
        raise _Unknown
    return match.end() + int(match[0])


def _after_arguments(text: str, at: int) -> int:
    """Behind ``I ... E`` or a pack, ``J ... E``."""
    at += 1
    while not text.startswith("E", at):
        if match := _LITERAL.match(text, at):
            at = match.end()
        elif text.startswith("J", at):
            at = _after_arguments(text, at)
        else:
            at = _after_type(text, at)
    return at + 1


def _after_type(text: str, at: int) -> int:
    while at < len(text) and text[at] in "PROrVK":
        at += 1
    if at >= len(text):
        raise _Unknown
    if text[at] == "N":
        at = _after_prefix(text, at + 1)
        if not text.startswith("E", at):
            raise _Unknown
        return at + 1
    if text[at] == "F":
        at += 1
        while not text.startswith("E", at):
            at = _after_type(text, at)
        return at + 1
    if match := _ARRAY.match(text, at):
        return _after_type(text, match.end())
    if text[at] == "M":
        return _after_type(text, _after_type(text, at + 1))
    if match := _BUILTIN.match(text, at):
        return match.end()
    if text[at].isdigit():
        at = _after_source_name(text, at)
    elif text.startswith("St", at):
        at = _after_source_name(text, at + 2)
    elif match := _SUBSTITUTION.match(text, at) or _PARAMETER.match(text, at):
        at = match.end()
    else:
        raise _Unknown
    return _after_arguments(text, at) if text.startswith("I", at) else at


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()
