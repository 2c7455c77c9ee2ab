"""``oa.HashGrid`` as an argument: captured steps, objects that go or move, what is refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, u64
from sharedoa.errors import ArgumentError, ClassError, DeviceError, HeapError

from ..codegen.interpreted import InterpretedGpu
from .grid_oracle import near

SIZE = (6.0, 5.0)
RADIUS = 0.9


@oa.value
class Position:
    x: f32
    y: f32


@oa.value
class Deep:
    x: f32
    y: f32
    z: f32


class Bird(oa.Object):
    number: i32
    pos: Position
    x: f32
    y: f64
    deep: Deep
    seen: i32

    def look(self, grid: oa.HashGrid[Bird]) -> None:
        total = i32(0)
        for other in grid.near(self.pos, f32(RADIUS)):
            total = total * 7 + other.number + 1
        self.seen = total

    def move(self, dx: f32) -> None:
        self.pos = Position(self.pos.x + dx, self.pos.y)

    def look_deep(self, grid: oa.HashGrid[Bird]) -> None:
        for _ in grid.near(self.deep, f32(RADIUS)):
            self.seen += 1

    def look_wide(self, grid: oa.HashGrid[Bird]) -> None:
        for _ in grid.near(self.y, self.y, RADIUS):
            self.seen += 1

    def leave(self, number: i32) -> None:
        if self.number == number:
            oa.delete(self)


class Sparrow(Bird):
    pass


class Fish(oa.Object):
    number: i32
    pos: Position

    def look(self, grid: oa.HashGrid[Fish]) -> None:
        for _ in grid.near(self.pos, 1.0):
            self.number += 1


def flock(count: int, cls: Any = Bird, seed: int = 1) -> Any:
    birds = oa.new(cls, count, number=np.arange(count))
    points = positions(count, seed)
    birds.pos["x"], birds.pos["y"] = points.T
    return birds


def positions(count: int, seed: int = 1) -> Any:
    random = np.random.default_rng(seed)
    return (random.random((count, 2)) * SIZE).astype(np.float32)


def new_grid(periodic: bool = True) -> Any:
    return oa.HashGrid(cell=1.0, size=SIZE, periodic=periodic)


def seen(points: Any, numbers: Any = None) -> list[int]:
    """What birds at these positions see, in f32 as they are."""
    numbers = np.arange(len(points)) if numbers is None else numbers
    totals = []
    for row in near(points, points, RADIUS, 1.0, SIZE, True):
        total = 0
        for place in row:
            total = (total * 7 + int(numbers[place]) + 1) & 0xFFFFFFFF
        totals.append(total - (1 << 32) if total >> 31 else total)
    return totals


# ---------------------------------------------------------------------- captured steps


@pytest.mark.parametrize("many", ["array", "view", "population"])
def test_a_captured_step_builds_it_in_every_run(backend: str, many: str) -> None:
    """Also if the grid was never built before."""
    with oa.Heap(backend=backend, capacity="256MiB"):
        birds, grid = flock(40), new_grid()
        points = positions(40)
        with oa.capture() as step:
            if many == "array":
                grid.build(birds, "pos")
            elif many == "view":
                grid.build(birds.pos)
            else:
                grid.build(oa.all(Bird), "pos")
            birds.look(grid)
            birds.move(f32(0.25))
        for _ in range(2):
            step.run(2)
            points[:, 0] += np.float32(0.25)
            assert birds.seen.numpy().tolist() == seen(points)
            points[:, 0] += np.float32(0.25)


@pytest.mark.parametrize(
    "backend",
    [
        "cpu",
        pytest.param("python", marks=pytest.mark.slow),
        pytest.param("cuda", marks=pytest.mark.gpu),
    ],
)
def test_captured_populations_grow_and_shrink(backend: str) -> None:
    """The grid makes room, which a launch that was captured notices."""
    with oa.Heap(backend=backend, capacity="256MiB"):
        grid, first = new_grid(), flock(10)
        with oa.capture() as step:
            grid.build(oa.all(Bird), "pos")
            first[1:].look(grid)
            oa.all(Bird).look(grid)
        for count, seed in ((0, 0), (50, 2), (0, 3), (90, 4)):
            flock(count, seed=seed)
            oa.delete(oa.all(Bird)[10 : 10 + count // 5])
            step.run(2)
            all_birds = oa.all(Bird)
            pos = all_birds.pos
            points = np.stack([pos["x"].numpy(), pos["y"].numpy()], axis=1)
            assert all_birds.seen.numpy().tolist() == seen(points, all_birds.number.numpy())


def test_a_step_captured_after_deletions_begins_with_an_empty_grid() -> None:
    """What the grid held may be gone, and nothing has run yet."""
    with oa.Heap(backend="cpu"):
        birds, grid = flock(10), new_grid()
        grid.build(birds.pos)
        oa.delete(birds[0])
        rest = birds[1:]
        with oa.capture() as step:
            grid.build(rest, "pos")
            rest.look(grid)
        assert list(grid.near(f32(0), f32(0), 100.0)) == []
        step.run()
        assert rest.seen.numpy().tolist() == seen(positions(10)[1:], np.arange(1, 10))


def test_a_step_captured_of_more_objects_begins_with_an_empty_grid() -> None:
    with oa.Heap(backend="cpu"):
        birds, grid = flock(30), new_grid()
        grid.build(birds[:5], "pos")
        with oa.capture() as step:
            grid.build(birds, "pos")
        assert list(grid.near(f32(0), f32(0), 100.0)) == []
        birds.look(grid)
        assert not birds.seen.numpy().any()
        step.run()
        birds.look(grid)
        assert birds.seen.numpy().tolist() == seen(positions(30))


# ---------------------------------------------------------------------- objects that go or move


def test_deleted_objects(backend: str) -> None:
    """A grid with an object that is gone is refused until it is built again; other objects, of
    whatever class, may go."""
    with oa.Heap(backend=backend, capacity="64MiB"):
        birds, fish, grid = flock(12), oa.new(Fish, 3), new_grid()
        grid.build(birds[:10], "pos")
        oa.delete(fish[0])
        oa.delete(birds[11])
        looking = birds[:5]
        looking.look(grid)
        oa.delete(birds[9])
        oa.new(Bird, number=77)  # in its place
        with pytest.raises(HeapError, match="deleted since it was built"):
            looking.look(grid)
        with pytest.raises(HeapError, match="deleted since it was built"):
            list(grid.near(f32(0), f32(0), 1.0))
        grid.build(birds[:9], "pos")
        looking.look(grid)
        assert looking.seen.numpy().tolist() == seen(positions(12)[:9])[:5]


def test_objects_that_a_kernel_deleted(backend: str) -> None:
    with oa.Heap(backend=backend, capacity="64MiB"):
        birds, grid = flock(12), new_grid()
        grid.build(birds.pos)
        oa.all(Bird).leave(3)
        rest = birds[4:]
        with pytest.raises(HeapError, match="deleted since it was built"):
            rest.look(grid)
        grid.build(oa.all(Bird), "pos")
        rest.look(grid)
        numbers = np.delete(np.arange(12), 3)
        assert rest.seen.numpy().tolist() == seen(positions(12)[numbers], numbers)[3:]


def test_objects_that_move_are_followed() -> None:
    with oa.Heap(backend="cpu"):
        others, birds, grid = flock(50), flock(30), new_grid()
        grid.build(birds.pos)
        oa.delete(others)
        oa.compact(Bird)
        birds.look(grid)
        assert birds.seen.numpy().tolist() == seen(positions(30))


def test_objects_that_were_deleted_before_others_moved() -> None:
    """References to them are null then."""
    with oa.Heap(backend="cpu"):
        birds, grid = flock(30), new_grid()
        grid.build(birds.pos)
        rest = birds[3:]
        oa.delete(birds[:3])
        oa.compact(Bird)
        with pytest.raises(HeapError, match="deleted since it was built"):
            rest.look(grid)


def test_building_forgets_no_other_array() -> None:
    """What is known of other arrays of references stays known: only the grid's own is written."""
    with oa.Heap(backend="cpu") as heap:
        birds, grid = flock(30), new_grid()
        before = heap.reference_writes
        grid.build(birds.pos)
        birds.look(grid)
        oa.synchronize()
        assert heap.reference_writes == before


class Spore(oa.Object):
    x: f32
    y: f32
    id: u64
    crowd: i32

    def look(self, grid: oa.HashGrid[Spore]) -> None:
        self.crowd = 0
        for _ in grid.near(self.x, self.y, 0.6):
            self.crowd += 1

    def live(self) -> None:
        """Who is alone or in a crowd dies, others have one beside them."""
        if self.crowd == 1 or self.crowd > 4:
            oa.delete(self)
        else:
            oa.new(Spore, x=self.x + 0.25, y=self.y - 0.125, id=self.id * 2)


def spores(opened: Any, is_captured: bool) -> list[tuple[float, float, int, int]]:
    """Who lives after some steps."""
    with oa.Heap(backend=opened, capacity="64MiB", initial_region=16):
        first = positions(60, seed=5)
        oa.new(Spore, 60, x=first[:, 0], y=first[:, 1], id=np.arange(1, 61).astype(np.uint64))
        grid = new_grid()

        def step() -> None:
            grid.build(oa.all(Spore))
            oa.all(Spore).look(grid)
            oa.all(Spore).live()

        if is_captured:
            with oa.capture() as captured:
                step()
            captured.run(2)
            captured.run(2)
        else:
            for _ in range(4):
                step()
        living = oa.all(Spore)
        columns = living.x, living.y, living.id, living.crowd
        return [*zip(*(each.numpy().tolist() for each in columns), strict=True)]


@pytest.fixture(scope="module")
def spores_of_python() -> list[tuple[float, float, int, int]]:
    return spores("python", is_captured=False)


@pytest.mark.parametrize(
    ("opened", "is_captured"),
    [
        pytest.param("python", True, marks=pytest.mark.slow),
        *(("cpu", False), ("cpu", True), ("warps", True)),
        *(pytest.param("cuda", each, marks=pytest.mark.gpu) for each in (False, True)),
    ],
)
def test_births_and_deaths_by_neighbours(
    spores_of_python: Any, opened: str, is_captured: bool
) -> None:
    """The same ones are born and die everywhere, step for step."""
    found = spores(InterpretedGpu() if opened == "warps" else opened, is_captured)
    assert found == spores_of_python
    assert 10 < len(found) and len({crowd for *_, crowd in found}) > 2


# ---------------------------------------------------------------------- classes and heaps


def test_a_grid_of_a_subclass() -> None:
    with oa.Heap(backend="cpu"):
        birds, grid = flock(20, Sparrow), new_grid()
        grid.build(birds.pos)
        birds.look(grid)
        assert birds.seen.numpy().tolist() == seen(positions(20))


def test_one_of_another_class_is_refused(backend: str) -> None:
    with oa.Heap(backend=backend):
        birds, fish, grid = flock(3), oa.new(Fish, 2), new_grid()
        grid.build(fish.pos)
        with pytest.raises(ArgumentError, match=r"HashGrid\[Bird\], and .* built of Fish"):
            birds.look(grid)
        grid.build(birds.pos)
        birds.look(grid)


def test_what_fails_to_build_it() -> None:
    """A build that is refused changes nothing; one that was cut short leaves a grid that was not
    built."""
    with oa.Heap(backend="cpu", capacity="64MiB"):
        birds, grid = flock(20), new_grid()
        grid.build(birds.pos)
        with pytest.raises(ArgumentError, match="number 1 is None"):
            grid.build(oa.array(Bird, [birds[0], None]), "pos")
        birds.look(grid)
        assert birds.seen.numpy().tolist() == seen(positions(20))
        fails = grid._prefix_sum.launch
        grid._prefix_sum.launch = None  # type: ignore[assignment]
        with pytest.raises(TypeError):
            grid.build(birds.pos)
        with pytest.raises(ArgumentError, match="nothing was put into this grid"):
            birds.look(grid)
        grid._prefix_sum.launch = fails
        grid.build(birds.pos)
        birds.look(grid)


def test_no_room_for_it() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        birds = flock(20)
        large: Any = oa.HashGrid(cell=1.0, size=(10_000, 10_000))
        with pytest.raises(HeapError):
            large.build(birds.pos)
        with pytest.raises(ArgumentError, match="nothing was put into this grid"):
            birds.look(large)


def test_several_heaps() -> None:
    """A grid goes with the objects that it was built of last."""
    grid = new_grid()
    with oa.Heap(backend="cpu"):
        birds = flock(20)
    with oa.Heap(backend="cpu"):
        others = flock(15, seed=3)
    for objects, seed in ((birds, 1), (others, 3), (birds, 1)):
        points = positions(len(objects), seed)
        grid.build(objects.pos)
        objects.look(grid)
        assert objects.seen.numpy().tolist() == seen(points)
    with pytest.raises(ArgumentError, match="different heaps"):
        others.look(grid)


# ---------------------------------------------------------------------- refused


def test_a_grid_before_it_is_built(backend: str) -> None:
    with oa.Heap(backend=backend):
        birds, grid = flock(3), new_grid()
        with pytest.raises(ArgumentError, match="nothing was put into this grid"):
            birds.look(grid)
        with pytest.raises(ArgumentError, match="nothing was put into this grid"):
            grid.near(1.0, 1.0, 1.0)
        with pytest.raises(ArgumentError, match=r"takes HashGrid\[Bird\], not None"):
            birds.look(None)


@pytest.mark.parametrize("call", ["look_deep", "look_wide"])
def test_other_coordinates_than_it_was_built_of(backend: str, call: str) -> None:
    """Of another number, or of another precision."""
    with oa.Heap(backend=backend):
        birds, grid = flock(3), new_grid()
        grid.build(birds.pos)
        form = "3 coordinates of f32" if call == "look_deep" else "2 coordinates of f64"
        with pytest.raises(DeviceError, match=form):
            getattr(birds, call)(grid)
            oa.synchronize()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (lambda birds: (birds,), "x: f32, y: f64"),
        (lambda birds: (birds, "seen"), "Bird.seen is i32, and no vector"),
        (lambda birds: (birds, "place"), "Bird has no field 'place'"),
        (lambda birds: (birds, "deep"), "three coordinates, and the grid has a size of two"),
        (lambda birds: (birds.pos, "pos"), "a view and a field"),
        (lambda birds: (birds.pos[:3],), "part of a view"),
        (lambda birds: (birds.pos["x"],), "part of a view"),
        (lambda birds: ([*birds], "pos"), "takes objects, not list"),
        (lambda birds: (birds.seen.numpy(),), "takes objects, not a NumPy array"),
        (lambda birds: (oa.array(Bird, [birds[0], None]), "pos"), "number 1 is None"),
    ],
)
def test_what_it_cannot_be_built_of(given: Any, complaint: str) -> None:
    with oa.Heap(backend="cpu"):
        birds, grid = flock(5), new_grid()
        with pytest.raises(ArgumentError, match=complaint):
            grid.build(*given(birds))


def test_a_vector_of_two_in_a_box_of_three() -> None:
    with oa.Heap(backend="cpu"):
        grid: Any = oa.HashGrid(cell=1.0, size=(1, 2, 3))
        with pytest.raises(ArgumentError, match="no position in 3 dimensions"):
            grid.build(flock(5).pos)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"cell": 0.0, "size": (1.0, 1.0)}, "the edge of a cell is 0.0"),
        ({"cell": float("nan"), "size": (1.0, 1.0)}, "the edge of a cell is nan"),
        ({"cell": "1", "size": (1.0, 1.0)}, "the edge of a cell is '1'"),
        ({"cell": 1.0, "size": (1.0, -1.0)}, "a length of the box is -1.0"),
        ({"cell": 1.0, "size": (1.0, float("inf"))}, "a length of the box is inf"),
        ({"cell": 1.0, "size": (1.0,)}, "size is"),
        ({"cell": 1.0, "size": 3.0}, "size is 3.0"),
        ({"cell": 1e-4, "size": (10.0, 10.0, 10.0)}, "more than 2\\^31 cells"),
        ({"cell": 1e-300, "size": (1e300, 1.0)}, "more than 2\\^31 cells"),
    ],
)
def test_boxes_that_are_refused(options: Any, complaint: str) -> None:
    with pytest.raises(ArgumentError, match=complaint):
        oa.HashGrid(**options)


def test_grids_that_are_copied_or_pickled_fail_clearly() -> None:
    grid = oa.HashGrid(cell=1.0, size=(4.0, 4.0), periodic=True)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"make another one, oa\.HashGrid\(cell=1\.0"):
            attempt(grid)


@pytest.mark.parametrize("length", [1e60, 1e-60])
def test_a_box_that_positions_cannot_measure(length: float) -> None:
    with oa.Heap(backend="cpu"):
        grid: Any = oa.HashGrid(cell=length / 4, size=(length, length))
        with pytest.raises(ArgumentError, match="lengths that f32 cannot hold"):
            grid.build(flock(3).pos)


def test_a_grid_is_no_field_element_or_result() -> None:
    with oa.Heap(backend="cpu"):

        class Keeper(oa.Object):
            grid: oa.HashGrid[Bird]

        with pytest.raises(ClassError, match=r"field grid: HashGrid\[Bird\] cannot be kept"):
            oa.new(Keeper, 1)
        with pytest.raises(ClassError, match="cannot be kept"):

            @oa.value
            class Holder:
                grid: oa.HashGrid[Bird]

        @oa.kernel
        def of_grids(grids: oa.Array[oa.HashGrid[Bird]]) -> None:
            pass

        with pytest.raises(ClassError, match="cannot be kept"):
            of_grids[1](None)

        @oa.kernel
        def of_numbers(grid: oa.HashGrid[f32]) -> None:
            pass

        with pytest.raises(ClassError, match="a grid finds objects, not f32"):
            of_numbers[1](None)
