"""The program of the README, as printed, in every mode on every backend."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import f32


class Shape(oa.Object):
    def area(self) -> f32: ...


class Circle(Shape):
    radius: f32

    def area(self) -> f32:
        return f32(3.1415927) * self.radius * self.radius


class Square(Shape):
    side: f32

    def area(self) -> f32:
        return self.side * self.side


@oa.kernel
def total_area(shapes: oa.Array[Shape], out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(shapes):
        out[i] = shapes[i].area()


def test_example(heap):
    n = 50 if heap.backend.name == "python" else 5000
    radii = np.random.default_rng(1).random(n, dtype=np.float32)
    circles = oa.new(Circle, n, radius=radii)
    squares = oa.new(Square, n, side=2.0)
    shapes = oa.concat(circles, squares)
    out = oa.zeros(len(shapes), f32)
    total_area[len(shapes)](shapes, out)
    expected = np.concatenate([np.float32(3.1415927) * radii * radii, np.full(n, 4, np.float32)])
    np.testing.assert_array_equal(out.numpy(), expected)

    np.testing.assert_array_equal(shapes.area().numpy(), expected)
    assert sorted(oa.all(Shape).area().numpy()) == sorted(expected)
    assert circles[0].area() == expected[0]
    circles[0].radius = 3.0
    circles.radius *= 2
    assert circles[0].radius == 6
    np.testing.assert_array_equal(circles.radius[1:], radii[1:] * 2)
    total_area[len(shapes), 64](shapes, out)
    assert out[0] == circles[0].area() == np.float32(3.1415927) * np.float32(36)
