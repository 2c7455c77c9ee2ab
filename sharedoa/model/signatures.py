"""Parameters and results of methods, functions and kernels, from their annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ClassError
from . import lazy_annotations
from .annotations import Scope, refuse_grid, refuse_list, resolve
from .classes import Signature
from .types import VOID, InlineType


def scope_of(function: Callable[..., Any], local: Mapping[str, Any] | None = None) -> Scope:
    """Names that the annotations of ``function`` may use; its closure belongs to them."""
    local = {**(local or {}), **closure_values(function)}
    return Scope(function.__globals__, function.__module__, local)


def closure_values(function: Callable[..., Any]) -> dict[str, Any]:
    """What the closure of ``function`` holds now. A name that is yet to be assigned is left out:
    while a class statement runs, its own name is one."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def resolve_signature(
    function: Callable[..., Any], scope: Scope, where: str, *, receiver: bool
) -> Signature:
    """The signature of ``function``; ``receiver`` says that the first parameter is ``self``.

    Raises ClassError naming the parameter when an annotation is missing or unusable.
    """
    parameters = list(lazy_annotations.signature(function).parameters.values())
    if receiver:
        if not parameters:
            raise ClassError(f"{where} has no self", "write self as the first parameter")
        parameters = parameters[1:]
    names, types, defaults = [], [], {}
    kinds = [parameter.kind for parameter in parameters]
    only_named = kinds.count(inspect.Parameter.KEYWORD_ONLY)
    never_named = kinds.count(inspect.Parameter.POSITIONAL_ONLY)
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ClassError(
                f"{where}: parameter {parameter} is not a plain parameter",
                "name each parameter and give it a type; *args and **kwargs have no compiled form",
            )
        if parameter.annotation is inspect.Parameter.empty:
            raise ClassError(
                f"{where}: parameter {parameter.name} has no annotation",
                f"give it a type, for example {parameter.name}: f32",
            )
        type = resolve(parameter.annotation, scope, f"{where}, parameter {parameter.name}")
        if type == VOID or isinstance(type, InlineType):
            raise ClassError(
                f"{where}: parameter {parameter.name} cannot be {type!r}",
                "pass scalars, references, values or oa.Array[T]",
            )
        names.append(parameter.name)
        types.append(type)
        if parameter.default is not inspect.Parameter.empty:
            defaults[parameter.name] = parameter.default
    returns = lazy_annotations.of(function).get("return")
    result = resolve(returns, scope, f"{where}, result")
    refuse_grid(result, f"{where}, result")
    refuse_list(result, f"{where}, result")
    if isinstance(result, InlineType):
        raise ClassError(f"{where} cannot return {result!r}", "return its elements one by one")
    return Signature(tuple(names), tuple(types), result, defaults, only_named, never_named)
