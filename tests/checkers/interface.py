"""What type checkers make of the public interface; never run. ``test_checkers`` compares the lines
that they complain of with those that are marked: wrong (mypy and pyright), wrong for mypy."""

from typing import Any, Union, assert_type

import numpy as np

import sharedoa as oa
from sharedoa import f32, i32, u64


@oa.value
class Vec:
    x: f32
    y: f32

    def __add__(self, other: "Vec") -> "Vec":
        return Vec(self.x + other.x, y=self.y + other.y)


class Shape(oa.Object):
    next: "Shape | None"
    place: Vec
    rates: oa.inline[f32, 4]
    samples: oa.Array[f32]

    def area(self) -> f32:
        raise NotImplementedError

    def rate(self, k: i32) -> f32:
        return f32(self.rates[k]) + len(self.rates)


class Circle(Shape, layout="aos"):
    radius: f32

    def area(self) -> f32:
        if self.next is not None:
            self.next = self.next.next
        self.radius = 3
        self.radius = "three"  # wrong
        return self.radius**2


class Square(Shape):
    side: f32

    def __init__(self, side: f32) -> None:
        self.side = side

    def area(self) -> f32:
        return self.sied  # wrong


class Tile(Square):
    glazed: bool


@oa.func
def larger(a: f32, b: f32) -> f32:
    return max(a, b)


@oa.kernel
def measure(shapes: oa.Array[Shape], out: oa.Array[f32], scale: f32 = 1.0) -> None:
    i = oa.grid(1)
    x, y = oa.grid(2)
    assert_type(shapes[i], Shape)
    assert_type(oa.gridsize(2), tuple[int, int])
    out[i] = larger(shapes[i].area() * scale, x + y)
    out[i] = shapes[i]  # wrong
    larger("a", 2)  # wrong
    oa.atomic_add(out, 0, 1.0)
    oa.atomic_exch(shapes[i], "next", None)
    made = oa.new(Circle, radius=1.0)
    if oa.delete(made) or not oa.is_alive(shapes[i]):
        return


@oa.kernel
def near(grid: oa.HashGrid[Circle], radius: f32) -> None:
    for circle in grid.near(Vec(1, 2), radius):
        assert_type(circle, Circle)
    for circle in grid.near(1.0, 2.0, radius):
        circle.raduis  # wrong


# One object: what is not named is zero or null. An inherited __init__ counts.
assert_type(Circle(), Circle)
assert_type(Circle(radius=1.0), Circle)
assert_type(Tile(2.0), Tile)
Square("2")  # wrong
Tile(side=2.0, glazed=True)  # wrong
assert_type(oa.new(Circle, radius=1), Circle)

# Many.
circles = oa.new(Circle, 10, radius=np.linspace(0, 1, 10))
assert_type(circles, oa.Array[Circle])
assert_type(circles[0], Circle)
assert_type(circles[np.int64(3)], Circle)
assert_type(circles[2:], oa.Array[Circle])
assert_type(circles[np.arange(3)], oa.Array[Circle])
assert_type(circles[circles.radius > 0.5], oa.Array[Circle])
shapes: oa.Array[Shape] = oa.concat(circles, oa.new(Square, 4, side=2.0))
back: oa.Array[Circle] = shapes  # wrong
for shape in shapes:
    assert_type(shape.area(), float)
circles.radius = np.ones(10)
circles.radius *= 2
circles.place["x"] += 1.0
circles.next.radius[:3] = 0
areas = shapes.area()
assert_type(areas, oa.Array[Any])
total: float = areas.numpy().sum() + areas[0] + circles.radius[0]
shapes[0] = circles[1]
shapes[0] = None
circles[0] = oa.new(Square)  # wrong

# All.
everybody = oa.all(Shape)
assert_type(everybody[0], Shape)
everybody.place["y"] = 0.0
everybody.rate(3)
for each in everybody:
    each.area()
oa.sort(everybody, "radius")
oa.delete(everybody)
oa.delete([circles[0], circles[1]])

# Numbers.
numbers = oa.zeros(3, f32)
assert_type(numbers, oa.Array[float])
assert_type(oa.zeros(3, np.int32)[0], int)
assert_type(oa.array(u64, range(3))[0], int)
assert_type(oa.array(np.float32, [1.0])[0], float)
assert_type(oa.array(bool, [True])[0], bool)
assert_type(oa.array(Vec, [Vec(1, 2)])[0], Vec)
assert_type(oa.array(f32, np.zeros((2, 3))), oa.Array2[float])
assert_type(oa.array(i32, np.eye(2, dtype=int))[0, 1], int)
assert_type(oa.array(f32, np.zeros(3)), oa.Array[float])
assert_type(oa.array(oa.vec3, np.zeros((2, 3))), oa.Array[oa.vec3])
rows: oa.Array2[float] = oa.array(f32, np.asarray([[1, 2], [3, 4]]))  # of a shape nobody knows
line: oa.Array[float] = oa.array(f32, np.asarray([1, 2]))
numbers[0] = 2
numbers[0] = np.float32(2)
numbers[0] = "two"  # wrong
numbers.radius  # wrong for mypy
pieces = oa.split(numbers, [1, 2])
assert_type(pieces[0], oa.Array[float])
assert_type(oa.split(numbers, [1, 2])[:1][0][0], float)

# Values.
assert_type(oa.normalize(oa.vec3(1, 2, 3)), oa.vec3)
assert_type(oa.dot(oa.vec2i(1, 2), oa.vec2i(3, 4)), int)
assert_type(oa.cross(oa.vec2(1, 2), oa.vec2(3, 4)), float)
assert_type(oa.cross(oa.vec3(1), oa.vec3(2)), oa.vec3)
assert_type(oa.outer(oa.vec3(1), oa.vec3(2)), oa.mat33)
assert_type(oa.length(oa.vec3d(1)) + oa.determinant(oa.mat22(1, 2, 3, 4)), float)
assert_type(oa.max(oa.vec3(1), oa.vec3(2)), oa.vec3)
oa.dot(oa.vec2(1), oa.vec3(1))  # wrong
assert_type(oa.random(1, 2, 3) + oa.normal(1) + oa.exponential(1) + oa.random64(1), float)
assert_type(oa.randint(0, 6, 1, 2), int)
draws = oa.random(1, np.arange(3)) < 0.5
draws.sum()
place = Vec(1, 2) + Vec(x=1.0, y=2.0)
assert_type(place.x, float)
place.x = 3.0  # wrong
Vec(1)  # wrong
Vec(1, 2, 3)  # wrong
Vec(1, z=2)  # wrong

# Launches.
measure[10](shapes, numbers)
measure[10, 128](circles, numbers, scale=2)
measure[np.int64(10)](shapes, numbers, 0.5, mode="coal")
measure[10](shapes, numbers, debug=True)
measure[10](numbers, numbers)  # wrong
measure[10](shapes, numbers, "much")  # wrong
measure[10](shapes)  # wrong
measure[10](shapes, numbers, sclae=2)  # wrong
measure[1.5](shapes, numbers)  # wrong
grid: oa.HashGrid[Circle] = oa.HashGrid(cell=1.0, size=(10.0, 10.0))
grid.build(circles, "place")
near[1](grid, 1.0)
with oa.capture() as step:
    measure[10](shapes, numbers)
step.run(10)
with oa.Heap(mode="coal"):
    loaded = oa.load("file")
    measure[10](loaded["shapes"], numbers)
optional: Union[Shape, None] = circles[0].next
