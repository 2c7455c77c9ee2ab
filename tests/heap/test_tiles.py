"""What is different in a heap of tiles; everything else is tested in both layouts elsewhere."""

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i8, i32
from sharedoa.heap.placement import FieldPath
from sharedoa.model.layout import Layout
from sharedoa.model.record import Header

from .shapes import Circle, Empty, Node, Point, Ring, Shape, Square

LANES = 32


@pytest.fixture
def tiles():
    """A current heap on the CPU with tiles of objects placed by type."""
    with oa.Heap(layout="tile", backend="cpu", capacity="64MiB", initial_region=32) as made:
        yield made


def addresses_of(objects):
    return objects.heap.encoding.address(objects.references()).astype(np.int64)


def capacities(heap, python_class):
    size = heap.layout.record(python_class.__sharedoa__).size
    return [(end - start) // size for start, end, cls in heap.ranges() if cls is python_class]


def test_neighbours_lie_in_one_row(tiles):
    addresses = addresses_of(oa.new(Circle, 100))
    steps = np.diff(addresses)
    tile = LANES * tiles.layout.record(Circle.__sharedoa__).size
    assert set(steps[LANES - 1 :: LANES]) == {tile - (LANES - 1) * 4}
    assert np.all(np.delete(steps, np.arange(LANES - 1, 99, LANES)) == 4)
    assert addresses[0] % 128 == 0


@pytest.mark.parametrize(("initial", "asked", "capacity"), [(1, 1, 32), (8, 9, 32), (32, 33, 64)])
def test_regions_are_whole_tiles(initial, asked, capacity):
    with oa.Heap(layout="tile", backend="cpu", initial_region=initial) as heap:
        oa.new(Circle, asked)
        assert capacities(heap, Circle) == [capacity]


def test_neighbouring_regions_merge_at_tiles(tiles):
    first = oa.new(Square, 32, number=range(32))
    second = oa.new(Square, 40, number=range(32, 72))
    assert capacities(tiles, Square) == [96], "32 + 64, side by side"
    assert oa.all(Square).number.numpy().tolist() == list(range(72))
    oa.delete(first[5:9])
    again = oa.new(Square, 28)
    assert capacities(tiles, Square) == [96] and again.number.numpy().tolist() == [0] * 28
    assert len(set(oa.all(Square).references().tolist())) == 96
    assert second.number.numpy().tolist() == list(range(32, 72))


def test_holes_survive_merging(tiles):
    spacers, high = oa.new(Square, 64), oa.new(Empty, 32)
    oa.delete(spacers)
    oa.delete(high[5])
    low = oa.new(Empty, 10)
    rest = oa.new(Empty, sum(capacities(tiles, Empty)) - 41)
    made = np.concatenate([a.references() for a in (rest, low, high[:5], high[6:])])
    assert len(set(made.tolist())) == len(made) == sum(capacities(tiles, Empty))


def test_fields_are_read_only_copies(tiles):
    circles = oa.new(Circle, 70, radius=1.0)
    radii = circles.radius.numpy()
    with pytest.raises(ValueError, match="read-only"):
        radii[3] = 2.0
    circles.radius *= 3
    assert radii.tolist() == [1.0] * 70 and circles.radius.numpy().tolist() == [3.0] * 70


@pytest.mark.parametrize("references", ["32", "64"])
def test_addresses_between_objects_are_refused(references):
    with oa.Heap(layout="tile", backend="cpu", references=references) as heap:
        unit = heap.encoding.unit
        first = int(oa.new(Circle, 3).references()[0])
        between = [first + k for k in (1, 2)] if unit == 1 else []
        for foreign in (*between, first + LANES * 4 // unit, first + 256 // unit):
            with pytest.raises(oa.HeapError, match="is no object of this heap"):
                heap.wrap(foreign)
        with pytest.raises(oa.HeapError, match="was deleted"):
            heap.wrap(first + 3 * 4 // unit)


def test_debug_poisons_every_row_of_a_freed_slot():
    with oa.Heap(layout="tile", debug=True, backend="cpu", mode="coal") as heap:
        nodes = oa.new(Node, 40, small=1, wide=2, middle=3, weights=4.0, where=Point(5.0, 6.0))
        oa.delete(nodes[34])
        (region,) = heap.placement.all_regions()
        for name in Node.__sharedoa__.fields:
            values = region.field(FieldPath(name))
            assert set(values[34].tobytes()) == {0xDD}, name
            assert set(values[33].tobytes()) != {0xDD}, name
        made = oa.new(Node)
        assert (made.small, made.wide, made.middle, list(made.weights)) == (0, 0, 0, [0, 0, 0])
        assert (made.where, made.shape, len(made.data)) == (Point(0.0, 0.0), None, 0)


def test_debug_reports_a_freed_object_in_a_tile():
    with oa.Heap(layout="tile", debug=True, backend="cpu"):
        circles = oa.concat(oa.new(Circle, 50, radius=1.0))
        assert circles.area().numpy().sum() > 0
        oa.delete(circles[40])
        with pytest.raises(oa.DeviceError, match="deleted"):
            circles.area().numpy()


def test_classes_of_one_family_share_the_rows_of_their_base(tiles):
    made = oa.concat(oa.new(Circle, 40, number=1), oa.new(Ring, 40, number=2, inner=3.0),
                     oa.new(Square, 40, number=4, side=5.0, flag=True))  # fmt: skip
    assert made.number.numpy().tolist() == [1] * 40 + [2] * 40 + [4] * 40
    made.next = made[::-1]
    assert [o.next == p for o, p in zip(made, made[::-1], strict=True)] == [True] * 120
    assert isinstance(made[0].next, Square) and made[0].next.flag and made[0].next.side == 5
    offsets = tiles.layout.record(Shape.__sharedoa__).offsets.items()
    for cls in (Circle, Ring, Square):
        assert offsets <= tiles.layout.record(cls.__sharedoa__).offsets.items()


def test_an_operation_with_a_mask_goes_tile_by_tile(tiles):
    circles = oa.new(Circle, 5000, radius=2.0)
    radii, mask = circles.radius, np.arange(5000) % 3 == 0
    np.multiply(radii, np.arange(5000, dtype=np.float32), out=radii, where=mask)
    expected = np.where(mask, 2 * np.arange(5000), 2)
    assert circles.radius.numpy().tolist() == expected.tolist()


class Narrow(oa.Object):
    """Fields narrower than a word, and structures of them."""

    byte: i8
    flag: bool
    points: oa.inline[Point, 3]
    count: i32


@oa.kernel
def narrow(objects: oa.Array[Narrow], out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(objects):
        this = objects[i]
        this.byte = i8(i)
        this.flag = i % 3 == 0
        this.points[i % 3] = Point(f32(1), f32(i))
        this.points[1] = this.points[2]
        oa.atomic_add(objects[0], "count", 1)
        out[i] = this.points[0].y


def test_kernels_and_views_agree_about_narrow_fields(tiles):
    objects = oa.new(Narrow, 100)
    out = oa.zeros(100, f32)
    narrow[100](objects, out)
    index = np.arange(100)
    assert objects.byte.numpy().tolist() == index.tolist()
    assert objects.flag.numpy().tolist() == (index % 3 == 0).tolist()
    assert objects[0].count == 100 and objects[1].count == 0
    expected = np.where(index % 3 == 0, index, 0)
    assert out.numpy().tolist() == expected.tolist()
    points = objects.points.numpy()["y"]
    assert points[:, 1].tolist() == points[:, 2].tolist()
    assert points[:, 2].tolist() == np.where(index % 3 == 2, index, 0).tolist()
    assert objects[98].points[1].y == 98.0


def test_a_class_may_ask_for_a_layout():
    class Near(oa.Object, layout="tile"):
        value: i32
        far: "Far"

    class Nearer(Near):
        more: i8

    class Far(oa.Object):
        value: i32

    @oa.kernel
    def add(nears: oa.Array[Near]):
        i = oa.grid(1)
        if i < len(nears):
            nears[i].value += nears[i].far.value

    with oa.Heap(layout="auto", backend="cpu", capacity="64MiB") as heap:
        far = oa.new(Far, 40, value=range(40))
        near = oa.new(Nearer, 40, value=100, far=far)
        add[40](oa.concat(near))
        assert near.value.numpy().tolist() == list(range(100, 140))
        assert near[39].far.value == 39
        far_step, near_step = (np.diff(addresses_of(made[:2]))[0] for made in (far, near))
        assert (near_step, far_step) == (4, heap.layout.record(Far.__sharedoa__).size)
        assert "layout auto (tile for Near)" in add.explain()


def test_only_the_first_class_of_a_family_asks_for_a_layout():
    with pytest.raises(oa.ClassError, match="layouts are aos, tile"):

        class Wrong(oa.Object, layout="rows"):
            pass

    class Base(oa.Object):
        value: i32

    with pytest.raises(oa.ClassError, match=r"class Base\(oa.Object, layout='aos'\)"):

        class Derived(Base, layout="aos"):
            pass


@pytest.mark.parametrize(("asked", "setting", "tiled"), [
    (None, "auto", False), ("tile", "auto", True), ("aos", "auto", False),
    ("aos", "tile", True), ("tile", "aos", False), (None, "tile", True),
])  # fmt: skip
def test_the_setting_of_the_heap_wins(asked, setting, tiled):
    class Thing(oa.Object, layout=asked):
        value: i32

    with oa.Heap(layout=setting, backend="cpu", capacity="64MiB") as heap:
        assert heap.layout.is_tiled(Thing.__sharedoa__) == tiled


def test_mode_auto_uses_tiles_on_devices_where_nothing_is_said():
    class Plain(oa.Object):
        value: i32

    class Aos(oa.Object, layout="aos"):
        value: i32

    layout = Layout("auto", Header(0, 1), tiles=True)
    assert layout.is_tiled(Plain.__sharedoa__)
    assert not layout.is_tiled(Aos.__sharedoa__)
    assert layout.key != Layout("auto", Header(0, 1)).key
