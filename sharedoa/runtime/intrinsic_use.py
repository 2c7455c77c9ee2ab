"""What the text of a kernel says of its launches, known without compiling it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dispatch.dataclass import dataclass

from ..errors import CompileError
from ..model import intrinsics
from ..model.signatures import closure_values


@dataclass(frozen=True)
class IntrinsicUse:
    """How many axes a kernel asks for, and whether it has a barrier."""

    axes: int
    barrier: bool


def intrinsic_use(function: Callable[..., Any]) -> IntrinsicUse:
    """Look for ``oa.grid``, ``oa.gridsize`` and ``oa.syncthreads`` in a kernel's source."""
    from ..frontend.source import source_of  # here: importing sharedoa does not take the compiler

    try:
        definition = source_of(function, function.__name__).definition
    except CompileError:
        return IntrinsicUse(1, False)
    names = {**function.__globals__, **closure_values(function)}
    axes, barrier = 1, False
    for node in ast.walk(definition):
        if not isinstance(node, ast.Call):
            continue
        called = _named(node.func, names)
        if called in (intrinsics.syncthreads, intrinsics.shared):
            barrier = True
        elif called in (intrinsics.grid, intrinsics.gridsize):
            values = [a.value for a in node.args if isinstance(a, ast.Constant)]
            # Other numbers of axes are refused when it is translated.
            axes = max(axes, *(int(each in values) * each for each in (2, 3)))
    return IntrinsicUse(axes, barrier)


def _named(node: ast.expr, names: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_named(node.value, names), node.attr, None)
    return None
