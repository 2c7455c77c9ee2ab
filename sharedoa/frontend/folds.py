"""``sum``, ``math.prod``, ``min``, ``max``, ``any``, ``all`` and ``in`` over whatever loops run
over, and over generator expressions: loops within an expression."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..model.float_sum import IS_CORRECTED, corrected, correction
from ..model.scalars import boolean, f64, weak_float, weak_int
from ..model.types import Type
from . import tree
from .comparisons import compare_pair
from .conditions import assigned_by, condition, narrowings
from .context import Context, assigned_names, join_types
from .conversions import as_variable, coerce, constant, truth
from .expressions import expression, operate
from .held_values import HeldValues
from .iteration import counter, items_of, with_start
from .names import renamed
from .operators import unify

Step = Callable[[tree.Expression, ast.expr], list[tree.Statement]]
"""What to do with an item, and the source that it comes from."""


def each_item(
    context: Context, node: ast.expr, step: Step, left: tree.Variable | None = None
) -> list[tree.Statement]:
    """Statements that do ``step`` with each item, in order. A ``Break`` in them leaves the
    innermost loop; those around it end, too, where ``left`` is true. Where none does, nobody can
    tell a list that is written there from its items one by one."""
    if isinstance(node, ast.ListComp) and left is None:
        node = ast.copy_location(ast.GeneratorExp(node.elt, node.generators), node)
    if isinstance(node, ast.GeneratorExp):
        own = _with_own_names(context, node)
        narrowed, assigned = dict(context.narrowed), context.assigned
        assigned = None if assigned is None else set(assigned)
        made = _generated(context, own, 0, step, left)
        context.narrowed, context.assigned = narrowed, assigned
        return made
    return _loop(context, node, lambda item: step(item, node))


def _refuse_list(
    context: Context, items: ast.expr, others: list[ast.expr], key: ast.expr | None = None
) -> None:
    """Refuse a list that is written there, all of which CPython makes before it computes the
    ``others`` and calls ``key``, where that may come to something else than its items one by
    one."""
    if not isinstance(items, ast.ListComp) or (not others and key is None):
        return
    others = [each for each in others if not isinstance(each, (ast.Constant, ast.Name))]
    others += [] if key is None else [key]
    calls = key is not None and not isinstance(key, ast.Lambda)
    every = [node for each in (items, *others) for node in ast.walk(each)]
    assigns = any(isinstance(each, ast.NamedExpr) for each in every)
    if assigns or (others and (calls or any(isinstance(each, ast.Call) for each in every))):
        context.reject(
            items,
            "all items of this list are made before what comes next, which kernels do not do",
            "leave the brackets out, so that both make them one by one, or the calls",
        )


def _loop(
    context: Context, node: ast.expr, step: Callable[[tree.Expression], list[tree.Statement]]
) -> list[tree.Statement]:
    items, location = items_of(context, node), context.locate(node)
    place = counter(context)
    body = step(items.at(tree.Local(weak_int, location, place)))
    zero, one = (constant(number, weak_int, location) for number in (0, 1))
    loop = tree.ForRange(location, place, zero, items.length, one, body, items.after)
    return [*items.before, loop]


def _generated(
    context: Context, node: ast.GeneratorExp, depth: int, step: Step, left: tree.Variable | None
) -> list[tree.Statement]:
    """The loops of a generator expression, from the one numbered ``depth`` on."""
    from .statements import assign_to

    part, location = node.generators[depth], context.locate(node)
    if part.is_async:
        context.reject(node, "kernels are not coroutines", "write for without async")

    def inner(item: tree.Expression) -> list[tree.Statement]:
        body = assign_to(context, part.target, item, part.iter)
        tests = []
        for each in part.ifs:
            tests.append(condition(context, each))
            context.narrowed.update(narrowings(context, each))
            context.assume(assigned_by(each, True))
        if depth + 1 < len(node.generators):
            found = _generated(context, node, depth + 1, step, left)
            if left is not None:
                stop = tree.Local(boolean, location, left)
                found.append(tree.If(location, stop, [tree.Break(location)], []))
        else:
            found = step(expression(context, node.elt), node.elt)
        for test in reversed(tests):
            found = [tree.If(location, test, found, [])]
        return [*body, *found]

    return _loop(context, part.iter, inner)


def _with_own_names(context: Context, node: ast.GeneratorExp) -> ast.GeneratorExp:
    """The same, with variables that nothing else has: they are the expression's own."""
    targets = assigned_names([part.target for part in node.generators])
    names = {name: context.own_name(name, node) for name in targets}
    first = node.generators[0].iter
    own = renamed(node, names)
    own.generators[0].iter = first  # which is evaluated outside
    return own


# ------------------------------------------------------------ functions of Python


def total(context: Context, node: ast.Call) -> tree.Expression:
    """``sum(items, start)``."""
    given = with_start(context, node, "what it adds", "sum(a) or sum(a, 1.0)")
    location = context.locate(node)
    before: list[tree.Statement] = []
    begin = _start(context, given, 0, before, node)
    found: list[tree.Variable] = []

    def add(item: tree.Expression, source: ast.expr) -> list[tree.Statement]:
        if item.type == boolean:
            context.reject(
                source,
                "sum of bools means one thing in Python and another in NumPy",
                "count with numbers: sum(1 for x in a if x > 0)",
            )
        type = _type_so_far(context, ast.Add(), begin.type, item, source)
        variable = context.temporary(type)
        found.append(variable)
        so_far = tree.Local(type, location, variable)
        if type == weak_float and item.type == weak_float and IS_CORRECTED:
            rest = context.temporary(weak_float)
            found.append(rest)
            return _add_exactly(context, variable, rest, item, location)
        more = operate(context, ast.Add(), so_far, item, source)
        return [tree.Assign(location, variable, coerce(context, more, type, source, "the sum"))]

    loops = each_item(context, given[0], add)
    variable, *rest = found
    started = coerce(context, begin, variable.type, node, "the sum")
    before.append(tree.Assign(location, variable, started))
    result: tree.Expression = tree.Local(variable.type, location, variable)
    for each in rest:
        before.append(tree.Assign(location, each, constant(0.0, weak_float, location)))
        correction = tree.Local(weak_float, location, each)
        symbol = context.program.require_function(corrected)
        result = tree.DirectCall(f64, location, symbol, [
            tree.Convert(f64, location, result), tree.Convert(f64, location, correction),
        ])  # fmt: skip
        result = tree.Convert(weak_float, location, result)
    return tree.Sequence(result.type, location, [*before, *loops], result)


def product(context: Context, node: ast.Call) -> tree.Expression:
    """``math.prod(items, start=1)``."""
    given = with_start(context, node, "what it multiplies", "math.prod(a, start=2)")
    if len(node.args) != 1:
        context.reject(node, "math.prod takes its start by name", "write math.prod(a, start=2)")
    location = context.locate(node)
    before: list[tree.Statement] = []
    begin = _start(context, given, 1, before, node)
    found: list[tree.Variable] = []

    def multiply(item: tree.Expression, source: ast.expr) -> list[tree.Statement]:
        type = _type_so_far(context, ast.Mult(), begin.type, item, source)
        found.append(context.temporary(type))
        so_far = tree.Local(type, location, found[-1])
        more = operate(context, ast.Mult(), so_far, item, source)
        stored = coerce(context, more, type, source, "the product")
        return [tree.Assign(location, found[-1], stored)]

    loops = each_item(context, given[0], multiply)
    variable = found[-1]
    started = coerce(context, begin, variable.type, node, "the product")
    result = tree.Local(variable.type, location, variable)
    made = [*before, tree.Assign(location, variable, started), *loops]
    return tree.Sequence(result.type, location, made, result)


def _start(
    context: Context,
    given: list[ast.expr],
    usual: int,
    before: list[tree.Statement],
    node: ast.Call,
) -> tree.Expression:
    """What a sum or product starts with, which ``before`` computes."""
    items, *starts = given
    _refuse_list(context, items, starts)
    location = context.locate(node)
    if not starts:
        return constant(usual, weak_int, location)
    value = as_variable(context, expression(context, starts[0]), starts[0])
    held = context.temporary(value.type)
    before.append(tree.Assign(location, held, value))
    return tree.Local(value.type, location, held)


def _type_so_far(
    context: Context, operator: ast.operator, begin: Type, item: tree.Expression, source: ast.expr
) -> Type:
    """The type of a variable that begins so and to which items are added, or with which they are
    multiplied."""
    type = begin
    for _ in range(3):
        so_far = tree.Local(type, context.locate(source), context.temporary(type))
        more = operate(context, operator, so_far, item, source).type
        joined = join_types(type, more)
        if joined is None:
            context.reject(
                source,
                f"what there is so far is {type!r}, and with one item more {more!r}",
                "convert the items, or give a start of their type",
            )
        if joined == type:
            break
        type = joined
    return type


def _add_exactly(
    context: Context,
    variable: tree.Variable,
    rest: tree.Variable,
    item: tree.Expression,
    location: tree.Location,
) -> list[tree.Statement]:
    held = context.temporary(weak_float)
    total, one, other = (tree.Local(weak_float, location, v) for v in (variable, held, rest))
    given: list[tree.Expression] = [
        tree.Convert(f64, location, each) for each in (total, one, other)
    ]
    symbol = context.program.require_function(correction)
    called = tree.DirectCall(f64, location, symbol, given)
    return [
        tree.Assign(location, held, item),
        tree.Assign(location, rest, tree.Convert(weak_float, location, called)),
        tree.Assign(location, variable, tree.Binary(weak_float, location, "add", total, one)),
    ]


def extreme(context: Context, node: ast.Call, operator: tree.CompareOperator) -> tree.Expression:
    """``min(items)`` or ``max(items)``, also by what ``key`` makes of them."""
    name = "min" if operator == "lt" else "max"
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    default, key = named.pop("default", None), named.pop("key", None)
    if named:
        unknown = ", ".join(map(str, named))
        context.reject(node, f"{name} has no {unknown}", f"write {name}(items, key=f, default=x)")
    _refuse_list(context, node.args[0], [] if default is None else [default], key)
    location = context.locate(node)
    is_found = context.temporary(boolean)
    there = tree.Local(boolean, location, is_found)
    found: list[tree.Variable] = []

    def keep(item: tree.Expression, source: ast.expr) -> list[tree.Statement]:
        item = as_variable(context, item, source)
        best, held = context.temporary(item.type), context.temporary(item.type)
        found.append(best)
        first, second = (tree.Local(item.type, location, v) for v in (held, best))
        made: list[tree.Statement] = [tree.Assign(location, held, item)]
        take: list[tree.Statement] = [tree.Assign(location, best, first)]
        if key is not None:
            value = as_variable(context, _key_of(context, key, first, made), key)
            compared, so_far = context.temporary(value.type), context.temporary(value.type)
            made.append(tree.Assign(location, compared, value))
            first, second = (tree.Local(value.type, location, v) for v in (compared, so_far))
            take.append(tree.Assign(location, so_far, first))
        better = compare_pair(context, operator, first, second, source)
        none = tree.Unary(boolean, location, "not", there)
        takes = tree.Logical(boolean, location, "or", none, better)
        taken = tree.Assign(location, is_found, constant(True, boolean, location))
        return [*made, tree.If(location, takes, take, []), taken]

    loops = each_item(context, node.args[0], keep)
    begin = tree.Assign(location, is_found, constant(False, boolean, location))
    result = tree.Local(found[0].type, location, found[0])
    return _or_default(context, node, name, [begin, *loops], there, result, default)


def _or_default(
    context: Context,
    node: ast.Call,
    name: str,
    statements: list[tree.Statement],
    there: tree.Expression,
    result: tree.Expression,
    default: ast.expr | None,
) -> tree.Expression:
    """What the statements have found, if they have, else the default, if there is one."""
    location = context.locate(node)
    if default is None:
        statements.append(tree.Assert(location, there, f"{name}() of no items"))
        return tree.Sequence(result.type, location, statements, result)
    # Python evaluates it before it looks at items.
    other = as_variable(context, expression(context, default), default)
    type, (result, other) = unify(context, [result, other], node, f"the result of {name}")
    held = HeldValues()
    kept = held.hold_unknown(other)
    made = tree.Conditional(type, location, there, result, kept)
    return held.then(tree.Sequence(type, location, statements, made))


def _key_of(
    context: Context, key: ast.expr, item: tree.Expression, made: list[tree.Statement]
) -> tree.Expression:
    """What ``key``, a lambda or a function, makes of an item; ``made`` is run before."""
    from .statements import assign_to

    name = context.own_name("item", key)
    given = ast.copy_location(ast.Name(name, ast.Load()), key)
    called: ast.expr = ast.copy_location(ast.Call(key, [given], []), key)
    if isinstance(key, ast.Lambda):
        parameters = key.args
        if len(parameters.args) != 1 or ast.dump(parameters).count("arg(") != 1:
            context.reject(key, "a key takes one item", "write key=lambda x: x.cost")
        name = context.own_name(parameters.args[0].arg, key)
        called = renamed(key.body, {parameters.args[0].arg: name})
    target = ast.copy_location(ast.Name(name, ast.Store()), key)
    made += assign_to(context, target, item, key)
    return expression(context, called)


def first_of(context: Context, node: ast.Call) -> tree.Expression:
    """``next(x for x in items if ...)``, or a default."""
    is_generated = bool(node.args) and isinstance(node.args[0], ast.GeneratorExp)
    if node.keywords or len(node.args) > 2 or not is_generated:
        context.reject(
            node, "next takes a generator expression", "write next((x for x in a if x > 0), 0.0)"
        )
    location = context.locate(node)
    left = context.temporary(boolean)
    there = tree.Local(boolean, location, left)
    found: list[tree.Variable] = []

    def take(item: tree.Expression, source: ast.expr) -> list[tree.Statement]:
        value = as_variable(context, item, source)
        found.append(context.temporary(value.type))
        return [
            tree.Assign(location, found[-1], value),
            tree.Assign(location, left, constant(True, boolean, location)),
            tree.Break(location),
        ]

    loops = each_item(context, node.args[0], take, left)
    begin = tree.Assign(location, left, constant(False, boolean, location))
    result = tree.Local(found[-1].type, location, found[-1])
    default = node.args[1] if len(node.args) == 2 else None
    return _or_default(context, node, "next", [begin, *loops], there, result, default)


def length_of_comprehension(context: Context, node: ast.ListComp) -> tree.Expression:
    """``len([x for x in items if ...])``: how often an item is computed."""
    location = context.locate(node)
    count = tree.Local(weak_int, location, counter(context))

    def add(item: tree.Expression, source: ast.expr) -> list[tree.Statement]:
        one = constant(1, weak_int, location)
        more = tree.Binary(weak_int, location, "add", count, one)
        return [tree.Evaluate(location, item), tree.Assign(location, count.variable, more)]

    zero = constant(0, weak_int, location)
    loops = each_item(context, node, add)
    made = [tree.Assign(location, count.variable, zero), *loops]
    return tree.Sequence(weak_int, location, made, count)


def quantified(context: Context, node: ast.Call, stops_at: bool) -> tree.Expression:
    """``any(items)``, which ``stops_at`` what is true, or ``all(items)``."""
    name = "any" if stops_at else "all"
    if len(node.args) != 1 or node.keywords:
        context.reject(node, f"{name} takes some items", f"write {name}(x > 0 for x in a)")

    def test(item: tree.Expression, source: ast.expr) -> tree.Expression:
        return truth(context, item, source)

    return _search(context, node.args[0], stops_at, test)


def contained(
    context: Context, value: tree.Expression, node: ast.expr, inside: Any
) -> tree.Expression:
    """``value in node``; ``inside`` is the comparison in the source."""
    held = HeldValues()
    is_known = isinstance(value, tree.Constant)
    wanted = value if is_known else held.hold(as_variable(context, value, inside))
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and node.elts:
        found = _among(context, wanted, node, inside)
    else:
        found = _search(
            context, node, True,
            lambda item, source: compare_pair(context, "eq", wanted, item, inside),
        )  # fmt: skip
    return held.then(found)


def _among(
    context: Context, wanted: tree.Expression, node: ast.Tuple | ast.List | ast.Set, inside: Any
) -> tree.Expression:
    """Whether a value is one of those that are written side by side."""
    location = context.locate(inside)
    held = HeldValues()
    values = [held.hold_unknown(expression(context, each)) for each in node.elts]
    test: tree.Expression | None = None
    for one in reversed(values):
        same = compare_pair(context, "eq", wanted, one, inside)
        test = same if test is None else tree.Logical(boolean, location, "or", same, test)
    assert test is not None
    return held.then(test)


def _search(
    context: Context,
    node: ast.expr,
    stops_at: bool,
    test: Callable[[tree.Expression, ast.expr], tree.Expression],
) -> tree.Expression:
    location = context.locate(node)
    left = context.temporary(boolean)
    # All items of a list are computed before the first is looked at.
    is_list = isinstance(node, ast.ListComp)

    def look(item: tree.Expression, source: ast.expr) -> list[tree.Statement]:
        holds = test(item, source)
        if not stops_at:
            holds = tree.Unary(boolean, location, "not", holds)
        end: list[tree.Statement] = [
            tree.Assign(location, left, constant(True, boolean, location)),
            *([] if is_list else [tree.Break(location)]),
        ]
        return [tree.If(location, holds, end, [])]

    loops = each_item(context, node, look, None if is_list else left)
    begin = tree.Assign(location, left, constant(False, boolean, location))
    outcome: tree.Expression = tree.Local(boolean, location, left)
    if not stops_at:
        outcome = tree.Unary(boolean, location, "not", outcome)
    return tree.Sequence(boolean, location, [begin, *loops], outcome)
