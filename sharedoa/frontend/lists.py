"""Lists in kernels: ``[x] * 16``, ``[a, b, c]``, ``[f(i) for i in range(8)]``,
``list(items)``. Their length is known when the program is compiled, and never changes."""

from __future__ import annotations

import ast
import copy
from typing import NoReturn

from ..model.scalars import weak_float, weak_int
from ..model.types import ListType, ReferenceType, ScalarType, TupleType, Type, ValueType
from . import tree
from .constant_tables import item_of, value_of
from .context import Context, Rejected, join_types, may_wrap
from .conversions import (
    as_index,
    as_variable,
    coerce,
    constant,
    is_nonnegative,
    weak_to_typed,
)
from .expressions import expression, translate
from .held_values import HeldValues, items_of_tuple
from .operands import ConstantRow
from .operators import unify
from .subscripts import index_of

_LENGTH = "write a number that is known when the kernel is compiled: [f32(0)] * 16"


def list_of(context: Context, node: ast.List) -> tree.Expression:
    """``[a, b, c]``."""
    return _made(context, node, 1, node)


def repeated_list(context: Context, node: ast.BinOp) -> tree.Expression | None:
    """``[a, b] * n`` or ``n * [a, b]``; None for another product."""
    left, right = node.left, node.right
    if not isinstance(node.op, ast.Mult):
        return None
    if isinstance(right, ast.List) and not isinstance(left, ast.List):
        left, right = right, left
    if not isinstance(left, ast.List):
        return None
    count = expression(context, right)
    if not isinstance(count, tree.Constant) or count.type != weak_int or count.value < 1:
        context.reject(right, "the length of a list is no positive constant", _LENGTH)
    return _made(context, left, int(count.value), node)


def _made(context: Context, node: ast.List, repeat: int, whole: ast.expr) -> tree.Expression:
    items = [as_variable(context, expression(context, each), each) for each in node.elts]
    return made_of(context, items, repeat, whole)


def made_of(
    context: Context, items: list[tree.Expression], repeat: int, node: ast.expr
) -> tree.Expression:
    """A list of ``items``, ``repeat`` times."""
    if not items:
        context.reject(node, "a list without elements has no use in kernels", _LENGTH)
    type, items = unify(context, items, node, "an element of the list")
    element = _element(context, type, node)
    return tree.MakeList(ListType(element), context.locate(node), items, repeat)


def _element(context: Context, type: Type, node: ast.AST) -> Type:
    if not isinstance(type, (ScalarType, ReferenceType, ValueType)):
        context.reject(
            node,
            f"a list cannot hold {type!r}",
            "elements are numbers, objects and value structs; for rows compute an index: "
            "a[row * width + column]",
        )
    return type


def comprehension(context: Context, node: ast.ListComp) -> tree.Expression:
    """``[f(i) for i in items]``, of items whose number is known."""
    from .folds import each_item
    from .iteration import items_of

    (part, *others) = node.generators
    length = items_of(context, part.iter).length
    if others or part.ifs or not isinstance(length, tree.Constant) or length.value < 1:
        context.reject(
            node,
            "the length of this list is not known when the kernel is compiled",
            "go through a range with constant bounds, or another list, without an if",
        )
    location, made = context.locate(node), list[tree.Variable]()
    place = context.temporary(weak_int)
    context.counters.add(place)
    number = tree.Local(weak_int, location, place)

    def keep(item: tree.Expression, source: ast.expr) -> list[tree.Statement]:
        item = as_variable(context, item, source)
        made.append(context.temporary(ListType(_element(context, item.type, source))))
        target = tree.ElementPlace(
            item.type, location, tree.Local(made[0].type, location, made[0]), number, False
        )
        one = constant(1, weak_int, location)
        more = tree.Binary(weak_int, location, "add", number, one)
        return [tree.Store(location, target, item), tree.Assign(location, place, more)]

    generator = ast.copy_location(ast.GeneratorExp(node.elt, node.generators), node)
    loops = each_item(context, generator, keep)
    type, context.made_lists[made[0]] = made[0].type, int(length.value)
    assert isinstance(type, ListType)
    zero = tree.Local(type.element, location, context.temporary(type.element))
    blank = tree.MakeList(type, location, [zero], int(length.value))
    begin: list[tree.Statement] = [
        tree.Assign(location, made[0], blank),
        tree.Assign(location, place, constant(0, weak_int, location)),
    ]
    return tree.Sequence(type, location, [*begin, *loops], tree.Local(type, location, made[0]))


def list_from(context: Context, node: ast.Call) -> tree.Expression:
    """``list(items)``: ``[item for item in items]``."""
    if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        context.reject(node, "list takes one argument in kernels", _LENGTH)
    (given,) = node.args
    if isinstance(given, ast.GeneratorExp):
        made = ast.ListComp(given.elt, given.generators)
        return comprehension(context, ast.copy_location(made, node))
    return _copied(context, given, node)


def _copied(context: Context, items: ast.expr, node: ast.expr) -> tree.Expression:
    return comprehension(context, _copy(items, node))


def _copy(items: ast.expr, node: ast.expr) -> ast.ListComp:
    """``[item for item in items]``."""
    item, target = ast.Name("item", ast.Load()), ast.Name("item", ast.Store())
    part = ast.comprehension(ast.copy_location(target, items), items, [], 0)
    made = ast.ListComp(ast.copy_location(item, items), [part])
    return ast.copy_location(made, node)


class _CopiedSlices(ast.NodeTransformer):
    def __init__(self, context: Context) -> None:
        self._context = context

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.slice, ast.Slice):
            return node
        is_list = isinstance(getattr(translate(self._context, node.value), "type", None), ListType)
        return _copy(node, node) if is_list else node


def gone_through(context: Context, node: ast.For) -> ast.expr:
    """What a loop goes through: copies of slices of lists where it assigns elements, of which those
    of the slice may be some."""
    places = (each for part in node.body for each in ast.walk(part))
    if not any(isinstance(p, ast.Subscript) and isinstance(p.ctx, ast.Store) for p in places):
        return node.iter
    copied: ast.expr = _CopiedSlices(context).visit(copy.deepcopy(node.iter))
    return copied


def list_item(context: Context, base: tree.Expression, node: ast.Subscript) -> tree.Expression:
    """``base[index]`` of a list."""
    assert isinstance(base.type, ListType)
    if isinstance(node.slice, ast.Slice):
        return _copied(context, node, node)
    index, wraps = index_of(context, node.slice)
    place = tree.ElementPlace(base.type.element, context.locate(node), base, index, wraps)
    return tree.Load(place.type, place.location, place)


def any_item(
    context: Context,
    base: tree.Expression,
    type: TupleType,
    index: tree.Expression,
    node: ast.Subscript,
) -> tree.Expression:
    """``base[index]`` of a tuple and an index that is not known: a table, if the items are numbers
    that are known, else a list."""
    location, place = context.locate(node), as_index(context, index, node.slice, "the index")
    if isinstance(base, tree.MakeTuple):
        known = [item.value for item in base.items if isinstance(item, tree.Constant)]
        if len(known) == len(type.items) and set(type.items) <= {weak_int, weak_float}:
            row = ConstantRow(tuple(known), "the tuple", [])
            return value_of(context, item_of(context, row, place, node), node)
    held = HeldValues()
    if isinstance(base, tree.MakeTuple):
        items = base.items
    else:
        items = items_of_tuple(held.hold(as_variable(context, base, node)))
    items = [as_variable(context, item, node) for item in items]
    joined, items = unify(context, items, node, "an item of the tuple")
    made = tree.MakeList(ListType(_element(context, joined, node)), location, items, 1)
    wraps = not is_nonnegative(context, place)
    found = tree.ElementPlace(joined, location, made, place, wraps)
    return held.then(tree.Load(joined, location, found))


def refuse_attribute(context: Context, base: tree.Expression, node: ast.Attribute) -> NoReturn:
    """No methods of lists are known."""
    if node.attr in ("append", "extend", "insert", "pop", "remove", "clear"):
        context.reject(
            node,
            f"the length of a list in a kernel is fixed: there is no {node.attr}",
            "make the list as long as it may get, and count what is in it: stack[n] = x; n += 1",
        )
    instead = "write list(v)" if node.attr == "copy" else "go through it in a loop"
    context.reject(node, f"kernels know no {node.attr} of lists", instead)


def element_for(
    context: Context,
    place: tree.Place,
    value: tree.Expression,
    node: ast.AST,
    target: ast.expr,
) -> tree.Expression:
    """``value`` for a place; in a list, where CPython converts nothing, as in a variable."""
    if isinstance(place, tree.ElementPlace) and isinstance(place.array.type, ListType):
        joined = join_types(place.type, value.type)
        if joined != place.type:
            _ask_for_elements(context, place.array, joined)
        nonnegative = is_nonnegative(context, value)
        if joined != place.type or may_wrap(value, place.type, nonnegative):
            context.reject(
                node,
                f"the list holds {place.type!r}, and {value.type!r} is assigned to an element",
                f"convert it: {place.type!r}(...), or make a list of what it is to hold",
            )
    return coerce(context, value, place.type, node, target)


def _ask_for_elements(context: Context, base: tree.Expression, type: Type | None) -> None:
    """Let the numbers in the list of a variable be of this type in the next round, should they be
    constants. Raises Rejected if this is the first time."""
    name = base.variable.name if isinstance(base, tree.Local) else ""
    known = context.list_elements.get(name)
    if known is not None and type is not None:
        type = join_types(known, type)  # which only widens, so that rounds come to an end
    if not isinstance(type, ScalarType) or name not in context.types or known == type:
        return
    context.list_elements[name] = type
    context.changed = True
    raise Rejected


def with_elements_of(
    context: Context, name: str, value: tree.Expression, node: ast.AST
) -> tree.Expression:
    """A list of Python's own numbers that is written for a variable, with those that its elements
    are assigned: ``[0] * 8``."""
    type = context.list_elements.get(name)
    if type is None or not isinstance(value, tree.MakeList):
        return value
    constants = [item for item in value.items if isinstance(item, tree.Constant)]
    is_same = len(constants) == len(value.items) and all(
        _is_exact(item.value, type) for item in constants
    )
    if not is_same or join_types(value.items[0].type, type) != type:
        return value
    items = [weak_to_typed(context, item, type, node) for item in constants]
    return tree.MakeList(ListType(type), value.location, items, value.repeat)


def _is_exact(value: float, type: ScalarType) -> bool:
    """Whether it is the same number in the type."""
    return not type.is_float or float(type(value)) == value
