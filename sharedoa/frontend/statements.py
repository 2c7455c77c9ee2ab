"""Statements of the source to statements of the tree; a complaint stops one statement only."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

from ..errors import ClassError
from ..model import intrinsics
from ..model.classes import ClassType
from ..model.scalars import ScalarType, boolean, weak_int
from ..model.types import VOID, InlineType, ListType, VoidType
from . import tree
from .assertions import assertion
from .conditions import assigned_by, condition, copied, narrowings
from .context import Context, Loop, Rejected, assigned_names
from .conversions import (
    as_variable,
    coerce,
    constant,
    convert_scalar,
    is_nonnegative,
)
from .expressions import expression, is_call_of, operate, static_value
from .inline_arrays import given, may_be_inline, of_tuple
from .iteration import counted, counter, items_of
from .lists import element_for, gone_through, with_elements_of
from .local_functions import declare_function, declare_lambda
from .near_loops import NearSearch, near_call
from .targets import AssignedProperty, assign_property, augment_property, target_of
from .texts import print_statement
from .tiles import declare_tile, is_tile
from .unpacking import is_pure, taken_apart, unpack

UNSUPPORTED: dict[type[ast.stmt], tuple[str, str]] = {
    ast.With: ("with", "kernels hold no resources"),
    ast.Try: ("try", "test for the condition before; kernels raise no exceptions"),
    ast.Raise: ("raise", "use assert, or store a flag that the host checks"),
    ast.AsyncFunctionDef: ("a nested function", "write an @oa.func function at module level"),
    ast.ClassDef: ("a nested class", "define classes outside kernels"),
    ast.Import: ("import", "import at the top of the module"),
    ast.ImportFrom: ("import", "import at the top of the module"),
    ast.Global: ("global", "store results in arrays or objects"),
    ast.Nonlocal: ("nonlocal", "store results in arrays or objects"),
    ast.Delete: ("del", "names end with the function; oa.delete(obj) ends an object"),
    ast.AsyncFor: ("async for", "use for over range"),
    ast.AsyncWith: ("async with", "kernels hold no resources"),
}


def block(context: Context, nodes: list[ast.stmt]) -> list[tree.Statement]:
    """Translate statements one after another; each may fail without hiding errors of the next."""
    made: list[tree.Statement] = []
    for node in nodes:
        try:
            made += statement(context, node)
        except Rejected:
            _poison_targets(context, node)
    return made


def _poison_targets(context: Context, node: ast.stmt) -> None:
    """What a failed statement would have assigned has no type: later uses must not complain too."""
    for name in assigned_names([node]):
        context.mark_assigned(name)
        if name not in context.types:
            context.poisoned.add(name)


def statement(context: Context, node: ast.stmt) -> list[tree.Statement]:
    handler = _HANDLERS.get(type(node))
    if handler is None:
        name, instead = UNSUPPORTED.get(type(node), (type(node).__name__, "write it differently"))
        context.reject(node, f"{name} is outside the subset that kernels can use", instead)
    made: list[tree.Statement] = handler(context, node)
    return made


# ----------------------------------------------------------------- assignment


def _assign(context: Context, node: ast.Assign) -> list[tree.Statement]:
    if is_tile(context, node):
        return declare_tile(context, node)
    if declare_lambda(context, node):
        return []
    if len(node.targets) == 1 and may_be_inline(node):
        target = node.targets[0]
        place = target_of(context, target)
        type = place.type if not isinstance(place, AssignedProperty) else VOID
        return _store(context, place, given(context, node.value, type), node, target)
    made: list[tree.Statement] = []
    if all(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
        value = taken_apart(context, node.value, made)
    else:
        value = expression(context, node.value)
    if len(node.targets) == 1 or is_pure(value):
        for target in node.targets:
            made += assign_to(context, target, value, node)
        return made
    variable = context.temporary(value.type)
    value = as_variable(context, value, node)
    made.append(tree.Assign(context.locate(node), variable, value))
    for target in node.targets:
        local = tree.Local(value.type, value.location, variable)
        made += assign_to(context, target, local, node)
    return made


def assign_to(
    context: Context, target: ast.expr, value: tree.Expression, node: ast.AST
) -> list[tree.Statement]:
    """Assign a value to a name, a tuple of targets, a field or an element."""
    location = context.locate(node)
    if isinstance(target, ast.Name):
        if isinstance(value.type, VoidType):
            context.reject(node, "this call gives no value", "call it as a statement")
        if target.id in context.functions:
            context.reject(node, f"{target.id} is a function", "give the variable another name")
        if target.id in context.tiles:
            context.reject(node, f"{target.id} is shared memory", "give the variable another name")
        value = with_elements_of(context, target.id, value, node)
        if isinstance(value.type, ListType):
            context.give_list(target.id, value)
        variable = context.give_type(target.id, value, node, is_nonnegative(context, value))
        context.mark_assigned(target.id)
        stored = coerce(context, value, variable.type, node, target.id)
        return [tree.Assign(location, variable, stored)]
    if isinstance(target, (ast.Tuple, ast.List)):
        return unpack(context, target.elts, value, node)
    return _store(context, target_of(context, target), value, node, target)


def _store(
    context: Context,
    place: tree.Place | AssignedProperty,
    value: tree.Expression,
    node: ast.AST,
    target: ast.expr,
) -> list[tree.Statement]:
    if isinstance(place, AssignedProperty):
        return assign_property(context, place, value, node)
    if isinstance(place.type, InlineType):
        value = of_tuple(context, value, node, place.type)
    stored = element_for(context, place, value, node, target)
    return [tree.Store(context.locate(node), place, stored)]


def _augmented(context: Context, node: ast.AugAssign) -> list[tree.Statement]:
    location = context.locate(node)
    if isinstance(node.target, ast.Name):
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        old, right = expression(context, name), expression(context, node.value)
        return assign_to(context, node.target, operate(context, node.op, old, right, node), node)
    place = target_of(context, node.target)
    if isinstance(place, AssignedProperty):
        return augment_property(context, place, node)
    if isinstance(place.type, InlineType):
        context.reject(
            node, "an inline array has no operators", "go through its elements, or make it a vector"
        )
    variable = context.temporary(place.type)
    local = tree.Local(place.type, location, variable)
    right = expression(context, node.value)
    value = operate(context, node.op, local, right, node)
    stored = element_for(context, place, value, node, node.target)
    return [tree.AugmentedStore(location, place, variable, stored)]


def _annotated(context: Context, node: ast.AnnAssign) -> list[tree.Statement]:
    if isinstance(node.target, ast.Name):
        declared = context.declared.get(node.target.id)
        if isinstance(declared, ClassError):
            context.reject(node, declared.message, declared.help)
    if node.value is None:
        return []
    value = expression(context, node.value)
    if context.source.definition.name == "__init__":
        written = static_value(context, node.annotation)
        if isinstance(written, ScalarType) and value.type != written:
            context.reject(
                node,
                f"the value is {value.type!r}, not {written}, and __init__ does not convert it",
                f"write {written}(...)",
            )
    return assign_to(context, node.target, value, node)


# --------------------------------------------------------------- control flow


def _test(context: Context, node: ast.expr) -> tree.Expression | None:
    """A condition, or None where it was rejected: what it guards is translated all the same, for
    more complaints, and because that may give a variable the type that the condition lacked."""
    try:
        return condition(context, node)
    except Rejected:
        return None


def _if(context: Context, node: ast.If) -> list[tree.Statement]:
    test = _test(context, node.test)

    def enter(outcome: bool) -> None:
        context.narrowed.update(narrowings(context, node.test, outcome))
        context.assume(assigned_by(node.test, outcome))

    then, otherwise = branch(
        context,
        lambda: enter(True),
        lambda: block(context, node.body),
        lambda: enter(False),
        lambda: block(context, node.orelse),
    )
    if test is None:
        raise Rejected
    return [tree.If(context.locate(node), test, then, otherwise)]


Block = Callable[[], list[tree.Statement]]


def branch(
    context: Context,
    enter_then: Callable[[], None],
    then: Block,
    enter_otherwise: Callable[[], None],
    otherwise: Block,
) -> tuple[list[tree.Statement], list[tree.Statement]]:
    """Two ways that part and meet again; ``enter`` says what is known on each."""
    before, narrowed = copied(context.assigned), dict(context.narrowed)
    enter_then()
    first = then()
    after_then, narrowed_then = context.assigned, context.narrowed
    context.assigned, context.narrowed = before, narrowed
    enter_otherwise()
    second = otherwise()
    if context.assigned is None:
        context.narrowed = narrowed_then
    elif after_then is not None:
        context.narrowed = _both(narrowed_then, context.narrowed)
    context.assigned = _meet(after_then, context.assigned)
    return first, second


def _both(left: dict[str, ClassType], right: dict[str, ClassType]) -> dict[str, ClassType]:
    """What is known of variables where two paths join."""
    return {name: cls for name, cls in left.items() if right.get(name) is cls}


def _forget_reassigned(context: Context, nodes: list[ast.stmt]) -> None:
    """A variable assigned in a loop body is no longer known to be of a subclass."""
    for name in assigned_names(nodes):
        context.narrowed.pop(name, None)


def _while(context: Context, node: ast.While) -> list[tree.Statement]:
    _forget_reassigned(context, [node])
    test = _test(context, node.test)
    endless = isinstance(test, tree.Constant) and bool(test.value)
    before, narrowed = copied(context.assigned), dict(context.narrowed)
    context.loops.append(Loop())
    context.narrowed.update(narrowings(context, node.test))
    context.assume(assigned_by(node.test, True))
    body = block(context, node.body)
    loop = context.loops.pop()
    context.narrowed = dict(narrowed)
    context.assigned = None if endless else before
    context.assume(assigned_by(node.test, False))
    otherwise = block(context, node.orelse)
    context.narrowed = _both(narrowed, context.narrowed)
    for state in loop.breaks:
        context.assigned = _meet(context.assigned, state)
    if test is None:
        raise Rejected
    return [tree.While(context.locate(node), test, body, otherwise)]


def _for(context: Context, node: ast.For) -> list[tree.Statement]:
    _forget_reassigned(context, [node])
    call = near_call(context, node.iter)
    if call is not None:
        return _for_near(context, node, NearSearch(context, *call))
    if isinstance(node.target, ast.Name) and is_call_of(context, node.iter, builtins.range):
        return _for_range(context, node)
    items, location = items_of(context, gone_through(context, node)), context.locate(node)
    place = counter(context)
    index = tree.Local(weak_int, location, place)
    body, otherwise = _rounds(
        context, node, Loop(), lambda: assign_to(context, node.target, items.at(index), node.iter)
    )
    zero, one = (constant(number, weak_int, location) for number in (0, 1))
    end = [*items.after, *otherwise]
    loop = tree.ForRange(location, place, zero, items.length, one, body, end)
    return [*items.before, loop]


def _for_range(context: Context, node: ast.For) -> list[tree.Statement]:
    """``for i in range(...)``, whose variable counts by itself."""
    assert isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Name)
    name = node.target.id
    (start, stop, step), before = counted(context, node.iter)
    location = context.locate(node)
    counts_up = isinstance(step, tree.GridSize) or (
        isinstance(step, tree.Constant) and step.value > 0
    )
    nonnegative = counts_up and is_nonnegative(context, start)

    def begin() -> list[tree.Statement]:
        number = tree.Local(weak_int, location, context.temporary(weak_int))
        context.give_type(name, number, node, nonnegative)
        context.mark_assigned(name)
        return []

    body, otherwise = _rounds(context, node, Loop(), begin)
    target = context.variable(name)
    if target.type == weak_int:
        return [*before, tree.ForRange(location, target, start, stop, step, body, otherwise)]
    # The variable has another type elsewhere: count in one of our own and convert.
    own = context.temporary(weak_int)
    value = tree.Local(weak_int, location, own)
    assert isinstance(target.type, ScalarType)
    converted = convert_scalar(context, value, target.type, node)
    body = [tree.Assign(location, target, converted), *body]
    return [*before, tree.ForRange(location, own, start, stop, step, body, otherwise)]


def _rounds(
    context: Context, node: ast.For, loop: Loop, begin: Callable[[], list[tree.Statement]]
) -> tuple[list[tree.Statement], list[tree.Statement]]:
    """The body of a loop, which begins with what ``begin`` makes, and what follows where nothing
    breaks it."""
    before, narrowed = copied(context.assigned), dict(context.narrowed)
    body = begin()
    context.loops.append(loop)
    body += block(context, node.body)
    context.loops.pop()
    context.assigned, context.narrowed = before, dict(narrowed)
    otherwise = block(context, node.orelse)
    context.narrowed = _both(narrowed, context.narrowed)
    for state in loop.breaks:
        context.assigned = _meet(context.assigned, state)
    return body, otherwise


def _for_near(context: Context, node: ast.For, search: NearSearch) -> list[tree.Statement]:
    loop = Loop(left=context.temporary(boolean))
    body, otherwise = _rounds(
        context, node, loop, lambda: assign_to(context, node.target, search.found, node)
    )
    return search.loops(body, otherwise, loop.left if loop.breaks else None)


def _break(context: Context, node: ast.Break) -> list[tree.Statement]:
    loop, location = context.loops[-1], context.locate(node)
    if context.assigned is not None:
        loop.breaks.append(set(context.assigned))
    context.assigned = None
    if loop.left is None:
        return [tree.Break(location)]
    left = constant(True, boolean, location)
    return [tree.Assign(location, loop.left, left), tree.Break(location)]


def _continue(context: Context, node: ast.Continue) -> list[tree.Statement]:
    context.assigned = None
    return [tree.Continue(context.locate(node))]


def _return(context: Context, node: ast.Return) -> list[tree.Statement]:
    result, location = context.signature.result, context.locate(node)
    nothing = node.value is None or (
        isinstance(node.value, ast.Constant) and node.value.value is None
    )
    if result == VOID:
        if not nothing:
            context.reject(
                node,
                f"{context.source.name} returns a value but declares none",
                "kernels store results in arrays; other functions need -> and a type",
            )
        context.assigned = None
        return [tree.Return(location, None)]
    if node.value is None:
        context.reject(node, f"{context.source.name} returns {result!r}", "return a value")
    value = coerce(context, expression(context, node.value), result, node, "the result")
    context.assigned = None
    return [tree.Return(location, value)]


def _meet(left: set[str] | None, right: set[str] | None) -> set[str] | None:
    """Variables surely assigned where two paths join; None is a path that does not arrive."""
    if left is None or right is None:
        return copied(right if left is None else left)
    return left & right


# ------------------------------------------------------------ everything else


def _expression(context: Context, node: ast.Expr) -> list[tree.Statement]:
    if isinstance(node.value, ast.Constant):
        return []  # a docstring, or `...`
    if isinstance(node.value, ast.Call):
        callee = static_value(context, node.value.func)
        if callee is builtins.print:
            return [print_statement(context, node.value)]
        if callee is intrinsics.syncthreads:
            return [_barrier(context, node.value)]
        if callee is intrinsics.fence:
            return [tree.Fence(context.locate(node))]
    value = expression(context, node.value)
    return [tree.Evaluate(context.locate(node), value)]


def _barrier(context: Context, node: ast.Call) -> tree.Statement:
    if context.kind != "kernel":
        context.reject(node, "syncthreads is only known in kernels", "call it in the kernel itself")
    return tree.Barrier(context.locate(node))


def _match(context: Context, node: ast.Match) -> list[tree.Statement]:
    from .matching import match

    return match(context, node)


def _pass(context: Context, node: ast.Pass) -> list[tree.Statement]:
    return []


_HANDLERS: dict[type[ast.stmt], Callable[[Context, Any], list[tree.Statement]]] = {
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.AnnAssign: _annotated,
    ast.If: _if,
    ast.While: _while,
    ast.For: _for,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Return: _return,
    ast.Assert: assertion,
    ast.FunctionDef: declare_function,
    ast.Expr: _expression,
    ast.Match: _match,
    ast.Pass: _pass,
}
