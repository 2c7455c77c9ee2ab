"""Parts of fields: what is written reaches the objects, and only that, however these lie."""

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, i64

from ..pairwise import pairwise
from .shapes import Node, Point


class Row(oa.Object):
    v: i32
    h: oa.inline[f32, 4]
    points: oa.inline[Point, 3]
    where: Point


class Edge(oa.Object):
    to: Row


SETTINGS = [
    (mode, backend, layout)
    for backend in ("python", "cpu")
    for mode, layout in (("auto", "aos"), ("auto", "tile"), ("cuda", "aos"))
]


@pytest.fixture(params=SETTINGS, ids="-".join)
def heap(request):
    mode, backend, layout = request.param
    with oa.Heap(mode, backend, layout, "64MiB", initial_region=32) as made:
        yield made


WAYS = ["together", "any order", "repeated runs"]


@pytest.fixture(params=WAYS)
def rows(request, heap):
    """Forty rows, reached in different ways, with values 0, 1, 2, ..."""
    made = oa.new(Row, 80)
    chosen = {
        "together": lambda: made[:40],
        "any order": lambda: made[np.random.default_rng(3).permutation(80)[:40]],
        "repeated runs": lambda: oa.concat(made[50:70], made[10:30]),
    }[request.param]()
    chosen.v = np.arange(40)
    chosen.h = np.arange(160.0, dtype=np.float32).reshape(40, 4)
    return chosen


def anywhere(name, values):
    """Where rows lie, how they are reached, and what is done, of which no two know each other."""
    return pytest.mark.parametrize(
        ("heap", "rows", name), pairwise(SETTINGS, WAYS, values), indirect=["heap", "rows"]
    )


def in_objects(rows):
    return [list(row.h) for row in rows]


INDICES = [
    (slice(None), 0),
    (slice(None), slice(1, 3)),
    (slice(3, 9, 2), slice(None, None, -2)),
    (slice(None, None, -1), 2),
    (slice(None, None, -1), slice(None, 1, -1)),
    ([7, 7, 1], slice(1, 1)),
    (slice(0, 0), 1),
    (0, slice(1, None)),
    (-1, 2),
    (np.int64(5), ...),
    (..., 1),
    ([1, 7, 3], slice(2)),
    ([1, 7, 3], [0, 3, 1]),
    (np.arange(40) % 3 == 0, 2),
    (np.array([[1], [2]]), [0, 3]),
    (None, 3, 1),
    np.arange(160).reshape(40, 4) % 7 == 0,
    ...,
    slice(4, 6),
    [3, -4],
    (),
]


@anywhere("index", INDICES)
def test_assignment_is_that_of_numpy(rows, index):
    expected = rows.h.numpy().copy()
    given = 1000 + np.arange(expected[index].size, dtype=np.float32).reshape(expected[index].shape)
    for value in (given, -5):
        rows.h[index] = value
        expected[index] = value
        assert in_objects(rows) == expected.tolist()
    rows.h[index] += 2
    expected[index] += 2
    assert in_objects(rows) == expected.tolist()


@anywhere("index", [..., slice(2, 5), [4, 2], 3, np.arange(40) > 30, (..., 2)])
def test_one_value_an_object(rows, index):
    expected = rows.v.numpy().copy()
    for _ in range(2):
        rows.v[index] += 3
        expected[index] += 3
    rows.v[index] = 2 * rows.v.numpy()[index]
    expected[index] *= 2
    assert [row.v for row in rows] == expected.tolist()


def test_one_value_an_object_has_no_elements(rows):
    with pytest.raises(IndexError, match="too many indices"):
        rows.v[0, 0] = 1
    rows.v[0, ...] = 50
    assert rows[0].v == 50


def test_what_is_assigned_by_many_dimensions(rows):
    rows.v[[[0, 1], [2, 3]]] = [[10, 11], [12, 13]]
    rows.h[0, 1:] = [7, 8, 9]
    rows.h[:2, 2:] = np.ones((1, 2, 2), np.float32)
    rows.h[1:3, :2] = [[50], [60]]
    assert rows.v.numpy()[:5].tolist() == [10, 11, 12, 13, 4]
    assert in_objects(rows)[:3] == [[0, 7, 1, 1], [50, 50, 1, 1], [60, 60, 10, 11]]


def test_columns_move_onto_each_other(rows):
    expected = rows.h.numpy().copy()
    rows.h[:, 1:] = rows.h[:, :-1]
    expected[:, 1:] = expected[:, :-1].copy()
    assert in_objects(rows) == expected.tolist()


def test_an_object_that_occurs_twice(heap):
    made = oa.new(Row, 2)
    some = made[[0, 0, 1]]
    some.h[0, 1] = 5
    assert made[0].h[1] == 5
    some.h[1][2] = 6
    some.h[:, 3][0] = 7
    assert [list(row.h) for row in made] == [[0, 5, 6, 7], [0, 0, 0, 0]]
    edges = oa.new(Edge, 3)
    edges.to = [made[0], made[1], made[0]]
    edges.to.h[np.array([True, False, False]), 0] = 7
    edges.to.h[[1, 2], 1] += 1
    assert [list(row.h) for row in made] == [[7, 6, 6, 7], [0, 1, 0, 0]]


def test_rows_write_through(rows):
    expected = rows.h.numpy().copy()
    rows.h[3][2] = 99
    expected[3][2] = 99
    for row, mine in zip(rows.h, expected, strict=True):
        row[1:] = 4
        row += mine[0]
        mine[1:] = 4
        mine += mine[0].copy()
        assert row.tolist() == mine.tolist()
    for row in rows.h[...]:
        row[-1] = -1
    expected[:, -1] = -1
    assert in_objects(rows) == expected.tolist()


def test_parts_of_parts_write_through(rows):
    expected = rows.h.numpy().copy()
    for values in (rows.h[...], expected):
        values[2:5][1][::2] *= 10
        values[:, 1:3][[0, 6], 1] = [77, 78]
        values[[1, 2]][:] = 5  # NumPy's own copy
        np.multiply(values[7], 2, out=values[7], where=[True, False, True, False])
        inner = values[8:, ::-1]
        inner -= inner[0]
    assert in_objects(rows) == expected.tolist()


def test_value_structs_write_through(rows):
    rows.where = [Point(i, -i) for i in range(40)]
    whole = rows.where[...]
    whole["x"] += 1
    whole["y"][3] = 30
    rows.where[1:3] = Point(8, 9)
    rows.points[:, 1] = Point(1, 2)
    rows.points[4, 1:] = [Point(3, 4), Point(5, 6)]
    rows.points[5]["x"][2] = 11
    places = [(row.where.x, row.where.y) for row in rows]
    assert places[:5] == [(1, 0), (8, 9), (8, 9), (4, 30), (5, -4)]
    assert [list(row.points) for row in rows[3:6]] == [
        [Point(0, 0), Point(1, 2), Point(0, 0)],
        [Point(0, 0), Point(3, 4), Point(5, 6)],
        [Point(0, 0), Point(1, 2), Point(11, 0)],
    ]


def test_inline_references_by_block(heap):
    nodes = oa.new(Node, 3)
    nodes.children[:, 1] = nodes
    nodes.children[:2, :] = [[None, nodes[2]], [nodes[2], nodes[0]]]
    nodes[2].children[:] = [nodes[1], None]
    expected = [[None, nodes[2]], [nodes[2], nodes[0]], [nodes[1], None]]
    assert [list(node.children) for node in nodes] == expected
    assert nodes[1].children[::-1] == [nodes[0], nodes[2]]
    with pytest.raises(oa.ArgumentError, match="rows of different lengths"):
        nodes.children[:2, :] = [[None], [None, None]]


def test_parts_of_one_object(rows):
    row = rows[6]
    row.h[1:] = 3
    row.h[[0, -1]] = [1, 2]
    assert list(row.h) == [1, 3, 3, 2] and row.h[1:].tolist() == [3, 3, 2]
    row.h[2:] += 10
    row.h[:][0] = 5
    row.h[...] *= 2
    assert list(row.h) == [10, 6, 26, 24]
    assert in_objects(rows)[7] == [28, 29, 30, 31]
    with pytest.raises(oa.ArgumentError, match=r"Row.h: 2 values for 3 places"):
        row.h[1:] = [1, 2]


def test_nothing_is_lost_silently(rows):
    before = in_objects(rows)
    for values in (rows.h[...], rows.h[2], rows.h[:, 1]):
        if type(values) is not np.ndarray:
            with pytest.raises(ValueError, match="read-only"):
                values.fill(3)
            with pytest.raises(ValueError, match="read-only"):
                values.T[...] = 3
            with pytest.raises(ValueError, match="read-only"):
                values.flat[0] = 3
            with pytest.raises(ValueError, match="read-only"):
                values.reshape(-1).__iadd__(3)
        own = values.copy()
        own += 1
        own[...] = 8
    if type(rows.where[...]) is not np.ndarray:
        with pytest.raises(ValueError, match="read-only"):
            rows.where[...][0]["x"] = 3
        with pytest.raises(ValueError, match="read-only"):
            rows.where[...][["x", "y"]] = (3, 4)
    assert in_objects(rows) == before
    assert type(rows.h[0] + 1) is np.ndarray and repr(rows.h[0]) == repr(rows.h.numpy()[0])


@anywhere(
    "mistake",
    [
        (lambda h: h.__setitem__((slice(None), slice(2)), np.ones((3, 2), "f4")), oa.ArgumentError,
         r"an array of shape \(3, 2\) for places of shape \(40, 2\)"),
        (lambda h: h.__setitem__((0, 9), 1), IndexError, "out of bounds"),
        (lambda h: h.__setitem__((40, 0), 1), IndexError, "outside 40 objects"),
        (lambda h: h.__setitem__((0, 0, 0), 1), IndexError, "too many indices"),
        (lambda h: h["x"], oa.ArgumentError, "no component 'x'"),
        (lambda h: h.__setitem__((0, 0), "x"), oa.ArgumentError, "Row.h"),
    ],
)  # fmt: skip
def test_mistakes(rows, mistake):
    change, error, text = mistake
    before = in_objects(rows)
    with pytest.raises(error, match=text):
        change(rows.h)
    assert in_objects(rows) == before


def test_few_places_cost_little(by_type):
    """Nothing is read, and nothing as long as all objects is made, to write one element."""
    rows = oa.new(Row, 1000)
    view = rows.h
    taken = []
    select = by_type.placement.select

    def counting(references):
        taken.append(len(references))
        return select(references)

    by_type.placement.select = counting
    view[5, 0] = 1
    view[[4, 9], 2] = 3
    view[:, 1] = 4
    assert taken == [1, 2] and rows.h.numpy()[5].tolist() == [1, 4, 0, 0]


def test_objects_that_are_gone_are_not_written(rows):
    kept = rows.h[2] if type(rows.h[2]) is not np.ndarray else rows.h
    oa.delete(rows[2])
    with pytest.raises(oa.HeapError):
        kept[2] = 1


@pytest.mark.parametrize(
    "places",
    [[0, 2, 0, 3], [0, 0, 1, 1], [1, 0, 1, 0, 1], [2, 2, 2], [0, 1, 2, 0, 1, 2], [7, 5, 7, 5, 3],
     [0, 1, 2, 2, 3, 4], [4, 3, 2, 2, 4, 6],
     [0, 2, 4, 1, 3, 5], [5, 4, 3, 3, 4, 5], [0, 1, 2, 3, 3, 2, 1, 0, 9]],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("layout", ["aos", "tile"])
def test_operators_in_place_count_an_object_once(places, layout):
    """As NumPy's do, however its occurrences are arranged."""
    for mode in ("auto", "tag+switch", "cuda"):
        if mode == "cuda" and layout == "tile":
            continue
        with oa.Heap(mode, "cpu", layout, initial_region=16):
            made = oa.new(Many, 10, number=range(10))
            expected, rows = np.arange(10), np.zeros((10, 3), np.int64)
            values = np.arange(len(places))
            for _ in range(2):
                view = made[places]
                view.number += 3
                view.number *= values
                view.row += 2
                view.row[:, 1] -= 7
                view.number[:] -= values
                np.add(view.number, 1, out=view.number)
                expected[places] += 3
                expected[places] *= values
                rows[places] += 2
                rows[places, 1] -= 7
                expected[places] -= values
                expected[places] += 1
                assert made.number.numpy().tolist() == expected.tolist()
                assert made.row.numpy().tolist() == rows.tolist()


class Many(oa.Object):
    number: i64
    row: oa.inline[i64, 3]
