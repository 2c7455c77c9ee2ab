"""Annotations as they are written, without evaluating them where Python has not done so itself.

Python 3.14 evaluates annotations when somebody asks for them (PEP 649 and 749); here they are asked
for as text, as ``from __future__ import annotations`` gives it, and resolved at first use
(``annotations.resolve``). So classes may refer to themselves and to later ones without quotes, and
a cell that is run again means the newest class of each name.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

#: The standard library's module, from 3.14 on.
library: Any = import_module("annotationlib") if sys.version_info >= (3, 14) else None


def of_class_body(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The annotations of a class that is being made of ``namespace``."""
    given = namespace.get("__annotations__")
    if given is not None or library is None:
        return dict(given or {})
    annotate = library.get_annotate_from_class_namespace(namespace)
    if annotate is None:
        return {}
    found: dict[str, Any] = library.call_annotate_function(annotate, library.Format.STRING)
    return found


def of(thing: type | Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a class's own body, or of a function."""
    if library is None or _are_given(thing):
        return inspect.get_annotations(thing)
    found: dict[str, Any] = library.get_annotations(thing, format=library.Format.STRING)
    return found


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """Of a function, with its annotations as ``of`` gives them."""
    if library is None or _are_given(function):
        return inspect.signature(function)
    options: dict[str, Any] = {"annotation_format": library.Format.STRING}
    return inspect.signature(function, **options)


def _are_given(thing: Any) -> bool:
    """Whether nothing is left to evaluate: they were assigned, or are text."""
    return getattr(thing, "__annotate__", thing) is None


def is_constant(annotation: Any, *words: str) -> bool:
    """Whether it is ClassVar or Final (or one of ``words``), whatever that is qualified by, perhaps
    as text."""
    word = str(annotation).strip("'\"").partition("[")[0].rpartition(".")[2]
    return word in (words or ("ClassVar", "Final"))
