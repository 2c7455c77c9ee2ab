"""Populations of many classes: one launch over references, where a launch a class does not pay."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

import sharedoa as oa
from bench.class_family import family
from sharedoa import i32
from sharedoa.runtime.stretches import MOST_STRETCHES
from sharedoa.runtime.vectorised import planned_launches

COUNT = MOST_STRETCHES + 4


class Base(oa.Object):
    seen: i32

    def step(self, by: i32) -> None: ...

    def code(self) -> i32: ...


def _subclass(number: int) -> type[Base]:
    class Sub(Base):
        def step(self, by: i32) -> None:
            self.seen += by * number

        def code(self) -> i32:
            return i32(number)

    return Sub


CLASSES = [_subclass(number) for number in range(COUNT)]


def _launches(heap: oa.Heap) -> int:
    everything = heap.all(Base)
    method = everything.cls.find_method("step")
    assert method is not None
    found = planned_launches(everything, method, (False,))
    assert found is not None
    return len(found)


def test_small_classes_take_one_launch_and_large_ones_one_each() -> None:
    """Whatever becomes of the objects between calls, each is called once."""
    with oa.Heap(backend="cpu") as heap:
        made = [heap.new(cls, 3 + number) for number, cls in enumerate(CLASSES)]
        heap.all(Base).step(2)
        assert _launches(heap) == 1
        assert [objects.seen[0] for objects in made] == [2 * n for n in range(COUNT)]
        assert heap.all(Base).code().numpy().tolist() == [
            number for number in range(COUNT) for _ in range(3 + number)
        ]
        heap.delete(made[1][2:])
        made[1] = made[1][:2]
        late = heap.new(CLASSES[0], 5, seen=7)
        heap.all(Base).step(1)
        assert [objects.seen[0] for objects in made] == [3 * n for n in range(COUNT)]
        assert late.seen.numpy().tolist() == [7] * 5
        large = [heap.new(cls, 1 << 13) for cls in CLASSES]
        assert _launches(heap) > 1
        heap.all(Base).step(1)
        for number, objects in enumerate(large):
            assert np.all(objects.seen.numpy() == number)


def test_a_captured_step_follows_the_objects() -> None:
    with oa.Heap(backend="cpu") as heap:
        made = [heap.new(cls, 2) for cls in CLASSES]
        with oa.capture() as step:
            heap.all(Base).step(1)
        step.run(2)
        more = [heap.new(cls, 1) for cls in CLASSES]
        step.run()
        assert [objects.seen[1] for objects in made] == [3 * n for n in range(COUNT)]
        assert [objects.seen[0] for objects in more] == list(range(COUNT))


def test_lists_of_populations_go_with_the_heap_and_after_changes() -> None:
    """No list is left behind where the population changes again and again."""
    with oa.Heap(backend="cpu") as heap:
        for cls in CLASSES:
            heap.new(cls, 50)
        used = []
        for _ in range(6):
            heap.delete(heap.new(CLASSES[0], 2))
            heap.all(Base).step(1)
            heap.synchronize()
            used.append(heap.stats().bytes_used)
        assert used[-1] == used[2]


def _calls_to_compile(classes: int) -> int:
    """How many functions of Python are called where a population of so many classes, each with a
    method of its own in the base, gets its first call."""
    made, calls = family(classes), 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    with oa.Heap(backend="cpu") as heap:
        for cls in made.classes:
            heap.new(cls, 2)
        everything = heap.all(made.base)
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            everything.update()
        finally:
            sys.setprofile(before)
    return calls


def test_compiling_takes_in_proportion_to_the_classes() -> None:
    _calls_to_compile(MOST_STRETCHES + 1)  # what happens once
    few, many = (_calls_to_compile(each) for each in (40, 160))
    assert many < 4.4 * few
