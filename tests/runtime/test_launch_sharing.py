"""Which launches a call on many objects is, and what they are on a GPU."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from dispatch.mode import AUTO
from sharedoa import f32, f64, i8, i16, i32
from sharedoa.heap import population
from sharedoa.heap.arrays import ObjectArray
from sharedoa.heap.run import RunOfObjects
from sharedoa.runtime import vectorised
from sharedoa.runtime.assembly import open_target

from .things import CLASSES, LARGE, SMALL, Minus, Plus, Thing, launches


def test_one_launch_for_many_classes_of_whole_warps(monkeypatch):
    with oa.Heap(AUTO, SMALL, "tile", "64MiB", 64) as heap:
        for cls in CLASSES:
            heap.new(cls, 33)
        assert launches(heap, lambda: heap.all(Thing).change(1), monkeypatch) == [64 * 3]
    with oa.Heap(AUTO, SMALL, "tile", "64MiB", 64, debug=True) as heap:
        for cls in CLASSES:
            heap.new(cls, 33)
        # A thread that an error names is then the object of that position.
        assert launches(heap, lambda: heap.all(Thing).change(1), monkeypatch) == [99]
    with oa.Heap(AUTO, "cpu", "tile", "64MiB", 64) as heap:
        for cls in CLASSES:
            heap.new(cls, 33)
        assert launches(heap, lambda: heap.all(Thing).change(1), monkeypatch) == [33] * 3


def test_groups_and_one_thread_for_each_object_of_the_rest(monkeypatch):
    with oa.Heap(AUTO, LARGE, "tile", "64MiB", 256) as heap:
        heap.new(Plus, 203)
        plus = heap.all(Plus)
        assert launches(heap, lambda: plus.change(1), monkeypatch) == [50 + 3]
        assert launches(heap, lambda: plus.branch(1), monkeypatch) == [203], "it has a branch"
        views = heap.objects_of(plus.cls)[4:]
        assert launches(heap, lambda: views.change(1), monkeypatch) == [199], "not whole tiles"
    with oa.Heap(AUTO, LARGE, "aos", "64MiB", 256) as heap:
        heap.new(Plus, 203)
        assert launches(heap, lambda: heap.all(Plus).change(1), monkeypatch) == [203]


def test_an_array_that_is_a_run_goes_in_groups_too(monkeypatch):
    with oa.Heap(AUTO, LARGE, "tile", "64MiB", 256) as heap:
        things = oa.array(Thing, list(heap.new(Plus, 203, number=1)))
        made = heap.new(Minus, 203, number=1)
        by = heap.array(f32, np.arange(203, dtype=np.float32))
        assert launches(heap, lambda: made.change(by), monkeypatch) == [50 + 3]
        assert made.number.numpy().tolist() == list(range(-1, 202))
        assert launches(heap, lambda: things.change(by), monkeypatch) == [203], "not known as a run"
        assert things.number.numpy().tolist() == list(range(1, 204))
        by = heap.array(f32, np.arange(204, dtype=np.float32))[1:]
        assert launches(heap, lambda: made.change(by), monkeypatch) == [203], "not aligned"
        assert made.number.numpy().tolist() == [2 + i - i for i in range(203)]


def test_launches_do_not_multiply_with_regions_and_compile_no_more(monkeypatch):
    with oa.Heap(AUTO, SMALL, "tile", "64MiB", 32) as heap:
        for _ in range(3):
            for cls in CLASSES:
                heap.new(cls, 40)
        stretches = [heap.stats().classes[cls.__name__].regions for cls in CLASSES]
        found = launches(heap, lambda: heap.all(Thing).change(1), monkeypatch)
        assert len(found) == max(stretches), "one for each row of regions"


def test_a_call_is_planned_again_only_when_something_has_changed(monkeypatch):
    planned = []
    usual = vectorised.share_out

    def noting(*arguments: Any) -> Any:
        planned.append(arguments)
        return usual(*arguments)

    monkeypatch.setattr(vectorised, "share_out", noting)
    with oa.Heap(AUTO, SMALL, "tile", "64MiB", 64) as heap:
        plus = heap.new(Plus, 40, number=1)
        things = heap.all(Thing)
        for number in range(4):
            things.change(1)
            heap.all(Thing).change(2.5)
            assert list(plus.number) == [1 + 3.5 * (number + 1)] * 40
        assert len(planned) == 1
        minus = heap.new(Minus, 40, number=1)
        things.change(1)
        things.change(1)
        assert len(planned) == 2
        assert list(minus.number) == [1] * 40 and list(plus.number) == [17] * 40
        heap.delete(minus[:20])
        things.change(heap.zeros(60, f32))
        things.change(1)
        things.change(1)
        assert list(heap.all(Minus).number) == [-1] * 20 and list(plus.number) == [19] * 40


def test_long_methods_of_a_large_population_do_not_share_a_launch(monkeypatch):
    with oa.Heap(AUTO, LARGE, "tile", "64MiB", 64) as heap:
        for cls in CLASSES:
            heap.new(cls, 64)
        things = heap.all(Thing)
        assert launches(heap, lambda: things.branch(1), monkeypatch) == [3 * 64], "short"
        assert launches(heap, lambda: things.long(1), monkeypatch) == [64] * 3
    with oa.Heap(AUTO, SMALL, "tile", "64MiB", 64) as heap:
        for cls in CLASSES:
            heap.new(cls, 64)
        assert launches(heap, lambda: heap.all(Thing).long(1), monkeypatch) == [3 * 64]


class Chained(oa.Object):
    """Reads what a neighbour stores: one after another it would be another result."""

    value: f32
    before: Chained

    def take(self) -> None:
        self.value = self.before.value


def test_accesses_through_other_references_keep_their_order(monkeypatch):
    with oa.Heap(AUTO, LARGE, "tile", "64MiB", 256) as heap:
        chain = heap.new(Chained, 64, value=np.arange(64))
        chain.before = chain[0]
        assert launches(heap, lambda: heap.all(Chained).take(), monkeypatch) == [64], "alone"

    chain.before = chain[0]


class Numbered(oa.Object):
    number: i32

    def double(self) -> i32:
        return self.number * i32(2)

    def expect_less(self, limit: i32) -> None:
        assert self.number < limit


KINDS = [type(f"Numbered{kind}", (Numbered,), {"__module__": __name__}) for kind in range(20)]


def test_more_classes_than_one_launch_takes(monkeypatch):
    with oa.Heap(AUTO, SMALL, "tile", "64MiB", 32) as heap:
        numbers: list[int] = []
        for kind, cls in enumerate(KINDS):
            made = np.arange(kind + 1) + 100 * kind
            heap.new(cls, kind + 1, number=made)
            numbers += made.tolist()
        results: list[Any] = []
        found = launches(heap, lambda: results.append(heap.all(Numbered).double()), monkeypatch)
        assert found == [32 * 16, 32 * 4]
        assert results[0].numpy().tolist() == [2 * number for number in numbers]


@pytest.mark.parametrize("backend", [LARGE, SMALL, "cpu"], ids=["large", "small", "cpu"])
def test_an_error_names_the_object_by_its_position(backend):
    with oa.Heap(AUTO, backend, "tile", "64MiB", 32, debug=True) as heap:
        heap.new(KINDS[0], 33, number=0)
        heap.new(KINDS[1], 5, number=[0, 0, 9, 0, 0])
        heap.all(Numbered).expect_less(5)
        with pytest.raises(oa.DeviceError, match=f"thread {2 if backend == 'cpu' else 35}: "):
            heap.synchronize()


# ---------------------------------------------------------------- what a GPU gets


def ptx_of(heap: oa.Heap, call: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """What ``call()``, which launches once, would be on a GPU."""
    (program,) = launches(heap, call, monkeypatch, lambda program, _: program)
    compilation = program.compilation(
        heap, heap.mode, False, open_target("nvptx"), program.last_given(heap, heap.mode)
    )
    return str(compilation.products["ptx"])


def accesses(ptx: str) -> list[str]:
    return re.findall(r"(?:ld|st)\.global\.(?:nc\.)?(v4\.b\d+|v2\.b\d+|b\d+)", ptx)


class Point(oa.Object):
    x: f32
    speed: f64
    kind: i16
    flag: i8

    def step(self) -> None:
        self.x += f32(1)

    def fall(self) -> f32:
        self.speed = self.speed * 0.5
        return self.x

    def add(self, by: f32) -> None:
        self.x += by

    def mark(self) -> None:
        self.kind += i16(1)
        self.flag = i8(self.flag + 1)


@pytest.mark.parametrize(
    ("name", "arrays", "groups", "alone"),
    [
        ("step", 0, {"v4.b32": 2}, 2),
        ("mark", 0, {"v4.b16": 2}, 4 + 2),  # four bytes are a word
        ("fall", 0, {"v2.b64": 4, "v4.b32": 2}, 4),
        ("add", 1, {"v4.b32": 3}, 3),
    ],
)
def test_a_field_of_four_neighbours_is_one_access(name, arrays, groups, alone, monkeypatch):
    """``groups`` are the accesses of a thread with a group, ``alone`` of one with one object."""
    with oa.Heap(AUTO, LARGE, "tile", "64MiB") as heap:
        heap.new(Point, 64)
        by = [heap.zeros(64, f32)] * arrays
        ptx = ptx_of(heap, lambda: getattr(heap.all(Point), name)(*by), monkeypatch)
    found = accesses(ptx)
    wide = Counter(kind for kind in found if kind.startswith("v"))
    assert wide == groups
    assert len(found) - wide.total() == alone


class Seed(oa.Object):
    number: i32

    def end_even(self) -> None:
        if self.number % i32(2) == i32(0):
            oa.delete(self)

    def count(self) -> None:
        self.number += i32(1)

    def doubled(self) -> i32:
        return self.number + self.number


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[type]:
    """What the objects of each class were in each call that was planned."""
    found: list[type] = []
    usual = vectorised.share_out

    def noting(heap: Any, stretches: Any, located: Any) -> Any:
        found.extend(type(stretch.objects) for stretch in stretches)
        return usual(heap, stretches, located)

    monkeypatch.setattr(vectorised, "share_out", noting)
    return found


def test_a_list_of_what_launches_change_is_planned_once_while_it_stays(planned):
    with oa.Heap(AUTO, "cpu", "tile", "64MiB", 64) as heap:
        seeds = heap.all(Seed)
        heap.new(Seed, 40, number=np.arange(40))
        expected = list(range(40))
        for remaining in (20, 10, 5):
            seeds.end_even()
            expected = [number for number in expected if number % 2]
            planned.clear()
            for _ in range(3):
                seeds.count()
                expected = [number + 1 for number in expected]
                assert list(seeds.number) == expected and len(seeds) == remaining
            assert planned == [ObjectArray], "of objects with holes between them"
            for seed in heap.all(Seed)[::2]:
                seed.number += 1
            expected[::2] = [number + 1 for number in expected[::2]]


def test_what_launches_make_is_a_list_until_it_has_been_one_run_for_a_while(planned, monkeypatch):
    monkeypatch.setattr(population, "_PATIENCE", 4)
    with oa.Heap(AUTO, "cpu", "tile", "64MiB", 64) as heap:
        seeds = heap.all(Seed)
        heap.new(Seed, 16, number=np.arange(16))
        seeds.end_even()
        seeds.count()
        seeds.end_even()
        assert len(seeds) == 0
        heap.new(Seed, 8, number=0)
        planned.clear()
        for _ in range(8):
            seeds.count()
        # Each call that is not planned asks twice.
        assert planned == [ObjectArray] * 2 + [RunOfObjects]
        assert list(seeds.number) == [8] * 8


def test_a_list_is_not_planned_when_a_run_is_about_to_be_taken(planned, monkeypatch):
    monkeypatch.setattr(population, "_PATIENCE", 4)
    with oa.Heap(AUTO, "cpu", "tile", "64MiB", 64) as heap:
        seeds = heap.all(Seed)
        heap.new(Seed, 16, number=np.arange(16))
        seeds.end_even()
        seeds.end_even()
        heap.delete(heap.all(Seed)[:])
        heap.new(Seed, 8, number=0)
        assert list(seeds.doubled()) == [0] * 8  # is never planned, and so asks once
        planned.clear()
        for _ in range(8):
            seeds.count()
        assert planned[-1] is RunOfObjects
        assert list(seeds.number) == [8] * 8


def test_lists_of_calls_keep_no_memory_that_others_need():
    with oa.Heap(AUTO, "cpu", "aos", "4MiB", 64) as heap:
        seeds = heap.all(Seed)
        heap.new(Seed, 1000, number=np.arange(1000))
        seeds.end_even()
        for _ in range(2):
            seeds.count()
            assert heap.stats().array_bytes
            with pytest.raises(oa.HeapError, match="no room"):
                heap.zeros(8 << 20, i8)
            assert not heap.stats().array_bytes
        seeds.count()
        heap.delete(seeds)
        heap.synchronize()
        assert not heap.stats().array_bytes


def test_a_list_that_somebody_has_got_is_not_that_of_calls():
    with oa.Heap(AUTO, "cpu", "tile", "64MiB", 64) as heap:
        seeds = heap.all(Seed)
        heap.new(Seed, 8, number=np.arange(8))
        seeds.end_even()
        seeds.count()
        (listed,) = seeds.by_class()
        listed[0] = listed[1]
        seeds.count()
        assert list(seeds.number) == [3, 5, 7, 9]


def test_a_part_of_a_list_is_not_taken_for_all_of_it(planned):
    with oa.Heap(AUTO, "cpu", "tile", "64KiB", 32) as heap:
        for number in range(3):
            seeds = heap.new(Seed, 40, number=100 * number)
            heap.new(Plus, 40)  # lies behind, so that the class goes on elsewhere
        heap.delete(seeds[1:-1:3])
        assert heap.stats().classes["Seed"].regions > 1
        before = np.array(heap.all(Seed).number)
        for number in range(1, 4):
            heap.all(Seed).count()
            assert np.array_equal(heap.all(Seed).number, before + number)
        assert len(planned) > 1
