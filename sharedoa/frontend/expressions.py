"""Expressions of the source to expressions of the typed tree."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

from ..model.array2_type import Array2Type
from ..model.scalars import boolean, weak_int
from ..model.types import ArrayType, ListType, ReferenceType, TupleType, ValueType
from . import tree
from .constant_tables import index_row, row_of, value_of
from .context import Context, Rejected
from .conversions import as_variable, constant_of, require_value
from .held_values import HeldValues
from .operands import ConstantRow, InlineArray, Operand, Static
from .operators import BINARY, binary, unary

#: Constructs outside the subset: what they are called and what to write instead.
UNSUPPORTED: dict[type[ast.expr], tuple[str, str]] = {
    ast.Lambda: (
        "a lambda",
        "give it a name: f = lambda x: x + 1, or to min and max as a key; else write an @oa.func "
        "function",
    ),
    ast.SetComp: ("a set comprehension", "write a for loop over range"),
    ast.DictComp: ("a dict comprehension", "write a for loop over range"),
    ast.GeneratorExp: (
        "a generator expression by itself",
        "give it to sum, min, max, any or all, or write a loop",
    ),
    ast.Dict: ("a dict", "use fields of an object"),
    ast.Set: ("a set", "use fields of an object"),
    ast.JoinedStr: ("an f-string", "write it in print(...), or as the message of an assert"),
    ast.Starred: ("a starred argument", "pass the arguments one by one"),
    ast.Await: ("await", "kernels are not coroutines"),
    ast.Yield: ("yield", "return a value or store it in an array"),
    ast.YieldFrom: ("yield from", "return a value or store it in an array"),
    ast.Slice: ("a slice", "only arrays of one dimension are cut: a[start:stop]"),
}


def expression(context: Context, node: ast.expr) -> tree.Expression:
    """Translate to a value. Raises Rejected after recording why it is none."""
    return as_value(context, translate(context, node), node)


def as_value(context: Context, operand: Operand, node: ast.expr) -> tree.Expression:
    """The value that an operand is. Raises Rejected after recording why it is none."""
    if isinstance(operand, tree.Expression):
        return operand
    if isinstance(operand, ConstantRow):
        return value_of(context, operand, node)
    if isinstance(operand, Static):
        if callable(operand.value) and not hasattr(operand.value, "dtype"):
            context.reject(
                node, f"{operand.name} is used as a value", "functions and classes are only called"
            )
        return constant_of(context, operand.value, node, operand.name)
    if isinstance(operand, InlineArray):
        context.reject(
            node,
            "an inline array is no value of its own",
            "read its elements by index; len(...) gives their number",
        )
    context.reject(node, f"method {operand.name} is not called", f"call it: {operand.name}(...)")


def translate(context: Context, node: ast.expr) -> Operand:
    """Translate to whatever the expression means, compile-time objects included."""
    handler = _HANDLERS.get(type(node))
    if handler is not None:
        return handler(context, node)
    name, instead = UNSUPPORTED.get(type(node), (f"{type(node).__name__}", "write it differently"))
    context.reject(node, f"{name} is outside the subset that kernels can use", instead)


def static_value(context: Context, node: ast.expr) -> Any:
    """The compile-time value of an expression, or None when it is not known at compile time."""
    try:
        before = len(context.diagnostics)
        operand = translate(context, node)
    except Rejected:
        del context.diagnostics[before:]
        return None
    return operand.value if isinstance(operand, Static) else None


def is_call_of(context: Context, node: ast.expr, function: Callable[..., Any]) -> bool:
    return isinstance(node, ast.Call) and static_value(context, node.func) is function


def _constant(context: Context, node: ast.Constant) -> Operand:
    if isinstance(node.value, str):
        return Static(node.value, repr(node.value))
    if isinstance(node.value, (complex, bytes)) or node.value is Ellipsis:
        context.reject(node, f"{node.value!r} is no number", "kernels compute with real numbers")
    return constant_of(context, node.value, node)


def _name(context: Context, node: ast.Name) -> Operand:
    if node.id in context.statics:
        return context.statics[node.id]
    if node.id in context.functions:
        context.reject(
            node, f"{node.id} is used as a value", "functions and classes are only called"
        )
    if node.id in context.tiles:
        return InlineArray(context.tiles[node.id])
    if node.id in context.local_names:
        context.require_assigned(node.id, node)
        variable = context.variable(node.id)
        local = tree.Local(variable.type, context.locate(node), variable)
        narrowed = context.narrowed.get(node.id)
        if narrowed is not None:
            return tree.Convert(ReferenceType(narrowed), local.location, local)
        return local
    try:
        value, dependency = context.names.lookup(node.id)
    except KeyError:
        context.reject(
            node, f"{node.id} is not defined", "assign it, import it, or pass it as an argument"
        )
    context.depend(dependency)
    return Static(value, node.id)


def _attribute(context: Context, node: ast.Attribute) -> Operand:
    from .attributes import attribute_of

    return attribute_of(context, node)


def _subscript(context: Context, node: ast.Subscript) -> Operand:
    from .subscripts import array2_item, array_item

    base = row_of(context, translate(context, node.value), node.value)
    if isinstance(base, ConstantRow):
        return index_row(context, base, node)
    if isinstance(base, InlineArray):
        from .inline_arrays import inline_item

        return inline_item(context, base, node)
    if isinstance(base, Static):
        _refuse_indexing(context, base, node)
    if not isinstance(base, tree.Expression):
        context.reject(node, f"{base.name} cannot be indexed", "index arrays and tuples")
    if isinstance(base.type, ReferenceType) and "__getitem__" in base.type.cls.slots:
        from .calls import call_object_method

        given = [expression(context, node.slice)]
        return call_object_method(context, base, "__getitem__", given, node)
    if isinstance(base.type, TupleType):
        return _tuple_item(context, base, base.type, node)
    if isinstance(base.type, ListType):
        from .lists import list_item

        return list_item(context, base, node)
    if isinstance(base.type, Array2Type):
        return array2_item(context, base, base.type, node)
    if isinstance(base.type, ValueType) and base.type.shape:
        from .inline_arrays import component

        return component(context, base, base.type, node)
    if not isinstance(base.type, ArrayType):
        context.reject(
            node, f"{base.type!r} cannot be indexed", "index oa.Array, inline arrays and tuples"
        )
    return array_item(context, base, node)


def _refuse_indexing(context: Context, base: Static, node: ast.Subscript) -> NoReturn:
    kind, cure = type(base.value).__name__, "index arrays and tuples"
    if isinstance(base.value, (list, dict, set)):
        cure = "write a tuple or a NumPy array, which kernels read as a table"
    if hasattr(type(base.value), "__sharedoa_element__"):
        kind, cure = "n oa.Array", "pass it as an argument of the kernel, or let an object hold it"
    article = "" if kind[:2] == "n " else " "
    context.reject(
        node, f"{base.name} is a{article}{kind} around the kernel, which cannot be indexed", cure
    )


def _tuple_item(
    context: Context, base: tree.Expression, type: TupleType, node: ast.Subscript
) -> tree.Expression:
    index = expression(context, node.slice)
    if not isinstance(index, tree.Constant) or index.type != weak_int:
        from .lists import any_item

        return any_item(context, base, type, index, node)
    place = int(index.value)
    if not -len(type.items) <= place < len(type.items):
        context.reject(node, f"the tuple has {len(type.items)} items", "use a smaller index")
    place %= len(type.items)
    if isinstance(base, tree.MakeTuple) and all(_is_pure(item) for item in base.items):
        return base.items[place]
    base = as_variable(context, base, node)
    return tree.TupleItem(type.items[place], context.locate(node), base, place)


def _is_pure(value: tree.Expression) -> bool:
    return isinstance(value, (tree.Constant, tree.Local, tree.Null))


def _tuple(context: Context, node: ast.Tuple) -> Operand:
    items = [expression(context, item) for item in node.elts]
    for item, source in zip(items, node.elts, strict=True):
        require_value(context, item, source)
    type = TupleType(tuple(item.type for item in items))
    return tree.MakeTuple(type, context.locate(node), items)


def _binary(context: Context, node: ast.BinOp) -> Operand:
    from .lists import repeated_list

    made = repeated_list(context, node)
    if made is not None:
        return made
    left, right = expression(context, node.left), expression(context, node.right)
    return operate(context, node.op, left, right, node)


def operate(
    context: Context,
    operator: ast.operator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    """``left op right``; value structs answer with their own methods."""
    is_product = isinstance(operator, ast.MatMult)
    symbol, method = ("@", "matmul") if is_product else BINARY[type(operator)][1:]
    for operand, prefix in ((left, ""), (right, "r")):
        type_ = operand.type
        if isinstance(type_, ReferenceType) and f"__{prefix}{method}__" in type_.cls.slots:
            return _object_operator(context, f"__{prefix}{method}__", left, right, node)
    if isinstance(left.type, ValueType) or isinstance(right.type, ValueType):
        from .value_operators import value_operator

        return value_operator(context, symbol, method, left, right, node)
    if is_product:
        context.reject(
            node,
            f"{left.type!r} @ {right.type!r} is not defined",
            "@ multiplies vectors and matrices, and value structs that define __matmul__",
        )
    return binary(context, BINARY[type(operator)][0], left, right, node)


def _object_operator(
    context: Context, name: str, left: tree.Expression, right: tree.Expression, node: ast.AST
) -> tree.Expression:
    """An operator that the left object has, or the right one if its name says so."""
    from .calls import call_object_method

    if not name.startswith("__r") or name == "__rshift__":
        return call_object_method(context, left, name, [right], node)
    held = HeldValues()
    a, b = held.hold(as_variable(context, left, node)), held.hold(right)
    return held.then(call_object_method(context, b, name, [a], node))


def _unary(context: Context, node: ast.UnaryOp) -> Operand:
    if isinstance(node.op, ast.Not):
        from .conditions import condition

        return tree.Unary(boolean, context.locate(node), "not", condition(context, node.operand))
    value = expression(context, node.operand)
    if isinstance(value.type, ReferenceType):
        from .calls import call_object_method

        names = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}
        return call_object_method(context, value, names[type(node.op)], [], node)
    if isinstance(value.type, ValueType):
        from .value_operators import call_value_method

        method = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}
        return call_value_method(context, value, method[type(node.op)], [], node)
    if isinstance(node.op, ast.UAdd):
        return value
    return unary(context, "neg" if isinstance(node.op, ast.USub) else "invert", value, node)


# What the rest is built of, in files that build on this one.


def _compare(context: Context, node: ast.Compare) -> Operand:
    from .comparisons import comparison

    return comparison(context, node)


def _list(context: Context, node: ast.List | ast.ListComp) -> Operand:
    from .lists import comprehension, list_of

    return list_of(context, node) if isinstance(node, ast.List) else comprehension(context, node)


def _logical(context: Context, node: ast.BoolOp) -> Operand:
    from .conditions import logical

    return logical(context, node)


def _conditional(context: Context, node: ast.IfExp) -> Operand:
    from .conditions import conditional

    return conditional(context, node)


def _named(context: Context, node: ast.NamedExpr) -> Operand:
    from .statements import assign_to

    value = expression(context, node.value)
    made = assign_to(context, node.target, value, node)
    name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    result = expression(context, name)
    return tree.Sequence(result.type, context.locate(node), made, result)


def _call(context: Context, node: ast.Call) -> Operand:
    from .calls import call

    return call(context, node)


_HANDLERS: dict[type[ast.expr], Callable[[Context, Any], Operand]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.BinOp: _binary,
    ast.List: _list,
    ast.ListComp: _list,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logical,
    ast.IfExp: _conditional,
    ast.NamedExpr: _named,
    ast.Call: _call,
}
