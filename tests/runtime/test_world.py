"""Definitions that come after a kernel was compiled: the next launch sees them, and only those that
matter are paid for (seeds J-1 to J-3)."""

from __future__ import annotations

import pytest

import sharedoa as oa
from sharedoa import f32, i32


class Animal(oa.Object):
    legs: i32

    def speed(self) -> i32:
        return helper(self.legs)

    def noise(self) -> i32: ...


class Cat(Animal):
    def noise(self) -> i32:
        return 1


class Unrelated(oa.Object):
    def work(self) -> i32:
        return 0


@oa.func
def helper(x: i32) -> i32:
    return x


@oa.kernel
def measure(animals: oa.Array[Animal], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = animals[i].speed() * 100 + animals[i].noise()


@pytest.fixture(params=["sharedoa", "coal", "concord", "range+switch", "header+vtable"])
def small(request):
    with oa.Heap(mode=request.param, backend="cpu", capacity="256MiB") as heap:
        yield heap


@pytest.fixture
def restore(monkeypatch):
    """Put the module's functions and methods back."""
    before = Cat.__sharedoa__.methods["noise"].function
    yield monkeypatch
    if "speed" in Cat.__sharedoa__.methods:
        del Cat.speed
    Cat.noise = before


def result(animals, out):
    measure[len(animals)](animals, out)
    return out.numpy().tolist()


def unit_of(heap):
    return measure.program.unit(heap, heap.mode, heap.debug)


def test_redefinitions_are_seen_by_the_next_launch(small, restore):
    animals, out = oa.new(Cat, 2, legs=4), oa.zeros(2, i32)
    assert result(animals, out) == [401, 401]

    def noise(self) -> i32:
        return 2

    Cat.noise = noise
    assert result(animals, out) == [402, 402]

    @oa.func
    def doubled(x: i32) -> i32:
        return 2 * x

    restore.setitem(globals(), "helper", doubled)
    assert result(animals, out) == [802, 802]


def test_an_override_added_and_removed(small, restore):
    animals, out = oa.new(Cat, 2, legs=4), oa.zeros(2, i32)
    assert result(animals, out) == [401, 401]

    def speed(self) -> i32:
        return 9

    Cat.speed = speed
    assert result(animals, out) == [901, 901]
    del Cat.speed
    assert result(animals, out) == [401, 401]


def test_a_subclass_added_after_a_launch(small):
    out = oa.zeros(2, i32)
    assert result(oa.new(Cat, 2, legs=4), out) == [401, 401]

    class Dog(Animal):
        def noise(self) -> i32:
            return 5

    animals = oa.concat(oa.new(Cat, 1, legs=4), oa.new(Dog, 1, legs=3))
    assert result(animals, out) == [401, 305]


def test_unrelated_definitions_compile_nothing(small):
    animals, out = oa.new(Cat, 2, legs=4), oa.zeros(2, i32)
    result(animals, out)
    before = unit_of(small)

    def work(self) -> i32:
        return 1

    for _ in range(100):
        Unrelated.work = work

        class Other(oa.Object):
            x: f32

        @oa.kernel
        def other(x: i32):
            pass

    assert result(animals, out) == [401, 401]
    assert unit_of(small) is before


def test_one_unit_serves_regions_that_come_later(small):
    out = oa.zeros(20_000, i32)
    few = oa.new(Cat, 3, legs=1)
    result(few, out)
    before = unit_of(small)
    many = oa.new(Cat, 20_000, legs=2)
    assert set(result(many, out)) == {201}
    assert unit_of(small) is before


def test_one_kernel_on_two_heaps_in_turn(small):
    animals, out = oa.new(Cat, 2, legs=4), oa.zeros(2, i32)
    with oa.Heap(mode=small.mode.name, backend="cpu", capacity="256MiB"):
        others, there = oa.new(Cat, 2, legs=5), oa.zeros(2, i32)
    for _ in range(3):
        assert result(animals, out) == [401, 401]
        assert result(others, there) == [501, 501]


def test_failure_of_a_compilation_leaves_the_kernel_usable(small, restore):
    animals, out = oa.new(Cat, 1, legs=4), oa.zeros(1, i32)

    def noise(self) -> i32:
        return {}  # type: ignore[return-value]

    Cat.noise = noise
    with pytest.raises(oa.CompileError, match="noise"):
        result(animals, out)

    def quiet(self) -> i32:
        return 7

    Cat.noise = quiet
    assert result(animals, out) == [407]
