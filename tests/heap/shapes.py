"""Shared classes that the heap's tests use."""

import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32, i64


@oa.value
class Point:
    x: f32
    y: f32


class Shape(oa.Object):
    number: i32
    next: "Shape"

    def area(self) -> f32: ...


class Circle(Shape):
    radius: f32

    def area(self) -> f32:
        return f32(3.1415927) * self.radius * self.radius


class Square(Shape):
    side: f64
    flag: bool

    def area(self) -> f32:
        return f32(self.side * self.side)


class Ring(Circle):
    """Two levels below Shape."""

    inner: f32


class Node(oa.Object):
    """A field of every kind, with padding between."""

    small: i8
    wide: i64
    middle: i16
    where: Point
    weights: oa.inline[f32, 3]
    children: oa.inline["Node", 2]
    shape: Shape
    data: oa.Array[i32]
    friends: oa.Array["Node"]


class Empty(oa.Object):
    """No fields at all."""
