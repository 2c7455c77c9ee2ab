"""Attributes: fields, methods and constants of objects, of values and of what surrounds a kernel,
and ``super()``."""

from __future__ import annotations

import ast
import enum
from typing import Any

import numpy as np

from ..model.array2_type import Array2Type
from ..model.classes import ClassType, setter_name
from ..model.functions import DeviceFunction
from ..model.grid_type import GridType
from ..model.members import has_mixins
from ..model.scalars import ScalarType, boolean
from ..model.types import ArrayType, InlineType, ListType, ReferenceType, ValueType
from . import tree
from .constant_tables import row_of, value_of
from .context import Context
from .conversions import constant_of
from .expressions import translate
from .held_values import HeldValues
from .names import attribute
from .number_methods import METHODS
from .operands import (
    BoundMethod,
    ConstantRow,
    Initialiser,
    InlineArray,
    Operand,
    Static,
    UnboundMethod,
)
from .operators import unify


def attribute_of(context: Context, node: ast.Attribute) -> Operand:
    if is_super(node.value):
        return _super_method(context, node)
    if node.attr in ("fget", "fset") and isinstance(node.value, ast.Attribute):
        accessor = _accessor(context, node.value, node.attr)
        if accessor is not None:
            return accessor
    return attribute_in(context, translate(context, node.value), node)


def _accessor(context: Context, node: ast.Attribute, part: str) -> UnboundMethod | None:
    """``Class.prop.fset``, which is how a setter calls the one that it overrides."""
    base = None if is_super(node.value) else translate(context, node.value)
    shared = getattr(base.value, "__sharedoa__", None) if isinstance(base, Static) else None
    name = node.attr if part == "fget" else setter_name(node.attr)
    if not isinstance(shared, ClassType):
        return None
    method = shared.find_method(name)
    is_accessor = method is not None and method.kind in ("property", "setter")
    return UnboundMethod(shared, name) if is_accessor else None


def attribute_in(context: Context, base: Operand, node: ast.Attribute) -> Operand:
    """The attribute of ``base``, which is what ``node.value`` is."""
    if isinstance(base, Static) and (
        hasattr(type(base.value), "__sharedoa_value__")
        or (isinstance(base.value, (int, float, np.generic)) and node.attr in METHODS)
    ):
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
    if isinstance(base.type, ScalarType) and node.attr in METHODS:
        return BoundMethod(base, node.attr)
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
        name = ast.unparse(node.value)
        folds = dict.fromkeys(("sum", "min", "max", "any", "all"), f"{node.attr}({name})")
        written = {**folds, "mean": f"sum({name}) / len({name})", "size": f"len({name})"}
        cure = "kernels know its elements, its shape and its length, len(a)"
        if node.attr in written:
            cure = f"write {written[node.attr]}"
        context.reject(node, f"{base.type!r} has no attribute {node.attr}", cure)
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
    names = ", ".join([*cls.fields, *cls.method_names]) or "nothing"
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
    if node.attr in struct.properties:
        from .calls import bound_call

        called = ast.copy_location(ast.Call(node, [], []), node)
        return bound_call(context, BoundMethod(base, node.attr), called)
    if node.attr in struct.methods:
        return BoundMethod(base, node.attr)
    constant = vars(struct.python_class).get(node.attr)
    known = (bool, int, float, np.generic, tuple, np.ndarray, DeviceFunction)
    if isinstance(constant, known):
        return _kept_attribute(context, Static(struct.python_class, struct.name), node)
    if node.attr in vars(struct.python_class):
        name = f"{struct.name}.{node.attr}"
        context.reject(
            node,
            f"{name} is no field or method that kernels know",
            "give its parameters and result types that kernels know, and make a class method a "
            "static one",
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


def is_super(node: ast.expr) -> bool:
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
            cure = f"its methods: {', '.join(owner.base.method_names) or 'none'}"
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
