"""A call in a call on the processor with numba: arrays for fields, ladders for classes."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in

# [user code]
f32 = np.float32


@njit
def value(tag, slot, b):
    if tag == 0:
        return b[slot] + f32(1)
    elif tag == 1:
        return f32(2) - b[slot]
    elif tag == 2:
        return b[slot] + f32(3)
    else:
        return f32(4) - b[slot]


@njit(parallel=True)
def update_all(tags, slots, a, b, partner_tags, partner_slots):
    for i in prange(slots.size):
        tag, slot = tags[i], slots[i]
        found = value(partner_tags[slot], partner_slots[slot], b)
        if tag == 0 or tag == 2:
            a[slot] = a[slot] + found
        else:
            a[slot] = found - a[slot]


# [end of user code]


def prepare(case: Case) -> Program:
    given = inputs.objects_of(case)
    a, tags, partner_tags = given.a.copy(), given.tags, given.classes[given.partners]
    return Program(
        lambda: update_all(tags, given.slots, a, given.b, partner_tags, given.partners),
        lambda: a,
        lambda found, steps: inputs.require_equal(found, given.after_nested_calls(steps)),
        marked_in(__file__),
    )
