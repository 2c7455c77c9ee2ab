"""``assert``: what it says, and what follows it where it failed."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..model.scalars import boolean
from ..model.types import VOID, ReferenceType
from . import tree
from .conditions import assigned_by, condition, copied, narrowings
from .context import Context
from .texts import said


def assertion(context: Context, node: ast.Assert) -> list[tree.Statement]:
    """``assert``: a report of what failed, behind which nothing takes null for an object."""
    test, location = condition(context, node.test), context.locate(node)
    message = _message(context, node)
    context.narrowed.update(narrowings(context, node.test))
    context.assume(assigned_by(node.test, True))
    asks = _asks_about_objects(test)
    is_fixed = isinstance(message, str)
    if is_fixed and not asks:
        return [tree.Assert(location, test, message)]
    outcome = context.temporary(boolean)
    passed = tree.Local(boolean, location, outcome)
    failed = tree.Unary(boolean, location, "not", passed)
    report = tree.Assert(location, passed, message)
    # What follows would take a null reference, or an object of another class, for what the assert
    # promised, and write next to it: it must not run.
    end: list[tree.Statement] = [_give_up(context, location)] if asks else []
    made: list[tree.Statement] = [tree.Assign(location, outcome, test)]
    if is_fixed:
        return [*made, report, tree.If(location, failed, end, [])]
    # What the message needs is only computed, and may only be, where the test failed.
    return [*made, tree.If(location, failed, [report, *end], [])]


_MESSAGE_NUMBERS = 4
"""As many as an error record has words for."""


def _message(context: Context, node: ast.Assert) -> Sequence[tree.Said]:
    """What an assert says if it fails."""
    if node.msg is None:
        return ast.unparse(node.test)
    if isinstance(node.msg, (ast.Call, ast.Tuple)):
        context.reject(
            node.msg,
            "the message of an assert is no text",
            'write text with numbers in it: f"x is {x}"',
        )
    assigned, narrowed = copied(context.assigned), dict(context.narrowed)
    context.narrowed.update(narrowings(context, node.test, False))
    context.assume(assigned_by(node.test, False))
    message = said(context, node.msg)
    context.assigned, context.narrowed = assigned, narrowed
    numbers = sum(not isinstance(part, str) for part in message)
    if numbers > _MESSAGE_NUMBERS:
        context.reject(
            node.msg,
            f"the message of an assert has more than {_MESSAGE_NUMBERS} numbers",
            "print the others before",
        )
    return message if numbers else "".join(map(str, message))


def _asks_about_objects(test: tree.Expression) -> bool:
    """Whether a condition asks of which class an object is, or whether there is one."""
    if isinstance(test, tree.Let):
        return _asks_about_objects(test.body)
    if isinstance(test, tree.Logical):
        return _asks_about_objects(test.left) or _asks_about_objects(test.right)
    if isinstance(test, tree.Unary):
        return _asks_about_objects(test.operand)
    if isinstance(test, tree.Truth):
        return isinstance(test.value.type, ReferenceType)
    if isinstance(test, tree.Compare):
        return isinstance(test.left.type, ReferenceType)
    return isinstance(test, tree.TypeTest)


def _give_up(context: Context, location: tree.Location) -> tree.Return:
    """Leave the function; its result, a variable that nothing assigns, is zero or null."""
    result = context.signature.result
    if result == VOID:
        return tree.Return(location, None)
    return tree.Return(location, tree.Local(result, location, context.temporary(result)))
