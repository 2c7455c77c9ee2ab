"""Sampled threads read nothing but objects and arrays that there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.sampling.lanes import Scalars
from sharedoa.sampling.memory import HeapMemory

from .touching import sampled


class Plant(oa.Object):
    height: f64
    next: Plant
    data: oa.Array[i32]
    friends: oa.Array[Plant]


class Tree(Plant):
    rings: oa.inline[f64, 9]


class Stone(oa.Object):
    weight: i32
    other: Stone


class Flat(oa.Object, layout="aos"):
    weight: i32
    plant: Plant


@pytest.fixture(params=["32", "64"])
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    with oa.Heap("auto", "cpu", "tile", "64MiB", 32, references=request.param) as made:
        yield made


class Watched:
    """What is read must lie in objects and arrays that there are."""

    def __init__(self, heap: oa.Heap, patch: pytest.MonkeyPatch) -> None:
        self.heap = heap
        gather = heap.backend.gather

        def watching(addresses: Any, offset: int, size: int) -> Any:
            first = addresses + np.uint64(offset)
            for start in set(first.tolist()):
                assert self.is_ours(start, start + size), f"{start:#x} is nothing's"
            return gather(addresses, offset, size)

        patch.setattr(heap.backend, "gather", watching)

    def is_ours(self, start: int, end: int) -> bool:
        ranges = [(a, b) for a, b, _ in self.heap.ranges()] + self.heap.memory.arrays.ranges()
        return any(a <= start and end <= b for a, b in ranges)


@oa.kernel
def follow(plants: oa.Array[Plant], out: oa.Array[f64]):
    i = oa.grid(1)
    this = plants[i]
    if math.exp(this.height) > 1e9:
        next = this.next
        out[i] = next.height + next.next.height
        for k in range(len(next.data)):
            out[i] = f64(next.data[k])
        for k in range(len(next.friends)):
            out[i] = next.friends[k].height
        if isinstance(next, Tree):
            out[i] = next.rings[8]


def test_deleted_objects(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    plants, trees = heap.new(Plant, 64), heap.new(Tree, 64)
    plants.next = trees
    trees.next = plants
    for tree in trees:
        tree.data = heap.array(i32, range(5))
        tree.friends = plants[:3]
    del tree
    heap.delete(trees)
    # Others lie where these were.
    heap.new(Stone, 700)
    heap.synchronize()
    heap.memory.collect(thorough=True)
    Watched(heap, monkeypatch)
    found = sampled(monkeypatch, follow, (64, 1), plants, heap.zeros(64, f64))
    assert {key[2] for key in found} == {"height", "next"}
    own = set(heap.encoding.address(plants._selection().references).tolist())
    assert {key[1] for key in found} <= own


def test_objects_some_of_which_are_deleted(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    plants, trees = heap.new(Plant, 64), heap.new(Tree, 64)
    plants.next, trees.next = trees, plants
    for tree in trees:
        tree.data = heap.array(i32, range(100))
        tree.friends = heap.array(Plant, [*plants] * 9)
    del tree
    heap.delete(trees[8:])
    heap.synchronize()
    heap.memory.collect(thorough=True)
    Watched(heap, monkeypatch)
    found = sampled(monkeypatch, follow, (64, 1), plants, heap.zeros(64, f64))
    assert {key[2] for key in found} == {"height", "next", "data", "friends", "rings"}


def test_null_and_what_was_never_set(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    plants = heap.new(Plant, 64)
    plants[1].next = plants[2]
    Watched(heap, monkeypatch)
    found = sampled(monkeypatch, follow, (64, 1), plants, heap.zeros(64, f64))
    assert len({key[1] for key in found if key[2] == "data"}) == 1


@oa.kernel
def beyond(plants: oa.Array[Plant], numbers: oa.Array[i32], none: Plant, out: oa.Array[f64]):
    i = oa.grid(1)
    if math.exp(f64(i)) > 1e300:
        out[i] = plants[i * 1000].height + f64(numbers[-i - 1]) + none.height
        out[i] = plants[numbers[i + 1]].height + f64(plants[i].data[i])
        out[i] = plants[int(f64(i) * math.nan)].height


@pytest.mark.parametrize("count", [0, 5, 64])
@pytest.mark.parametrize("is_run", [False, True])
def test_elements_that_there_are_not(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch, count: int, is_run: bool
) -> None:
    plants = heap.new(Plant, 64)[:count]
    if not is_run:
        plants = plants[::-1]
    Watched(heap, monkeypatch)
    numbers = heap.array(i32, [10**9] * count)
    sampled(monkeypatch, beyond, (64, 1), plants, numbers, None, heap.zeros(64, f64))


def test_runs_whose_objects_are_gone(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    plants = heap.new(Plant, 64)
    out = heap.zeros(64, f64)
    heap.delete(plants)
    heap.new(Stone, 500)
    Watched(heap, monkeypatch)
    assert sampled(monkeypatch, follow, (64, 1), plants, out) == {}


def test_an_empty_heap(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    given = heap.zeros(64, Plant), heap.zeros(64, f64)
    assert sampled(monkeypatch, follow, (64, 1), *given) == {}


@oa.kernel
def flat(flats: oa.Array[Flat], out: oa.Array[f64]):
    i = oa.grid(1)
    out[i] = f64(flats[i].weight) + flats[i].plant.height


def test_families_one_after_another(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    with oa.Heap("auto", "cpu", "auto", "64MiB", 32) as heap:
        flats, plants = heap.new(Flat, 64), heap.new(Plant, 64)
        flats.plant = plants
        Watched(heap, monkeypatch)
        found = sampled(monkeypatch, flat, (64, 1), flats[::-1], heap.zeros(64, f64))
        assert sorted({key[2] for key in found}) == ["height", "plant", "weight"]
        assert len(found) == 3 * 64


def test_only_where_objects_begin(heap: oa.Heap) -> None:
    plants, stones = heap.new(Plant, 70), heap.new(Stone, 70)
    with heap.lock:
        memory = HeapMemory(heap)
    for many, cls in ((plants, Plant), (stones, Stone)):
        begins = set(heap.encoding.address(many._selection().references).tolist())
        start = min(begins)
        every = np.arange(start - 256, max(begins) + 256, dtype=np.uint64)
        objects = Scalars(every, np.ones(len(every), bool))
        type = cls.__sharedoa__
        are = memory.by_class(objects, cls, lambda each, type=type: each.is_subclass_of(type))
        types = memory.by_class(objects, "index", lambda each: each.type_index)
        assert begins <= set(every[are].tolist())
        assert ((types == type.type_index) == are).all()
        assert not (are & (every % 4 != 0)).any()
        nobody = Scalars(every, np.zeros(len(every), bool))
        assert not memory.by_class(nobody, "index", lambda each: each.type_index).any()
        assert not memory.field(objects, Tree.__sharedoa__, "rings").known.any()


def test_nothing_begins_behind_a_region(heap: oa.Heap) -> None:
    plants = heap.new(Plant, 70)
    with heap.lock:
        memory = HeapMemory(heap)
        ((start, end, cls),) = heap.placement.ranges()
    assert start <= heap.encoding.address(plants[0]._reference) < end
    every = np.arange(end, end + 8192, 4, dtype=np.uint64)
    assert not memory.by_class(Scalars(every), "any", lambda each: each is cls).any()
    assert not memory.field(Scalars(every), cls, "height").known.any()
