"""Many calls of few objects on the processor with numba: a parallel loop over arrays."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in

# [user code]
PI, HALF = np.float32(3.1415927), np.float32(0.5)
CIRCLE, RECTANGLE = 0, 1


@njit(parallel=True)
def scaled_areas(kinds, p, q, which, scales, areas):
    for i in prange(areas.size):
        shape = which[i]
        kind = kinds[shape]
        if kind == CIRCLE:
            area = PI * p[shape] * p[shape]
        elif kind == RECTANGLE:
            area = p[shape] * q[shape]
        else:
            area = HALF * p[shape] * q[shape]
        areas[i] = area * scales[i]


# [end of user code]


def prepare(case: Case) -> Program:
    given = inputs.few_objects(case)
    kinds, areas = given.kinds.astype(np.uint8), np.zeros(case.calls, np.float32)
    return Program(
        lambda: scaled_areas(kinds, given.p, given.q, given.which, given.scales, areas),
        lambda: areas,
        lambda found, _: inputs.require_equal(found, given.expected()),
        marked_in(__file__),
    )
