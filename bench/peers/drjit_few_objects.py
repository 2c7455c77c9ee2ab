"""Many calls of few objects with Dr.Jit: a tag and a slot an object, or an instance an object."""

from __future__ import annotations

from typing import Any

import drjit as dr

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in

# [user code]
PI = 3.1415927
# [end of user code]

SLOTS, INSTANCES = "tag and slot", "instances"
VARIANTS = (SLOTS, INSTANCES)


# [user code: instances]
class Shape:
    def __init__(self, Float, p, q):
        self.p, self.q = dr.opaque(Float, p), dr.opaque(Float, q)


class Circle(Shape):
    def area(self):
        return PI * self.p * self.p


class Rectangle(Shape):
    def area(self):
        return self.p * self.q


class Triangle(Shape):
    def area(self):
        return 0.5 * self.p * self.q


def make_shapes(Float, kinds, p, q):
    classes = (Circle, Rectangle, Triangle)
    return [classes[kind](Float, *values) for kind, *values in zip(kinds, p, q, strict=True)]


def scaled_areas_of_shapes(shapes, which, scales):
    return dr.switch(which, [shape.area for shape in shapes]) * scales


# [end of user code]


# [user code: tag and slot]
def circle_area(p, q, slot):
    radius = dr.gather(type(p), p, slot)
    return PI * radius * radius


def rectangle_area(p, q, slot):
    return dr.gather(type(p), p, slot) * dr.gather(type(q), q, slot)


def triangle_area(p, q, slot):
    return 0.5 * dr.gather(type(p), p, slot) * dr.gather(type(q), q, slot)


def scaled_areas(kinds, p, q, which, scales):
    methods = [
        lambda slot, method=method: method(p, q, slot)
        for method in (circle_area, rectangle_area, triangle_area)
    ]
    return dr.switch(dr.gather(type(kinds), kinds, which), methods, which) * scales


# [end of user code]


def prepare(case: Case, variant: str, library: Any) -> Program:
    given = inputs.few_objects(case)
    Float, UInt32 = library.Float, library.UInt32
    which, scales = UInt32(given.which), Float(given.scales)
    found: list[Any] = []
    if variant == INSTANCES:
        shapes = make_shapes(Float, given.kinds.tolist(), given.p.tolist(), given.q.tolist())

        def step() -> None:
            found[:] = [scaled_areas_of_shapes(shapes, which, scales)]
            dr.eval(found)

    else:
        arrays = UInt32(given.kinds), Float(given.p), Float(given.q)

        def step() -> None:
            found[:] = [scaled_areas(*arrays, which, scales)]
            dr.eval(found)

    return Program(
        step,
        lambda: found[0].numpy(),
        lambda areas, _: inputs.require_equal(areas, given.expected()),
        marked_in(__file__, variant),
    )
