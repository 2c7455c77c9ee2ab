"""oa.split, and ``oa.Array`` fields of many objects that are set with it."""

import gc
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, i32

from .shapes import Circle, Node, Point, Shape

pytestmark = pytest.mark.in_turns("heap", 3)

LENGTHS = st.lists(st.integers(0, 5), max_size=12)


class Row(oa.Object):
    number: i32
    values: oa.Array[i32]
    shapes: oa.Array[Shape]
    points: oa.Array[Point]

    def total(self) -> i32:
        found = i32(0)
        for k in range(len(self.values)):
            found += self.values[k]
        return found


class WideRow(Row):
    more: f32


@oa.kernel
def add_up(rows: oa.Array[Row], totals: oa.Array[i32]) -> None:
    """The sums of the values and of the shapes' numbers."""
    row = oa.grid(1)
    total = rows[row].total()
    for k in range(len(rows[row].shapes)):
        total += rows[row].shapes[k].number
    totals[row] = total


def pieces_of(data, lengths):
    return [piece.tolist() for piece in np.split(data, np.cumsum(lengths))[:-1]]


@given(lengths=LENGTHS)
def test_pieces(heap, lengths):
    data = np.arange(sum(lengths), dtype=np.int32)
    array = oa.array(i32, data)
    pieces = oa.split(array, lengths)
    expected = pieces_of(data, lengths)
    assert isinstance(pieces, oa.SplitArray) and pieces.lengths.tolist() == lengths
    assert len(pieces) == len(lengths) and pieces.array is array
    assert [piece.numpy().tolist() for piece in pieces] == expected
    assert [pieces[k].numpy().tolist() for k in range(-len(lengths), len(lengths))] == expected * 2
    assert [p.numpy().tolist() for p in pieces[::-1]] == expected[::-1]
    mask = np.array(lengths, np.int64) > 1
    some = np.flatnonzero(mask)
    assert [p.numpy().tolist() for p in pieces[some]] == [p for p in expected if len(p) > 1]
    assert [p.numpy().tolist() for p in pieces[mask]] == [p for p in expected if len(p) > 1]


def test_pieces_share_memory(heap):
    array = oa.zeros(6, i32)
    pieces = oa.split(array, np.array([2, 0, 4], np.uint8))
    pieces[2][0] = 7
    array[5] = 8
    assert array.numpy().tolist() == [0, 0, 7, 0, 0, 8] and pieces[2].numpy().tolist()[3] == 8
    with pytest.raises(IndexError, match="index 3 is outside 3 pieces"):
        _ = pieces[3]
    with pytest.raises(IndexError, match="a row of positions"):
        _ = pieces[np.array([[0, 1]])]
    with pytest.raises(ValueError, match="read-only"):
        pieces.lengths[0] = 9
    assert repr(pieces) == "<3 pieces of Array[i32]>"


def test_nobody_else_changes_the_lengths(heap):
    lengths = np.array([1, 2])
    pieces = oa.split(oa.zeros(3, i32), lengths)
    lengths[:] = 100
    assert pieces.lengths.tolist() == [1, 2]


@settings(max_examples=20)
@given(lengths=LENGTHS)
def test_fields_of_many_objects(heap, lengths):
    """Every way to set a field is the same as a list of slices."""
    count, size = len(lengths), sum(lengths)
    numbers = np.arange(size, dtype=np.int32)
    values = oa.array(i32, numbers)
    shapes = oa.new(Circle, size, number=numbers)
    # Not in the order of their addresses.
    order = np.random.default_rng(size).permutation(size)
    points = oa.array(Point, [Point(float(k), 0.0) for k in range(size)])
    rows = oa.new(
        Row,
        count,
        values=oa.split(values, lengths),
        shapes=oa.split(shapes[order], lengths),
        points=oa.split(points, lengths),
    )
    expected = pieces_of(numbers, lengths)
    assert [row.values.numpy().tolist() for row in rows] == expected
    assert [[s.number for s in row.shapes] for row in rows] == pieces_of(order, lengths)
    assert [[int(p.x) for p in row.points] for row in rows] == expected
    assert rows.values.numpy()["length"].tolist() == lengths
    backwards = oa.split(values, lengths)[::-1]
    rows.values = backwards
    assert [row.values.numpy().tolist() for row in rows] == expected[::-1]
    starts = np.cumsum([0, *lengths])
    rows.values = [values[a:b] for a, b in itertools.pairwise(starts)]
    as_list = rows.values.numpy().copy()
    rows.values = oa.array(i32, [1])
    rows.values[...] = oa.split(values, lengths)
    assert (rows.values.numpy() == as_list).all()
    if count > 1:
        rows.values[1:] = oa.split(values, lengths)[:-1]
        assert [row.values.numpy().tolist() for row in rows][1:] == expected[:-1]


def test_from_a_field_of_other_objects(heap):
    rows = oa.new(Row, 4, values=oa.split(oa.array(i32, range(6)), [3, 0, 1, 2]))
    others = oa.new(WideRow, 4, values=rows.values)
    expected = [[0, 1, 2], [], [3], [4, 5]]
    assert [row.values.numpy().tolist() for row in others] == expected
    rows.values = rows.values[::-1]
    assert [row.values.numpy().tolist() for row in rows] == expected[::-1]
    others.values[1:3] = rows.values[:2]
    assert [row.values.numpy().tolist() for row in others] == [[0, 1, 2], [4, 5], [3], [4, 5]]
    with pytest.raises(
        oa.ArgumentError, match=r"Row\.values takes Array\[i32\], not arrays of Poi"
    ):
        rows.values = rows.points
    with pytest.raises(oa.ArgumentError, match=r"Row\.values: 2 values for 4 places"):
        rows.values = others.values[:2]
    with pytest.raises(ValueError, match="read-only"):
        rows.values.numpy()["length"][0] = 100
    with oa.Heap(mode="auto", backend="cpu", capacity="1MiB"):
        elsewhere = oa.new(Row, 4)
        with pytest.raises(oa.ArgumentError, match="another heap"):
            elsewhere.values = rows.values


def test_objects_of_several_classes_and_regions(heap):
    rows = oa.concat(oa.new(WideRow, 30), oa.new(Row, 30))[::-1]
    lengths = np.arange(60) % 3
    rows.values = oa.split(oa.array(i32, range(lengths.sum())), lengths)
    expected = pieces_of(np.arange(lengths.sum()), lengths)
    assert [row.values.numpy().tolist() for row in rows] == expected


def test_kernels_see_them(mode, backend):
    """In every mode, on every backend."""
    lengths = np.array([3, 0, 1, 0, 0, 4, 2])
    numbers = np.arange(10, dtype=np.int32)
    with oa.Heap(mode=mode, backend=backend, capacity="64MiB", initial_region=4):
        rows = oa.new(
            Row,
            7,
            values=oa.split(oa.array(i32, numbers), lengths),
            shapes=oa.split(oa.new(Circle, 10, number=10 * numbers)[::-1], lengths),
        )
        totals = oa.zeros(7, i32)
        add_up[7](rows, totals)
        expected = [
            sum(values) + 10 * sum(shapes)
            for values, shapes in zip(
                pieces_of(numbers, lengths), pieces_of(numbers[::-1], lengths), strict=True
            )
        ]
        assert totals.numpy().tolist() == expected


def test_the_memory_lives_as_long_as_a_field_or_a_piece(heap):
    nothing = heap.stats().array_bytes
    rows = oa.new(Row, 3, values=oa.split(oa.array(i32, range(2000)), [0, 2000, 0]))
    references = heap.stats().array_bytes - nothing

    def collect():
        gc.collect()
        oa.synchronize()
        heap.memory.collect(thorough=True)
        oa.array(i32, np.full(3000, 7))  # takes what has become free
        return heap.stats().array_bytes

    collect()
    assert rows[1].values.numpy().tolist() == list(range(2000))
    pieces = oa.split(rows[1].values, [1, 1999])
    rows.values = oa.zeros(0, i32)
    collect()
    assert pieces[1].numpy().tolist() == list(range(1, 2000))
    rows.values = pieces[[0, 0, 0]]
    del pieces
    collect()
    assert rows[2].values.numpy().tolist() == [0], "one address inside keeps the whole array"
    rows.values = oa.zeros(0, i32)
    collect()
    heap.memory.collect(thorough=True)
    assert heap.stats().array_bytes < nothing + references


def test_an_empty_piece_holds_no_memory(by_type):
    """One past the end is the address of another array."""
    array = oa.zeros(64, i32)
    pieces = oa.split(array, [64, 0])
    oa.new(Row, 1, values=pieces[1:])
    stored = by_type.all(Row)
    assert next(stored.by_class()).values.numpy()["address"].tolist() == [0]


@settings(max_examples=10)
@given(lengths=LENGTHS)
def test_dump_and_load(heap, tmp_path, lengths):
    numbers = np.arange(sum(lengths), dtype=np.int32)
    shapes = oa.new(Circle, len(numbers), number=numbers)
    rows = oa.new(
        Row,
        len(lengths),
        number=range(len(lengths)),
        values=oa.split(oa.array(i32, numbers), lengths),
        shapes=oa.split(shapes, lengths),
    )
    file = tmp_path / "rows"
    heap.dump(file, rows=rows)
    with oa.Heap(mode="typepointer", backend="cpu", capacity="64MiB") as other:
        loaded = other.load(file)["rows"]
        expected = pieces_of(numbers, lengths)
        assert [row.values.numpy().tolist() for row in loaded] == expected
        assert [[shape.number for shape in row.shapes] for row in loaded] == expected
    oa.delete(rows)
    oa.delete(shapes)


@pytest.mark.parametrize(
    ("lengths", "text"),
    [
        ([2, 2], "the lengths are 4 elements together, and the array has 5.*\n.*np.diff"),
        ([], "the lengths are 0 elements together"),
        ([2, -1, 4], "not all between 0 and 5: piece 1 has -1"),
        ([5, 6, -6], "not all between 0 and 5: piece 1 has 6"),
        (np.array([1 << 63, 5], np.uint64), "piece 0 has 9223372036854775808"),
        ([2.0, 3.0], "float64, not whole numbers"),
        ([True, True], "bool, not whole numbers"),
        (["a"], "not whole numbers"),
        ([[2, 3]], "have 2 dimensions"),
        (5, "have 0 dimensions"),
        (None, "have 0 dimensions"),
        ([[1], [2, 3]], "are no array"),
        ([1 << 70], "not whole numbers"),
    ],
)
def test_wrong_lengths(by_type, lengths, text):
    array = oa.zeros(5, i32)
    with pytest.raises(oa.ArgumentError, match=text):
        oa.split(array, lengths)


def test_what_cannot_be_split(by_type):
    oa.new(Circle, 2)
    with pytest.raises(oa.ArgumentError, match="takes an array of a heap, not a NumPy array"):
        oa.split(np.arange(3), [3])
    with pytest.raises(oa.ArgumentError, match=r"not Population.*\n.*oa.concat\(oa.all"):
        oa.split(oa.all(Circle), [2])
    assert len(oa.split(oa.concat(oa.all(Circle)), [2])[0]) == 2


@pytest.mark.parametrize(
    ("element", "text"),
    [
        (f32, r"Row.values takes Array\[i32\], not arrays of f32"),
        (Shape, r"not arrays of Shape"),
    ],
)
def test_pieces_of_another_type(heap, element, text):
    rows, pieces = oa.new(Row, 3), oa.split(oa.zeros(6, element), [2, 2, 2])
    with pytest.raises(oa.ArgumentError, match=text):
        rows.values = pieces
    with pytest.raises(oa.ArgumentError, match=text):
        oa.new(Row, 3, values=pieces)
    assert heap.placement.count(Row.__sharedoa__) == 3, "none was made"


def test_a_base_class_does_not_do(heap):
    nodes = oa.new(Node, 2)
    nodes.friends = oa.split(oa.concat(nodes, nodes), [2, 2])
    shapes = oa.array(Shape, oa.new(Circle, 2))
    with pytest.raises(oa.ArgumentError, match=r"Node.friends takes .*not arrays of Shape"):
        nodes.friends = oa.split(shapes, [1, 1])


def test_other_mistakes(heap):
    rows, array = oa.new(Row, 3), oa.zeros(6, i32)
    for lengths in ([3, 3], [2, 2, 1, 1], []):
        pieces = oa.split(array[: sum(lengths)], lengths)
        text = f"Row.values: {len(lengths)} values for 3 places"
        with pytest.raises(oa.ArgumentError, match=text):
            rows.values = pieces
        with pytest.raises(oa.ArgumentError, match=text):
            oa.new(Row, 3, values=pieces)
    pieces = oa.split(array, [2, 2, 2])
    for wrong in (lambda: oa.new(Row, values=pieces), lambda: setattr(rows[0], "values", pieces)):
        with pytest.raises(oa.ArgumentError, match=r"takes Array\[i32\], not SplitArray"):
            wrong()
    with pytest.raises(oa.ArgumentError, match=r"Row\.number"):
        rows.number = pieces
    with oa.Heap(mode="auto", backend="cpu", capacity="1MiB"):
        elsewhere = oa.split(oa.zeros(6, i32), [2, 2, 2])
    with pytest.raises(oa.ArgumentError, match=r"Row\.values is given something.*another heap"):
        rows.values = elsewhere
    assert rows.values.numpy()["length"].tolist() == [0, 0, 0]
