"""Many calls of few objects with numba-cuda: arrays for fields, a ladder for the class."""

from __future__ import annotations

import numpy as np
from numba import cuda

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in

# [user code]
PI, HALF = np.float32(3.1415927), np.float32(0.5)
CIRCLE, RECTANGLE = 0, 1


@cuda.jit
def scaled_areas(kinds, p, q, which, scales, areas):
    i = cuda.grid(1)
    if i < areas.size:
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

BLOCK = 256


def prepare(case: Case) -> Program:
    given = inputs.few_objects(case)
    arrays = (given.kinds.astype(np.uint8), given.p, given.q, given.which, given.scales)
    on_device = [cuda.to_device(array) for array in arrays]
    areas = cuda.to_device(np.zeros(case.calls, np.float32))
    launch = scaled_areas[(case.calls + BLOCK - 1) // BLOCK, BLOCK]
    return Program(
        lambda: launch(*on_device, areas),
        areas.copy_to_host,
        lambda found, _: inputs.require_equal(found, given.expected()),
        marked_in(__file__),
    )
