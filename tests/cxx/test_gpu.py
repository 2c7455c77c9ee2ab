"""C++ kernels and Python on the same objects, in every mode; needs a GPU.

All numbers are small multiples of 1/2, so that every sum and product is exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import cxx

from .sources import SCALE, many_classes

pytestmark = pytest.mark.gpu


@pytest.fixture
def heap(mode: str) -> Iterator[oa.Heap]:
    with oa.Heap(mode=mode, backend="cuda", capacity="256MiB", initial_region=16) as made:
        yield made


@pytest.fixture
def range_heap() -> Iterator[oa.Heap]:
    with oa.Heap(mode="range+switch", backend="cuda", capacity="256MiB") as made:
        yield made


class Model:
    """The same shapes as NumPy arrays: what CPU and GPU must come to."""

    def __init__(self, radius, side, cube_side, height) -> None:
        self.radius = np.array(radius, np.float32)
        self.grown = np.zeros(len(self.radius), np.int32)
        self.side = np.array(side, np.float32)
        self.cube_side = np.array(cube_side, np.float32)
        self.height = np.array(height, np.float64)

    def areas(self) -> np.ndarray:
        cubes = 6 * self.cube_side**2 + self.height.astype(np.float32)
        return np.concatenate([3 * self.radius**2, self.side**2, cubes])

    def grow(self, by: float, circles=slice(None), squares=slice(None), cubes=slice(None)) -> None:
        self.radius[circles] += by
        self.grown[circles] += 1
        self.side[squares] += 2 * by
        self.cube_side[cubes] += 2 * by
        self.height[cubes] += by


def test_the_example(shapes: cxx.Program, heap: oa.Heap):
    circles = oa.new(shapes.classes["geo::Circle"], 1000, radius=np.arange(1000) / 2)
    squares = oa.new(shapes.classes["Square"], 500, side=2.0)
    mixed = oa.concat(circles, squares)
    out = oa.zeros(len(mixed), oa.f32)
    shapes.kernels["total"][len(mixed)](mixed, out, len(mixed))
    radius = (np.arange(1000) / 2).astype(np.float32)
    expected = np.concatenate([3 * radius * radius, np.full(500, 4, np.float32)])
    np.testing.assert_array_equal(out.numpy(), expected)
    circles.radius *= 2
    shapes.kernels["total"][len(mixed)](mixed, out, len(mixed))
    np.testing.assert_array_equal(out.numpy()[:1000], 4 * expected[:1000])


def test_cpu_and_gpu_take_turns(shapes: cxx.Program, heap: oa.Heap):
    """Objects made by the host; C++ methods on the GPU and Python methods on the CPU update them in
    turn, and fields are written from outside, for several rounds."""
    model = Model(np.arange(40) / 2, np.arange(30), np.arange(20) / 2, np.arange(20))
    classes = shapes.classes
    circles = oa.new(classes["geo::Circle"], 40, radius=model.radius)
    squares = oa.new(classes["Square"], 30, side=model.side)
    cubes = oa.new(classes["Cube"], 20, side=model.cube_side, height=model.height)
    mixed = oa.concat(circles, squares, cubes)
    count = len(mixed)
    order = np.random.default_rng(1).permutation(count)
    shuffled = oa.array(classes["Shape"], [mixed[i] for i in order])
    out = oa.zeros(count, oa.f32)
    total, grow_all, grow_one = (shapes.kernels[n] for n in ("total", "grow_all", "grow_one"))

    def check() -> None:
        total[count, 64](mixed, out, count)
        np.testing.assert_array_equal(out.numpy(), model.areas())
        np.testing.assert_array_equal(circles.radius.numpy(), model.radius)
        np.testing.assert_array_equal(circles.grown.numpy(), model.grown)
        np.testing.assert_array_equal(squares.side.numpy(), model.side)
        np.testing.assert_array_equal(cubes.side.numpy(), model.cube_side)
        np.testing.assert_array_equal(cubes.height.numpy(), model.height)

    check()
    for number in range(4):
        grow_all[count](shuffled, 0.5, count)
        model.grow(0.5)
        check()
        for shape in (circles[number], squares[number], cubes[number]):
            shape.grow(1.5)
        model.grow(1.5, *[slice(number, number + 1)] * 3)
        areas = [mixed[i].area() for i in (number, 40 + number, 70 + number)]
        expected = model.areas()[[number, 40 + number, 70 + number]]
        np.testing.assert_array_equal(areas, expected)
        grow_one[1](cubes[19], 1)
        model.grow(1, slice(0, 0), slice(0, 0), slice(19, 20))
        squares.side += 1
        model.side += 1
        check()


def test_deleted_places_are_used_again(shapes: cxx.Program, heap: oa.Heap):
    classes, total = shapes.classes, shapes.kernels["total"]
    kept = oa.new(classes["Square"], 20, side=np.arange(20))
    for number in range(4):
        circles = oa.new(classes["geo::Circle"], 50 * (number + 1), radius=number)
        cubes = oa.new(classes["Cube"], 30, side=1, height=number)
        mixed = oa.concat(kept, circles, cubes)
        out = oa.zeros(len(mixed), oa.f32)
        total[len(mixed)](mixed, out, len(mixed))
        expected = np.concatenate(
            [
                np.arange(20, dtype=np.float32) ** 2,
                np.full(len(circles), 3 * number**2),
                np.full(30, 6 + number),
            ]
        )
        np.testing.assert_array_equal(out.numpy(), expected)
        oa.delete(circles if number % 2 else cubes)
        oa.delete(cubes if number % 2 else circles)
    assert len(oa.all(classes["Shape"])) == 20


def test_32_classes(heap: oa.Heap):
    source, names = many_classes(32)
    program = cxx.compile(source, {"Base": [], **{name: [("seed", "i4")] for name in names}})
    objects = oa.concat(*(oa.new(program.classes[name], 5, seed=np.arange(5)) for name in names))
    order = np.random.default_rng(2).permutation(len(objects))
    mixed = oa.array(program.classes["Base"], [objects[int(i)] for i in order])
    out = oa.zeros(len(mixed), oa.i32)
    for launch in (1, 2):
        program.kernels["values"][len(mixed)](mixed, out, len(mixed))
        number, seed = order // 5, order % 5
        np.testing.assert_array_equal(out.numpy(), (seed + launch * number) * 64 + number)


def test_references_that_kernels_write(heap: oa.Heap):
    program = cxx.compile(
        """
struct Node {
  Node *next; int value;
  __device__ virtual int sum() { return value + (next ? next->sum() : 0); }
};
struct Double : Node {
  __device__ int sum() override { return 2 * value + (next ? next->sum() : 0); }
};
extern "C" __global__ void link(Node **nodes, int *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) nodes[i]->next = i + 1 < count ? nodes[i + 1] : nullptr;
}
extern "C" __global__ void sums(Node **nodes, int *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = nodes[i]->sum();
}
""",
        {"Node": [("next", "Node *"), ("value", "i4")], "Double": []},
    )
    plain = oa.new(program.classes["Node"], 10, value=np.arange(10))
    double = oa.new(program.classes["Double"], 10, value=np.arange(10))
    nodes = oa.array(
        program.classes["Node"], [n for pair in zip(plain, double, strict=True) for n in pair]
    )
    out = oa.zeros(20, oa.i32)
    program.kernels["link"][20](nodes, out, 20)
    assert nodes[3].next is nodes[4]
    assert nodes[19].next is None
    program.kernels["sums"][20](nodes, out, 20)
    weighted = np.ravel([(k, 2 * k) for k in range(10)])
    np.testing.assert_array_equal(out.numpy(), weighted[::-1].cumsum()[::-1])
    nodes[4].next = nodes[19]
    program.kernels["sums"][20](nodes, out, 20)
    assert out[4] == 2 + 18


def test_numbers_arrive(shapes: cxx.Program, range_heap: oa.Heap):
    out = oa.zeros(10, oa.f64)
    scale = np.array((7, 1.5, -2.5), SCALE)
    shapes.kernels["numbers"][1](out, 200, True, -5, -70_000, 2**40, 0.5, 0.25, scale)
    assert out.numpy().tolist() == [200, 1, -5, -70_000, 2**40, 0.5, 0.25, 7, 1.5, -2.5]


def test_two_axes(shapes: cxx.Program, range_heap: oa.Heap):
    y, x = np.divmod(np.arange(33 * 7), 33)
    for sizes in ((33, 7), ((33, 7), (8, 4))):
        out = oa.zeros(33 * 7, oa.i32)
        shapes.kernels["plane"][sizes](out, 33, 7)
        np.testing.assert_array_equal(out.numpy(), x + 100 * y)


@pytest.mark.parametrize("mode", ["range+switch", "bits+vtable", "coal"])
def test_heaps_share_a_module(shapes: cxx.Program, mode: str):
    heaps = [oa.Heap(mode=mode, backend="cuda", capacity="64MiB") for _ in range(2)]
    arrays = []
    for number, heap in enumerate(heaps):
        with heap:
            circles = oa.new(shapes.classes["geo::Circle"], 5, radius=number + 1)
            squares = oa.new(shapes.classes["Square"], 5, side=number + 5)
            arrays.append((oa.concat(circles, squares), oa.zeros(10, oa.f32)))
    for _ in range(2):
        for mixed, out in arrays:
            shapes.kernels["total"][10](mixed, out, 10)
    for number, (_, out) in enumerate(arrays):
        expected = [3 * (number + 1) ** 2] * 5 + [(number + 5) ** 2] * 5
        assert out.numpy().tolist() == expected


def test_a_block_too_large_is_refused(shapes: cxx.Program, range_heap: oa.Heap):
    with pytest.raises(oa.ArgumentError, match="larger than 1024"):
        shapes.kernels["plane"][(64, 64), (64, 32)](None, 0, 0)


def test_compiled_for_the_device():
    from sharedoa.runtime import knobs

    with knobs.scope(backend="cuda"):
        target = cxx.compile("").source_ptx.split(".target ")[1].split()[0]
    assert int(target.removeprefix("sm_")) >= 75
