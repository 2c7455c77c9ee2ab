"""What the body of a shared class may hold: fields, methods, constants and members of the host."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, ClassVar, get_origin

from ..errors import ClassError
from .classes import ClassType
from .field_access import FieldAccess
from .functions import refuse_lambda


def check_bases(name: str, bases: tuple[type, ...]) -> None:
    if len(bases) != 1:
        raise ClassError(
            f"class {name} has {len(bases)} bases",
            "shared classes inherit from one class; hold a reference to the other instead",
        )


def field_annotations(name: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """The annotations that declare fields. Raises ClassError for a value without annotation."""
    annotations = {
        field: annotation
        for field, annotation in namespace.get("__annotations__", {}).items()
        if get_origin(annotation) is not ClassVar and not str(annotation).startswith("ClassVar")
    }
    host_only = (staticmethod, classmethod, property, type)
    for attribute, value in namespace.items():
        if attribute.startswith("__") or inspect.isfunction(value) or isinstance(value, host_only):
            continue
        if attribute in annotations:
            raise ClassError(
                f"class {name}: field {attribute} has a default",
                "fields start at zero or null; give values to oa.new or write an __init__",
            )
        if attribute not in namespace.get("__annotations__", {}):
            raise ClassError(
                f"class {name}: field {attribute} has no annotation",
                f"declare it as {attribute}: f32 (or another type), or move a constant out of "
                "the class",
            )
    for field in annotations:
        refuse_internal(name, "field", field)
    return annotations


def refuse_internal(name: str, kind: str, member: str) -> None:
    """Raise ClassError for a field or method of class ``name`` that would hide what this package
    itself uses of objects or arrays of them."""
    if member in ("_heap", "_reference") or member in internal_names():
        raise ClassError(
            f"class {name}: the {kind} name {member} is taken: objects or arrays of them have an "
            "attribute of that name themselves",
            f"rename the {kind}, best without the underscore: {member.lstrip('_')}",
        )


@cache
def internal_names() -> frozenset[str]:
    """What arrays of objects and populations have for this package's own use. Their public
    attributes give way to fields and methods."""
    from ..heap.arrays import FieldReferences
    from ..heap.population import Population

    found = {*dir(FieldReferences), *dir(Population)}
    return frozenset(name for name in found if name[:1] == "_" and name[:2] != "__")


#: Special methods that CPython would call where kernels do something else, and what they do.
_IGNORED = {
    "__eq__": "== compares references",
    "__ne__": "!= compares references",
    "__bool__": "a condition asks whether a reference is null",
    "__len__": "a condition asks whether a reference is null",
}


def refuse_ignored(name: str, attribute: str) -> None:
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
        if attribute.startswith("__"):
            continue
        if inspect.isfunction(value):
            refuse_lambda(value, f"method {name}.{attribute}")
            refuse_internal(name, "method", attribute)
        elif attribute in methods:
            raise ClassError(
                f"class {name}: {attribute} overrides a method of its base by a "
                f"{type(value).__name__}",
                f"write a plain method: def {attribute}(self, ...)",
            )
        if isinstance(inspect.getattr_static(base, attribute, None), FieldAccess):
            raise ClassError(
                f"class {name}: {attribute} hides the field of its base", "give it another name"
            )
