"""Random histories of creation, deletion and launches against a dictionary of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from dispatch.mode import MODES, parse_mode
from sharedoa import f64, i32, i64

from ..modes import third_of
from .effort import EXAMPLES, layout_for, references_for


class Item(oa.Object):
    id: i64
    steps: i32

    def advance(self, by: i32) -> i64: ...


class Adds(Item):
    total: i64

    def advance(self, by: i32) -> i64:
        self.steps += 1
        self.total += by
        return self.total


class Multiplies(Item):
    value: f64
    padding: oa.inline[i32, 5]

    def advance(self, by: i32) -> i64:
        self.steps += 1
        self.value = self.value * 0.5 + by
        self.padding[self.steps % 5] = by
        return i64(self.value)


class AddsTwice(Adds):
    def advance(self, by: i32) -> i64:
        return super().advance(by) + super().advance(by)


class Empty(Item):
    def advance(self, by: i32) -> i64:
        self.steps -= by
        return -1


CLASSES = (Adds, Multiplies, AddsTwice, Empty)


@oa.kernel
def advance_each(items: oa.Array[Item], by: i32, out: oa.Array[i64]):
    i = oa.grid(1)
    if i < len(items):
        out[i] = items[i].advance(by)


@dataclass
class Model:
    """What an object should hold."""

    cls: type
    steps: int = 0
    total: int = 0
    value: float = 0.0

    def advance(self, by: int) -> int:
        if self.cls is Empty:
            self.steps -= by
            return -1
        for _ in range(2 if self.cls is AddsTwice else 1):
            self.steps += 1
            self.total += by
        self.value = self.value * 0.5 + by
        if self.cls is AddsTwice:
            return 2 * self.total - by
        return self.total if self.cls is Adds else int(self.value)


class History:
    """Plays random operations on a heap and on models, and compares."""

    def __init__(self, heap: oa.Heap, random: Random, largest: int) -> None:
        self.heap, self.random, self.largest = heap, random, largest
        self.made = 0
        self.models: dict[int, Model] = {}
        self.objects: dict[int, Any] = {}

    def create(self) -> None:
        """Some objects of one class, at once or one by one."""
        cls = self.random.choice(CLASSES)
        count = self.random.choice((1, 2, self.random.randint(1, self.largest)))
        ids = range(self.made, self.made + count)
        self.made += count
        if count == 1:
            self.objects[ids[0]] = cls(id=ids[0])
        else:
            made = self.heap.new(cls, count, id=np.arange(ids[0], self.made))
            self.objects.update(zip(ids, made, strict=True))
        self.models.update((number, Model(cls)) for number in ids)

    def delete(self) -> None:
        """One object, a list of some, an array of some, or everything of a class."""
        how = self.random.choice(("one", "list", "array", "class"))
        known = list(self.models)
        if not known:
            return
        if how == "class":
            cls = self.random.choice((Multiplies, AddsTwice, Empty))
            gone = [n for n in known if issubclass(self.models[n].cls, cls)]
            self.heap.delete(self.heap.all(cls))
        else:
            gone = self.random.sample(known, self.random.randint(1, max(1, len(known) // 2)))
            gone = gone[:1] if how == "one" else gone
            objects: Any = [self.objects[n] for n in gone]
            if how == "array":
                objects = self.heap.array(Item, objects)
            self.heap.delete(objects[0] if how == "one" else objects)
        for number in gone:
            del self.models[number], self.objects[number]

    def launch(self) -> None:
        """Advance all live objects, in random order or region by region."""
        by = self.random.randint(-5, 5)
        if self.random.random() < 0.3:
            population = self.heap.all(Item)
            ids = [item.id for item in population]
            results = population.advance(by)
        else:
            ids = list(self.models)
            self.random.shuffle(ids)
            items = self.heap.array(Item, [self.objects[n] for n in ids])
            results = self.heap.zeros(len(ids), i64)
            advance_each[max(1, len(ids))](items, by, results)
        expected = {number: model.advance(by) for number, model in self.models.items()}
        assert dict(zip(map(int, ids), results.numpy().tolist(), strict=True)) == expected

    def check(self) -> None:
        assert len(self.heap.all(Item)) == len(self.models)
        for number, model in self.models.items():
            found = self.objects[number]
            assert type(found) is model.cls
            assert (found.id, found.steps) == (number, model.steps)
            if isinstance(found, Adds):
                assert found.total == model.total
            if isinstance(found, Multiplies):
                assert found.value == model.value
        stats = {cls: len(self.heap.all(cls)) for cls in CLASSES}
        for cls in CLASSES:
            assert stats[cls] == sum(issubclass(m.cls, cls) for m in self.models.values())


def play(heap: oa.Heap, seed: int, operations: int, largest: int) -> None:
    history = History(heap, Random(seed), largest)
    for _ in range(operations):
        kind = history.random.choice((history.create, history.create, history.delete))
        kind()
        if history.random.random() < 0.4:
            history.launch()
        if history.random.random() < 0.3:
            history.check()
    history.launch()
    history.check()


seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("mode", third_of(MODES, 1))
@settings(max_examples=EXAMPLES)
@given(seed=seeds, initial_region=st.sampled_from([1, 3, 16]))
def test_random_histories(mode: str, seed: int, initial_region: int) -> None:
    seed += MODES.index(mode)
    for backend, operations, largest in (("cpu", 20, 40), ("python", 8, 8)):
        layout, references = layout_for(mode, seed), references_for(mode, seed)
        with oa.Heap(
            mode, backend, layout, "256MiB", initial_region, references=references
        ) as heap:
            play(heap, seed, operations, largest)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=5)
@given(seed=seeds, initial_region=st.sampled_from([1, 16, 300]))
def test_random_histories_on_a_gpu(mode: str, seed: int, initial_region: int) -> None:
    layout, references = layout_for(mode, seed), references_for(mode, seed)
    # The host reads each field of an object that the platform's allocator has placed by a launch.
    largest = 500 if parse_mode(mode).placement == "by_type" else 60
    with oa.Heap(mode, "cuda", layout, "256MiB", initial_region, references=references) as heap:
        play(heap, seed, 30, largest)
