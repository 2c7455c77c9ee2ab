"""Regions of a heap: sizes, merging, reuse, return (seeds of "Judging a Type by Its Pointer" 4)."""

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa.heap.extents import Extents, NoRoom

from .shapes import Circle, Empty, Node, Square


def capacities(heap, python_class):
    size = heap.layout.record(python_class.__sharedoa__).size
    return [(end - start) // size for start, end, cls in heap.ranges() if cls is python_class]


def test_regions_double_and_neighbours_merge():
    with oa.Heap(mode="auto", backend="cpu", capacity="64MiB", initial_region=32) as heap:
        oa.new(Empty, 32)
        assert capacities(heap, Empty) == [32]
        made = oa.new(Empty)
        assert capacities(heap, Empty) == [96], "32 + 64, side by side"
        oa.new(Empty, 64)
        assert capacities(heap, Empty) == [224]
        assert len(heap.all(Empty)) == 97 and made in list(heap.all(Empty))


def test_neighbours_whose_distance_is_no_number_of_objects_stay_apart(by_type):
    size = by_type.layout.record(Circle.__sharedoa__).size
    assert 8 * size % 256 != 0
    oa.new(Circle, 9)
    oa.new(Circle, 9)
    assert len(capacities(by_type, Circle)) == 2


@pytest.mark.parametrize(("debug", "is_told"), [(False, False), (True, False), (False, True)])
def test_what_has_room_with_all_else_gets_it(debug, is_told):
    """Also where the new region and its neighbour become one, of which debug mode shows who lives,
    and kernels note who has gone."""
    cls, refused, merged = Empty.__sharedoa__, 0, set()
    for besides in range(0, 120_000, 2_000):
        with oa.Heap(
            mode="auto", backend="cpu", capacity="128KiB", initial_region=32, debug=debug
        ) as heap:
            oa.new(Empty, 992)
            placement, extents = heap.placement, heap.placement._extents
            placement.show_freed([cls] if is_told else [])
            try:
                placement.make_room_for_all({cls: 1000}, [besides])
            except NoRoom:
                refused += 1
                continue
            assert sum(region.room for region in placement.regions(cls)) >= 1000
            merged.add(len(placement.regions(cls)) == 1)
            placement.show_freed([cls])
            extents.allocate(besides)
    assert 5 < refused < 55
    assert merged == ({False, True} if debug or is_told else {True})


def test_regions_end_where_tiles_do():
    with oa.Heap(layout="tile", backend="cpu", capacity="1MiB", initial_region=40) as heap:
        lanes = heap.layout.arrangement(Circle.__sharedoa__).lanes
        circles = oa.new(Circle, 41, radius=np.arange(41))
        assert 80 % lanes and all(each % lanes == 0 for each in capacities(heap, Circle))
        assert circles.radius.numpy().tolist() == [*range(41)]


def test_holes_survive_merging():
    class Spacer(oa.Object):
        pass

    with oa.Heap(mode="auto", backend="cpu", capacity="64MiB", initial_region=32) as heap:
        spacers, high = oa.new(Spacer, 64), oa.new(Empty, 32)
        oa.delete(spacers)
        oa.delete(high[5])
        low = oa.new(Empty, 10)
        assert capacities(heap, Empty) == [96], "the new region lies before the old one"
        rest = oa.new(Empty, 96 - 41)
        assert capacities(heap, Empty) == [96], "every slot was found"
        made = np.concatenate([a.references() for a in (rest, low, high[:5], high[6:])])
        start, end, _ = heap.ranges()[0]
        assert sorted(heap.encoding.address(made).tolist()) == list(range(start, end, 8))


def test_objects_behind_holes_survive_merging():
    with oa.Heap(mode="auto", backend="cpu", capacity="64MiB", initial_region=32) as heap:
        every = oa.new(Empty, 32)
        oa.delete(every[:20])
        oa.new(Empty, 50)
        assert capacities(heap, Empty) == [96] and len(heap.all(Empty)) == 62
        assert set(every[20:].references()) < set(heap.all(Empty).references())
        oa.delete(every[20:])
        assert len(heap.all(Empty)) == 50


@pytest.mark.parametrize(("mode", "expected"), [("range+switch", [16, 32, 64]), ("auto", [112])])
def test_classes_that_grow_by_turns(mode, expected):
    """Regions that are apart stay apart; in windows a class grows side by side with itself."""
    with oa.Heap(
        mode=mode, backend="cpu", capacity="64MiB", initial_region=16, references="64"
    ) as heap:
        for count in (16, 1, 32):
            oa.new(Node, count)
            oa.new(Square, count)
        assert all(16 * heap.layout.record(c.__sharedoa__).size % 256 == 0 for c in (Node, Square))
        assert capacities(heap, Node) == capacities(heap, Square) == expected


@pytest.mark.parametrize(("first", "capacity"), [(1, 8), (8, 8), (9, 16), (1000, 1024)])
def test_a_request_takes_the_smallest_size_of_the_sequence(by_type, first, capacity):
    oa.new(Circle, first)
    assert capacities(by_type, Circle) == [capacity]


def test_a_request_fills_what_is_there_first(by_type):
    oa.new(Circle, 3)
    oa.new(Square)
    oa.new(Circle, 20)
    assert capacities(by_type, Circle) == [8, 16]


def test_less_than_double_is_better_than_nothing():
    with oa.Heap(capacity=128 << 10, initial_region=1024, mode="auto", backend="cpu"):
        oa.new(Empty, 1024)  # the sequence goes on with 8192, which needs 72 KiB
        made = oa.new(Empty, 5000)
        assert len(made) == 5000 and len(oa.all(Empty)) == 6024


def test_an_empty_region_returns_and_its_memory_is_used_again(by_type):
    circles = oa.new(Circle, 8)
    before = by_type.ranges()
    epoch = by_type.layout_epoch
    oa.delete(circles)
    assert by_type.ranges() == []
    assert by_type.layout_epoch > epoch
    squares = oa.new(Square, 4)
    assert by_type.ranges()[0][0] == before[0][0]
    assert squares.side.numpy().tolist() == [0.0] * 4


def test_slots_are_reused_and_zero(by_type):
    circles = oa.new(Circle, 8, radius=2.0, number=7)
    addresses = circles.references().tolist()
    oa.delete(circles[2:5])
    assert len(oa.all(Circle)) == 5
    again = oa.new(Circle, 3)
    assert sorted(again.references().tolist()) == addresses[2:5]
    assert again.radius.numpy().tolist() == [0, 0, 0]
    assert capacities(by_type, Circle) == [8]


def test_debug_poisons_freed_slots():
    with oa.Heap(debug=True, backend="cpu", mode="auto", initial_region=8):
        circles = oa.new(Circle, 4, radius=1.0)
        radii = circles.radius.numpy()
        oa.delete(circles[1])
        assert radii.view(np.uint32)[1] == 0xDDDDDDDD and radii[0] == 1.0
        assert oa.new(Circle).radius == 0.0


def test_epochs(by_type):
    layout, population = by_type.layout_epoch, by_type.population_epoch
    oa.new(Circle)
    assert by_type.layout_epoch > layout and by_type.population_epoch > population
    layout, population = by_type.layout_epoch, by_type.population_epoch
    last = oa.new(Circle, 7)
    assert (by_type.layout_epoch, by_type.population_epoch) == (layout, population)
    oa.delete(last)
    assert by_type.population_epoch == population, "one is left"
    oa.delete(oa.all(Circle))
    assert by_type.population_epoch > population and by_type.layout_epoch > layout


def invent_classes(count):
    """Classes with 0 to 3 fields of different sizes."""
    made = []
    for number in range(count):
        fields = {f"f{i}": (oa.i8, oa.f32, oa.f64)[i] for i in range(number % 4)}
        made.append(type(oa.Object)(f"Invented{number}", (oa.Object,), {"__annotations__": fields}))
    return made


@pytest.mark.parametrize("classes", [1, 4, 64])
@pytest.mark.parametrize("merging", [True, False])
def test_a_hundred_thousand_random_allocations(classes, merging, monkeypatch):
    """M-1: every object in exactly one region of its class, regions disjoint, sorted, half-open,
    and no more of them than doubling allows."""
    if not merging:
        monkeypatch.setattr(Extents, "join", lambda self, low, high: None)
    rng, initial = random.Random(classes), 16
    made = invent_classes(classes)
    held: dict[Any, list[Any]] = {cls: [] for cls in made}
    with oa.Heap(mode="auto", backend="cpu", capacity="256MiB", initial_region=initial) as heap:
        left = 100_000
        while left:
            count = min(left, rng.choice((1, 2, 5, 40, 300, 3000)))
            cls = rng.choice(made)
            held[cls].append(heap.encoding.address(heap.new(cls, count).references()))
            left -= count
        ranges = heap.ranges()
        assert ranges == sorted(ranges, key=lambda r: r[0])
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ranges))
        stats = heap.stats()
        layout = heap.layout
        for cls in made:
            addresses = np.concatenate([np.zeros(0, np.uint64), *held[cls]])
            size = layout.record(cls.__sharedoa__).size
            of_class = [(start, end) for start, end, owner in ranges if owner is cls]
            assert len(np.unique(addresses)) == len(addresses) == len(heap.all(cls))
            homes = sum(((start <= addresses) & (addresses + size <= end)).astype(int)
                        for start, end in of_class)  # fmt: skip
            if len(addresses) == 0:
                assert not of_class
                continue
            assert np.all(homes == 1)
            most = math.ceil(math.log2(len(addresses) / initial + 1)) + 1
            assert len(of_class) <= most
            assert stats.classes[cls.__name__].bytes_used == len(addresses) * size
        reserved = sum(end - start for start, end, _ in ranges)
        assert stats.bytes_reserved == reserved and stats.objects == 100_000
        assert stats.external_fragmentation == pytest.approx(1 - stats.bytes_used / reserved)


def test_a_field_of_every_kind_starts_at_zero(heap):
    node = oa.new(Node, 3)[1]
    assert (node.small, node.wide, node.middle) == (0, 0, 0)
    assert (node.where.x, node.where.y) == (0, 0)
    assert list(node.weights) == [0, 0, 0] and list(node.children) == [None, None]
    assert node.shape is None and len(node.data) == 0 and len(node.friends) == 0
