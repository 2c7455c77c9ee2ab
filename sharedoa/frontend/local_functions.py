"""Functions that are written inside a kernel and give one expression: ``square = lambda x: x * x``,
or a ``def`` with nothing but a ``return``. A call of one is that expression, which sees variables
around it as they are then, as in CPython."""

from __future__ import annotations

import ast

from dispatch.dataclass import dataclass

from . import tree
from .context import Context
from .expressions import expression
from .names import renamed

_HOW = "write an @oa.func function at module level"


@dataclass(eq=False)
class LocalFunction:
    name: str
    parameters: list[str]
    body: ast.expr


def declare_lambda(context: Context, node: ast.Assign) -> bool:
    """Note ``name = lambda ...``; whether the statement is one."""
    (target, *others) = node.targets
    if others or not isinstance(target, ast.Name) or not isinstance(node.value, ast.Lambda):
        return False
    _declare(context, target.id, node.value.args, node.value.body, node)
    return True


def declare_function(context: Context, node: ast.FunctionDef) -> list[tree.Statement]:
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        context.reject(node, "a nested function that is more than one return", _HOW)
    if node.decorator_list:
        context.reject(node, "a nested function with a decorator", _HOW)
    _declare(context, node.name, node.args, body[0].value, node)
    return []


def _declare(
    context: Context, name: str, given: ast.arguments, body: ast.expr, node: ast.stmt
) -> None:
    others = [given.vararg, given.kwarg, *given.posonlyargs, *given.kwonlyargs, *given.defaults]
    if any(others):
        context.reject(node, "a nested function has plain parameters", _HOW)
    if any(isinstance(each, (ast.NamedExpr, ast.Lambda)) for each in ast.walk(body)):
        context.reject(body, "a nested function with := or a lambda in it", _HOW)
    if name in context.functions or name in context.types:
        what = "defined twice" if name in context.functions else "a variable, too"
        context.reject(node, f"{name} is {what}", "give each its own name")
    parameters = [each.arg for each in given.args]
    context.functions[name] = LocalFunction(name, parameters, body)


def call_local(context: Context, function: LocalFunction, node: ast.Call) -> tree.Expression:
    """The expression, with variables of its own for its arguments."""
    from .statements import assign_to

    given = dict(zip(function.parameters, node.args, strict=False))
    given.update({each.arg: each.value for each in node.keywords if each.arg is not None})
    count = len(node.args) + len(node.keywords)
    if set(given) != set(function.parameters) or count != len(given):
        context.reject(
            node,
            f"{function.name} takes {', '.join(function.parameters) or 'nothing'}",
            "give it one argument for each",
        )
    if function in context.expanding:
        context.reject(node, f"{function.name} calls itself", _HOW)
    names = {each: context.own_name(each, node) for each in function.parameters}
    made: list[tree.Statement] = []
    for name, argument in given.items():
        value = expression(context, argument)
        target = ast.copy_location(ast.Name(names[name], ast.Store()), argument)
        made += assign_to(context, target, value, argument)
    context.expanding[function] = f"{node.lineno}.{node.col_offset}"
    try:
        result = expression(context, renamed(function.body, names))
    finally:
        del context.expanding[function]
    return tree.Sequence(result.type, context.locate(node), made, result)
