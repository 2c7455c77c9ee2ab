"""Programs of one thread that leave numbers in one array."""

from __future__ import annotations

import numpy as np

from sharedoa.frontend import tree
from sharedoa.model.scalars import boolean, weak_int

from .machine import Kernel
from .trees import (
    HERE,
    array,
    const,
    element,
    program,
    store,
    use,
)

OUT = array("out", weak_int)


def emit_to(position: int, value: tree.Expression) -> tree.Store:
    return store(element(use(OUT), const(position)), value)


def results(body: list[tree.Statement], *functions: tree.Function, size: int = 8) -> list[int]:
    """What a one-thread kernel ``body`` leaves in OUT."""
    out = np.zeros(size, np.int64)
    Kernel(program([OUT], body, *functions)).launch(1, out)
    return [int(number) for number in out]


def truth(value: bool) -> tree.Constant:
    return const(value, boolean)


def for_range(
    counter: tree.Variable,
    bounds: tuple[tree.Expression, tree.Expression, tree.Expression],
    body: list[tree.Statement],
    otherwise: list[tree.Statement] | None = None,
) -> tree.ForRange:
    return tree.ForRange(HERE, counter, *bounds, body, otherwise or [])
