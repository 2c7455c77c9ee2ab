"""What the body of a shared class may hold: fields, methods, constants and members of the host."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ClassError
from . import lazy_annotations
from .classes import ClassType
from .field_access import FieldAccess
from .functions import refuse_lambda
from .lazy_annotations import is_constant
from .members import check_kind, member_of
from .scalars import ScalarType


def take_defaults(
    base: type, namespace: dict[str, Any], annotations: Mapping[str, Any]
) -> dict[str, Any]:
    """Take what fields begin with out of the body of a class: ``x: f32 = 1.0``, or ``x = 2.0`` for
    a field that it inherits."""
    found = {}
    for attribute, value in list(namespace.items()):
        is_own = attribute in annotations and not is_constant(annotations[attribute])
        is_inherited = isinstance(inspect.getattr_static(base, attribute, None), FieldAccess)
        if (is_own or (is_inherited and attribute not in annotations)) and _is_default(value):
            found[attribute] = namespace.pop(attribute)
    return found


def _is_default(value: Any) -> bool:
    is_number = value is None or isinstance(value, (bool, int, float, np.generic))
    return is_number or hasattr(type(value), "__sharedoa_value__")


def field_annotations(name: str, base: type, namespace: dict[str, Any]) -> dict[str, Any]:
    """The annotations that declare fields. Raises ClassError for a value without annotation."""
    given = lazy_annotations.of_class_body(namespace)
    annotations = declared_fields(f"class {name}", given, namespace)
    host_only = (staticmethod, classmethod, property, type)
    for attribute, value in namespace.items():
        if attribute.startswith("__") or inspect.isfunction(value) or isinstance(value, host_only):
            continue
        if attribute in annotations:
            raise ClassError(
                f"class {name}: the default of field {attribute} is a {type(value).__name__}",
                "a default is a number, None or a value struct; set anything else in an __init__",
            )
        if attribute not in given and not _is_constant_of(base, attribute):
            raise _not_annotated(name, attribute, value)
    for field in annotations:
        refuse_internal(name, "field", field)
        if field.startswith("__") and field.endswith("__"):
            raise ClassError(
                f"class {name}: {field} is no name for a field, as Python keeps such names for "
                "itself",
                f"call it {field.strip('_') or 'value'}",
            )
    return annotations


def declared_fields(
    where: str, given: Mapping[str, Any], body: Mapping[str, Any]
) -> dict[str, Any]:
    """The annotations but for those of constants. Raises ClassError for one without a value."""
    for name, annotation in given.items():
        if is_constant(annotation, "Final") and name not in body:
            raise ClassError(
                f"{where}: {name} is Final and has no value",
                f"give it one, which makes it a constant of the class, or make it a field: {name}: "
                "f32",
            )
    return {name: found for name, found in given.items() if not is_constant(found)}


def _is_constant_of(base: type, attribute: str) -> bool:
    """Whether ``base``, or a class above it, declares ``attribute`` as a constant."""
    above = (lazy_annotations.of(cls) for cls in base.__mro__ if cls is not object)
    return any(is_constant(annotations.get(attribute)) for annotations in above)


def _not_annotated(name: str, attribute: str, value: Any) -> ClassError:
    if isinstance(value, ScalarType):
        return ClassError(
            f"class {name}: field {attribute} has no annotation",
            f"write a colon: {attribute}: {value}",
        )
    if callable(value) or hasattr(type(value), "__get__"):
        return ClassError(
            f"class {name}: {attribute} is a {type(value).__name__}, not a plain function; "
            "decorated methods are not supported",
            f"remove the decorator: def {attribute}(self, ...)",
        )
    python_type = type(value)
    shown = {bool: "bool", int: "i32", float: "f32"}.get(python_type, python_type.__name__)
    text = repr(value) if isinstance(value, (bool, int, float, str)) else "..."
    return ClassError(
        f"class {name}: {attribute} has a value and no annotation",
        f"declare a constant as {attribute}: ClassVar[{shown}] = {text}, a field with a "
        f"default as {attribute}: f32 (or another type) = {text}",
    )


_internal = {"_heap", "_reference", "_shown_reference", "_stable_hash"}
"""What objects, arrays of them and populations have for this package's own use."""


def keep_names_of(*classes: type) -> None:
    """Fields and methods cannot be named as what these, whose instances are many objects, have for
    this package's own use. Their public attributes give way to them."""
    found = {name for cls in classes for name in dir(cls)}
    _internal.update(name for name in found if name[:1] == "_" and name[:2] != "__")


def refuse_internal(name: str, kind: str, member: str) -> None:
    """Raise ClassError for a field or method of class ``name`` that would hide what this package
    itself uses of objects or arrays of them."""
    if member in _internal:
        raise ClassError(
            f"class {name}: the {kind} name {member} is taken: objects or arrays of them have an "
            "attribute of that name themselves",
            f"rename the {kind}, best without the underscore: {member.lstrip('_')}",
        )


#: Special methods that CPython would call where kernels do something else, and what they do.
_IGNORED = {
    "__eq__": "== compares references",
    "__ne__": "!= compares references",
    "__bool__": "a condition asks whether a reference is null",
    "__len__": "a condition asks whether a reference is null",
}


def refuse_ignored(name: str, attribute: str) -> None:
    if attribute == "__dataclass_params__":  # the first thing that the decorator sets
        raise ClassError(
            f"class {name} is decorated as a dataclass, and shared classes are made otherwise",
            f"leave the decorator out: {name}(field=value) and defaults of fields need none",
        )
    if attribute in _IGNORED:
        raise ClassError(
            f"class {name} defines {attribute}, which kernels do not call: there, "
            f"{_IGNORED[attribute]}",
            "give the method a plain name and call it by that; write `is` and `is None` to compare "
            "references",
        )


def check_members(
    name: str, base: type, annotations: dict[str, Any], namespace: dict[str, Any]
) -> None:
    """Raise ClassError for members of class ``name`` that mean something else in kernels, or hide
    what kernels use through the base class."""
    shared: ClassType | None = base.__sharedoa__  # type: ignore[attr-defined]
    methods = shared.slots if shared else {}
    for field in annotations:
        if field in namespace:
            raise ClassError(f"class {name}: {field} is both a field and a method", "rename one")
        if field in methods:
            raise ClassError(
                f"class {name}: the field {field} hides the method of its base", "rename the field"
            )
    for attribute, value in namespace.items():
        refuse_ignored(name, attribute)
        member = member_of(attribute, value)
        if shared is not None and attribute in methods:
            inherited = shared.find_method(attribute)
            assert inherited is not None
            check_kind(name, attribute, member and member[0], inherited.kind)
        if attribute.startswith("__"):
            continue
        if inspect.isfunction(value):
            refuse_lambda(value, f"method {name}.{attribute}")
            refuse_internal(name, "method", attribute)
        if isinstance(inspect.getattr_static(base, attribute, None), FieldAccess):
            raise ClassError(
                f"class {name}: {attribute} hides the field of its base", "give it another name"
            )


def check_unordered(name: str, given: Any, annotations: Mapping[str, Any]) -> frozenset[str]:
    """The fields that the class keyword ``unordered`` names. Raises ClassError for anything else
    than fields that the class declares itself."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, (tuple, list)):
        raise ClassError(
            f"class {name}: unordered={given!r} is no tuple of names of fields",
            'write class C(oa.Object, unordered=("a", "b"))',
        )
    for each in names:
        if each not in annotations:
            raise ClassError(
                f"class {name}: unordered names {each!r}, which is no field that it declares",
                "name fields in the class that declares them",
            )
    return frozenset(names)
