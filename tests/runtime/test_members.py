"""Which function a name in a class means: kernels run what CPython runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32


@pytest.fixture(params=["python", "cpu"], autouse=True)
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    with oa.Heap(backend=request.param, capacity="64MiB") as heap:
        yield heap


class Shape(oa.Object):
    x: i32
    __hidden: i32

    def area(self) -> i32:
        return 1

    def other(self) -> i32:
        return 10

    def __scaled(self, __k: i32) -> i32:
        __result = self.__hidden * __k
        return __result

    def scaled(self) -> i32:
        return self.__scaled(3)

    @property
    def weight(self) -> i32:
        return self.x + self.area()


class Round(Shape):
    __hidden: i32
    area = Shape.other

    def other(self) -> i32:
        return super().other() + 5

    def scaled(self) -> i32:
        return self.__hidden + super().scaled()

    @property
    def weight(self) -> i32:
        return super().weight * 100 + 1


class Borrows(Round):
    other = Round.other


@oa.kernel
def measure(shapes: oa.Array[Shape], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = shapes[i].area() * 100 + shapes[i].other()


@oa.kernel
def scale(shapes: oa.Array[Shape], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = shapes[i].scaled()


@oa.kernel
def weigh(shapes: oa.Array[Shape], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = shapes[i].weight


def results(kernel: Any, *shapes: Any) -> list[int]:
    out = oa.zeros(len(shapes), i32)
    kernel[len(shapes)](oa.array(Shape, list(shapes)), out)
    found: list[int] = out.numpy().tolist()
    return found


def test_a_method_under_another_name() -> None:
    assert results(measure, oa.new(Shape), oa.new(Round)) == [110, 1015]


def test_super_starts_above_the_class_in_which_the_method_is_written() -> None:
    assert results(measure, oa.new(Borrows)) == [1015]


def test_a_property_of_super() -> None:
    assert results(weigh, oa.new(Shape, x=3), oa.new(Borrows, x=4)) == [4, 1401]


def test_a_method_is_replaced_and_restored() -> None:
    shapes = oa.new(Shape), oa.new(Round)

    def patched(self: Any) -> i32:
        return 2

    before = Shape.area
    assert results(measure, *shapes) == [110, 1015]
    Shape.area = patched  # type: ignore[method-assign]
    try:
        assert results(measure, *shapes) == [210, 1015]
    finally:
        Shape.area = before  # type: ignore[method-assign]
    assert results(measure, *shapes) == [110, 1015]


def test_private_names() -> None:
    plain, round_one = oa.new(Shape, _Shape__hidden=2), oa.new(Round, _Shape__hidden=7)
    round_one._Round__hidden = 100
    assert results(scale, plain, round_one) == [6, 121]


def test_a_kernel_in_a_function_may_name_a_later_local() -> None:
    @oa.kernel
    def store(out: oa.Array[i32]):
        i = oa.grid(1)
        out[i] = later

    out = oa.zeros(1, i32)
    with pytest.raises((oa.CompileError, oa.DeviceError), match="later"):
        store[1](out)
    later = 3
    store[1](out)
    assert out.numpy().tolist() == [later]
