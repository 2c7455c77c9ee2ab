"""Objects made, read, written and deleted one by one are what many at once are."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i8, i32, i64, u8, u64
from sharedoa.heap.heap import Heap
from sharedoa.heap.memory import HeapMemory
from sharedoa.model.object import shared_type

from .invariants import check_invariants

pytestmark = pytest.mark.in_turns("heap", 3)


@oa.value
class Pair:
    number: i64
    is_set: bool
    small: f32


class Node(oa.Object):
    number: i32
    wide: f64
    next: Node
    flag: bool
    pair: Pair

    def bump(self) -> None:
        self.number += 1


class Leaf(Node):
    byte: u8
    tiny: i8
    weight: f32
    huge: u64
    weights: oa.inline[f32, 3]
    values: oa.Array[f32]


class Linked(oa.Object):
    number: i32
    next: Linked

    def __init__(self, number: i32, next: Linked = None) -> None:
        if number < 0:
            raise ValueError(number)
        self.number = number
        self.next = next


class Abstract(oa.Object):
    number: i32

    def what(self) -> i32: ...


NUMBERS = {
    "number": (-5, np.int32(7), True, np.int64(1 << 40)),
    "wide": (1.5, 3, np.float64(2.5), np.float32(0.1), (1 << 60) + 1),
    "flag": (True, np.True_, False),
    "pair": (Pair(1 << 40, True, 0.1), Pair(-1, False, 2)),
    "byte": (255, np.uint8(3), np.uint16(300)),
    "tiny": (-128, np.int8(5)),
    "weight": (0.1, 7, np.float32(0.3), np.float64(0.1), (1 << 60) + 1, float("nan"), 1e30),
    "huge": ((1 << 64) - 1, np.uint64(5), 0),
}  # fmt: skip
WRONG = {
    "number": (1 << 31, 1.5, "1", None),
    "wide": ("1", None, 1j),
    "flag": (1, 0.0, None),
    "pair": (1, None),
    "byte": (-1, 256),
    "weight": (None, [1.0, 2.0]),
    "huge": (-1, 1 << 64),
    "next": (3, "x"),
}


def the_way_without(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of ``heap`` goes the careful way from now on."""

    def refuse(*given: Any, **named: Any) -> Any:
        raise AssertionError("this is not the quick way")

    for owner, name in ((Heap, "read_field"), (Heap, "write_field"), (HeapMemory, "new_objects")):
        monkeypatch.setattr(owner, name, refuse)


def test_every_kind_of_field(heap: oa.Heap) -> None:
    """Written and read one at a time as all at once, whatever is given."""
    oa.new(Node, 3)
    one, many = oa.new(Leaf), oa.new(Leaf, 2)
    for name, values in NUMBERS.items():
        for value in values:
            setattr(many, name, value)
            expected = getattr(many[1], name)
            setattr(one, name, value)
            for made in (one, oa.new(Leaf, **{name: value}), oa.new(Leaf, **{name: value})):
                found = getattr(made, name)
                assert type(found) is type(expected), name
                assert repr(found) == repr(expected), (name, value)
    for name, values in WRONG.items():
        before = len(oa.all(Leaf))
        for value in values:
            works: tuple[Callable[[], Any], ...] = (
                lambda name=name, value=value: setattr(one, name, value),
                lambda name=name, value=value: oa.new(Leaf, **{name: value}),
            )
            for work in works:
                with pytest.raises(oa.ArgumentError, match=rf"Leaf\.{name}"):
                    work()
        assert len(oa.all(Leaf)) == before, name
    values = heap.array(f32, [1.0, 2.0])
    for _ in range(2):
        made = Leaf(number=4, weights=[1.0, 2.0, 3.0], values=values, next=one)
        assert list(made.weights) == [1.0, 2.0, 3.0] and made.values[1] == 2.0
        assert made.next is one and made.number == 4
    made.next = None
    assert made.next is None
    check_invariants(heap)


@pytest.mark.parametrize("mode", ["auto", "typepointer", "coal"])
@pytest.mark.parametrize("layout", ["tile", "aos"])
@pytest.mark.parametrize("references", ["32", "64"])
def test_it_is_quick(
    mode: str, layout: str, references: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What programs do with single objects again and again goes the quick way, and means the same:
    what is made lies where many at once would lie, and kernels see it."""
    if (mode, references) == ("typepointer", "32"):
        pytest.skip("tagged references have 64 bits")
    with (
        oa.Heap(mode, "cpu", layout, initial_region=64, references=references) as heap,
        oa.Heap(mode, "cpu", layout, initial_region=64, references=references),
    ):
        many = oa.new(Linked, 40, number=0)
        with heap:
            made = [Linked(0), Linked(1)]
            oa.delete(Linked(1, made[0]))
            assert made[1].number == 1 and made[1].next is None
            made[0].next = made[1]
            made[0].number = 3
            with monkeypatch.context() as patched:
                the_way_without(heap, patched)
                for number in range(2, 40):
                    made.append(Linked(number, made[-1]))
                    oa.delete(Linked(-1 + number, made[0]))
                for number in range(2, 40):
                    assert made[number].number == number
                    assert made[number].next is made[number - 1]
                    made[number].number = -number
                made[0].next = made[39]
            (theirs,), (ours,) = many._heap.ranges(), heap.ranges()
            offsets = (many.references() - many.references()[0]).tolist()
            references_of = [one._reference for one in made]
            assert [each - references_of[0] for each in references_of] == offsets
            assert theirs[1] - theirs[0] == ours[1] - ours[0]
            assert oa.all(Linked).number.numpy().tolist() == [3, 1, *range(-2, -40, -1)]
            assert heap.stats().objects == 40
            check_invariants(heap)


def test_a_history(heap: oa.Heap) -> None:
    """Objects come and go, regions come, merge and go, fields move; all is as in a dictionary."""
    chance = random.Random(1)
    alive: list[list[Any]] = []  # an object, its number, and what comes next
    gone: list[Any] = []
    for _ in range(700):
        what = chance.random()
        if what < 0.5 or not alive:
            cls, number = chance.choice((Node, Leaf)), chance.randrange(1000)
            following = chance.choice([None, *(one for one, *_ in alive[-20:])])
            alive.append([cls(number=number, next=following), number, following])
        elif what < 0.7:
            one, *_ = alive.pop(chance.randrange(len(alive)))
            for known in alive:
                if known[2] is one:
                    known[0].next = known[2] = None
            one.flag, one.wide, one.pair = True, 2.0, Pair(1, True, 1.0)  # of nobody after it
            oa.delete(one)
            gone.append(one)
        elif what < 0.9:
            known = chance.choice(alive)
            known[0].number = known[1] = chance.randrange(1000)
        elif what < 0.91 and heap.mode.placement == "by_type":
            oa.compact()
        elif what < 0.92:
            oa.delete(oa.new(Node, 30, number=3))
        for one, number, following in chance.sample(alive, min(3, len(alive))):
            assert (one.number, one.next) == (number, following)
            assert not one.flag and one.wide == 0.0 and one.pair == Pair(0, False, 0.0)
    assert len(oa.all(Node)) == len(alive)
    for one in gone:
        for work in (
            lambda one=one: one.number,
            lambda one=one: setattr(one, "number", 1),
            lambda one=one: oa.delete(one),
        ):
            with pytest.raises(oa.HeapError, match="deleted"):
                work()
    check_invariants(heap)


def test_the_first_region_stays_until_memory_is_wanted() -> None:
    """It need not be made again for every object that is made and deleted; larger ones go."""
    with oa.Heap(backend="cpu", initial_region=32, capacity=1 << 18) as heap:
        regions = lambda: list(heap.placement.regions(shared_type(Linked)))
        oa.delete(Linked(0))
        (first,) = regions()
        oa.delete(Linked(0))
        assert regions() == [first] and first.is_idle
        oa.delete(oa.new(Linked, 2, number=0))
        assert regions() == []
        made = [Linked(number) for number in range(64)]
        (larger,) = regions()
        assert larger.capacity > 32
        for one in made[1:]:
            oa.delete(one)
        assert len(oa.all(Linked)) == 1
        heap.placement.initial_region = 1  # whatever it is in by now is larger
        oa.delete(made[0])
        assert regions() == []
        heap.placement.initial_region = 32
        oa.delete(Linked(0))
        with pytest.raises(oa.HeapError):
            oa.zeros(1 << 20, u8)
        assert regions() == []
        check_invariants(heap)


def test_launches_are_waited_for_and_recorded_ones_refused(heap: oa.Heap) -> None:
    one = oa.new(Leaf, number=1)
    one.number = 2
    for number in range(3, 6):
        oa.all(Node).bump()
        assert one.number == number
    step = oa.capture()
    with step:
        oa.all(Node).bump()
        for work in (
            lambda: one.number,
            lambda: setattr(one, "number", 1),
            lambda: oa.new(Leaf, number=1),
            lambda: Leaf(),
            lambda: oa.delete(one),
        ):
            with pytest.raises(oa.HeapError, match="capture"):
                work()
    step.run(2)
    assert one.number == 7


def _fail(heap: oa.Heap, foreign: Any) -> None:
    first, second = Linked(1), oa.new(Node)
    for work, problem, words in (
        (lambda: Linked(-1), ValueError, "-1"),
        (lambda: Linked(), TypeError, "number"),
        (lambda: Abstract(), oa.ClassError, "abstract"),
        (lambda: oa.new(Abstract), oa.ClassError, "abstract"),
        (lambda: Node(3), oa.ArgumentError, "by name"),
        (lambda: Node(nothing=3), oa.ArgumentError, "no field nothing"),
        (lambda: Node(next=foreign), oa.ArgumentError, "another heap"),
        (lambda: setattr(second, "next", foreign), oa.ArgumentError, "another heap"),
        (lambda: Node(next=first), oa.ArgumentError, "Node.next"),
        (lambda: Node(number=[1, 2]), oa.ArgumentError, "number of objects"),
        (lambda: oa.delete(foreign), oa.HeapError, None),
    ):  # fmt: skip
        before = heap.stats().objects
        with heap, pytest.raises(problem, match=words):
            if words is None:
                heap.delete(foreign)
            work()
        assert heap.stats().objects == before
    last = oa.new(Node)
    last.next = second
    oa.delete(second)
    for work in (lambda: Node(next=second), lambda: setattr(last, "next", second)):
        with pytest.raises(oa.HeapError, match="deleted"):
            work()
    assert len(oa.all(Node)) == 1
    oa.delete(last)
    oa.delete(first)


def test_what_fails_makes_nothing(heap: oa.Heap) -> None:
    other = oa.Heap(heap.mode.name, heap.backend, "aos")
    with other:
        foreign = oa.new(Node)
    for _ in range(2):
        _fail(heap, foreign)
    check_invariants(heap)


def test_proxies_are_the_same_as_long_as_somebody_holds_them(by_type: oa.Heap) -> None:
    kept = [Linked(number) for number in range(50)]
    kept[0].next = kept[49]
    for _ in range(3000):
        Linked(1)
    assert len(by_type.proxies) < 2000
    assert kept[0].next is kept[49]
    assert all(found is one for found, one in zip(oa.array(Linked, kept), kept, strict=True))


class Charged(oa.Object):
    charge: i32 = 3
    is_on: bool = True
    weight: f32 = 0.5
    next: Charged | None


class Doubly(Charged):
    weight = 0.25
    pair: Pair = Pair(1, True, 2.0)


class Set(Charged):
    extra: f64 = 4.0

    def __init__(self, charge: i32) -> None:
        self.charge = charge


@pytest.mark.parametrize("mode", ["auto", "cuda"])
def test_defaults_of_every_object(mode: str) -> None:
    """The first one is made another way than those that follow it."""
    with oa.Heap(mode=mode, backend="cpu", capacity="64MiB"):
        for number in range(3):
            each, other, last = Charged(), Doubly(charge=number), Set(number)
            assert (each.charge, each.is_on, each.weight, each.next) == (3, True, 0.5, None)
            assert (other.charge, other.is_on, other.weight) == (number, True, 0.25)
            assert (other.pair.number, other.pair.is_set, other.pair.small) == (1, True, 2.0)
            assert (last.charge, last.is_on, last.weight, last.extra) == (number, True, 0.5, 4.0)
            assert oa.new(Doubly, weight=7.0, next=each).next is each
