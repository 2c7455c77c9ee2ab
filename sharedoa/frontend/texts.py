"""What kernels say: ``print``, and the messages of assertions, with f-strings in both."""

from __future__ import annotations

import ast
import re
from typing import NoReturn

from ..model.scalars import ScalarType, boolean, f32, i64, u64, weak_float
from ..model.types import NULL
from . import tree
from .context import Context
from .conversions import as_variable, convert_scalar
from .expressions import expression, static_value

#: Means the same in Python and in C, of integers and of floats. C fills no infinities with zeros.
_OF_INTEGERS = re.compile(r"([<>][+ ]?|[+ ]?0?)\d{0,2}d?")
_OF_FLOATS = re.compile(r"[<>]?[+ ]?(?!0)\d{0,2}(\.\d{1,2})?[fFeEgG]")


def print_statement(context: Context, node: ast.Call) -> tree.Statement:
    words = {"sep": " ", "end": "\n"}
    for keyword in node.keywords:
        given = _text(context, keyword.value)
        if keyword.arg not in words:
            context.reject(
                node, "print takes values, sep and end only", 'write print(x, y, sep=", ", end="")'
            )
        if given is None and not _is_none(keyword.value):
            context.reject(
                keyword.value,
                f"{keyword.arg} of print is no text that is known when the kernel is compiled",
                'write the text, end=";", and where it differs an if with a print in each branch',
            )
        if given is not None:
            words[keyword.arg] = given
    items: list[tree.Said] = []
    for position, argument in enumerate(node.args):
        if position and words["sep"]:
            items.append(words["sep"])
        items += said(context, argument)
    return tree.Print(context.locate(node), items, words["end"])


def said(context: Context, node: ast.expr) -> list[tree.Said]:
    """What a string, an f-string or a number says."""
    text = _text(context, node)
    if text is not None:
        return [text]
    if not isinstance(node, ast.JoinedStr):
        value = _number(context, node)
        return ["None"] if value.type == NULL else [_printable(context, value, node)]
    parts: list[tree.Said] = []
    for part in node.values:
        if not isinstance(part, ast.FormattedValue):
            parts += said(context, part)
            continue
        if part.conversion not in (-1, ord("s")):
            context.reject(part, "an f-string with !r, !a or =", "write the name as text: f'x={x}'")
        spec = _spec(context, part)
        text = _text(context, part.value)
        if text is not None and not spec:
            parts.append(text)
            continue
        value = _number(context, part.value)
        if value.type == NULL and not spec:
            parts.append("None")
            continue
        value = _printable(context, value, part.value)
        if value.type == f32 and part.conversion == -1:
            # NumPy gives Python's own number to format: f"{f32(0.1)}" is 0.10000000149011612.
            value = convert_scalar(context, value, weak_float, part)
        parts.append(_formatted(context, value, spec, part) if spec else value)
    return parts


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _text(context: Context, node: ast.expr) -> str | None:
    """A literal string, or a constant around the kernel that is one."""
    if not isinstance(node, (ast.Constant, ast.Name, ast.Attribute)):
        return None
    found = static_value(context, node)
    if isinstance(found, str) and "\0" in found:
        context.reject(node, "text with a NUL, at which it would end", "leave the character out")
    return found if isinstance(found, str) else None


def _number(context: Context, node: ast.expr) -> tree.Expression:
    if isinstance(node, ast.IfExp) and _text(context, node.body) is not None:
        context.reject(
            node, "text that is chosen when the kernel runs", "write an if with text in each branch"
        )
    return expression(context, node)


def _printable(context: Context, value: tree.Expression, node: ast.expr) -> tree.Expression:
    if not isinstance(value.type, ScalarType):
        context.reject(node, f"{value.type!r} cannot be printed", "print its parts")
    return as_variable(context, value, node)


def _spec(context: Context, node: ast.FormattedValue) -> str:
    if node.format_spec is None:
        return ""
    assert isinstance(node.format_spec, ast.JoinedStr)
    parts = [part.value for part in node.format_spec.values if isinstance(part, ast.Constant)]
    if len(parts) < len(node.format_spec.values):
        context.reject(node, "a format that is computed", "write it as text: {x:8.3f}")
    return "".join(map(str, parts))


def _formatted(
    context: Context, value: tree.Expression, spec: str, node: ast.FormattedValue
) -> tree.Formatted:
    type = value.type
    assert isinstance(type, ScalarType)
    if type == boolean or node.conversion != -1:
        _refuse_spec(context, spec, type, node)
    if type.is_integer and spec[-1] in "fFeEgG":
        value, type = convert_scalar(context, value, weak_float, node), weak_float
    if not (_OF_FLOATS if type.is_float else _OF_INTEGERS).fullmatch(spec):
        _refuse_spec(context, spec, type, node)
    if type.kind == "uint" and set(spec) & set("+ "):
        if type == u64:
            _refuse_spec(context, spec, type, node)
        value = convert_scalar(context, value, i64, node)  # C has no signs of unsigned
    return tree.Formatted(value, spec)


def _refuse_spec(context: Context, spec: str, type: ScalarType, node: ast.AST) -> NoReturn:
    context.reject(
        node,
        f"{type} has no format {spec!r} in kernels",
        "write a width for integers, also with zeros, {n:5} or {n:05}; digits and .3f, .3e or .3g "
        "for floats, {x:8.3f}; of a truth value int(b); or {x} alone",
    )
