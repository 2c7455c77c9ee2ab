"""A call in a call with numba-cuda: arrays for fields, ladders for classes."""

from __future__ import annotations

import numpy as np
from numba import cuda

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in

# [user code]
f32 = np.float32


@cuda.jit(device=True)
def value(tag, slot, b):
    if tag == 0:
        return b[slot] + f32(1)
    elif tag == 1:
        return f32(2) - b[slot]
    elif tag == 2:
        return b[slot] + f32(3)
    else:
        return f32(4) - b[slot]


@cuda.jit
def update_all(tags, slots, a, b, partner_tags, partner_slots):
    i = cuda.grid(1)
    if i < slots.size:
        tag, slot = tags[i], slots[i]
        found = value(partner_tags[slot], partner_slots[slot], b)
        if tag == 0 or tag == 2:
            a[slot] = a[slot] + found
        else:
            a[slot] = found - a[slot]


# [end of user code]

BLOCK = 256


def prepare(case: Case) -> Program:
    given = inputs.objects_of(case)
    a = cuda.to_device(given.a)
    arrays = (given.tags, given.slots, given.b, given.classes[given.partners], given.partners)
    tags, slots, b, partner_tags, partner_slots = (cuda.to_device(array) for array in arrays)
    launch = update_all[(case.calls + BLOCK - 1) // BLOCK, BLOCK]
    return Program(
        lambda: launch(tags, slots, a, b, partner_tags, partner_slots),
        a.copy_to_host,
        lambda found, steps: inputs.require_equal(found, given.after_nested_calls(steps)),
        marked_in(__file__),
    )
