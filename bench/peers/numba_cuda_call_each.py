"""One call an object with numba-cuda: an array a field, a ladder for the class.

A reference is a tag and a place, which lie side by side in arrays; a population needs none.
"""

from __future__ import annotations

from collections.abc import Callable

from numba import cuda

from bench.comparison import inputs
from bench.comparison.cases import POPULATION, Case
from bench.comparison.generated import ladder, load
from bench.comparison.program import Program

_TEXT = """\
import numpy as np
from numba import cuda

f32 = np.float32

@cuda.jit(device=True)
def update(tag, slot, a):
{ladder}

@cuda.jit
def update_all(tags, a):
    slot = cuda.grid(1)
    if slot < a.size:
        update(tags[slot], slot, a)

@cuda.jit
def update_referred(tags, slots, a):
    i = cuda.grid(1)
    if i < slots.size:
        update(tags[i], slots[i], a)
"""
BLOCK = 256


def source(types: int) -> str:
    return _TEXT.format(ladder=ladder(types, "f32({})"))


def prepare(case: Case) -> Program:
    given = inputs.objects_of(case)
    module = load(f"numba_cuda_call_each_{case.types}", source(case.types))
    a = cuda.to_device(given.a)
    blocks = (case.calls + BLOCK - 1) // BLOCK
    step: Callable[[], None]
    if case.order == POPULATION:
        classes = cuda.to_device(given.classes)
        update_all = module.update_all[blocks, BLOCK]

        def step() -> None:
            update_all(classes, a)

    else:
        tags, slots = cuda.to_device(given.tags), cuda.to_device(given.slots)
        update_referred = module.update_referred[blocks, BLOCK]

        def step() -> None:
            update_referred(tags, slots, a)

    return Program(
        step,
        a.copy_to_host,
        lambda found, steps: inputs.require_equal(found, given.after_calls(steps)),
        source(case.types),
    )
