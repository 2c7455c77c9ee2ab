"""What loops run over: arrays, inline arrays, tuples, tables, ranges, and ``enumerate``, ``zip``
and ``reversed`` of them. All become a number of items and what the item of a number is."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection
from typing import Any

from dispatch.dataclass import dataclass, field, replace

from ..model.scalars import ScalarType, u64, weak_int
from ..model.types import ArrayType, ListType, TupleType, ValueType
from . import tree
from .constant_tables import item_of, length_of, row_of, value_of
from .context import Context
from .conversions import as_index, as_variable, constant, is_nonnegative
from .expressions import expression, static_value, translate
from .held_values import HeldValues, items_of_tuple
from .inline_arrays import fields_of_vector
from .operands import ConstantRow, InlineArray, Operand, Static
from .operators import binary, compare, unary, unify
from .subscripts import bounds_of

At = Callable[[tree.Expression], tree.Expression]
"""The item of a number, which may be asked for more than once."""


@dataclass
class Items:
    """``before`` is run before the first item is asked for; ``length`` costs nothing then.
    ``after`` is run behind the last one, unless the loop is left."""

    length: tree.Expression
    at: At
    before: list[tree.Statement] = field(default_factory=list)
    after: list[tree.Statement] = field(default_factory=list)


_HOW = (
    "loops run over range(...), arrays, inline arrays, tuples and local arrays, and over "
    "enumerate, zip and reversed of these"
)

_HOW_NUMBERS = "write range(n) for the numbers below n, and a & b == a for `a in b` of flags"
_HOW_CONSTANTS = "make it a tuple or a NumPy array; write ranges as range(...) where they are used"


def items_of(context: Context, node: ast.expr) -> Items:
    """What ``for`` goes through if it is given this expression."""
    if isinstance(node, ast.Call):
        make = _MAKERS.get(id(static_value(context, node.func)))
        if make is not None:
            return make(context, node)
    if isinstance(node, (ast.List, ast.Set)):
        node = ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        base = translate(context, node.value)
        is_inline = isinstance(base, InlineArray) and len(base.type.shape) == 1
        if is_inline or isinstance(getattr(base, "type", None), ListType):
            return _of_part(context, items_of_operand(context, base, node), node.slice, node)
    return items_of_operand(context, row_of(context, translate(context, node), node), node)


def items_of_operand(context: Context, operand: Operand, node: ast.expr) -> Items:
    """What ``for`` goes through if it is given this."""
    if isinstance(operand, ConstantRow):
        return _of_row(context, operand, node)
    if isinstance(operand, InlineArray):
        return _of_inline(context, operand, node)
    if isinstance(operand, tree.Expression):
        if isinstance(operand.type, (ArrayType, ListType)):
            return _of_array(context, operand, operand.type, node)
        if isinstance(operand.type, TupleType):
            return _of_tuple(context, operand, node)
        if isinstance(operand.type, ValueType) and operand.type.shape:
            return _of_vector(context, operand, node)
        is_integer = isinstance(operand.type, ScalarType) and operand.type.is_integer
        how = _HOW_NUMBERS if is_integer else _HOW
        context.reject(node, f"{operand.type!r} cannot be gone through", how)
    if not isinstance(operand, Static):
        context.reject(node, "this cannot be gone through", _HOW)
    how = _HOW_CONSTANTS if isinstance(operand.value, Collection) else _HOW
    context.reject(node, f"{operand.name} cannot be gone through", how)


def counter(context: Context) -> tree.Variable:
    """A variable that counts from 0 on."""
    variable = context.temporary(weak_int)
    context.counters.add(variable)
    return variable


def _held(
    context: Context, value: tree.Expression, before: list[tree.Statement]
) -> tree.Expression:
    """``value``, computed once by ``before``."""
    if isinstance(value, tree.Constant):
        return value
    variable = context.temporary(value.type)
    if is_nonnegative(context, value):
        context.counters.add(variable)
    before.append(tree.Assign(value.location, variable, value))
    return tree.Local(value.type, value.location, variable)


def _held_place(context: Context, place: tree.Place, before: list[tree.Statement]) -> tree.Place:
    """``place``, whose parts ``before`` computes."""
    if isinstance(place, tree.FieldPlace):
        return replace(place, object=_held(context, place.object, before))
    if isinstance(place, tree.MemberPlace):
        return replace(place, base=_held_place(context, place.base, before))
    if isinstance(place, tree.InlinePlace):
        base = _held_place(context, place.base, before)
        return replace(place, base=base, index=_held(context, place.index, before))
    if isinstance(place, tree.TilePlace):
        return place
    array = _held(context, place.array, before)
    return replace(place, array=array, index=_held(context, place.index, before))


# ------------------------------------------------------------ what holds items


def _of_array(
    context: Context, array: tree.Expression, type: ArrayType | ListType, node: ast.expr
) -> Items:
    before: list[tree.Statement] = []
    held, location = _held(context, array, before), context.locate(node)
    known = context.length_of_list(array) if isinstance(type, ListType) else None
    if known is None:
        length = _held(context, tree.ArrayLength(weak_int, location, held), before)
    else:
        length = constant(known, weak_int, location)

    def at(index: tree.Expression) -> tree.Expression:
        place = tree.ElementPlace(type.element, location, held, index, False)
        return tree.Load(type.element, location, place)

    return Items(length, at, before)


def _of_inline(context: Context, array: InlineArray, node: ast.expr) -> Items:
    type, location, source = array.type, context.locate(node), array.source
    if len(type.shape) > 1:
        context.reject(
            node, f"{type!r} has rows, which are no values", "go through indices: a[i, j]"
        )
    before: list[tree.Statement] = []
    length = constant(type.length, weak_int, location)
    if isinstance(source, tree.Expression):
        held = _held(context, source, before)
        return Items(
            length,
            lambda index: tree.InlineItem(type.element, location, held, [index], (False,)),
            before,
        )
    base = _held_place(context, source, before)

    def at(index: tree.Expression) -> tree.Expression:
        place = tree.InlinePlace(type.element, location, base, index, False)
        return tree.Load(type.element, location, place)

    return Items(length, at, before)


def _of_part(context: Context, whole: Items, cut: ast.Slice, node: ast.Subscript) -> Items:
    """``whole[start:stop:step]``; a step is known, as the bounds are then."""
    location = context.locate(node)
    known = [_known_bound(context, each) for each in (cut.lower, cut.upper, cut.step)]
    if None not in known and isinstance(whole.length, tree.Constant):
        bounds = slice(*(each[0] for each in known if each)).indices(int(whole.length.value))
        numbers = range(*bounds)
        step = constant(numbers.step, weak_int, location)
        start: tree.Expression = constant(numbers.start, weak_int, location)
        length: tree.Expression = constant(len(numbers), weak_int, location)
        before = whole.before
    else:
        if cut.step is not None:
            context.reject(
                node, "a slice with a step and bounds that are not known", "write range(i, j, step)"
            )
        held = HeldValues()
        start, count = bounds_of(context, cut, whole.length, held, node)
        step, length = constant(1, weak_int, location), held.hold(count)
        before = [*whole.before, *held.statements()]

    def at(index: tree.Expression) -> tree.Expression:
        moved = binary(context, "mul", index, step, node) if step_moves(step) else index
        return whole.at(binary(context, "add", start, moved, node))

    return Items(length, at, before)


def _known_bound(context: Context, node: ast.expr | None) -> tuple[int | None] | None:
    """A bound of a slice, which may be left out; None if it is not known."""
    if node is None:
        return (None,)
    value = expression(context, node)
    is_known = isinstance(value, tree.Constant) and value.type == weak_int
    return (int(value.value),) if is_known else None  # type: ignore[attr-defined]


def _of_vector(context: Context, value: tree.Expression, node: ast.expr) -> Items:
    before: list[tree.Statement] = []
    parts = fields_of_vector(context, _held(context, value, before), node)
    length = constant(len(parts), weak_int, context.locate(node))
    return Items(length, lambda index: _chosen(context, parts, index, node), before)


def _of_row(context: Context, row: ConstantRow, node: ast.expr) -> Items:
    length = length_of(row)
    if length is None:
        context.reject(node, f"{row.name} cannot be gone through", _HOW)

    def at(index: tree.Expression) -> tree.Expression:
        return value_of(context, item_of(context, row, index, node), node)

    if length == 0:
        context.reject(node, f"{row.name} is empty", "leave the loop out")
    return Items(constant(length, weak_int, context.locate(node)), at)


def _of_tuple(context: Context, value: tree.Expression, node: ast.expr) -> Items:
    before: list[tree.Statement] = []
    location = context.locate(node)
    if isinstance(value, tree.MakeTuple):
        parts = [_held(context, as_variable(context, part, node), before) for part in value.items]
    else:
        parts = items_of_tuple(_held(context, value, before))
    if not parts:
        context.reject(node, "this tuple is empty", "leave the loop out")
    _, parts = unify(context, parts, node, "an item")

    def at(index: tree.Expression) -> tree.Expression:
        return _chosen(context, parts, index, node)

    return Items(constant(len(parts), weak_int, location), at, before)


def _chosen(
    context: Context, parts: list[tree.Expression], index: tree.Expression, node: ast.expr
) -> tree.Expression:
    """The part of this number."""
    location, type = context.locate(node), parts[0].type
    held = HeldValues()
    place, found = held.hold(index), parts[-1]
    for number, part in reversed([*enumerate(parts[:-1])]):
        test = compare(context, "eq", place, constant(number, weak_int, location), node)
        found = tree.Conditional(type, location, test, part, found)
    return held.then(found)


# ------------------------------------------------------------ range, enumerate, zip, reversed


def range_arguments(context: Context, node: ast.Call) -> list[tree.Expression]:
    """Start, stop and step of ``range(...)``."""
    if node.keywords or not 1 <= len(node.args) <= 3:
        context.reject(node, "range takes one to three integers", "write range(start, stop, step)")
    location = context.locate(node)
    values = [
        as_index(context, expression(context, argument), argument, "the bound")
        for argument in node.args
    ]
    zero, one = constant(0, weak_int, location), constant(1, weak_int, location)
    if len(values) == 1:
        return [zero, values[0], one]
    if isinstance(values[-1], tree.Constant) and len(values) == 3 and values[2].value == 0:  # type: ignore[attr-defined]
        context.reject(node, "the step of range is 0", "use a step that moves")
    return values if len(values) == 3 else [*values, one]


def counted(context: Context, node: ast.Call) -> tuple[list[tree.Expression], list[tree.Statement]]:
    """Start, stop and step of a loop over ``range(...)``, and what computes them. A step of 0
    fails, and a bound that is a ``u64`` to which a loop, which has 64 bits with a sign, cannot
    count."""
    bounds, before = range_arguments(context, node), list[tree.Statement]()
    may_stand = not isinstance(bounds[2], (tree.Constant, tree.GridSize))
    if not may_stand and not any(map(unsigned_bound, bounds)):
        return bounds, before
    for place, bound in enumerate(bounds):
        unsigned = unsigned_bound(bound)
        bounds[place] = held = _held(context, unsigned or bound, before)
        if unsigned is not None:
            most = constant(2**63 - 1, u64, bound.location)
            fits = compare(context, "le", held, most, node)
            before.append(tree.Assert(bound.location, fits, "bounds of range are below 2**63"))
            bounds[place] = as_index(context, held, node, "the bound")
    if may_stand:
        zero = constant(0, weak_int, bounds[2].location)
        moves = compare(context, "ne", bounds[2], zero, node)
        before.append(tree.Assert(bounds[2].location, moves, "the step of range is not 0"))
    return bounds, before


def unsigned_bound(bound: tree.Expression) -> tree.Expression | None:
    """What a bound was before it was converted, if 64 bits with a sign do not hold all of it."""
    is_wrapped = isinstance(bound, tree.Convert) and bound.value.type == u64
    return bound.value if is_wrapped else None  # type: ignore[attr-defined]


def _range(context: Context, node: ast.Call) -> Items:
    location = context.locate(node)
    bounds, before = counted(context, node)
    start, stop, step = (_held(context, each, before) for each in bounds)
    zero = constant(0, weak_int, location)

    def operate(name: Any, left: tree.Expression, right: tree.Expression) -> tree.Expression:
        return binary(context, name, left, right, node)

    # As many as there are steps before ``stop``: rounded up, whichever the direction.
    distance = operate("sub", stop, start)
    backwards = operate("floordiv", unary(context, "neg", distance, node), step)
    rounds = unary(context, "neg", backwards, node)
    length = _held(context, rounds if step_moves(step) else distance, before)
    if isinstance(length, tree.Constant):
        length = constant(max(0, int(length.value)), weak_int, location)
    else:
        some = compare(context, "gt", length, zero, node)
        length = _held(context, tree.Conditional(weak_int, location, some, length, zero), before)
    if isinstance(length, tree.Local):
        context.counters.add(length.variable)

    def at(index: tree.Expression) -> tree.Expression:
        moved = operate("mul", index, step) if step_moves(step) else index
        is_from_zero = isinstance(start, tree.Constant) and start.value == 0
        return moved if is_from_zero else operate("add", start, moved)

    return Items(length, at, before)


def step_moves(step: tree.Expression) -> bool:
    """Whether a step is anything but the constant 1."""
    return not (isinstance(step, tree.Constant) and step.value == 1)


def with_start(context: Context, node: ast.Call, what: str, example: str) -> list[ast.expr]:
    """The arguments of a function of items, and of where it starts, if that is given."""
    given, named = list(node.args), {each.arg: each.value for each in node.keywords}
    if "start" in named:
        given.append(named.pop("start"))
    if named or not 1 <= len(given) <= 2:
        name = ast.unparse(node.func)
        context.reject(node, f"{name} takes {what}, and a start", f"write {example}")
    return given


def _enumerate(context: Context, node: ast.Call) -> Items:
    given = with_start(context, node, "what it numbers", "enumerate(a, start=1)")
    inner = items_of(context, given[0])
    before, location = list(inner.before), context.locate(node)
    start: tree.Expression = constant(0, weak_int, location)
    if len(given) == 2:
        value = as_index(context, expression(context, given[1]), given[1], "the start")
        start = _held(context, value, before)

    def at(index: tree.Expression) -> tree.Expression:
        is_from_zero = isinstance(start, tree.Constant) and start.value == 0
        number = index if is_from_zero else binary(context, "add", start, index, node)
        item = inner.at(index)
        return tree.MakeTuple(TupleType((weak_int, item.type)), location, [number, item])

    return Items(inner.length, at, before, inner.after)


def _zip(context: Context, node: ast.Call) -> Items:
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    given = named.pop("strict", None)
    strict = given is not None and getattr(given, "value", None)
    if named or not node.args or not isinstance(strict, bool):
        context.reject(
            node, "zip takes what it goes through side by side", "write zip(a, b, strict=True)"
        )
    parts = [items_of(context, argument) for argument in node.args]
    before = [statement for part in parts for statement in part.before]
    after = [statement for part in parts for statement in part.after]
    location, length = context.locate(node), parts[0].length
    for part in parts[1:] if strict else []:
        same = compare(context, "eq", part.length, parts[0].length, node)
        after.append(tree.Assert(location, same, "zip(strict=True) of equal lengths"))
    for part in parts[1:]:
        shorter = compare(context, "lt", part.length, length, node)
        if isinstance(shorter, tree.Constant):
            length = part.length if shorter.value else length
            continue
        least = tree.Conditional(weak_int, location, shorter, part.length, length)
        length = _held(context, least, before)

    def at(index: tree.Expression) -> tree.Expression:
        items = [part.at(index) for part in parts]
        return tree.MakeTuple(TupleType(tuple(item.type for item in items)), location, items)

    return Items(length, at, before, after)


def _reversed(context: Context, node: ast.Call) -> Items:
    if node.keywords or len(node.args) != 1:
        context.reject(node, "reversed takes what it goes through", "write reversed(a)")
    inner_call = node.args[0]
    if isinstance(inner_call, ast.Call):
        called = static_value(context, inner_call.func)
        if called is builtins.enumerate or called is builtins.zip:
            context.reject(
                node,
                f"Python cannot reverse {called.__name__}",
                "write reversed(range(len(a))) and index",
            )
    inner = items_of(context, node.args[0])
    before = list(inner.before)
    one = constant(1, weak_int, context.locate(node))
    last = _held(context, binary(context, "sub", inner.length, one, node), before)

    def at(index: tree.Expression) -> tree.Expression:
        return inner.at(binary(context, "sub", last, index, node))

    return Items(inner.length, at, before)


_MAKERS: dict[int, Callable[[Context, ast.Call], Items]] = {
    id(builtins.range): _range,
    id(builtins.enumerate): _enumerate,
    id(builtins.zip): _zip,
    id(builtins.reversed): _reversed,
}
