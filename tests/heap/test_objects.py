"""Objects: creation, identity, host access to one, deletion, and every mistake."""

import gc
from functools import partial

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.heap.registry import Registry

from .shapes import Circle, Empty, Node, Point, Ring, Shape, Square

pytestmark = pytest.mark.in_turns("heap", 3)


def test_one_object_and_many(heap):
    one = oa.new(Circle, radius=2.0, number=np.int32(5))
    many = oa.new(Circle, 3, radius=[1.0, 2.0, 3.0], next=one)
    assert (one.radius, one.number, one.next) == (2.0, 5, None)
    assert type(one.radius) is np.float32
    assert [c.radius for c in many] == [1.0, 2.0, 3.0]
    assert all(c.next == one and c.number == 0 for c in many)
    assert len(oa.new(Circle, 0)) == 0
    assert Circle(radius=4.0).radius == 4.0


def test_the_number_of_objects_by_name(heap):
    assert len(oa.new(Circle, n=3)) == 3

    class HasN(oa.Object):
        n: oa.i32

    assert oa.new(HasN, n=3).n == 3
    assert oa.new(HasN, 2, n=7).n.numpy().tolist() == [7, 7]


def test_identity(heap):
    a, b = oa.new(Circle, 2)
    assert a == a and a != b and hash(a) == hash(oa.all(Circle)[0])
    b.next = a
    assert b.next == a and b.next is not None
    with oa.Heap(mode=heap.mode.name, backend="cpu"):
        assert oa.new(Circle) != a


def test_references_come_back_as_their_concrete_class(heap):
    shapes = oa.concat(oa.new(Circle, 2), oa.new(Square, 1), oa.new(Ring, 1))
    assert [type(s) for s in shapes] == [Circle, Circle, Square, Ring]
    assert shapes.cls is Shape.__sharedoa__
    holder = oa.new(Node, shape=shapes[3])
    assert type(holder.shape) is Ring
    for shape in shapes:
        reference = heap.reference(shape)
        assert heap.wrap(reference) == shape
        assert heap.class_of(reference) is type(shape).__sharedoa__
    assert heap.wrap(0) is None and heap.reference(None) == 0


def test_every_kind_of_field(heap):
    data = oa.array(oa.i32, [3, 1, 2])
    other, node = oa.new(Node), oa.new(Node)
    node.small, node.wide, node.middle = -1, 1 << 40, 300
    node.where = Point(1.0, 2.0)
    node.weights = [1, 2, 3]
    node.weights[1] = 7.5
    node.children[0] = other
    node.shape = oa.new(Square, side=2.0, flag=True)
    node.data = data
    node.friends = oa.array(Node, [other, None])
    assert (node.small, node.wide, node.middle) == (-1, 1 << 40, 300)
    assert (node.where.x, node.where.y) == (1.0, 2.0)
    assert list(node.weights) == [1, 7.5, 3]
    assert list(node.children) == [other, None]
    assert node.shape.side == 2.0 and node.shape.flag is True
    assert node.data.numpy().tolist() == [3, 1, 2]
    assert list(node.friends) == [other, None]


def test_arrays_in_fields_live_as_long_as_the_field_says(heap):
    node = oa.new(Node, data=oa.array(oa.i32, [1, 2, 3]))
    oa.new(Node).data = node.data
    gc.collect()
    heap.memory.collect(thorough=True)
    filler = [oa.zeros(3, oa.i32) for _ in range(50)]
    for array in filler:
        array[...] = 9
    assert node.data.numpy().tolist() == [1, 2, 3]
    held = heap.stats().array_bytes
    for each in oa.all(Node):
        each.data = filler[0]
    gc.collect()
    heap.memory.collect(thorough=True)
    assert heap.stats().array_bytes < held


def test_abstract_and_unshared_classes(heap):
    with pytest.raises(oa.ClassError, match="Shape is abstract: area has no body"):
        oa.new(Shape, 3)
    with pytest.raises(oa.ClassError, match="is not a shared class"):
        oa.new(int, 3)


@pytest.mark.parametrize("count", [-1, 1.5, "3", True])
def test_bad_numbers_of_objects(heap, count):
    with pytest.raises(oa.ArgumentError, match="the number of Circle objects is"):
        oa.new(Circle, count)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"diameter": 1.0}, "Circle has no field diameter"),
        ({"radius": "wide"}, "Circle.radius takes f32"),
        ({"number": 1.5}, "Circle.number takes i32"),
        ({"number": 1 << 40}, "does not fit it"),
        ({"number": np.ones(4)}, "takes i32, and an array of float64"),
        ({"radius": np.ones(3, np.float32)}, "3 values for 4 places"),
        ({"radius": np.ones((4, 2), np.float32)}, r"shape \(4, 2\) for 4 places"),
        ({"radius": [[1.0], [1.0, 2.0]]}, "values that are no array"),
        ({"number": [1, 2, 3, 1 << 40]}, "does not fit it"),
        ({"next": 17}, "Circle.next takes Shape"),
        ({"next": np.arange(4)}, "addresses are not references"),
        ({"next": [None, 3, None, None]}, "Circle.next takes Shape"),
    ],
)
def test_bad_fields_make_nothing(heap, fields, text):
    with pytest.raises(oa.ArgumentError, match=text):
        oa.new(Circle, 4, **fields)
    assert len(oa.all(Circle)) == 0


@pytest.mark.parametrize(
    ("python_class", "fields", "text"),
    [
        (Circle, {"number": 1, "radius": np.ones(3)}, "Circle.radius: 3.*Circle, 3, radius=..."),
        (Circle, {"radius": [1.0, 2.0]}, "Circle.radius: 2 values.*Circle, 2, radius=..."),
        (Circle, {"next": [None, None]}, "Circle.next: 2 values.*Circle, 2, next=..."),
        (Node, {"weights": np.ones((2, 3))}, "Node.weights: 2 values.*Node, 2, weights=..."),
    ],
)
def test_a_forgotten_number_of_objects(heap, python_class, fields, text):
    for make in (partial(oa.new, python_class), python_class):
        with pytest.raises(oa.ArgumentError, match=f"(?s){text}"):
            make(**fields)
    assert len(oa.all(python_class)) == 0


def test_bad_single_fields(heap):
    with pytest.raises(oa.ArgumentError, match="pass one number"):
        oa.new(Circle).radius = [1.0, 2.0]
    with pytest.raises(oa.ArgumentError, match=r"Circle has no field diameter.*\n.*number, next"):
        oa.new(Circle, diameter=1.0)
    circle = oa.new(Circle)
    with pytest.raises(oa.ArgumentError, match="write i32"):
        circle.number = 2.5
    node = oa.new(Node)
    with pytest.raises(oa.ArgumentError, match=r"Node.shape takes Shape"):
        node.shape = node
    with pytest.raises(oa.ArgumentError, match="takes Array"):
        node.data = oa.zeros(3, f32)


def test_two_heaps_do_not_mix(heap):
    mine = oa.new(Circle)
    with oa.Heap(mode=heap.mode.name, backend="cpu"):
        theirs = oa.new(Circle, 2)
        array = oa.zeros(2, oa.i32)
    for value in (theirs[0], theirs):
        with pytest.raises(oa.ArgumentError, match="another heap"):
            oa.new(Circle, 2, next=value)
    with pytest.raises(oa.ArgumentError, match="another heap"):
        mine.next = theirs[0]
    with pytest.raises(oa.ArgumentError, match="another heap"):
        oa.new(Node).data = array
    with pytest.raises(oa.ArgumentError, match="different heaps"):
        heap.concat(theirs, oa.new(Circle, 2))
    for value in (theirs, theirs[0], list(theirs)):
        with pytest.raises(oa.HeapError, match="no object of this heap"):
            heap.delete(value)
    oa.delete(theirs)
    assert len(theirs.heap.all(Circle)) == 0, "oa.delete finds the heap of an array"


class TestDelete:
    def test_what_can_be_deleted(self, heap):
        circles, squares = oa.new(Circle, 10), oa.new(Square, 4)
        oa.delete(circles[0])
        oa.delete(circles[1:4])
        oa.delete([circles[4], squares[0]])
        oa.delete(oa.concat(circles[5:6], squares[1:2]))
        assert (len(oa.all(Circle)), len(oa.all(Square))) == (4, 2)
        oa.delete(oa.all(Shape))
        assert len(oa.all(Shape)) == 0 and heap.stats().objects == 0
        oa.delete([])
        oa.delete(oa.all(Shape))

    @pytest.mark.parametrize(
        "choose",
        [
            lambda c: [c[5], c[5]],
            lambda c: oa.concat(c[5:8], c[6:7]),
            lambda c: c[np.array([9, 3, 9])],
            lambda c: oa.array(Circle, [c[5], None]),
            lambda c: [c[5], None],
            lambda c: c[:5],
            lambda c: c[2],
        ],
        ids=["pair", "overlap", "index", "null", "none", "freed", "freed one"],
    )
    def test_a_mistake_deletes_nothing(self, heap, choose):
        circles = oa.new(Circle, 10, number=range(10))
        chosen = choose(circles)
        oa.delete(circles[2])
        with pytest.raises(oa.HeapError):
            oa.delete(chosen)
        assert sorted(oa.all(Circle).number.numpy().tolist()) == [0, 1, 3, 4, 5, 6, 7, 8, 9]
        assert len(oa.new(Circle, 5)) == 5 and len(oa.all(Circle)) == 14

    def test_texts(self, by_type):
        circles = oa.new(Circle, 3)
        gone = circles[1]
        oa.delete(gone)
        with pytest.raises(oa.HeapError, match=r"element 0: the Circle at 0x[0-9a-f]+ was deleted"):
            oa.delete(gone)
        with pytest.raises(oa.HeapError, match="element 1: the Circle at"):
            oa.delete(circles)
        with pytest.raises(oa.HeapError, match="an object occurs twice"):
            oa.delete([circles[0], circles[0]])
        with pytest.raises(oa.HeapError, match="element 1: null is no object"):
            oa.delete(oa.array(Circle, [circles[0], None]))
        with pytest.raises(oa.ArgumentError, match=r"oa.delete takes objects, not"):
            oa.delete(3)
        with pytest.raises(oa.ArgumentError, match=r"oa.delete takes objects, not Array"):
            oa.delete(oa.zeros(3, f32))

    def test_a_deleted_object_is_not_read_or_written(self, heap):
        circle = oa.new(Circle, 2)[0]
        oa.delete(circle)
        with pytest.raises(oa.HeapError):
            _ = circle.radius
        with pytest.raises(oa.HeapError):
            circle.radius = 1.0
        with pytest.raises(oa.HeapError):
            heap.wrap(circle._reference)

    def test_what_is_no_address_of_an_object(self, by_type):
        circle = oa.new(Circle)
        start, end, _ = by_type.ranges()[0]
        for address in (circle._reference + 4, start - 8, end, 8, 1 << 46):
            with pytest.raises(oa.HeapError, match="is no object of this heap"):
                by_type.wrap(address)


class TestNoRoom:
    def test_the_figures(self):
        with oa.Heap(mode="auto", backend="cpu", capacity="1MiB", references="32"):
            circles = oa.new(Circle, 1000)
            with pytest.raises(oa.HeapError) as caught:
                oa.new(Circle, 1_000_000, radius=1.0)
            text = str(caught.value)
            assert "4,000,000 bytes asked for" in text
            assert "of a capacity of 1,048,576" in text
            assert "49,152 bytes by Circle" in text and "SHAREDOA_CAPACITY" in text
            del circles

    def test_nothing_leaks(self, heap):
        kept = oa.new(Circle, 100, number=range(100))
        before = heap.stats()
        ranges = heap.ranges()
        for _ in range(20):
            with pytest.raises(oa.HeapError, match="no room"):
                oa.new(Square, 3_000_000)
            with pytest.raises(oa.HeapError, match="no room"):
                oa.zeros(1 << 30, oa.f64)
        heap.memory.collect(thorough=True)
        after = heap.stats()
        assert (after.objects, after.bytes_reserved) == (before.objects, before.bytes_reserved)
        assert after.array_bytes == before.array_bytes
        assert heap.ranges() == ranges
        assert kept.number.numpy().tolist() == list(range(100))
        assert len(oa.new(Square, 1000)) == 1000

    @pytest.mark.parametrize(
        "mode",
        ["auto", *(pytest.param(each, marks=pytest.mark.slow) for each in ("coal", "concord"))],
    )
    def test_deleted_objects_make_room(self, mode):
        with oa.Heap(mode=mode, backend="cpu", capacity="1MiB", initial_region=8) as heap:
            for _ in range(20):
                oa.delete(oa.new(Circle, 10_000))
            for _ in range(5000):
                oa.delete(Circle())
            assert heap.stats().objects == 0 and len(oa.new(Circle, 10_000)) == 10_000

    def test_dropped_arrays_make_room(self):
        with oa.Heap(mode="auto", backend="cpu", capacity="1MiB"):
            for _ in range(20):
                assert len(oa.zeros(700_000, oa.i8)) == 700_000


def test_statistics(by_type):
    oa.new(Circle, 6)
    oa.new(Empty, 32)  # a region has as many slots as its 256 bytes have room for
    stats = by_type.stats()
    assert stats.objects == 38 and stats.regions == 2 and set(stats.classes) == {"Circle", "Empty"}
    circles = stats.classes["Circle"]
    assert (circles.objects, circles.regions) == (6, 1)
    assert circles.external_fragmentation == pytest.approx(0.25)
    assert stats.classes["Empty"].external_fragmentation == 0
    assert stats.bytes_reserved >= stats.bytes_used > 0
    assert stats.slab_bytes <= stats.capacity == 64 << 20


def test_statistics_of_nothing_and_of_equal_names(by_type):
    assert by_type.stats().external_fragmentation == 0

    def define():
        class Same(oa.Object):
            x: oa.i32

        return Same

    first, second = define(), define()
    oa.new(first), oa.new(second, 2)
    assert sorted(c.objects for c in by_type.stats().classes.values()) == [1, 2]


def test_ranges_are_sorted_and_half_open(by_type):
    circles = oa.new(Circle, 8)
    oa.new(Square, 8)
    (start, end, cls), (later, _, other) = by_type.ranges()
    size = by_type.layout.record(Circle.__sharedoa__).size
    assert (cls, other) == (Circle, Square) and end <= later
    addresses = by_type.encoding.address(circles.references())
    assert addresses[0] == start and addresses[-1] + size == end


def test_scattered_objects_go_with_their_heap(monkeypatch):
    with oa.Heap(mode="concord", backend="cpu") as heap:
        circles = oa.new(Circle, 5)
        oa.delete(circles[2])
        expected = sorted(oa.all(Circle).references().tolist())
        freed = []
        monkeypatch.setattr(
            type(heap.backend), "free_scattered", lambda _, a: freed.extend(a.tolist())
        )
    del heap, circles
    gc.collect()
    assert freed == expected


@pytest.mark.parametrize("method", ["add", "add_free"])
def test_scattered_objects_that_nobody_could_note_leave_nothing(monkeypatch, method):
    """Neither those that the host makes nor places for those that kernels may make."""
    with oa.Heap(mode="concord", backend="cpu") as heap:
        kept, extents, held = oa.new(Circle, 5), heap.placement._extents, set()
        allocate, free = heap.backend.allocate_scattered, heap.backend.free_scattered

        def allocating(*given):
            addresses = allocate(*given)
            held.update(addresses.tolist())
            return addresses

        def freeing(addresses):
            held.difference_update(addresses.tolist())
            free(addresses)

        def fail(*given):
            assert held
            raise MemoryError

        monkeypatch.setattr(heap.backend, "allocate_scattered", allocating)
        monkeypatch.setattr(heap.backend, "free_scattered", freeing)
        free_bytes = extents.free_bytes
        with monkeypatch.context() as patch:
            patch.setattr(Registry, method, fail)
            with pytest.raises(MemoryError):
                if method == "add":
                    heap.placement.allocate(Circle.__sharedoa__, 7, {})
                heap.placement.make_room(Circle.__sharedoa__, 7)
        assert not held and extents.free_bytes == free_bytes
        assert len(oa.all(Circle)) == len(kept) and len(oa.new(Circle, 7)) == 7


class Begun(oa.Object):
    a: oa.i32
    b: oa.f64

    def __init__(self, start: int, b: float = 0.5) -> None:
        self.a = start * 2
        self.b = b


class BegunBelow(Begun):
    pass


@pytest.mark.parametrize("cls", [Begun, BegunBelow])
def test_init_is_called_for_each_new_object(heap, cls):
    assert [(o.a, o.b) for o in (cls(3), oa.new(cls, start=4, b=2.0))] == [(6, 0.5), (8, 2.0)]
    made = oa.new(cls, 3, start=[1, 2, 3], b=1.5)
    assert made.a.numpy().tolist() == [2, 4, 6] and made.b.numpy().tolist() == [1.5] * 3
    assert oa.new(cls, 2, start=np.int32(7)).a.numpy().tolist() == [14, 14]
    assert len(oa.new(cls, 0, start=1)) == 0
    with pytest.raises(oa.ArgumentError, match="start has 2 values for 3 objects"):
        oa.new(cls, 3, start=[1, 2])
    with pytest.raises(TypeError, match="start"):
        oa.new(cls, 3)
    with oa.Heap(backend="cpu") as other:
        pass
    assert other.new(cls, start=5).a == 10 and len(other.all(cls)) == 1


class Hesitant(oa.Object):
    """Its ``__init__`` raises for numbers below zero, and deletes itself first below -1."""

    a: oa.i32

    def __init__(self, a: int) -> None:
        self.a = a
        if a < -1:
            oa.delete(self)
        if a < 0:
            refused.append(self)
            raise KeyError(a)


refused: list[Hesitant] = []


@pytest.mark.parametrize("bad", [-1, -2])
def test_objects_whose_init_raises_are_gone(heap, bad):
    refused.clear()
    kept = Hesitant(5)
    for make in (
        lambda: Hesitant(bad),
        lambda: oa.new(Hesitant, a=bad),
        lambda: oa.new(Hesitant, 3, a=[1, bad, 3]),
    ):
        with pytest.raises(KeyError) as caught:
            make()
        assert caught.value.args == (bad,) and caught.value.__context__ is None
        assert [each.a for each in oa.all(Hesitant)] == [5] and kept.a == 5
    for each in refused:
        with pytest.raises(oa.HeapError, match="deleted"):
            each.a
    with pytest.raises(TypeError):
        Hesitant()
    assert len(oa.all(Hesitant)) == 1
    assert oa.new(Hesitant, 2, a=7).a.numpy().tolist() == [7, 7]


def test_a_class_is_no_object(heap):
    oa.new(Circle, 3)
    with pytest.raises(oa.ArgumentError, match=r"(?s)oa.delete takes objects.*oa.all\(C\)"):
        oa.delete(Circle)
    with pytest.raises(oa.ArgumentError, match=r"oa\.concat"):
        oa.concat(Circle)
    assert len(oa.all(Circle)) == 3
