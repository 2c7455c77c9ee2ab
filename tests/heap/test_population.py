"""oa.all(C)."""

import numpy as np
import pytest

import sharedoa as oa

from .shapes import Circle, Ring, Shape, Square


@pytest.fixture
def shapes(heap):
    return {
        Circle: oa.new(Circle, 5, number=range(5)),
        Square: oa.new(Square, 3, number=range(10, 13)),
        Ring: oa.new(Ring, 2, number=range(20, 22)),
    }


def test_every_object_of_a_class_and_below(shapes):
    assert (len(oa.all(Shape)), len(oa.all(Circle)), len(oa.all(Ring))) == (10, 7, 2)
    assert list(oa.all(Square)) == list(shapes[Square])
    assert set(oa.all(Circle)) == {*shapes[Circle], *shapes[Ring]}
    assert oa.all(Circle).cls is Circle.__sharedoa__


def test_it_is_as_it_is_when_asked(shapes):
    everything = oa.all(Shape)
    oa.delete(shapes[Circle][1:3])
    oa.new(Square, number=99)
    assert len(everything) == 9
    assert sorted(everything.number.numpy().tolist()) == [0, 3, 4, 10, 11, 12, 20, 21, 99]


def test_fields(shapes):
    oa.all(Circle).number += 100
    assert shapes[Ring].number.numpy().tolist() == [120, 121]
    assert shapes[Square].number.numpy().tolist() == [10, 11, 12]
    everything = oa.all(Shape)
    everything.number = np.arange(10)
    assert [s.number for s in everything] == list(range(10))
    everything.next = everything[0]
    assert all(s.next == everything[0] for s in everything)
    assert everything.next.number.numpy().tolist() == [0] * 10


def test_elements_and_slices(shapes):
    squares = oa.all(Square)
    assert squares[1] == shapes[Square][1] and squares[-1] == shapes[Square][2]
    assert list(squares[1:]) == list(shapes[Square][1:])
    with pytest.raises(IndexError):
        _ = squares[3]
    assert repr(squares) == "<all 3 Square>"


def test_by_class(shapes, heap):
    parts = list(oa.all(Shape).by_class())
    assert [p.cls.name for p in parts] == ["Circle", "Square", "Ring"]
    assert [len(p) for p in parts] == [5, 3, 2]
    again = next(oa.all(Shape).by_class())
    assert again.address != parts[0].address, "as either may be written to"
    assert list(again) == list(parts[0]) == list(shapes[Circle])
    again.number += 1
    assert shapes[Circle].number.numpy().tolist() == [1, 2, 3, 4, 5]
    oa.delete(shapes[Circle][0])
    assert list(next(oa.all(Shape).by_class())) == list(shapes[Circle][1:])
    oa.delete(oa.all(Square))
    assert [p.cls.name for p in oa.all(Shape).by_class()] == ["Circle", "Ring"]


def test_unknown_attributes(shapes):
    with pytest.raises(AttributeError, match="Shape has no field or method 'radius'"):
        _ = oa.all(Shape).radius
    with pytest.raises(AttributeError, match="no field or method 'number2'"):
        oa.all(Shape).number2 = 3
    with pytest.raises(oa.ArgumentError, match="has no parameter scale"):
        oa.all(Shape).area(scale=2)
