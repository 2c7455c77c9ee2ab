"""Captured steps on one heap of which each sees what the others, launches and the host have made
and ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.runtime.population_sequence import PopulationSequence

from ..backends.pretend_device import PretendDevice
from ..differential.effort import examples
from ..heap.invariants import check_invariants
from .evolution import EagerDevice, plans

DEVICES = ["late", "eager", pytest.param("cuda", marks=pytest.mark.gpu)]


class Item(oa.Object):
    number: i32
    age: i32

    def grow(self) -> None: ...

    def end(self, remainder: i32) -> None:
        if self.number % 5 == remainder:
            oa.delete(self)

    def double(self) -> None:
        pass


class Slow(Item):
    def grow(self) -> None:
        self.age += 1

    def double(self) -> None:
        if self.number < 64:
            oa.new(Fast, number=2 * self.number)


class Fast(Item):
    def grow(self) -> None:
        self.age += 10


class Odd(Fast):
    def grow(self) -> None:
        self.age += 100


@oa.kernel
def make_odd(count: i32) -> None:
    i = oa.grid(1)
    if i < count:
        oa.new(Odd, number=i)


GROWTH = {"Slow": 1, "Fast": 10, "Odd": 100}
CLASSES = {"Slow": Slow, "Fast": Fast, "Odd": Odd}


class Model:
    """The same by plain Python: class, number and age of each."""

    def __init__(self) -> None:
        self.items: list[list[Any]] = []

    def grow(self) -> None:
        for item in self.items:
            item[2] += GROWTH[item[0]]

    def end(self, remainder: int) -> None:
        self.items = [item for item in self.items if item[1] % 5 != remainder]

    def double(self) -> None:
        self.items += [["Fast", 2 * n, 0] for name, n, _ in self.items if name == "Slow" and n < 64]

    @property
    def state(self) -> Counter[tuple[str, int, int]]:
        return Counter((name, number, age) for name, number, age in self.items)


def state_of(heap: oa.Heap) -> Counter[tuple[str, int, int]]:
    found: Counter[tuple[str, int, int]] = Counter()
    for name, cls in CLASSES.items():
        for item in oa.concat(heap.all(cls)) if len(heap.all(cls)) else ():
            if type(item) is cls:
                found[name, item.number, item.age] += 1
    return found


@pytest.fixture(params=DEVICES)
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    backend: Any = {"late": PretendDevice(1 << 16), "eager": EagerDevice()}
    backend = backend.get(request.param, request.param)
    with oa.Heap(backend=backend, initial_region=32) as heap:
        yield heap


def test_classes_whose_objects_had_all_gone(heap: oa.Heap) -> None:
    """The memory of the class stays, and nothing has said that others live in it."""
    heap.new(Slow, 3)
    heap.new(Odd, 2)
    heap.all(Odd).end(0)
    with oa.capture() as step:
        heap.all(Item).grow()
    step.run(2)
    make_odd[4](4)
    step.run()
    assert heap.all(Slow).age.numpy().tolist() == [3] * 3
    assert heap.all(Odd).age.numpy().tolist() == [100] * 4


def test_classes_whose_objects_had_all_gone_beside_others_that_change(heap: oa.Heap) -> None:
    heap.new(Slow, 3, number=70)
    heap.new(Odd, 2)
    heap.all(Odd).end(0)
    with oa.capture() as step:
        heap.all(Slow).double()
        heap.all(Item).grow()
    step.run(2)
    make_odd[4](4)
    step.run()
    assert heap.all(Slow).age.numpy().tolist() == [3] * 3
    assert heap.all(Odd).age.numpy().tolist() == [100] * 4


def test_the_first_objects_of_all(heap: oa.Heap) -> None:
    """A step that had nothing to do, and then has."""
    heap.new(Slow, 1, number=70)
    with oa.capture() as step:
        heap.all(Slow).double()
        heap.all(Slow).grow()
    step.run()
    heap.delete(heap.all(Slow))
    step.run(2)
    heap.new(Slow, 2, number=70)
    step.run()
    assert heap.all(Slow).age.numpy().tolist() == [1, 1]


def test_a_step_outlives_changes_by_another(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is planned again when it has seen them first, and where there come to be many more."""
    heap.new(Slow, 40, number=range(40))
    heap.new(Fast, 40, number=range(100, 140))
    model = Model()
    model.items = [
        [n, k, 0] for n, ks in (("Slow", range(40)), ("Fast", range(100, 140))) for k in ks
    ]
    with oa.capture() as growing:
        heap.all(Item).grow()
        heap.all(Slow).grow()
    with oa.capture() as changing:
        heap.all(Item).end(1)
        heap.all(Slow).double()
        heap.all(Fast).end(2)
    made = plans(monkeypatch)
    for _ in range(12):
        growing.run()
        model.grow()
        for item in model.items:
            item[2] += item[0] == "Slow"
        changing.run()
        model.end(1)
        model.double()
        model.items = [i for i in model.items if i[0] == "Slow" or i[1] % 5 != 2]
        assert state_of(heap) == model.state
    assert len(made) <= 12  # of 24 runs


def test_what_a_step_only_calls_is_the_same_afterwards(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects that stand in a list with others that are made and ended."""
    heap.new(Slow, 40, number=100)
    oa.reserve(Odd, 200)
    with oa.capture() as growing:
        heap.all(Slow).grow()
    with oa.capture() as changing:
        make_odd[8](8)
        heap.all(Item).grow()
        heap.all(Odd).end(1)
    for _ in range(2):
        growing.run()
        changing.run()
    made = plans(monkeypatch)
    for _ in range(5):
        growing.run()
        changing.run()
        assert len(heap.all(Odd)) > 0
    assert all(plan.changing for plan in made)  # type: ignore[attr-defined]
    assert (heap.all(Slow).age.numpy() == 14).all()


def test_room_is_not_looked_for_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is none for all that a step may make, which may take longer than the step."""
    with oa.Heap(backend=EagerDevice(), capacity="1MiB", initial_region=32) as heap:
        heap.new(Slow, 12_000, number=64)
        tries = list[object]()
        real = PopulationSequence._make_room

        def make_room(sequence: PopulationSequence, *given: Any) -> Any:
            tries.append(sequence)
            return real(sequence, *given)

        monkeypatch.setattr(PopulationSequence, "_make_room", make_room)
        with oa.capture() as step:
            heap.all(Slow).double()
            heap.all(Item).double()
            heap.all(Item).grow()
        step.run(40)
        assert 2 <= len(tries) <= 8
        assert (heap.all(Slow).age.numpy() == 40).all()
        heap.delete(heap.all(Slow)[100:])
        step.run(60)
        assert (heap.all(Slow).age.numpy() == 100).all()
        count = len(tries)
        step.run(20)
        assert len(tries) == count  # there is a plan


@pytest.mark.parametrize("seed", range(examples(3)))
def test_random_histories(heap: oa.Heap, seed: int) -> None:
    random, model = Random(seed), Model()
    remainder = random.randrange(5)
    with oa.capture() as growing:
        heap.all(Item).grow()
    with oa.capture() as ending:
        heap.all(Item).end(remainder)
        heap.all(Item).grow()
    with oa.capture() as doubling:
        heap.all(Slow).double()
        heap.all(Fast).grow()
    for _ in range(60):
        for _ in range(random.choice((1, 1, 3))):
            match random.randrange(8):
                case 0 | 1 | 2:
                    growing.run()
                    model.grow()
                case 3:
                    ending.run()
                    model.end(remainder)
                    model.grow()
                case 4 if len(model.items) < 300:
                    doubling.run()
                    model.double()
                    for item in model.items:
                        item[2] += 0 if item[0] == "Slow" else GROWTH[item[0]]
                case 5 if len(model.items) < 300:
                    name, count = random.choice([*CLASSES]), random.choice((1, 3, 40))
                    numbers = [random.randrange(128) for _ in range(count)]
                    heap.new(CLASSES[name], count, number=numbers)
                    model.items += [[name, number, 0] for number in numbers]
                case 6:
                    make_odd[7](7)
                    model.items += [["Odd", number, 0] for number in range(7)]
                case 7:
                    name = random.choice([*CLASSES])
                    gone = CLASSES[name]
                    heap.delete(heap.all(gone))
                    below = {n for n, cls in CLASSES.items() if issubclass(cls, gone)}
                    model.items = [item for item in model.items if item[0] not in below]
        if random.random() < 0.3:
            assert state_of(heap) == model.state
    assert state_of(heap) == model.state
    check_invariants(heap)
