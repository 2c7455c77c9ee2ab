"""One call an object on the processor with numba: parallel loops over an array a field."""

from __future__ import annotations

from collections.abc import Callable

from bench.comparison import inputs
from bench.comparison.cases import POPULATION, Case
from bench.comparison.generated import ladder, load
from bench.comparison.program import Program

_TEXT = """\
import numpy as np
from numba import njit, prange

f32 = np.float32

@njit
def update(tag, slot, a):
{ladder}

@njit(parallel=True)
def update_all(tags, a):
    for slot in prange(a.size):
        update(tags[slot], slot, a)

@njit(parallel=True)
def update_referred(tags, slots, a):
    for i in prange(slots.size):
        update(tags[i], slots[i], a)
"""


def source(types: int) -> str:
    return _TEXT.format(ladder=ladder(types, "f32({})"))


def prepare(case: Case) -> Program:
    given = inputs.objects_of(case)
    module = load(f"numba_call_each_{case.types}", source(case.types))
    a, classes, tags = given.a.copy(), given.classes, given.tags
    step: Callable[[], None]
    if case.order == POPULATION:

        def step() -> None:
            module.update_all(classes, a)

    else:

        def step() -> None:
            module.update_referred(tags, given.slots, a)

    return Program(
        step,
        lambda: a,
        lambda found, steps: inputs.require_equal(found, given.after_calls(steps)),
        source(case.types),
    )
