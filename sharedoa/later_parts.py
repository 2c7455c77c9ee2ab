"""What the heap asks of the parts that rest on it: each is loaded when it is asked for the first
time, as many programs never need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .heap import hooks

_opened: dict[str, Any] = {}


def _vectorised_call(
    objects: Any, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    from .runtime.vectorised import call

    hooks.vectorised_call = call
    return call(objects, name, arguments, named)


def _many(values: Any, name: str, options: dict[str, Any]) -> Any:
    from .many.calls import many

    hooks.many = many
    return many(values, name, options)


def _plain(values: Any, name: str) -> Any:
    from .many.calls import plain

    hooks.plain = plain
    return plain(values, name)


def _open_backend(name: str) -> Any:
    from .backends import open_backend
    from .runtime import ranges

    ranges.begin()
    found = _opened.get(name)
    if found is None:
        opened = open_backend(name)
        found = _opened[name] = _opened.setdefault(opened.label, opened)
    return found


hooks.vectorised_call = _vectorised_call
hooks.many, hooks.plain = _many, _plain
hooks.open_backend = _open_backend
