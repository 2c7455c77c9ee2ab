"""One call an object with NumPy: each class in turn, selected by tag if references are mixed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.comparison import inputs
from bench.comparison.cases import POPULATION, Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in


# [user code]
def updated(kind, a):
    constant = np.float32(kind + 1)
    return a + constant if kind % 2 == 0 else constant - a


def update_all(types, each, a):
    for kind in range(types):
        own = a[kind * each : (kind + 1) * each]
        own[:] = updated(kind, own)


def update_referred(types, tags, slots, a):
    for kind in range(types):
        own = slots[tags == kind]
        a[own] = updated(kind, a[own])


# [end of user code]


def prepare(case: Case) -> Program:
    given = inputs.objects_of(case)
    a, tags = given.a.copy(), given.tags
    step: Callable[[], None]
    if case.order == POPULATION:

        def step() -> None:
            update_all(case.types, given.each, a)

    else:

        def step() -> None:
            update_referred(case.types, tags, given.slots, a)

    return Program(
        step,
        lambda: a,
        lambda found, steps: inputs.require_equal(found, given.after_calls(steps)),
        marked_in(__file__),
    )
