"""Branches that depend on floats with adjoints: where such a float moves a thread to the other way,
no derivative says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import LvalueType, Operation, Value

if TYPE_CHECKING:
    from .reverse import Backward


def depends_on_floats(to: Backward, test: Value) -> bool:
    """Whether what is asked, which is no float itself, was computed of floats that may depend on
    memory or on parameters of functions. Nothing is said of what loops carry from round to round
    and of what was loaded."""
    if isinstance(test.type, LvalueType) or to.is_active(test):
        return to.is_active(test)
    source = test.source
    if source is None or source.kind == "load":
        return False
    given = [*source.operands]
    for region in source.regions:
        last: Operation = region.terminator
        if last.kind == "yield":
            given.append(last.operands[source.results.index(test)])
    return any(depends_on_floats(to, each) for each in given)
