"""A call in a call with NumPy: the inner methods of all objects first, then the outer ones."""

from __future__ import annotations

import numpy as np

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in


# [user code]
def values(tags, b):
    constant = (tags + np.uint8(1)).astype(np.float32)
    return np.where(tags % 2 == 0, b + constant, constant - b)


def update_all(tags, slots, a, b, partner_tags, partner_slots):
    found = values(partner_tags[slots], b[partner_slots[slots]])
    own = a[slots]
    a[slots] = np.where(tags % 2 == 0, own + found, found - own)


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
