"""Value structs on the host: immutable, converted, compared by their fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.model.structs import method_signature
from sharedoa.model.types import ValueType

from ..source_files import load_module


@oa.value
class Point:
    x: f32
    y: f32

    def __add__(self, other: Point) -> Point:
        return Point(self.x + other.x, self.y + other.y)

    def scaled(self, k: f32) -> Point:
        return Point(self.x * k, self.y * k)

    def count(self) -> i32:
        return i32(self.x)

    def told(self, words: str = "at") -> str:
        return f"{words} {self.x}"


@oa.value
class Segment:
    start: Point
    end: Point
    id: i32


@oa.value
class Parity:
    n: i32

    def __eq__(self, other: Parity) -> bool:  # type: ignore[override]
        return self.n % 2 == other.n % 2

    def __repr__(self) -> str:
        return "parity"


def test_patterns_name_fields_in_their_order() -> None:
    match Segment(Point(1, 2), Point(3, 4), 5):
        case Segment(Point(x, y), Point(), number):
            assert (x, y, number) == (1, 2, 5)
        case _:
            pytest.fail("no value of its class")
    match oa.vec3(1, 2, 3):
        case oa.vec3(a, b, c):
            assert (a, b, c) == (1, 2, 3)


def test_fields_are_converted_to_their_exact_type() -> None:
    point = Point(1, y=0.1)
    assert isinstance(point.x, np.float32) and isinstance(point.y, np.float32)
    assert point.y == np.float32(0.1)
    with pytest.raises(
        oa.ArgumentError, match=r"Segment\.id takes i32, and float does not convert"
    ):
        Segment(point, point, 1.5)
    with pytest.raises(oa.ArgumentError, match=r"Segment\.start takes Point, not int 3"):
        Segment(3, point, 1)


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((1,), {}, "Point lacks y"),
        ((1, 2, 3), {}, "Point has the fields x, y"),
        ((1, 2), {"x": 3}, "Point has the fields x, y"),
        ((1,), {"z": 3}, "Point has the fields x, y"),
    ],
)
def test_a_value_is_made_whole(arguments: Any, named: Any, message: str) -> None:
    with pytest.raises(oa.ArgumentError, match=message) as caught:
        Point(*arguments, **named)
    assert caught.value.help


def test_a_value_does_not_change() -> None:
    point = Point(1, 2)
    for name in ("x", "z"):
        with pytest.raises(oa.ArgumentError, match=f"Point.{name} cannot be assigned") as caught:
            setattr(point, name, 3)
        assert caught.value.help == "make a new one: Point(x, y)"
    assert point.x == 1


def test_equality_and_hash_are_of_the_fields() -> None:
    assert Point(1, 2) == Point(1.0, 2.0)
    assert Point(1, 2) != Point(1, 3)
    assert Point(1, 2) != (1, 2)  # type: ignore[comparison-overlap]
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    a, b = Point(0, 0), Point(1, 1)
    assert Segment(a, b, 1) == Segment(a, b, 1) != Segment(b, a, 1)
    assert Parity(1) == Parity(3) and repr(Parity(1)) == "parity"


def test_a_value_with_a_nan_is_not_equal_to_itself() -> None:
    odd = Point(float("nan"), 1)
    assert odd != odd


def test_repr_names_the_fields() -> None:
    assert repr(Point(1, 2.5)) == "Point(x=1.0, y=2.5)"


def test_methods_and_operators_convert_as_compiled_ones_do() -> None:
    assert Point(1, 2) + Point(3, 4) == Point(4, 6)
    assert isinstance(Point(1.5, 2).count(), np.int32)
    assert Point(1, 2).scaled(k=2) == Point(2, 4)
    with pytest.raises(
        oa.ArgumentError, match=r"method Point\.__add__: other takes Point, not int"
    ):
        Point(1, 2) + 3  # type: ignore[operator]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class V(Base):\n    x: f32", "value struct V has a base class"),
        ("class V:\n    pass", "value struct V has no fields"),
        ("class V:\n    x: oa.Array[f32]", "Array[f32] cannot be part of a value"),
        ("class V:\n    x: oa.inline[f32, 16, 17]", "272 elements is too long for a value"),
        ("class V:\n    x: int", "int says nothing about the width"),
        ("class V:\n    x: Missing", "refers to a name that does not exist"),
        (
            "class V:\n    x: f32\n    def __init__(self, x):\n        self.x = x + 1",
            "value struct V defines __init__",
        ),
        ("class V:\n    x: f32\n    f = lambda self: self.x", "method V.f is a lambda"),
    ],
)
def test_structs_that_cannot_be(tmp_path: Path, source: str, message: str) -> None:
    with pytest.raises(oa.ClassError) as caught:
        load_module(tmp_path, f"class Base:\n    y = 1\n@oa.value\n{source}\n")
    assert message in caught.value.message
    assert caught.value.help


def test_a_struct_may_have_slots_and_methods_of_another() -> None:
    @oa.value
    class Slotted:
        __slots__ = ("x",)
        x: f32
        count = Point.count

        def __hash__(self) -> int:
            return 7

    assert Slotted(1.5).count() == 1
    assert hash(Slotted(1.5)) == 7
    methods = Point.__sharedoa_value__.methods  # type: ignore[attr-defined]
    assert Slotted.__sharedoa_value__.methods["count"] is methods["count"]  # type: ignore[attr-defined]


def test_a_replaced_method_is_refused_where_kernels_would_call_the_old_one() -> None:
    @oa.value
    class Local:
        x: f32

        def f(self) -> f32:
            return self.x

    struct, old = Local.__sharedoa_value__, Local.f  # type: ignore[attr-defined]
    assert repr(method_signature(struct, "f").result) == "f32"

    def other(self: Any) -> f32:
        return old(self) + f32(1)

    Local.f = other  # type: ignore[method-assign]
    assert Local(1).f() == 2
    with pytest.raises(oa.ClassError, match=r"Local\.f was replaced") as caught:
        method_signature(struct, "f")
    assert "define the struct again" in caught.value.help
    Local.f = old  # type: ignore[method-assign]
    method_signature(struct, "f")


def test_a_struct_is_its_own_type() -> None:
    first = Point.__sharedoa_value__
    assert isinstance(first, ValueType)
    assert [repr(t) for t in Segment.__sharedoa_value__.fields.values()] == [
        "Point", "Point", "i32",
    ]  # fmt: skip

    @oa.value
    class Local:
        inner: Point

    assert Local.__sharedoa_value__.fields["inner"] is first


def test_a_function_is_no_value():
    with pytest.raises(oa.ClassError, match=r"decorates classes.*\n.*above a class"):
        oa.value(lambda: 1)  # type: ignore[type-var]


def test_methods_with_types_of_the_host_are_its_own() -> None:
    assert Point(1.5, 2).told() == "at 1.5" and Point(1, 2).told("x is") == "x is 1.0"
