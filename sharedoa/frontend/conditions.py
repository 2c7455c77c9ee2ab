"""What is true: ``and`` and ``or``, conditional expressions, type tests, and what follows."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Literal

from ..model.classes import ClassType, common_base
from ..model.scalars import boolean
from ..model.types import ReferenceType
from . import tree
from .context import Context
from .conversions import truth
from .expressions import expression, static_value
from .held_values import HeldValues
from .operands import Operand
from .operators import unify


def condition(context: Context, node: ast.expr) -> tree.Expression:
    """``bool(node)``, for what only asks whether it is true: the operands of ``and``, ``or`` and
    ``not`` then need no common type."""
    if isinstance(node, ast.BoolOp):
        location = context.locate(node)
        values = _parts(context, node, condition)
        result = values[-1]
        for value in reversed(values[:-1]):
            result = tree.Logical(boolean, location, _word(node), value, result)
        return result
    return truth(context, expression(context, node), node)


def _word(node: ast.BoolOp) -> Literal["and", "or"]:
    return "and" if isinstance(node.op, ast.And) else "or"


def _parts(
    context: Context, node: ast.BoolOp, make: Callable[[Context, ast.expr], tree.Expression]
) -> list[tree.Expression]:
    """The operands of ``and`` or ``or``; each knows how those before it came out."""
    saved, outcome = dict(context.narrowed), isinstance(node.op, ast.And)
    values, surely = [], None
    for part in node.values:
        values.append(make(context, part))
        if surely is None:  # the first one is evaluated in any case
            surely = None if context.assigned is None else set(context.assigned)
        context.narrowed.update(narrowings(context, part, outcome))
        context.assume(assigned_by(part, outcome))
    context.narrowed, context.assigned = saved, surely
    return values


def copied(state: set[str] | None) -> set[str] | None:
    """Variables surely assigned; None where nothing arrives."""
    return None if state is None else set(state)


def assigned_by(test: ast.expr, outcome: bool) -> set[str]:
    """The variables that ``:=`` has surely assigned where ``test`` comes out as ``outcome``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return assigned_by(test.operand, not outcome)
    if isinstance(test, ast.BoolOp):
        is_and = isinstance(test.op, ast.And)
        if is_and == outcome:  # all came out so
            return set().union(*(assigned_by(part, outcome) for part in test.values))
        first = test.values[0]
        return assigned_by(first, True) & assigned_by(first, False)
    if isinstance(test, ast.IfExp):
        return assigned_by(test.test, True) & assigned_by(test.test, False)
    if isinstance(test, ast.GeneratorExp):
        return set()
    found = {test.target.id} if isinstance(test, ast.NamedExpr) else set()
    for part in ast.iter_child_nodes(test):
        if isinstance(part, ast.expr):
            found |= assigned_by(part, True) & assigned_by(part, False)
    return found


def logical(context: Context, node: ast.BoolOp) -> Operand:
    word = _word(node)
    values = _parts(context, node, expression)
    location = context.locate(node)
    result = values[-1]
    for value in reversed(values[:-1]):
        result = _connect(context, word, value, result, node, location)
    return result


def _connect(
    context: Context,
    word: Any,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
    location: tree.Location,
) -> tree.Expression:
    if left.type == boolean and right.type == boolean:
        return tree.Logical(boolean, location, word, left, right)
    # Python gives one of the operands, not a bool.
    type, (a, b) = unify(context, [left, right], node, f"the result of {word}")
    held = HeldValues()
    local = held.hold(a)
    test = truth(context, local, node)
    then, otherwise = (b, local) if word == "and" else (local, b)
    return held.then(tree.Conditional(type, location, test, then, otherwise))


def conditional(context: Context, node: ast.IfExp) -> Operand:
    test = condition(context, node.test)
    saved = dict(context.narrowed)
    surely = None if context.assigned is None else set(context.assigned)
    context.narrowed.update(narrowings(context, node.test))
    context.assume(assigned_by(node.test, True))
    then = expression(context, node.body)
    context.assigned = None if surely is None else set(surely)
    context.narrowed = {**saved, **narrowings(context, node.test, False)}
    context.assume(assigned_by(node.test, False))
    otherwise = expression(context, node.orelse)
    context.narrowed, context.assigned = saved, surely
    type, (a, b) = unify(context, [then, otherwise], node, "the conditional expression")
    return tree.Conditional(type, context.locate(node), test, a, b)


def narrowings(context: Context, test: ast.expr, outcome: bool = True) -> dict[str, ClassType]:
    """Locals that are of a subclass when ``test`` comes out as ``outcome``: ``isinstance(x, C)``
    that is true, within ``and`` that is true, ``or`` that is false, and ``not``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return narrowings(context, test.operand, not outcome)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == outcome:
        found: dict[str, ClassType] = {}
        for part in test.values:
            found.update(narrowings(context, part, outcome))
        return found
    if (
        outcome
        and isinstance(test, ast.Call)
        and isinstance(test.func, ast.Name)
        and test.func.id == "isinstance"
        and len(test.args) == 2
    ):
        asked = test.args[0]
        name = getattr(asked.target if isinstance(asked, ast.NamedExpr) else asked, "id", "")
        known = context.types.get(name) if name in context.local_names else None
        classes = classes_of(context, test.args[1])
        if classes and isinstance(known, ReferenceType):
            current, cls = context.narrowed.get(name, known.cls), common_base(classes)
            if cls is not None and cls.is_subclass_of(current):
                return {name: cls}
    return {}


def classes_of(context: Context, node: ast.expr) -> list[ClassType]:
    """The shared classes that ``isinstance`` asks for: one, ``(A, B)`` or ``A | B``. Empty for
    anything else."""
    if isinstance(node, ast.Tuple):
        parts = node.elts
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts = [node.left, node.right]
    else:
        cls = getattr(static_value(context, node), "__sharedoa__", None)
        return [cls] if isinstance(cls, ClassType) else []
    found = [classes_of(context, part) for part in parts]
    return [cls for each in found for cls in each] if all(found) else []


def type_test(
    context: Context, value: tree.Expression, cls: ClassType, node: ast.AST
) -> tree.Expression:
    """``isinstance(value, cls)``; decided here when the static type already says it."""
    location = context.locate(node)
    assert isinstance(value.type, ReferenceType)
    known = value.type.cls
    if cls.foreign is not None:
        context.reject(
            node,
            f"{cls.name} is a class of a C++ program, whose kernels alone tell its objects apart",
            "ask in C++, by a virtual function",
        )
    if known.is_subclass_of(cls):
        return truth(context, value, node)
    matching = tuple(c for c in cls.concrete() if c.is_subclass_of(known))
    context.program.depend_on_subclasses(cls)
    return tree.TypeTest(boolean, location, value, cls, matching)
