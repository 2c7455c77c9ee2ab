"""Fields of many objects as NumPy sees them."""

import copy
import pickle

import numpy as np
import pytest

import sharedoa as oa
from sharedoa.heap.field_references import FieldReferences
from sharedoa.heap.population import Population

from ..modes import half_of
from ..pairwise import pairwise
from ..source_files import load_module
from .conftest import SETTINGS
from .shapes import Circle, Node, Point, Shape, Square

pytestmark = pytest.mark.in_turns("heap", 3)

WAYS = ["together", "two runs", "backwards", "every second", "any order"]


@pytest.fixture(params=WAYS)
def objects(request, heap):
    """Twenty circles numbered in order, reached in different ways."""
    circles = oa.new(Circle, 40)
    chosen = {
        "together": lambda: circles[:20],
        "two runs": lambda: oa.concat(circles[25:35], circles[3:13]),
        "backwards": lambda: circles[19::-1],
        "every second": lambda: circles[::2],
        "any order": lambda: circles[np.random.default_rng(3).permutation(40)[:20]],
    }[request.param]()
    chosen.number = range(20)
    return chosen


def numbers(objects):
    return [o.number for o in objects]


def test_read(objects):
    assert objects.number.numpy().tolist() == numbers(objects) == list(range(20))
    assert objects.number.numpy().dtype == np.int32
    assert np.asarray(objects.number).sum() == 190
    assert len(objects.number) == 20 and objects.number.shape == (20,)
    assert objects.number.dtype == np.int32 and objects.number.size == 20


def test_assign(objects):
    objects.number = 7
    assert numbers(objects) == [7] * 20
    objects.number = np.arange(20, dtype=np.int64)
    assert numbers(objects) == list(range(20))
    objects.number[...] = objects.number.numpy()[::-1].copy()
    assert numbers(objects) == list(range(19, -1, -1))
    objects.number[:] = oa.array(oa.i32, range(20))
    objects.number[3:6] = [100, 101, 102]
    objects.number[np.array([0, 19])] = -1
    objects.number[objects.number > 100] = 55
    objects.number[10] = 77
    expected = [-1, 1, 2, 100, 55, 55, *range(6, 10), 77, *range(11, 19), -1]
    assert numbers(objects) == expected


def test_in_place(objects):
    objects.number *= 2
    objects.number += np.arange(20)
    assert numbers(objects) == [3 * i for i in range(20)]
    view = objects.number
    view //= 3
    view -= view.numpy().copy()[::-1]
    assert numbers(objects) == [2 * i - 19 for i in range(20)]
    np.abs(view, out=view)
    assert numbers(objects) == [abs(2 * i - 19) for i in range(20)]
    view[:5] += 1000
    assert numbers(objects)[:6] == [1019, 1017, 1015, 1013, 1011, 9]


def test_overlapping_operands(heap):
    circles = oa.new(Circle, 12, number=range(12))
    pieces = oa.concat(circles[6:], circles[:6])
    view = pieces.number
    view += view[::-1]
    expected = np.concatenate([np.arange(6, 12), np.arange(6)])
    assert view.numpy().tolist() == (expected + expected[::-1]).tolist()


def test_weak_numbers_stay_weak(objects):
    objects.radius = np.float32(0.1)
    objects.radius *= 0.1
    assert objects.radius[0] == np.float32(0.1) * np.float32(0.1)


def test_operators_make_numpy_arrays(objects):
    doubled = objects.number * 2 + 1
    assert type(doubled) is np.ndarray and doubled.tolist() == [2 * i + 1 for i in range(20)]
    assert (objects.number == 3).sum() == 1
    assert np.sum(objects.number) == 190
    assert (-objects.number).min() == -19


def test_one_run_is_a_view_and_several_are_not_writable(by_type):
    circles = oa.new(Circle, 8)
    view = circles.radius.numpy()
    view[2] = 5
    assert circles[2].radius == 5
    every_other = circles[::2].radius.numpy()
    every_other[:] = 3
    assert [c.radius for c in circles] == [3, 0, 3, 0, 3, 0, 3, 0]
    copy = circles[np.array([5, 1, 6])].radius.numpy()
    with pytest.raises(ValueError, match="read-only"):
        copy[0] = 1


def test_scattered_placement_gives_copies_and_writes_through():
    with oa.Heap(mode="cuda", backend="cpu"):
        circles = oa.new(Circle, 4)
        circles.radius[1:3] = 2
        circles.radius += 1
        assert circles.radius.numpy().tolist() == [1, 3, 3, 1]
        assert not circles.radius.numpy().flags.writeable


def test_value_structs_and_components(heap):
    nodes = oa.new(Node, 4, where=Point(1.0, 2.0))
    nodes.where["x"] *= 3
    nodes.where["y"] = np.arange(4)
    nodes[2].where = Point(9.0, 9.0)
    assert [(n.where.x, n.where.y) for n in nodes] == [(3, 0), (3, 1), (9, 9), (3, 3)]
    nodes.where = [Point(i, -i) for i in range(4)]
    assert nodes.where.numpy()["y"].tolist() == [0, -1, -2, -3]
    assert nodes.where[3] == Point(3.0, -3.0)
    nodes.where = nodes.where.numpy()[::-1].copy()
    assert nodes.where["x"].numpy().tolist() == [3, 2, 1, 0]
    with pytest.raises(oa.ArgumentError, match="no component 'z'"):
        _ = nodes.where["z"]
    with pytest.raises(oa.ArgumentError, match="no component 'x'"):
        _ = nodes.wide["x"]


def test_inline_arrays(heap):
    nodes = oa.new(Node, 4, weights=[1, 2, 3])
    assert nodes.weights.shape == (4, 3)
    assert nodes.weights.numpy().tolist() == [[1, 2, 3]] * 4
    nodes.weights = np.arange(12, dtype=np.float32).reshape(4, 3)
    nodes.weights *= [1, 10, 100]
    nodes.weights[:, 0] = 7
    nodes.weights[1:3, 1] = [5, 6]
    assert list(nodes[1].weights) == [7, 5, 500]
    assert list(nodes[3].weights) == [7, 100, 1100]
    assert nodes.weights[2].tolist() == [7, 6, 800]
    one = oa.new(Node, weights=2.5)
    assert list(one.weights) == [2.5] * 3
    with pytest.raises(oa.ArgumentError, match=r"shape \(4,\) for 4 objects with 3 elements"):
        nodes.weights = [1, 2, 3, 4]


def test_an_inline_array_is_given_its_own_elements(heap):
    node = oa.new(Node, weights=[1, 2, 3])
    node.weights = node.weights[::-1]
    assert list(node.weights) == [3, 2, 1]
    assert str(node.weights) == repr(node.weights) == f"{node.weights}" == "[3.0, 2.0, 1.0]"
    with pytest.raises(oa.ArgumentError, match=r"Node\.weights holds 3 elements, not 2"):
        node.weights = [5, 6]
    with pytest.raises(IndexError, match=r"index 7 is outside Node\.weights, which holds 3"):
        node.weights[7]
    assert list(node.weights) == [3, 2, 1]


def test_inline_references(heap):
    nodes = oa.new(Node, 3)
    nodes.children = [nodes[0], None]
    nodes[1].children[1] = nodes[2]
    assert [list(n.children) for n in nodes] == [
        [nodes[0], None],
        [nodes[0], nodes[2]],
        [nodes[0], None],
    ]
    rows = [[nodes[2], None], [None, nodes[1]], [None, None]]
    nodes.children = rows
    assert [list(n.children) for n in nodes] == rows


def test_references_of_a_field(heap):
    circles, squares = oa.new(Circle, 4), oa.new(Square, 4, number=range(4))
    circles.next = squares
    found = circles.next
    assert isinstance(found, oa.ObjectArray) and found.cls is Shape.__sharedoa__
    assert list(found) == list(squares)
    found.number += 10
    assert squares.number.numpy().tolist() == [10, 11, 12, 13]
    found[0] = circles[3]
    circles.next[1:3] = None
    assert [c.next for c in circles] == [circles[3], None, None, squares[3]]
    with pytest.raises(oa.HeapError, match="element 1: null is no object"):
        _ = circles.next.number
    kept = circles.next
    circles[1].next = squares[1]
    kept[2] = squares[2]
    assert circles[1].next == squares[1], "only what is assigned changes"
    circles.next = [None, squares[0], circles[0], None]
    circles.next = circles.next
    assert [c.next for c in circles] == [None, squares[0], circles[0], None]
    circles.next = None
    assert not any(c.next for c in circles)


def test_array_fields(heap):
    nodes, data = oa.new(Node, 3), oa.array(oa.i32, range(10))
    nodes.data = data
    nodes[1].data = data[2:5]
    assert [len(n.data) for n in nodes] == [10, 3, 10]
    assert nodes[1].data.numpy().tolist() == [2, 3, 4]
    nodes.data = [data[:1], data[:2], data[:3]]
    assert nodes.data.numpy()["length"].tolist() == [1, 2, 3]


def test_mixed_classes_have_the_fields_of_their_base(heap):
    shapes = oa.concat(oa.new(Circle, 3), oa.new(Square, 3))
    shapes.number = range(6)
    shapes.number *= 2
    assert [s.number for s in shapes] == [0, 2, 4, 6, 8, 10]
    with pytest.raises(
        AttributeError, match="Shape has no field or method 'side'; fields: number, next; methods:"
    ):
        _ = shapes.side
    with pytest.raises(AttributeError, match="no field or method 'colour'"):
        shapes.colour = 3


PUBLIC = sorted(
    name for kind in (FieldReferences, Population) for name in dir(kind) if not name.startswith("_")
)


@pytest.mark.parametrize("name", half_of(PUBLIC, 0))
def test_a_field_named_like_an_attribute_of_arrays(by_type, tmp_path, name):
    source = f"import sharedoa as oa\nclass Parcel(oa.Object):\n    {name}: oa.i64\n"
    source += f"    next: 'Parcel'\n    def double(self): self.{name} *= 2\n"
    parcel = load_module(tmp_path, source).Parcel
    parcels = oa.new(parcel, 3, **{name: [5, 6, 7]})
    for objects in (parcels, oa.all(parcel), oa.concat(parcels[:1], parcels[1:])):
        field = getattr(objects, name)
        assert isinstance(field, oa.FieldView) and field.numpy().tolist() == [5, 6, 7]
    parcels.next = parcels[[1, 2, 0]]
    assert getattr(parcels.next, name).numpy().tolist() == [6, 7, 5]
    assert (parcels.next == parcels[0]).tolist() == [False, False, True]
    parcels.double()
    oa.all(parcel).double()
    setattr(parcels[1:], name, 4)
    assert [getattr(each, name) for each in parcels] == [20, 4, 4]
    oa.delete(parcels[:1])
    assert getattr(oa.all(parcel), name).numpy().tolist() == [4, 4]


@pytest.mark.parametrize("name", half_of(PUBLIC, 1))
def test_a_method_named_like_an_attribute_of_arrays(by_type, tmp_path, name):
    source = "import sharedoa as oa\nclass Task(oa.Object):\n    number: oa.i32\n"
    source += f"    def {name}(self) -> oa.i32: return self.number + 1\n"
    task = load_module(tmp_path, source).Task
    tasks = oa.new(task, 3, number=[5, 6, 7])
    assert getattr(tasks, name)().numpy().tolist() == [6, 7, 8]
    assert getattr(oa.all(task), name)().numpy().tolist() == [6, 7, 8]


MISTAKES = [
    (lambda c: c.number.__itruediv__(2), "cannot take the result of divide"),
    (lambda c: c.number.__iadd__(np.ones(3)), "Circle.number cannot take"),
    (lambda c: c.number.__iadd__("x"), "Circle.number cannot take"),
    (lambda c: c.number.__ipow__(np.array([2] * 19 + [-1])), "cannot take the result of power"),
    (lambda c: c.number.__setitem__(slice(0, 2), [1, 2, 3]), "3 values for 2 places"),
    (lambda c: c.number.__setitem__(Ellipsis, 1.5), "write i32"),
    (lambda c: setattr(c, "radius", np.ones(3)), "3 values for 20 places"),
]


@pytest.mark.parametrize(
    ("heap", "objects", "mistake"),
    pairwise(SETTINGS, WAYS, MISTAKES),
    indirect=["heap", "objects"],
)
def test_mistakes(objects, mistake):
    change, text = mistake
    with pytest.raises(oa.ArgumentError, match=text):
        change(objects)
    assert numbers(objects) == list(range(20))


def test_powers_where_a_mask_is_set(objects):
    even = np.arange(20) % 2 == 0
    np.power(objects.number, 2, out=objects.number, where=even)
    assert numbers(objects) == [n**2 if n % 2 == 0 else n for n in range(20)]


def test_outside(objects):
    assert objects.number[-1] == 19
    for index in (20, -21):
        with pytest.raises(IndexError, match="outside 20 objects"):
            _ = objects.number[index]


def test_fields_of_nothing(heap):
    none = oa.new(Circle, 0)
    none.radius *= 2
    none.radius = 3
    none.radius[...] = 4
    assert none.radius.numpy().tolist() == [] and none.next.number.numpy().tolist() == []
    assert oa.all(Square).side.numpy().dtype == np.float64


def test_views_after_the_references_change(by_type):
    circles, squares = oa.new(Circle, 3), oa.new(Square, 3, number=5)
    shapes = oa.concat(circles)
    shapes = oa.array(Shape, list(circles))
    assert shapes.number.numpy().tolist() == [0, 0, 0]
    shapes[1] = squares[0]
    assert shapes.number.numpy().tolist() == [0, 5, 0]
    part = shapes[1:]
    part[1] = squares[1]
    assert shapes.number.numpy().tolist() == [0, 5, 5]
    oa.delete(circles[0])
    with pytest.raises(oa.HeapError, match="element 0: the Circle at"):
        _ = shapes.number


def test_what_lies_in_a_heap_fails_clearly_when_copied_or_pickled(heap):
    circles = oa.new(Circle, 3)
    messages = {
        "an object of Circle lies in the memory of its heap.*oa.dump": circles[0],
        r"Circle.radius lies in the memory of its heap.*.numpy\(\)": circles.radius,
        r"oa.all\(Circle\) is all objects of a heap.*oa.concat": oa.all(Circle),
    }
    for message, value in messages.items():
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=message):
                attempt(value)


def test_methods_of_numpy_are_said_to_be_numpys(heap):
    radius = oa.new(Circle, 3).radius
    with pytest.raises(AttributeError, match=r"Circle.radius has no attribute 'std'; use .numpy"):
        radius.std()
    with pytest.raises(AttributeError, match=r"Circle.radius has no attribute 'other'$"):
        radius.other()
