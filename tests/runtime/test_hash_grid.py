"""``oa.HashGrid`` finds what comparing everything with everything finds, in the same order
everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, f64, i32

from ..codegen.interpreted import InterpretedGpu
from ..differential.effort import examples
from ..modes import rotated
from .grid_oracle import near

pytestmark = pytest.mark.in_turns("heap", 2)
MOST = 128


@oa.value
class Flat32:
    x: f32
    y: f32


@oa.value
class Solid64:
    x: f64
    y: f64
    z: f64


class Thing(oa.Object):
    """Writes down whom it finds, in that order, and how many these are."""

    number: i32
    count: i32
    found: oa.inline[i32, 128]

    def look(self, grid: oa.HashGrid[Thing], radius: f64) -> None: ...


class FlatThing(Thing):
    x: f32
    y: f32

    def look(self, grid: oa.HashGrid[Thing], radius: f64) -> None:
        self.count = 0
        for other in grid.near(self.x, self.y, radius):
            self.found[self.count] = other.number
            self.count += 1


class SolidThing(Thing):
    x: f32
    y: f32
    z: f32

    def look(self, grid: oa.HashGrid[Thing], radius: f64) -> None:
        self.count = 0
        for other in grid.near(self.x, self.y, self.z, radius):
            self.found[self.count] = other.number
            self.count += 1


class Wide(Thing):
    x: f64
    y: f64

    def look(self, grid: oa.HashGrid[Thing], radius: f64) -> None:
        self.count = 0
        for other in grid.near(self.x, self.y, radius):
            self.found[self.count] = other.number
            self.count += 1


class FlatVector(Thing):
    pos: Flat32

    def look(self, grid: oa.HashGrid[Thing], radius: f64) -> None:
        self.count = 0
        for other in grid.near(self.pos, radius):
            self.found[self.count] = other.number
            self.count += 1


class SolidVector(Thing):
    pos: Solid64

    def look(self, grid: oa.HashGrid[Thing], radius: f64) -> None:
        self.count = 0
        for other in grid.near(self.pos, radius):
            self.found[self.count] = other.number
            self.count += 1


#: Of each class: coordinates, their type, and the field that has them.
KINDS: dict[type, tuple[int, Any, str | None]] = {
    FlatThing: (2, np.float32, None),
    SolidThing: (3, np.float32, None),
    Wide: (2, np.float64, None),
    FlatVector: (2, np.float32, "pos"),
    SolidVector: (3, np.float64, "pos"),
}


def things(cls: type, points: np.ndarray[Any, Any]) -> Any:
    """Objects at these positions, of shape (objects, dimensions)."""
    made = oa.new(cls, len(points), number=np.arange(len(points)))
    put(made, points)
    return made


def put(objects: Any, points: np.ndarray[Any, Any]) -> None:
    for axis, name in enumerate("xyz"[: points.shape[1]]):
        if KINDS[objects.cls.python_class][2] is None:
            setattr(objects, name, points[:, axis])
        else:
            objects.pos[name] = points[:, axis]


def found_by(objects: Any) -> list[list[int]]:
    counts, found = objects.count.numpy(), objects.found.numpy()
    return [row[:count].tolist() for row, count in zip(found, counts, strict=True)]


def require_found(
    cls: type,
    points: np.ndarray[Any, Any],
    radius: float,
    *,
    cell: float,
    size: tuple[float, ...],
    periodic: bool,
    grid: Any = None,
) -> None:
    objects = things(cls, points)
    grid = grid or oa.HashGrid(cell=cell, size=size, periodic=periodic)
    grid.build(objects, KINDS[cls][2])
    objects.look(grid, radius)
    assert found_by(objects) == near(points, points, radius, cell, size, periodic)


def random_points(
    cls: type, count: int, size: tuple[float, ...], seed: int, beyond: float = 0.0
) -> np.ndarray[Any, Any]:
    """Positions in the box, or by ``beyond`` of its lengths outside of it."""
    random = np.random.default_rng(seed)
    inside = random.uniform(-beyond, 1 + beyond, (count, KINDS[cls][0])) * size
    return inside.astype(KINDS[cls][1])


OPENED = [
    ("python", "auto", "auto", False),
    ("cpu", "auto", "aos", False), ("cpu", "auto", "tile", False),
    ("cpu", "coal", "auto", False), ("cpu", "typepointer", "auto", False),
    ("cpu", "cuda", "auto", False), ("cpu", "auto", "auto", True),
    ("warps", "auto", "tile", False),
    ("cuda", "auto", "auto", False), ("cuda", "concord", "auto", False),
    ("cuda", "auto", "auto", True),
]  # fmt: skip


HEAPS = [
    pytest.param(each, marks=[pytest.mark.gpu] * (each[0] == "cuda"), id="-".join(map(str, each)))
    for each in OPENED
]


@pytest.fixture(params=HEAPS)
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    backend, mode, layout, debug = request.param
    opened: Any = InterpretedGpu() if backend == "warps" else backend
    with oa.Heap(
        backend=opened, mode=mode, layout=layout, debug=debug, initial_region=8, capacity="256MiB"
    ) as made:
        yield made


@pytest.mark.parametrize(
    ("heap", "cls", "periodic"), rotated(HEAPS, KINDS, [False, True]), indirect=["heap"]
)
def test_everywhere(heap: oa.Heap, cls: type, periodic: bool) -> None:
    size = (5.0, 4.0, 3.0)[: KINDS[cls][0]]
    points = random_points(cls, 24, size, seed=1, beyond=0.2)
    for radius in (0.7, 1.6):
        require_found(cls, points, radius, cell=1.0, size=size, periodic=periodic)


@settings(max_examples=examples(36))
@given(
    cls=st.sampled_from([*KINDS]),
    count=st.sampled_from([0, 1, 2, 5, 60, 120]),
    size=st.tuples(*[st.floats(0.3, 12)] * 3),
    cell=st.floats(0.2, 5),
    radius=st.floats(0, 8),
    periodic=st.booleans(),
    beyond=st.sampled_from([0.0, 0.3, 4.0]),
    seed=st.integers(0, 1 << 16),
)
def test_random_boxes(
    cls: type,
    count: int,
    size: tuple[float, ...],
    cell: float,
    radius: float,
    periodic: bool,
    beyond: float,
    seed: int,
) -> None:
    size = size[: KINDS[cls][0]]
    points = random_points(cls, count, size, seed, beyond)
    with oa.Heap(backend="cpu", capacity="256MiB"):
        require_found(cls, points, radius, cell=cell, size=size, periodic=periodic)


@settings(max_examples=examples(30))
@given(
    cls=st.sampled_from([FlatThing, SolidVector]),
    cells=st.integers(1, 4),
    cell=st.sampled_from([0.1, 0.25, 1 / 3, 1.0]),
    radius=st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0, 2.0]),
    periodic=st.booleans(),
    seed=st.integers(0, 1 << 16),
)
def test_positions_on_borders_of_cells(
    cls: type, cells: int, cell: float, radius: float, periodic: bool, seed: int
) -> None:
    """Distances that are exactly the radius, and positions on a border or one number beside it."""
    dimensions, real, _ = KINDS[cls]
    random = np.random.default_rng(seed)
    points = (random.integers(-1, 2 * cells + 2, (40, dimensions)) * (cell / 2)).astype(real)
    aside = np.nextafter(points, random.choice([-np.inf, 0, np.inf], points.shape).astype(real))
    points = np.where(random.random(points.shape) < 0.3, aside, points)
    size = (cells * cell,) * dimensions
    with oa.Heap(backend="cpu", capacity="256MiB"):
        require_found(cls, points, radius, cell=cell, size=size, periodic=periodic)


@pytest.mark.parametrize(
    ("heap", "radius", "periodic"),
    rotated(HEAPS, [0.0, 1.0, 1e9, np.inf, -1.0, np.nan], [False, True]),
    indirect=["heap"],
)
def test_extreme_radii(heap: oa.Heap, periodic: bool, radius: float) -> None:
    points = random_points(FlatThing, 20, (4.0, 3.0), seed=2)
    points[7] = points[3]
    require_found(FlatThing, points, radius, cell=0.5, size=(4.0, 3.0), periodic=periodic)


@pytest.mark.parametrize(
    ("heap", "cls", "periodic"),
    rotated(HEAPS, [FlatThing, SolidVector], [False, True]),
    indirect=["heap"],
)
def test_what_is_not_finite_is_never_found(heap: oa.Heap, cls: type, periodic: bool) -> None:
    size = (4.0, 3.0, 2.0)[: KINDS[cls][0]]
    points = random_points(cls, 12, size, seed=3)
    points[2, 0], points[4, -1], points[5, 1], points[7] = np.nan, np.inf, np.inf, -np.inf
    for radius in (1.0, np.inf):
        objects = things(cls, points)
        grid = oa.HashGrid(cell=1.0, size=size, periodic=periodic)
        grid.build(objects, KINDS[cls][2])
        objects.look(grid, radius)
        found = found_by(objects)
        assert found == near(points, points, radius, 1.0, size, periodic)
        assert not {2, 4, 5, 7} & {number for row in found for number in row}
        assert [number for number, row in enumerate(found) if not row] == [2, 4, 5, 7]
        oa.delete(objects)


def test_other_numbers_of_objects(heap: oa.Heap) -> None:
    """One grid is built of none, many, fewer, and more."""
    size = (4.0, 3.0)
    grid = oa.HashGrid(cell=1.0, size=size, periodic=True)
    for count in (0, 30, 1, 12, 45, 0, 7):
        points = random_points(FlatThing, count, size, seed=count)
        require_found(FlatThing, points, 0.8, cell=1.0, size=size, periodic=True, grid=grid)


def test_other_classes_and_precisions(heap: oa.Heap) -> None:
    """One grid is built of objects of one class, then of another's."""
    size = (4.0, 3.0)
    grid = oa.HashGrid(cell=1.0, size=size)
    for cls in (FlatThing, Wide, FlatVector, FlatThing):
        points = random_points(cls, 10, size, seed=5)
        require_found(cls, points, 0.8, cell=1.0, size=size, periodic=False, grid=grid)


def test_one_object_many_times_and_a_slice() -> None:
    """An array may name an object several times: it is found as often."""
    with oa.Heap(backend="cpu"):
        objects = things(FlatThing, np.array([[1, 1], [2, 1], [3, 1]], np.float32))
        grid = oa.HashGrid(cell=1.0, size=(4.0, 3.0))
        grid.build(oa.array(FlatThing, [objects[2], objects[0], objects[2]]))
        objects.look(grid, 1.0)
        assert found_by(objects) == [[0], [0, 2, 2], [2, 2]]
        grid.build(objects[1:])
        objects.look(grid, 1.0)
        assert found_by(objects) == [[1], [1, 2], [1, 2]]


def test_the_same_order_for_any_order_of_threads() -> None:
    """Within a cell the order is that of the array, whoever counted first."""
    points = np.full((500, 2), 0.5, np.float32)
    with oa.Heap(backend="cpu", capacity="256MiB"):
        objects = things(FlatThing, points)
        shuffled = np.random.default_rng(0).permutation(500)
        grid = oa.HashGrid(cell=1.0, size=(1.0, 1.0))
        for order in (np.arange(500), shuffled):
            grid.build(objects[order])
            assert [int(each.number) for each in grid.near(0.5, 0.5, 0.1)] == order.tolist()


def test_populations(heap: oa.Heap) -> None:
    """All objects of a class and its subclasses, in the order of ``oa.all``, also after some went
    and others came."""
    size = (4.0, 3.0)
    points = random_points(FlatThing, 20, size, seed=4)
    grid = oa.HashGrid(cell=1.0, size=size, periodic=True)
    objects = things(FlatThing, points)
    for gone in (0, 6):
        oa.delete(objects[:gone])
        objects = objects[gone:]
        grid.build(oa.all(FlatThing))
        oa.all(FlatThing).look(grid, 0.9)
        expected = near(points[gone:], points[gone:], 0.9, 1.0, size, True)
        assert found_by(objects) == [[gone + number for number in row] for row in expected]


class Base(oa.Object):
    x: f32
    y: f32
    number: i32
    seen: i32

    def see(self, grid: oa.HashGrid[Base]) -> None: ...


class Left(Base):
    def see(self, grid: oa.HashGrid[Base]) -> None:
        self.seen = first_beyond(self, grid)


class Right(Base):
    extra: f64

    def see(self, grid: oa.HashGrid[Base]) -> None:
        total = i32(0)
        for other in grid.near(self.x, self.y, 1.0):
            if isinstance(other, Right):
                continue
            for third in grid.near(other.x, other.y, 0.5):
                if third.number == self.number:
                    break
                total += third.number
            else:
                total += 1000
        else:
            total += 100000
        self.seen = total


@oa.func
def first_beyond(me: Base, grid: oa.HashGrid[Base]) -> i32:
    """The first object that is found with a higher number; -1 if there is none."""
    for other in grid.near(me.x, me.y, 1.0):
        if other.number > me.number:
            return other.number
    return -1


def seen_by(
    number: int, points: Any, is_right: Any, found: Callable[[int, float], list[int]]
) -> int:
    """What ``see`` finds, in Python's own words."""
    if not is_right[number]:
        return next((other for other in found(number, 1.0) if other > number), -1)
    total = 0
    for other in found(number, 1.0):
        if is_right[other]:
            continue
        for third in found(other, 0.5):
            if third == number:
                break
            total += third
        else:
            total += 1000
    return total + 100000


def test_break_continue_else_and_return_in_virtual_methods(heap: oa.Heap) -> None:
    """Loops in loops, in methods that calls choose, and in functions that they call."""
    size = (4.0, 3.0)
    random = np.random.default_rng(6)
    points = (random.random((30, 2)) * size).astype(np.float32)
    lefts = oa.new(Left, 15, number=np.arange(0, 30, 2), x=points[::2, 0], y=points[::2, 1])
    rights = oa.new(Right, 15, number=np.arange(1, 30, 2), x=points[1::2, 0], y=points[1::2, 1])
    objects = oa.concat(lefts, rights)[random.permutation(30)]
    grid = oa.HashGrid(cell=0.8, size=size, periodic=True)
    numbers = objects.number.numpy().copy()
    grid.build(objects)
    objects.see(grid)

    def found(number: int, radius: float) -> list[int]:
        places = near(points[numbers], points[[number]], radius, 0.8, size, True)[0]
        return [int(numbers[place]) for place in places]

    is_right = np.arange(30) % 2 == 1
    expected = [seen_by(int(number), points, is_right, found) for number in numbers]
    assert objects.seen.numpy().tolist() == expected
    assert min(expected) == -1 and len({*expected}) > 10


@oa.kernel
def left_over(
    things: oa.Array[FlatThing], grid: oa.HashGrid[FlatThing], out: oa.Array[i32]
) -> None:
    """What the variables of a loop are after it."""
    i = oa.grid(1)
    thing = things[i]
    last, count = thing, 0
    for other in grid.near(thing.x, thing.y, f32(0.9)):
        last = other
        count += 1
        if count == 3:
            break
        x = other.x
    else:
        count += 100
    out[i] = last.number * 1000 + i32(count)


def test_variables_after_a_loop(heap: oa.Heap) -> None:
    size = (4.0, 3.0)
    points = random_points(FlatThing, 20, size, seed=8)
    objects = things(FlatThing, points)
    grid = oa.HashGrid(cell=1.0, size=size)
    grid.build(objects)
    out = oa.zeros(20, i32)
    left_over[20](objects, grid, out)
    for found, row in zip(out.numpy(), near(points, points, 0.9, 1.0, size, False), strict=True):
        first = row[:3]
        count = 3 if len(row) >= 3 else len(row) + 100
        assert found == first[-1] * 1000 + count


def test_on_the_host() -> None:
    """``near`` finds the same when Python asks."""
    points = random_points(SolidVector, 30, (3.0, 3.0, 3.0), seed=9)
    with oa.Heap(backend="cpu"):
        objects = things(SolidVector, points)
        grid = oa.HashGrid(cell=1.0, size=(3.0, 3.0, 3.0), periodic=True)
        grid.build(objects.pos)
        expected = near(points, points[:1], 1.2, 1.0, (3.0, 3.0, 3.0), True)[0]
        first = objects[0].pos
        assert [int(each.number) for each in grid.near(first, 1.2)] == expected
        assert [int(each.number) for each in grid.near(first.x, first.y, first.z, 1.2)] == expected


def test_positions_of_the_last_build_count() -> None:
    """Objects that have moved since are found where they were."""
    with oa.Heap(backend="cpu"):
        objects = things(FlatThing, np.array([[0.5, 0.5], [2.5, 0.5]], np.float32))
        grid = oa.HashGrid(cell=1.0, size=(4.0, 1.0))
        grid.build(objects)
        objects.x = [2.5, 0.5]
        assert [int(each.number) for each in grid.near(f32(0.5), f32(0.5), 0.1)] == [0]
        grid.build(objects)
        assert [int(each.number) for each in grid.near(f32(0.5), f32(0.5), 0.1)] == [1]
