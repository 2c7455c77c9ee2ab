"""Frozen classes: ``class Scene(oa.Object, frozen=True)``. What an object is made with stays, so a
kernel's code may know it (``sharedoa.runtime.frozen_contents``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from ..errors import ClassError
from .classes import ClassType


def check_frozen(
    name: str, given: Any, base: ClassType | None, namespace: Mapping[str, Any]
) -> bool:
    """What the class keyword ``frozen`` means, None if it is not given. Raises ClassError for
    anything but True and False, for a class below one that is not frozen, and for an ``__init__``,
    which would assign to fields."""
    inherited = base is not None and base.frozen
    frozen = inherited if given is None else given
    if not isinstance(frozen, bool) or (inherited and not frozen):
        raise ClassError(
            f"class {name}: frozen={given!r}"
            + (f", and {base} is frozen" if inherited else " is neither True nor False"),
            f"write class {name}(oa.Object, frozen=True)",
        )
    if frozen and base is not None and not inherited:
        raise ClassError(
            f"class {name} cannot be frozen: fields that it has from {base} can be written through "
            f"references to {base}",
            f"freeze the first class: class {base.family.root}(oa.Object, frozen=True)",
        )
    if frozen and "__init__" in namespace:
        raise ClassError(
            f"class {name} is frozen and has an __init__, which would assign to its fields",
            f"give fields by name where objects are made: {name}(x=1)",
        )
    return frozen


def refuse_frozen(cls: ClassType, field: object) -> NoReturn:
    """Somebody wants to write to a field of a frozen class."""
    raise ClassError(
        f"{cls.name}.{field} cannot be written: {cls.name} is frozen, and code of kernels may know "
        "what its objects were made with",
        "make another object and use that instead, or leave out frozen=True",
    )
