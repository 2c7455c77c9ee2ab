"""Types of annotated local variables, ``a: f32 = 0.1``: what is assigned to one converts to its
type, as arguments do."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..errors import ClassError
from .annotations import resolve
from .signatures import scope_of
from .types import VOID, InlineType, Type

#: What has statements of its own, or none at all.
_OTHER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)


def declarations(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """The annotations of local variables in a function's body; of several for one name the
    first."""
    found: dict[str, ast.expr] = {}
    pending: list[ast.AST] = [*reversed(body)]
    while pending:
        node = pending.pop()
        if isinstance(node, _OTHER):
            continue
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, node.annotation)
        pending += reversed([*ast.iter_child_nodes(node)])
    return found


def declared_type(annotation: ast.expr, function: Callable[..., Any], name: str) -> Type | None:
    """The type of the variable; None where the annotation is Python's ``int`` or ``float``, which
    say nothing about the width.

    Raises ClassError for what is no type of a variable.
    """
    if ast.unparse(annotation).strip("'\"") in ("int", "float"):
        return None
    where = f"the variable {name}"
    type = resolve(ast.unparse(annotation), scope_of(function), where)
    if type == VOID or isinstance(type, InlineType):
        raise ClassError(
            f"{where} cannot be {type!r}",
            "name the type of a number, an object, a value or an array",
        )
    return type
