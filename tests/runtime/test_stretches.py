"""One launch for objects of several classes, and several neighbours a thread, mean what calling the
method on one object after another means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from dispatch.mode import AUTO, MODES
from sharedoa import f32, i16, i64
from tests.differential.effort import examples
from tests.modes import quick_modes

from .things import CLASSES, LARGE, PYTHON, SMALL, Minus, Other, Plus, Thing

Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["new", "new", "delete"]), st.integers(0, 2), st.integers(1, 90)),
    min_size=1, max_size=6,
)  # fmt: skip


def populate(heap: oa.Heap, steps: list[Step], first: int = 0) -> None:
    """Make some objects of a class, or delete every so many of them."""
    made = first
    for what, kind, count in steps:
        if what == "new":
            numbers = np.arange(made, made + count)
            new = heap.new(
                CLASSES[kind], count, number=numbers.astype(np.float32), whole=numbers * 3,
                byte=(numbers % 5).astype(np.int8),
            )  # fmt: skip
            new.row = np.stack([numbers, numbers + 1, numbers + 2], axis=1).astype(np.int32)
            new.peer = new
            made += count
        elif len(heap.all(CLASSES[kind])):
            heap.delete(heap.all(CLASSES[kind])[count % 7 :: count])


def state_of(population: Any) -> list[Any]:
    """Everything that the objects hold, object by object."""
    found = []
    for thing in population:
        own = {Minus: "more", Other: "last"}.get(type(thing))
        values = [thing.number, thing.whole, thing.byte, thing.pair, *thing.row]
        found.append((type(thing), *values, getattr(thing, own) if own else None))
    return found


def calls(population: Any, heap: oa.Heap, one_by_one: bool) -> list[Any]:
    """Results of every method; on the objects one after another in Python, or on all at once."""
    count = len(population)
    numbers = np.arange(count)
    arguments: list[tuple[str, list[Any]]] = [
        ("change", [2.0]),
        ("change", [numbers.astype(np.float32)]),
        ("measure", [numbers, 0.5]),
        ("measure", [2, numbers.astype(np.float32)]),
        ("pair_with", [(numbers % 100).astype(np.int16)]),
        ("pair_with", [5]),
        ("of_peer", []),
        ("branch", [100]),
    ]
    found = []
    for name, given_values in arguments:
        if one_by_one:
            found.append(
                [
                    getattr(thing, name)(*(v[i] if np.ndim(v) else v for v in given_values))
                    for i, thing in enumerate(population)
                ]
            )
            continue
        types = {"f": f32, "i": i16 if name == "pair_with" else i64}
        values = [heap.array(types[v.dtype.kind], v) if np.ndim(v) else v for v in given_values]
        results = getattr(population, name)(*values)
        found.append([None] * count if results is None else list(results))
    return found


def check(heap: oa.Heap, twin: oa.Heap, steps: list[list[Step]]) -> None:
    """The same objects in two heaps, changed between the calls; ``twin`` is called one by one."""
    first = 0
    for some in steps:
        for each in (heap, twin):
            populate(each, some, first)
        first += 1000
        expected = calls(twin.all(Thing), twin, one_by_one=True)
        assert calls(heap.all(Thing), heap, one_by_one=False) == expected
        assert state_of(heap.all(Thing)) == state_of(twin.all(Thing))


def run_both(backend: Any, mode: str, layout: str, steps: list[list[Step]], debug: bool) -> None:
    """``twin`` has the same settings, so that its population comes in the same order."""
    options = {"mode": mode, "layout": layout, "capacity": "64MiB", "initial_region": 32}
    with np.errstate(all="ignore"), oa.Heap(backend=backend, debug=debug, **options) as heap:
        check(heap, oa.Heap(backend="python", **options), steps)


@settings(max_examples=examples(12), deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=2), st.booleans())
def test_neighbours_in_one_thread(steps, debug):
    run_both(LARGE, AUTO, "tile", steps, debug)


class Link(oa.Object):
    value: i64
    peer: Link

    def point(self) -> None:
        self.peer = self

    def look(self) -> i64:
        self = self.peer
        return self.value


def test_neighbours_are_objects_and_not_only_places():
    with oa.Heap(AUTO, LARGE, "tile", "64MiB", 32):
        links = oa.new(Link, 70, value=range(70))
        links.peer = links[::-1]
        assert links.look().numpy().tolist() == list(range(70))[::-1]
        links.point()
        assert list(links.peer) == list(links)


@settings(max_examples=examples(16), deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=2), st.sampled_from(["aos", "tile"]))
def test_several_classes_in_one_launch(steps, layout):
    run_both(SMALL, AUTO, layout, steps, False)


ALL = [[("new", kind, 37 + 8 * kind) for kind in range(3)], [("delete", 1, 3), ("new", 0, 70)]]


@pytest.mark.parametrize("mode", quick_modes("range+switch"))
def test_in_every_mode(mode):
    run_both(LARGE, mode, "auto", ALL, False)
    run_both(PYTHON, mode, "auto", ALL, False)


@pytest.mark.parametrize("mode", quick_modes("concord"))
def test_small_launches_in_every_mode(mode):
    run_both(SMALL, mode, "auto", ALL, False)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_on_a_gpu(mode):
    run_both("cuda", mode, "auto", ALL, False)


@pytest.mark.gpu
@pytest.mark.parametrize("layout", ["aos", "tile"])
@pytest.mark.parametrize("mode", ["range+switch", AUTO])
def test_large_populations_on_a_gpu(mode, layout):
    counts = {Plus: 400_001, Minus: 200_002, Other: 35}
    with oa.Heap(mode, "cuda", layout, initial_region=1 << 15) as heap:
        for cls, count in counts.items():
            numbers = np.arange(count)
            heap.new(cls, count, number=numbers % 1000, whole=numbers, byte=numbers % 7)
        things = heap.all(Thing)
        by = np.arange(len(things), dtype=np.float32) % 100
        things.change(heap.array(f32, by))
        before = things.whole.numpy().copy()
        results = things.measure(heap.array(i64, np.arange(len(things))), 0.5).numpy()
        start = 0
        for cls in (Plus, Minus, Other):
            group = heap.all(cls) if cls is not Plus else next(heap.all(Plus).by_class())
            at = slice(start, start + counts[cls])
            number = np.arange(counts[cls]) % 1000
            changed = by[at] - number if cls is Minus else number + by[at]
            assert np.array_equal(group.number.numpy(), changed)
            factor = np.arange(len(things))[at]
            match cls.__name__:
                case "Plus":
                    assert np.array_equal(results[at], changed + (before[at] + factor) * 0.5)
                case "Minus":
                    assert np.array_equal(results[at], np.full(counts[cls], -0.5))
                    assert np.array_equal(group.whole.numpy(), before[at] * factor)
                case _:
                    assert np.array_equal(results[at], np.zeros(counts[cls]))
            start += counts[cls]
