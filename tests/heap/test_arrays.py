"""oa.Array on the host."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, u8, u64
from sharedoa.heap import memory
from sharedoa.model.layout import unpack_array

from .shapes import Circle, Node, Point, Ring, Shape, Square

pytestmark = pytest.mark.in_turns("heap", 3)


class Holders(oa.Object):
    circles: oa.inline[Circle, 3]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (np.arange(4, dtype=np.int32), [0, 1, 2, 3]),
        (np.arange(8, dtype=np.int64)[::2], [0, 2, 4, 6]),
        ([1, 2, 3], [1, 2, 3]),
        ((1, True), [1, 1]),
        (range(3), [0, 1, 2]),
        ({0: "a", 1: "b", 4: "c"}.keys(), [0, 1, 4]),
        ([], []),
        (np.array([], np.int32), []),
        (np.arange(3, dtype=">i4"), [0, 1, 2]),
        (np.arange(3, dtype=">u8"), [0, 1, 2]),
    ],
)
def test_from_data(heap, data, expected):
    made = oa.array(i32, data)
    assert made.numpy().tolist() == expected and made.numpy().dtype == np.int32
    assert len(made) == len(expected) and made.dtype == np.int32


def test_floats_of_16_bits_and_of_the_other_byte_order(heap):
    for dtype in (np.float16, ">f4", ">f8", ">f2"):
        values = np.array([[0.5, -2], [65504, 0]]).astype(dtype)
        assert oa.array(f32, values).numpy().tolist() == values.tolist()
        circles = oa.new(Circle, 2)
        circles.radius = values[1]
        assert circles.radius.numpy().tolist() == [65504, 0]


def test_the_data_are_copied(heap):
    data = np.arange(3, dtype=np.float32)
    made = oa.array(f32, data)
    made[0] = 9
    assert data[0] == 0
    copied = oa.array(f32, made)
    copied[1] = 5
    assert made.numpy().tolist() == [9, 1, 2]


@pytest.mark.parametrize(
    ("element", "data", "text"),
    [
        (i32, np.ones(3), "an array of float64 does not convert.*\n.*astype"),
        (i32, [1.5], "float64 does not convert"),
        (i32, np.ones(3, np.float16), "an array of float16 does not convert"),
        (f32, np.ones(3, np.longdouble), "does not convert"),
        (u8, [300], "300 does not fit"),
        (u8, np.array([300], ">i2"), "300 does not fit"),
        (i32, ["a"], "does not convert"),
        (i32, 5, "is made from a sequence, not 5"),
        (i32, np.array(5), r"is made from a sequence, not array\(5\)"),
        (i32, None, "is made from a sequence"),
        (f32, np.ones((2, 2, 1)), "one or two dimensions, and the data have 3"),
        (f32, [[1.0, 2.0], [3.0]], "values that are no array"),
        (Circle, [1], "takes Circle, not int 1"),
        (Point, [1.0], "takes Point"),
        (bool, [2.5], "does not convert"),
    ],
)
def test_data_that_do_not_convert(heap, element, data, text):
    with pytest.raises(oa.ArgumentError, match=text):
        oa.array(element, data)


@pytest.mark.parametrize(
    "element", [complex, np.float16, "Nowhere", oa.Array[f32], oa.inline[f32, 2], oa.Object]
)
def test_what_no_array_holds(heap, element):
    with pytest.raises((oa.ClassError, oa.ArgumentError)):
        oa.zeros(3, element)


@pytest.mark.parametrize("length", [-1, 2.5, "3"])
def test_bad_lengths(heap, length):
    with pytest.raises(oa.ArgumentError, match="the length of an array is"):
        oa.zeros(length, f32)


def test_zeros_of_arguments_in_the_wrong_order(heap):
    with pytest.raises(oa.ArgumentError, match=r"oa.zeros takes the type of elements second") as e:
        oa.zeros(f32, 3)
    assert e.value.help == "write the length first: oa.zeros(3, f32)"


def test_elements(heap):
    made = oa.array(f64, [1, 2, 3])
    made[1] = 5
    made[-1] = np.float32(2.5)
    assert made[1] == 5.0 and type(made[0]) is np.float64 and list(made) == [1, 5, 2.5]
    for index in (3, -4):
        with pytest.raises(IndexError, match="outside an array of 3 elements"):
            _ = made[index]
        with pytest.raises(IndexError):
            made[index] = 1
    with pytest.raises(oa.ArgumentError, match="takes f64"):
        made[0] = "x"
    assert oa.array(bool, [True, False])[1] is False


def test_slices(heap):
    made = oa.array(i32, range(10))
    part = made[2:5]
    part[0] = 77
    part[1:] = [78, 79]
    assert made.numpy().tolist() == [0, 1, 77, 78, 79, 5, 6, 7, 8, 9]
    assert made[8:20].numpy().tolist() == [8, 9] and len(made[5:2]) == 0
    copy = made[::3]
    copy[0] = 1000
    assert made[0] == 0 and copy.numpy().tolist() == [1000, 78, 6, 9]
    assert made[made.numpy() > 70].numpy().tolist() == [77, 78, 79]
    assert made[np.array([3, 0])].numpy().tolist() == [78, 0]
    made[made.numpy() > 70] = 2
    made[[0, 1]] = [8, 9]
    assert made.numpy().tolist() == [8, 9, 2, 2, 2, 5, 6, 7, 8, 9]


def test_arithmetic_in_place_and_out(heap):
    made = oa.array(i32, range(4))
    same = made
    made += 10
    made *= oa.array(i32, [1, 2, 3, 4])
    made[1:3] -= 2
    assert same is made and made.numpy().tolist() == [10, 20, 34, 52]
    assert type(made + 1) is np.ndarray and (made == 20).tolist() == [False, True, False, False]
    assert np.add(made, made).tolist() == [20, 40, 68, 104]
    assert np.sum(made) == 116 and np.mean(np.asarray(made)) == 29
    with pytest.raises(oa.ArgumentError, match=r"Array\[i32\] cannot take the result of divide"):
        made /= 2
    with pytest.raises(AttributeError, match=r"'std'; use .numpy\(\)"):
        made.std()


def test_interfaces(heap):
    made = oa.array(f32, [1, 2, 3])
    assert np.shares_memory(np.asarray(made), made.numpy())
    # NumPy takes memory of a GPU only if told that the host is where it is wanted.
    where = {"device": "cpu"} if heap.backend.name == "cuda" else {}
    assert np.from_dlpack(made, **where).tolist() == [1, 2, 3]
    assert np.array(made, dtype=np.float64).dtype == np.float64
    assert made.__array_interface__["data"][0] == made.address
    assert hasattr(made, "__cuda_array_interface__") == (heap.backend.name == "cuda")
    assert unpack_array(made._packed) == (made.address, 3)
    assert repr(made) == "Array[f32](array([1., 2., 3.], dtype=float32))"


def test_value_structs(heap):
    made = oa.array(Point, [Point(1.0, 2.0), Point(3.0, 4.0)])
    made[0] = Point(5.0, 6.0)
    assert made[0] == Point(5.0, 6.0) and list(made)[1] == Point(3.0, 4.0)
    made.numpy()["x"] += 1
    assert made.numpy()["x"].tolist() == [6, 4]
    again = oa.array(Point, made.numpy())
    assert again[1] == Point(4.0, 4.0)
    assert len(oa.zeros(3, Point)) == 3 and oa.zeros(3, Point)[2] == Point(0.0, 0.0)


@oa.value
class Wire:
    end: Circle
    place: Point
    way: oa.vec3
    weight: f32


def test_components(heap):
    circles, wires = oa.new(Circle, 4), oa.zeros(4, Wire)
    wires["end"], wires["weight"] = circles[[3, 0, 2, 1]], np.arange(4)
    wires["weight"] *= 2
    wires["way"] = np.arange(12).reshape(4, 3)
    wires["place"] = Point(1.0, 2.0)
    assert wires[1] == Wire(circles[0], Point(1, 2), oa.vec3(3, 4, 5), 2.0)
    assert list(wires["end"]) == [circles[k] for k in (3, 0, 2, 1)]
    points = oa.zeros((2, 3), Point)
    points["x"], points["y"] = [[1, 2, 3], [4, 5, 6]], 7
    assert points["x"].shape == (2, 3) and points[1, 2] == Point(6, 7)
    ways = oa.zeros(2, oa.vec3)
    ways["z"] = 5
    with pytest.raises(AttributeError, match=r"has no attribute 'z'; .* it is \[\"z\"\]"):
        ways.z
    assert ways[1] == oa.vec3(0, 0, 5) and ways["z"].tolist() == [5, 5]
    with pytest.raises(oa.ArgumentError, match=r"has no component 'far'\nhelp: it has end, place"):
        wires["far"]
    with pytest.raises(oa.ArgumentError, match="3 values for 4 places"):
        wires["weight"] = [1, 2, 3]
    with pytest.raises(oa.ArgumentError, match="only value structs have components"):
        oa.zeros(3, f32)["x"] = 1


def test_references(heap):
    circles = oa.new(Circle, 3)
    made = oa.array(Shape, [circles[2], None, circles[0]])
    assert isinstance(made, oa.ObjectArray) and list(made) == [circles[2], None, circles[0]]
    made[1] = circles[1]
    made[0:1] = [None]
    assert list(made) == [None, circles[1], circles[0]]
    assert (made == circles[1]).tolist() == [False, True, False]
    assert (made != None).tolist() == [False, True, True]  # noqa: E711
    assert (made == made).all()
    assert made.numpy().dtype == made.heap.encoding.dtype and made.numpy()[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        made.numpy()[0] = 5
    with pytest.raises(oa.ArgumentError, match="cannot compute with references to Shape"):
        made += 1
    with pytest.raises(oa.ArgumentError, match="takes Circle, not Array"):
        oa.array(Circle, made)
    assert repr(made) == "<Array[Shape] of 3>"
    assert len(oa.zeros(4, Shape)) == 4 and oa.zeros(4, Shape)[3] is None
    assert list(oa.array(Shape, oa.all(Circle))) == list(oa.all(Circle))


class TestConcat:
    def test_scalars(self, heap):
        joined = oa.concat(oa.array(f32, [1]), oa.array(f32, [2, 3]), oa.zeros(0, f32))
        assert joined.numpy().tolist() == [1, 2, 3]

    def test_the_closest_common_class(self, heap):
        circles, rings, squares = oa.new(Circle, 1), oa.new(Ring, 2), oa.new(Square, 1)
        assert oa.concat(circles, rings).cls is Circle.__sharedoa__
        assert oa.concat(rings, squares).cls is Shape.__sharedoa__
        assert list(oa.concat(oa.all(Circle), squares)) == [*circles, *rings, *squares]

    def test_mistakes(self, heap):
        class Other(oa.Object):
            x: i32

        with pytest.raises(oa.ArgumentError, match="given nothing"):
            oa.concat()
        with pytest.raises(oa.ArgumentError, match="Circle, Other have no common base"):
            oa.concat(oa.new(Circle, 1), oa.new(Other, 1))
        with pytest.raises(oa.ArgumentError, match="different types: f32, i32"):
            oa.concat(oa.zeros(1, f32), oa.zeros(1, i32))
        with pytest.raises(oa.ArgumentError, match="different types: f32, Circle"):
            oa.concat(oa.zeros(1, f32), oa.new(Circle, 1))
        with pytest.raises(oa.ArgumentError, match="different types: list"):
            oa.concat([1, 2])


class TestMemory:
    def test_it_goes_with_the_last_user(self, heap):
        before = heap.stats().array_bytes
        users = [oa.zeros(1000, f32)]
        users.append(users[0][10:20])
        users.append(users[1].numpy())
        users.append(users[2][::2])
        while users:
            gc.collect()
            oa.synchronize()
            assert heap.stats().array_bytes > before
            users.pop(0)
        gc.collect()
        oa.synchronize()
        assert heap.stats().array_bytes == before

    def test_a_view_stays_valid(self, heap):
        view = oa.array(i32, range(1000)).numpy()
        gc.collect()
        oa.synchronize()
        others = [oa.array(i32, np.full(1000, 7)) for _ in range(5)]
        assert view.tolist() == list(range(1000)) and len(others) == 5

    def test_not_while_a_launch_may_use_it(self, by_type):
        made = oa.array(i32, [1, 2, 3])
        address = made.address
        by_type.note_launch()
        del made
        gc.collect()
        assert oa.zeros(3, i32).address != address
        oa.synchronize()
        assert oa.zeros(3, i32).address == address

    def test_the_heap_lives_as_long_as_its_arrays(self):
        with oa.Heap(mode="auto", backend="cpu", capacity="1MiB"):
            view = oa.array(i32, [1, 2, 3]).numpy()
            circles = oa.new(Circle, 3)
        gc.collect()
        circles.number = view
        assert circles.number.numpy().tolist() == [1, 2, 3]

    @pytest.mark.parametrize("mode", ["auto", "cuda"])
    def test_a_heap_goes_at_once_with_its_last_user(self, mode):
        gc.collect()
        gc.disable()
        try:
            with oa.Heap(mode=mode, backend="cpu", capacity="1MiB") as heap:
                circles = oa.new(Circle, 3)
                circles.radius *= 2
                assert len(oa.all(Shape)) == len(next(oa.all(Shape).by_class())) == 3
                heap.launch_state()
                alive = weakref.ref(heap)
            del heap, circles
            assert alive() is None
        finally:
            gc.enable()


def test_arrays_that_are_copied_or_pickled_fail_clearly():
    with oa.Heap(mode="auto", backend="cpu") as heap:
        array = heap.zeros(4, oa.f32)
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="make another one"):
                attempt(array)


def test_a_loop_that_drops_arrays_and_never_waits_needs_no_more_memory(monkeypatch):
    monkeypatch.setattr(memory, "_LOOK_BYTES", 1 << 20)
    with oa.Heap(mode="auto", capacity="1GiB") as heap:
        node, kept = oa.new(Node), oa.array(f32, np.arange(1000))
        node.data = oa.array(i32, range(5000))  # held by a field alone
        values, most = np.ones(25_000, np.float32), 0
        for _ in range(400):
            made = oa.array(f32, values)
            most = max(most, heap.memory.arrays.bytes_used)
        assert most < 12 << 20  # of 40
        assert node.data.numpy()[-1] == 4999 and kept[-1] == 999 and made[-1] == 1


def test_types_of_numpy_and_python_are_taken_as_numpy_takes_them(heap):
    for given, dtype in (
        (np.float32, "f4"), (np.dtype("f8"), "f8"), (float, "f8"), (int, "i8"), (bool, "?"),
        (np.bool_, "?"), (np.uint8, "u1"),
    ):  # fmt: skip
        assert oa.zeros(2, given).dtype == oa.array(given, [True, False]).dtype == np.dtype(dtype)


def test_signed_numbers_that_fit_are_taken_for_unsigned_ones(heap):
    assert oa.array(u64, np.arange(3)).numpy().tolist() == [0, 1, 2]
    assert oa.array(u8, np.array([255], np.int16)).numpy().tolist() == [255]
    assert len(oa.array(u64, np.zeros(0, np.int64))) == 0
    with pytest.raises(oa.ArgumentError, match="takes u64, and -1 does not fit it"):
        oa.array(u64, np.array([3, -1]))
    with pytest.raises(oa.ArgumentError, match="takes u8, and 256 does not fit it"):
        oa.array(u8, np.array([256], np.int16))
    with pytest.raises(oa.ArgumentError, match="an array of float64 does not convert"):
        oa.array(u64, np.array([1.0]))


def test_ints_that_numpy_makes_floats_of(heap):
    """Python's own, where one is beyond an i64 and another one would fit it."""
    most = 2**64 - 1
    for given in ([5, most], (5, most), iter([5, most]), [np.uint64(5), most]):
        assert oa.array(u64, given).numpy().tolist() == [5, most]
    assert oa.array(u64, [[5, most]]).numpy().tolist() == [[5, most]]
    for given, outside in (([-1, 2**63], -1), ([1, 2**64], 2**64)):
        with pytest.raises(oa.ArgumentError, match=f"takes u64, and {outside} does not fit it"):
            oa.array(u64, given)
    with pytest.raises(oa.ArgumentError, match="takes i64, and 9223372036854775808 does not fit"):
        oa.array(oa.i64, [1, 2**63])


def test_an_index_of_two_dimensions_chooses_rows(heap):
    circles, rows = oa.new(Circle, 3), np.array([[0, 1, 2], [2, 1, 0]])
    with pytest.raises(oa.ArgumentError, match=r"in 3 dimensions\n.*one or two"):
        circles[rows[None]]
    chosen = circles[rows]
    assert isinstance(chosen, oa.Array2) and chosen[1, 0] == circles[2]
    assert oa.all(Circle)[rows].shape == (2, 3)
    holders = oa.new(Holders, 2)
    for given in (chosen, [circles[row] for row in rows]):
        holders.circles = None
        holders.circles = given
        assert holders[1].circles[0] == circles[2] and holders[0].circles[0] == circles[0]
    holders.circles[:, 1:] = circles[rows[::-1, 1:]]
    assert [each.circles[2] for each in holders] == [circles[0], circles[2]]
    assert [each.circles[0] for each in holders] == [circles[0], circles[2]]
    oa.delete(circles[1])
    with pytest.raises(oa.HeapError, match="deleted"):
        holders.circles = chosen
    with pytest.raises(oa.ArgumentError, match="takes Circle, not"):
        holders.circles = oa.zeros((2, 3), f32)
    assert oa.array(f32, [1, 2, 3])[rows].numpy().tolist() == [[1, 2, 3], [3, 2, 1]]
