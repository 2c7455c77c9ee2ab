"""Many calls of few objects, with this project's classes."""

from __future__ import annotations

from typing import Any

import numpy as np

import sharedoa as oa
from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in
from sharedoa import f32, i32


# [user code]
class Shape(oa.Object):
    p: f32

    def area(self) -> f32: ...


class Circle(Shape):
    def area(self) -> f32:
        return f32(3.1415927) * self.p * self.p


class Rectangle(Shape):
    q: f32

    def area(self) -> f32:
        return self.p * self.q


class Triangle(Shape):
    q: f32

    def area(self) -> f32:
        return f32(0.5) * self.p * self.q


@oa.kernel
def scaled_areas(
    shapes: oa.Array[Shape], which: oa.Array[i32], scales: oa.Array[f32], areas: oa.Array[f32]
) -> None:
    i = oa.grid(1)
    areas[i] = shapes[which[i]].area() * scales[i]


def make_shapes(heap: Any, kinds: Any, p: Any, q: Any) -> Any:
    circles, rectangles, triangles = (np.flatnonzero(kinds == kind) for kind in range(3))
    made = heap.concat(
        heap.new(Circle, len(circles), p=p[circles]),
        heap.new(Rectangle, len(rectangles), p=p[rectangles], q=q[rectangles]),
        heap.new(Triangle, len(triangles), p=p[triangles], q=q[triangles]),
    )
    return made[np.argsort(np.concatenate([circles, rectangles, triangles]))]


# [end of user code]


def prepare(case: Case, heap: Any) -> Program:
    given = inputs.few_objects(case)
    shapes = make_shapes(heap, given.kinds, given.p, given.q)
    which, scales = heap.array(i32, given.which), heap.array(f32, given.scales)
    areas = heap.zeros(case.calls, f32)
    launch = scaled_areas[case.calls]
    return Program(
        lambda: launch(shapes, which, scales, areas),
        lambda: np.array(areas),
        lambda found, _: inputs.require_equal(found, given.expected()),
        marked_in(__file__),
    )
