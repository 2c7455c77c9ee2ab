"""Objects of C++ classes on the host: everything that Python does with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import cxx

from .sources import SHAPES, shape_classes


@pytest.fixture(params=["python", "cpu"])
def heap(request: pytest.FixtureRequest, mode: str):
    with oa.Heap(mode=mode, backend=request.param, capacity="64MiB", initial_region=8) as made:
        yield made


def test_creation_access_and_deletion(shapes: cxx.Program, heap: oa.Heap):
    circle, square, cube = (shapes.classes[n] for n in ("geo::Circle", "Square", "Cube"))
    circles = oa.new(circle, 100, radius=np.arange(100), grown=1)
    squares = oa.new(square, 50, side=2.0)
    cubes = oa.new(cube, 3, side=[1, 2, 3], height=0.5)
    mixed = oa.concat(circles, squares, cubes)
    assert mixed.cls is shapes.classes["Shape"].__sharedoa__
    assert [type(mixed[i]) for i in (0, 100, 152)] == [circle, square, cube]
    circles.radius *= 2
    assert circles[7].radius == 14
    assert circles.radius.numpy().tolist() == list(range(0, 200, 2))
    cubes[1].side = 9
    assert cubes.side.numpy().tolist() == [1, 9, 3]
    assert squares[0].area() == 4
    assert cubes[0].area() == 6.5
    cubes[0].grow(1.5)
    assert (cubes[0].side, cubes[0].height) == (4, 2)
    oa.delete(circles[3])
    oa.delete(squares)
    assert len(oa.all(shapes.classes["Shape"])) == 102
    assert len(oa.all(square)) == 3
    assert len(oa.all(circle)) == 99
    with pytest.raises(oa.HeapError, match=r"deleted|no object"):
        mixed[3].radius
    again = oa.new(circle, 2)
    assert again.radius.numpy().tolist() == [0, 0]
    if heap.mode.placement == "by_type":
        assert {cls for *_, cls in heap.ranges()} == {circle, cube}


def test_the_record_is_the_same_in_every_mode(shapes: cxx.Program, heap: oa.Heap):
    cube = shapes.classes["Cube"].__sharedoa__
    found = heap.layout.record(cube)
    assert (found.size, found.offsets) == (24, {"side": 8, "height": 16})
    made = oa.new(shapes.classes["Cube"], side=1)
    assert heap.encoding.address(made._reference) % 8 == 0


def test_a_heap_of_tiles_leaves_them_as_they_are(shapes: cxx.Program):
    with oa.Heap(layout="tile", backend="cpu"):
        cubes = oa.new(shapes.classes["Cube"], 40, side=range(40))
        assert set(np.diff(cubes.references()).tolist()) == {24}
        assert cubes.side.numpy().flags.writeable and cubes[39].side == 39


def test_one_by_one(shapes: cxx.Program, host_heap: oa.Heap):
    made = shapes.classes["Square"](side=3)
    assert made.side == 3
    assert oa.new(shapes.classes["Square"], side=4).area() == 16
    with pytest.raises(oa.ArgumentError, match="no field radius"):
        oa.new(shapes.classes["Square"], radius=1)
    with pytest.raises(oa.ArgumentError, match="takes f32"):
        made.side = "wide"
    with pytest.raises(oa.ClassError, match="cannot be set"):
        shapes.classes["Square"].area = lambda self: 0
    assert isinstance(made, shapes.classes["Shape"])
    assert isinstance(made, oa.Object)


def test_properties_and_constructors_of_the_python_class(host_heap: oa.Heap):
    def initialise(self, side):
        self.side = side * 2

    program = cxx.compile(
        SHAPES,
        {
            "Square": cxx.Class(
                [("side", "f4")], __init__=initialise, double=property(lambda self: self.side * 2)
            )
        },
    )
    made = program.classes["Square"](4)
    assert (made.side, made.double) == (8, 16)


def test_different_families_have_no_common_base(shapes: cxx.Program, host_heap: oa.Heap):
    other = cxx.compile(SHAPES, shape_classes())
    first, second = (oa.new(p.classes["Square"], 2) for p in (shapes, other))
    with pytest.raises(oa.ArgumentError, match="no common base"):
        oa.concat(first, second)


def test_python_objects_refer_to_them(shapes: cxx.Program, host_heap: oa.Heap):
    square = shapes.classes["Square"]

    class Holder(oa.Object):
        shape: square
        weight: oa.f32

    @oa.kernel
    def double(holders: oa.Array[Holder]):
        holder = holders[oa.grid(1)]
        holder.shape.side *= 2
        holder.weight = holder.shape.side

    squares = oa.new(square, 10, side=np.arange(10))
    holders = oa.new(Holder, 10, shape=squares)
    double[10](holders)
    assert squares.side.numpy().tolist() == list(range(0, 20, 2))
    assert holders[3].shape is squares[3]


def test_dump_and_load(shapes: cxx.Program, tmp_path: Path):
    square, circle = shapes.classes["Square"], shapes.classes["geo::Circle"]
    with oa.Heap(mode="coal", backend="cpu"):
        objects = oa.concat(oa.new(square, 3, side=[1, 2, 3]), oa.new(circle, 2, radius=5))
        oa.dump(tmp_path / "heap", objects=objects)
    with oa.Heap(mode="bits+switch", backend="cpu"):
        found = oa.load(tmp_path / "heap")["objects"]
        assert [type(shape) for shape in found] == [square] * 3 + [circle] * 2
        assert oa.all(square).side.numpy().tolist() == [1, 2, 3]
        assert found[4].radius == 5


def test_references_of_32_bits_are_refused(shapes: cxx.Program):
    circle = shapes.classes["geo::Circle"]
    with oa.Heap(backend="cpu", references="32") as heap:
        with pytest.raises(oa.HeapError, match="pointers of 64 bits"):
            oa.new(circle, 3)
        assert len(heap.all(circle)) == 0
    with oa.Heap(backend="cpu"):
        assert len(oa.new(circle, 3)) == 3
