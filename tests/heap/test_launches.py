"""What launches and the heap do for each other: tables, waiting, moving memory."""

import ctypes

import numpy as np
import pytest

import sharedoa as oa
from dispatch import state
from dispatch.range_table import NODE_DTYPE, SegmentTree
from sharedoa.heap.residency import BULK, Residency

from ..dispatch.ranges import lookup
from .shapes import Circle, Node, Ring, Shape, Square


def memory_at(address, dtype, count=1):
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype, count)


def tree_of(heap, debug=False):
    words = heap.launch_state(debug)
    size = words[state.RANGE_TREE_SIZE]
    return SegmentTree(memory_at(words[state.RANGE_TREE], NODE_DTYPE, size).copy())


def test_an_empty_heap_has_no_table(by_type):
    assert by_type.launch_state() == [0] * state.WORDS


def test_the_range_table_tells_every_class(by_type):
    for count in (3, 30, 100):
        for python_class in (Circle, Square, Ring, Node):
            oa.new(python_class, count)
    tree = tree_of(by_type)
    for python_class in (Circle, Square, Ring, Node):
        for reference in by_type.objects_of(python_class.__sharedoa__).references():
            address = by_type.encoding.address(int(reference))
            assert lookup(tree, address) == python_class.__sharedoa__.type_index
    assert len(by_type.ranges()) > 4


@pytest.mark.parametrize("debug", [False, True])
def test_leaves_know_the_stride_and_for_debug_launches_living_objects(debug: bool) -> None:
    with oa.Heap(mode="coal", backend="cpu", debug=debug) as heap:
        circles = oa.new(Circle, 8)
        oa.delete(circles[2:4])
        leaf = tree_of(heap).nodes[0]
        assert leaf["stride"] == heap.layout.record(Circle.__sharedoa__).size
        if not debug:
            assert leaf["live"] == 0, "nothing of it is in memory that moves"
            epoch = heap.layout_epoch
            leaf = tree_of(heap, debug=True).nodes[0]
            assert heap.layout_epoch > epoch, "other units are to be told where the table is"
        lives = memory_at(int(leaf["live"]), np.uint8, 8)
        assert lives.tolist() == [1, 1, 0, 0, 1, 1, 1, 1]
        oa.delete(circles[:1])
        assert lives.tolist() == [0, 1, 0, 0, 1, 1, 1, 1]
        oa.new(Square, 2)
        leaves = tree_of(heap).nodes[1:]
        assert len(leaves) == 2 and (leaves["live"] != 0).all()


def test_the_table_is_made_again_only_when_the_layout_changed(by_type):
    oa.new(Circle, 4)
    first = by_type.launch_state()
    assert by_type.launch_state() == first and by_type.launch_state() is not first
    oa.new(Circle, 4)
    assert by_type.launch_state() == first, "there was room"
    oa.new(Square)
    assert by_type.launch_state() != first


def test_scattered_objects_are_listed_in_debug_mode():
    with oa.Heap(mode="concord", backend="cpu") as heap:
        oa.new(Circle, 3)
        assert heap.launch_state() == [0] * state.WORDS
    with oa.Heap(mode="concord", backend="cpu", debug=True) as heap:
        made = oa.concat(oa.new(Circle, 3), oa.new(Square, 2))
        epoch, words = heap.layout_epoch, heap.launch_state()
        listed = memory_at(words[state.REGISTRY], np.uint64, words[state.REGISTRY_SIZE])
        assert listed.tolist() == sorted(made.references().tolist())
        oa.delete(made[1])
        assert heap.layout_epoch > epoch
        assert heap.launch_state()[state.REGISTRY_SIZE] == 4


SETTINGS = [(mode, "aos") for mode in ("cuda", "concord", "sharedoa", "coal", "tag+switch", "auto")]
SETTINGS += [(mode, "tile") for mode in ("coal", "tag+switch")]


@pytest.mark.parametrize(("mode", "layout"), SETTINGS)
def test_headers(mode, layout):
    with oa.Heap(mode, "cpu", layout) as heap:
        for made in (oa.new(Circle, 3), [Square(), oa.new(Ring)]):
            for thing in made:
                cls = type(thing).__sharedoa__
                address = heap.encoding.address(heap.reference(thing))
                size = heap.mode.header_size
                if layout == "tile" and size == 8:
                    address += address % 128
                if size == 4:
                    assert memory_at(address, np.uint32)[0] == cls.type_index
                for pointer in memory_at(address, np.uint64, size // 8).tolist():
                    words = memory_at(pointer - 4, np.uint32, 2)
                    assert words.tolist() == [cls.type_index, cls.entry_base]


def test_a_reused_slot_has_its_header_again():
    with oa.Heap(mode="coal", backend="cpu", debug=True) as heap:
        circles = oa.new(Circle, 3)
        addresses = heap.encoding.address(circles.references())
        before = memory_at(int(addresses[1]), np.uint64).tolist()
        oa.delete(circles[1])
        again = oa.new(Circle)
        address = heap.encoding.address(heap.reference(again))
        assert memory_at(address, np.uint64).tolist() == before


@pytest.fixture
def on_device(device):
    with oa.Heap("auto", device, "aos", capacity="64MiB", initial_region=8) as heap:
        yield heap


def test_every_host_access_waits_once(on_device, device):
    circles, numbers = oa.new(Circle, 3), oa.zeros(3, oa.i32)
    circle = circles[0]
    accesses = [
        numbers.numpy,
        lambda: numbers[0],
        lambda: numbers.__setitem__(0, 1),
        lambda: list(numbers),
        lambda: circle.radius,
        lambda: setattr(circle, "radius", 1.0),
        circles.radius.numpy,
        lambda: circles.radius,
        lambda: setattr(circles, "radius", 2.0),
        lambda: circles.next,
        lambda: oa.delete(circles[2]),
        oa.synchronize,
    ]
    for access in accesses:
        on_device.note_launch()
        before = device.waits
        access()
        assert device.waits > before
    before = device.waits
    _ = numbers[0], circle.radius, numbers.numpy()
    assert device.waits == before


def test_creating_objects_does_not_wait(on_device, device):
    on_device.note_launch()
    before = device.waits
    oa.new(Circle, 3, radius=1.0)
    oa.zeros(5, oa.f32)
    assert device.waits == before


def test_hooks_run_after_every_wait(on_device):
    calls = []
    on_device.add_synchronize_hook(lambda: calls.append(1))
    on_device.wait()
    assert calls == []
    on_device.note_launch()
    on_device.wait()
    oa.synchronize()
    assert calls == [1, 1]


def test_what_the_host_used_moves_before_the_next_launch(on_device, device):
    circles = oa.new(Circle, 8, radius=1.0)
    numbers = oa.array(oa.i32, range(8))
    circle = circles[3]
    start, end, _ = on_device.ranges()[0]
    on_device.before_launch()
    moved = [(a, a + size) for a, size, to_device in device.moved if to_device]
    assert any(a <= start and end <= b for a, b in moved)
    assert any(a <= numbers.address and numbers.address + 32 <= b for a, b in moved)
    device.moved.clear()
    on_device.before_launch()
    assert device.moved == []
    part = circles[2:5].radius
    on_device.before_launch()
    device.moved.clear()
    part[...] = 3.0
    on_device.before_launch()
    size = on_device.layout.record(Circle.__sharedoa__).size
    assert device.moved == [(start + 2 * size, 3 * size, True)]
    device.moved.clear()
    circle.radius = 2.0
    assert numbers[5] == 5, "copied, the first one after a launch"
    on_device.before_launch()
    assert device.moved == [(start + 3 * size, size, True)]
    device.moved.clear()
    assert [numbers[5], numbers[6]] == [5, 6], "the first one is copied again, and no more"
    numbers[7] = 8
    assert numbers[7] == 8
    on_device.before_launch()
    assert device.moved == [(numbers.address + 24, 8, True)]
    device.moved.clear()
    numbers[0] = 9
    on_device.before_launch()
    assert numbers[0] == 9 and device.moved == [], "so is one that is written"


@oa.value
class Pair:
    a: oa.i32
    b: oa.vec2


def test_one_element_of_any_type_is_copied(on_device, device):
    circles = oa.concat(oa.new(Circle, 2))
    pairs = oa.array(Pair, [Pair(1, oa.vec2(2, 3)), Pair(4, oa.vec2(5, 6))])
    truths, vectors = oa.array(bool, [True, False]), oa.array(oa.vec2, [[1, 2], [3, 4]])
    on_device.before_launch()
    device.moved.clear()
    assert (pairs[-1].a, pairs[0].b.y, vectors[1].x) == (4, 3, 3) and truths[1] is False
    assert circles[1] is not None and circles[0] != circles[1]
    given = [(pairs, Pair(7, oa.vec2(8, 9))), (truths, True), (vectors, oa.vec2(7, 8))]
    for array, value in [*given, (circles, None)]:
        first = array[0]
        on_device.before_launch()
        device.moved.clear()
        array[1] = value
        on_device.before_launch()
        assert device.moved == []
        assert array[1] == value and array[0] == first


def test_a_bulk_access_fetches_first(device):
    residency = Residency(device.prefetch)
    residency.host_uses(1000, 1000, 1000 + BULK)
    residency.host_uses(1000, 1010, 1020)
    residency.host_uses(5000000, 5000000, 5000004)
    assert device.moved == [(1000, BULK, False)]
    residency.forget(5000000, 5000256)
    residency.before_launch()
    assert device.moved[1:] == [(1000, BULK, True)]


def test_where_host_and_device_are_one_nothing_moves():
    with oa.Heap(backend="cpu") as heap:
        oa.new(Circle, 100, radius=2.0)
        heap.before_launch()
        assert heap.residency.on_host == {}


def test_population_of_a_subclass_only(by_type):
    assert list(oa.all(Shape).by_class()) == []
    oa.new(Ring, 2)
    assert [len(p) for p in oa.all(Shape).by_class()] == [2]
