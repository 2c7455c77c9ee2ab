"""Many calls of few objects with NumPy: every class at once where it applies."""

from __future__ import annotations

import numpy as np

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in

# [user code]
CIRCLE, RECTANGLE, TRIANGLE = range(3)


def scaled_areas(kinds, p, q, which, scales, areas):
    areas_of_shapes = np.empty_like(p)
    of = kinds == CIRCLE
    areas_of_shapes[of] = np.float32(3.1415927) * p[of] * p[of]
    of = kinds == RECTANGLE
    areas_of_shapes[of] = p[of] * q[of]
    of = kinds == TRIANGLE
    areas_of_shapes[of] = np.float32(0.5) * p[of] * q[of]
    np.multiply(areas_of_shapes[which], scales, out=areas)


# [end of user code]


def prepare(case: Case) -> Program:
    given = inputs.few_objects(case)
    areas = np.zeros(case.calls, np.float32)
    return Program(
        lambda: scaled_areas(given.kinds, given.p, given.q, given.which, given.scales, areas),
        lambda: areas,
        lambda found, _: inputs.require_equal(found, given.expected()),
        marked_in(__file__),
    )
