"""Expressions of the source to expressions of the typed tree."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..model.array2_type import Array2Type
from ..model.classes import ClassType
from ..model.grid_type import GridType
from ..model.members import has_mixins
from ..model.scalars import boolean, weak_int
from ..model.types import ArrayType, InlineType, ListType, ReferenceType, TupleType, ValueType
from . import tree
from .constant_tables import index_row, row_of, value_of
from .context import Context, Rejected
from .conversions import as_variable, constant_of, require_value
from .held_values import HeldValues
from .names import attribute
from .operands import (
    BoundMethod,
    ConstantRow,
    Initialiser,
    InlineArray,
    Operand,
    Static,
    UnboundMethod,
)
from .operators import BINARY, binary, unary, unify

#: Constructs outside the subset: what they are called and what to write instead.
UNSUPPORTED: dict[type[ast.expr], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write an @oa.func function"),
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
    operand = translate(context, node)
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
    if _is_super(node.value):
        return _super_method(context, node)
    base = translate(context, node.value)
    if isinstance(base, Static) and hasattr(type(base.value), "__sharedoa_value__"):
        base = constant_of(context, base.value, node.value, base.name)
    if isinstance(base, Static):
        return _static_attribute(context, base, node)
    if isinstance(base, InlineArray):
        context.reject(node, f"an inline array has no attribute {node.attr}", "index it")
    if isinstance(base, ConstantRow):
        base = value_of(context, base, node)
    if isinstance(base, (BoundMethod, UnboundMethod, Initialiser)):
        context.reject(node, f"method {base.name} is not called", f"call it: {base.name}(...)")
    if isinstance(base.type, ReferenceType):
        return _member(context, base, base.type.cls, node)
    if isinstance(base.type, ListType):
        from .lists import refuse_attribute

        refuse_attribute(context, base, node)
    if isinstance(base.type, (ArrayType, Array2Type)):
        return _array_attribute(context, base, node)
    if isinstance(base.type, ValueType):
        return _value_member(context, base, base.type, node)
    context.reject(
        node,
        f"{base.type!r} has no attribute {node.attr}",
        "only objects and value structs have fields and methods",
    )


def _array_attribute(
    context: Context, base: tree.Expression, node: ast.Attribute
) -> tree.Expression:
    from .subscripts import shape_of

    shape = shape_of(base, context.locate(node)) if node.attr == "shape" else None
    if shape is None:
        context.reject(
            node,
            f"{base.type!r} has no attribute {node.attr}",
            "kernels know its elements, its shape and its length, len(a)",
        )
    return shape


def _static_attribute(context: Context, base: Static, node: ast.Attribute) -> Operand:
    shared = getattr(base.value, "__sharedoa__", None)
    if isinstance(base.value, type) and isinstance(shared, ClassType):
        if node.attr == "__init__":
            return Initialiser(shared)
        method = shared.find_method(node.attr) if node.attr in shared.slots else None
        if method is not None and method.kind == "property":
            context.reject(node, f"{base.name}.{node.attr} is a property", "read it of an object")
        if method is not None:
            return UnboundMethod(shared, node.attr)
    if isinstance(base.value, np.ndarray) and node.attr in ("shape", "size", "ndim"):
        row_of(context, base, node)
        return Static(getattr(base.value, node.attr), f"{base.name}.{node.attr}")
    if isinstance(base.value, enum.Enum) and node.attr == "value":
        return Static(base.value.value, f"{base.name}.value")
    return _kept_attribute(context, base, node)


def _kept_attribute(context: Context, base: Static, node: ast.Attribute) -> Static:
    """What the attribute is now; the program rests on it."""
    try:
        value, dependency = attribute(base.value, node.attr)
    except AttributeError:
        context.reject(node, f"{base.name} has no attribute {node.attr}", "check the spelling")
    except TypeError as error:
        context.reject(
            node,
            f"{base.name} is a Python {type(base.value).__name__}, {error}",
            "pass it as an argument, or use constants in a module, a class, a named tuple or the "
            "__dict__ of an object",
        )
    context.depend(dependency)
    return Static(value, f"{base.name}.{node.attr}")


def _member(
    context: Context, base: tree.Expression, cls: ClassType, node: ast.Attribute
) -> Operand:
    owner = cls.field_owner(node.attr)
    location = context.locate(node)
    if owner is not None:
        type = owner.own_fields[node.attr]
        # How objects are aligned follows from all of these classes.
        context.program.depend_on_subclasses(cls)
        place = tree.FieldPlace(type, location, base, owner, node.attr)
        return _read(place)
    if node.attr in cls.slots:
        method = cls.find_method(node.attr)
        if method is not None and method.kind == "property":
            from .calls import method_call

            called = ast.copy_location(ast.Call(node, [], []), node)
            return method_call(context, base, node.attr, called)
        return BoundMethod(base, node.attr)
    host = getattr(cls.python_class, node.attr, None)
    if isinstance(host, (bool, int, float, np.generic, tuple, np.ndarray)):
        return _constant_of_objects(context, base, cls, node)
    if host is not None:
        context.reject(
            node,
            f"{cls.name}.{node.attr} runs on the host only",
            "kernels run methods, properties, static and class methods and operators whose "
            "parameters and result have types that kernels know",
        )
    below = [c.name for c in cls.descendants() if node.attr in {**c.own_fields, **c.slots}]
    names = ", ".join([*cls.fields, *cls.slots]) or "nothing"
    help = f"{cls.name} has {names}"
    if below:
        name = ast.unparse(node.value)
        known = isinstance(node.value, ast.Name)
        variable = "use it" if known else "put the object into a variable x and use it"
        test = f"if isinstance({name if known else 'x'}, {below[0]}):"
        help = f"{', '.join(below)} has it: {variable} inside `{test}`, or declare it in {cls.name}"
    context.reject(node, f"{cls.name} has no field or method {node.attr}", help)


def _constant_of_objects(
    context: Context, base: tree.Expression, cls: ClassType, node: ast.Attribute
) -> Operand:
    """A constant of ``cls``, of which objects of subclasses may have another value."""
    context.program.depend_on_subclasses(cls)
    by_value: dict[str, tuple[Any, list[ClassType]]] = {}
    for below in cls.concrete():
        value = getattr(below.python_class, node.attr)
        if has_mixins(below.python_class):  # which may get another value at any time
            value = _kept_attribute(context, Static(below.python_class, below.name), node).value
        key = f"{type(value).__name__} {value!r}"
        by_value.setdefault(key, (value, []))[1].append(below)
    name, location = f"{cls.name}.{node.attr}", context.locate(node)
    values = [value for value, _ in by_value.values()]
    if len(values) <= 1:
        return Static(values[0] if values else getattr(cls.python_class, node.attr), name)
    if any(isinstance(value, (tuple, np.ndarray)) for value in values):
        context.reject(
            node,
            f"{name} is another table in a subclass",
            f"write a method that reads it, or name the class: {name}",
        )
    held = HeldValues()
    one = held.hold(base)
    parts = [constant_of(context, value, node, name) for value in values]
    made_of, parts = unify(context, parts, node, name)
    found = parts[-1]
    for part, (_, classes) in zip(parts[:-1], by_value.values(), strict=False):
        test = tree.TypeTest(boolean, location, one, cls, tuple(classes))
        found = tree.Conditional(made_of, location, test, part, found)
    # A test would take null for an object of the last classes.
    return held.then(tree.Sequence(made_of, location, [tree.Require(location, one)], found))


def _value_member(
    context: Context, base: tree.Expression, struct: ValueType, node: ast.Attribute
) -> Operand:
    if isinstance(struct, GridType):
        context.reject(
            node,
            f"{struct!r} is only searched in a for loop",
            "write for other in grid.near(self.x, self.y, radius):",
        )
    location = context.locate(node)
    if node.attr in struct.fields:
        type = struct.fields[node.attr]
        if isinstance(base, tree.Load):
            return _read(tree.MemberPlace(type, location, base.place, node.attr))
        field = tree.ValueField(type, location, base, node.attr)
        return InlineArray(field) if isinstance(type, InlineType) else field
    if node.attr in struct.methods:
        return BoundMethod(base, node.attr)
    if node.attr in vars(struct.python_class):
        name = f"{struct.name}.{node.attr}"
        context.reject(
            node,
            f"{name} is no field or method that kernels know",
            "make a property or a static method a method, with types that kernels know; a constant "
            f"is read from the class: {name}",
        )
    context.reject(
        node,
        f"{struct.name} has no field or method {node.attr}",
        f"{struct.name} has {', '.join([*struct.fields, *struct.methods])}",
    )


def _read(place: tree.Place) -> Operand:
    """What lies at a place; an inline array stays where it is."""
    if isinstance(place.type, InlineType):
        return InlineArray(place)
    return tree.Load(place.type, place.location, place)


def _is_super(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return isinstance(node.func, ast.Name) and node.func.id == "super"


def _super_method(context: Context, node: ast.Attribute) -> Operand:
    assert isinstance(node.value, ast.Call)
    owner = _super_owner(context)
    name = node.attr
    is_above = owner is not None and (owner.base is not None or name == "__init__")
    if owner is None and context.owner is not None:
        context.reject(
            node,
            "super() in a mixin leads to another class in each that inherits it",
            f"name the class: Shape.{name}(self, ...)",
        )
    if not is_above or node.value.args:
        context.reject(
            node,
            "super() has no meaning here",
            "use super().method(...), without arguments, in a method of a subclass",
        )
    assert owner is not None
    receiver = next(iter(context.parameters.values()))
    self = tree.Local(receiver.type, context.locate(node), receiver)
    if name == "__init__":
        return Initialiser(owner.base, self)
    assert owner.base is not None
    if name not in owner.base.slots:
        if name in owner.base.fields:
            cure = f"{name} is a field, which objects have once: write self.{name}"
        else:
            cure = f"its methods: {', '.join(owner.base.slots) or 'none'}"
        context.reject(node, f"{owner.base.name} has no method {name}", cure)
    above = UnboundMethod(owner.base, name, self)
    method = owner.base.find_method(name)
    if method is not None and method.kind == "property":
        from .calls import unbound_call

        return unbound_call(context, above, ast.copy_location(ast.Call(node, [], []), node))
    return above


def _super_owner(context: Context) -> ClassType | None:
    """The class in whose body the method is written, which is where CPython's super() starts."""
    try:
        written_in, _ = context.names.lookup("__class__")
    except KeyError:
        return context.owner
    found = getattr(written_in, "__sharedoa__", None)
    return found if isinstance(found, ClassType) else None


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
        context.reject(
            node, "a tuple is indexed by a variable", "index it by a literal, or use an array"
        )
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
