"""``print_module``: a tree as text, every untouched node byte for byte as it was read."""

from __future__ import annotations

from .syntax import Function, Module, Statement


def print_module(module: Module) -> str:
    parts: list[str] = []
    for item in module.items:
        _append(parts, item)
    parts.append(module.end)
    return "".join(parts)


def _append(parts: list[str], item: Statement) -> None:
    parts += item.leading, item.text
    if isinstance(item, Function) and item.body is not None:
        for statement in item.body:
            parts += statement.leading, statement.text
        parts.append(item.tail)
