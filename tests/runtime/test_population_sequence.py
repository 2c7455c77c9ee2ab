"""Captured steps whose populations change without the host: runs, what the host does between them,
and that nobody waits."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32, i64
from sharedoa.backends.staging import HostStaging
from sharedoa.errors import DeviceError, HeapError
from sharedoa.runtime import population_sequence
from sharedoa.runtime.population_sequence import PopulationSequence

from ..backends.pretend_device import PretendDevice
from ..heap.invariants import check_invariants

_MASK = (1 << 31) - 1


@oa.func
def mixed(number: i64, turn: i64) -> i64:
    value = (number * 1103515245 + turn * 40503 + 12345) & 0x7FFFFFFF
    value = ((value ^ (value >> 13)) * 1274126177) & 0x7FFFFFFF
    return value ^ (value >> 16)


class Clock(oa.Object):
    turn: i64

    def tick(self) -> None:
        self.turn += 1


class Being(oa.Object):
    number: i64
    age: i32

    def live(self, clock: Clock) -> None: ...

    def grow(self) -> None:
        self.age += 1

    def end(self) -> None:
        oa.delete(self)


class Plant(Being):
    def live(self, clock: Clock) -> None:
        chance = mixed(self.number, clock.turn) % 16
        if chance < 2:
            oa.delete(self)
        elif chance == 2:
            Plant(number=mixed(self.number, clock.turn + 7))
        elif chance == 3:
            Animal(number=mixed(self.number, clock.turn + 9), age=100)


class Animal(Being):
    energy: i32

    def live(self, clock: Clock) -> None:
        chance = mixed(self.number, clock.turn) % 8
        if chance < 3:
            oa.delete(self)
        elif chance == 3:
            for child in range(2):
                oa.new(
                    Animal, number=mixed(self.number, clock.turn + child), energy=self.energy + 1
                )


@oa.kernel
def seed_plants(clock: Clock, count: i32) -> None:
    i = oa.grid(1)
    if i < count and (clock.turn + i) % 5 == 0:
        Plant(number=mixed(clock.turn, i64(i)))


@oa.kernel
def end_old(beings: oa.Array[Being], ended: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if oa.is_alive(beings[i]) and oa.delete(beings[i]):
        oa.atomic_add(ended, 0, 1)


State = tuple[Counter[tuple[int, int]], Counter[tuple[int, int, int]]]


class World:
    """The same by plain Python."""

    def __init__(self) -> None:
        self.turn = 0
        self.plants: list[list[int]] = []
        self.animals: list[list[int]] = []

    @staticmethod
    def mixed(number: int, turn: int) -> int:
        value = (number * 1103515245 + turn * 40503 + 12345) & _MASK
        value = ((value ^ (value >> 13)) * 1274126177) & _MASK
        return value ^ (value >> 16)

    def run(self) -> None:
        self.plants += [
            [self.mixed(self.turn, i), 0] for i in range(20) if (self.turn + i) % 5 == 0
        ]
        plants: list[list[int]] = []
        animals: list[list[int]] = []
        for number, age in self.plants:
            chance = self.mixed(number, self.turn) % 16
            if chance >= 2:
                plants.append([number, age])
            if chance == 2:
                plants.append([self.mixed(number, self.turn + 7), 0])
            elif chance == 3:
                animals.append([self.mixed(number, self.turn + 9), 100, 0])
        for number, age, energy in self.animals:
            chance = self.mixed(number, self.turn) % 8
            if chance >= 3:
                animals.append([number, age, energy])
            if chance == 3:
                animals += [
                    [self.mixed(number, self.turn + child), 0, energy + 1] for child in range(2)
                ]
        self.plants, self.animals = plants, animals
        for plant in self.plants:
            plant[1] += 1
        for animal in self.animals:
            animal[1] += 1
        self.turn += 1

    @property
    def state(self) -> State:
        plants = Counter((number, age) for number, age in self.plants)
        return plants, Counter((number, age, energy) for number, age, energy in self.animals)


def state_of(heap: oa.Heap) -> State:
    plants, animals = heap.all(Plant), heap.all(Animal)
    return (
        Counter(zip(plants.number.numpy().tolist(), plants.age.numpy().tolist(), strict=True)),
        Counter(
            zip(
                animals.number.numpy().tolist(),
                animals.age.numpy().tolist(),
                animals.energy.numpy().tolist(),
                strict=True,
            )
        ),
    )


class EagerDevice(PretendDevice):
    """Has ended whatever it was given."""

    def __init__(self) -> None:
        super().__init__(1 << 16)

    def prepare(self, launch: Any) -> Callable[[], None]:
        start = super().prepare(launch)

        def begin() -> None:
            start()
            self.run_until(self.launched())

        return begin

    def _staging(self, pieces: int, piece_bytes: int) -> HostStaging:
        return _EndedStaging(self.synchronize, pieces, piece_bytes)


class _EndedStaging(HostStaging):
    def has_ended(self, piece: int) -> bool:
        return True


Both = tuple[oa.Heap, World, oa.Capture]


FEW = (("late", "auto", "64"), ("late", "typepointer", "64"), ("eager", "header+vtable", "64"))
OTHERS = (("late", "coal", "64"), ("eager", "auto", "32"))
ON_GPUS = [
    pytest.param(("cuda", mode, references), marks=pytest.mark.gpu)
    for mode, references in (
        ("auto", "64"), ("sharedoa", "64"), ("typepointer", "64"), ("auto", "32"),
    )
]  # fmt: skip
#: For tests of what the host does when runs have ended, which asks nothing of the mode.
in_few = pytest.mark.parametrize(
    "both",
    [*FEW, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS), *ON_GPUS],
    ids=str,
    indirect=True,
)


@pytest.fixture(params=[*FEW, *OTHERS, *ON_GPUS], ids=str)
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    """A captured step of a heap, and the same by plain Python."""
    yield from _both(*request.param)


def _both(device: str, mode: str, references: str, **options: Any) -> Iterator[Both]:
    backend: Any = {"late": PretendDevice(1 << 16), "eager": EagerDevice()}.get(device, device)
    options = {"initial_region": 32, **options}
    with oa.Heap(backend=backend, mode=mode, references=references, **options) as heap:
        clock = Clock(turn=0)
        with oa.capture() as step:
            seed_plants[20](clock, 20)
            oa.all(Being).live(clock)
            oa.all(Plant).grow()
            oa.all(Animal).grow()
            oa.all(Clock).tick()
        yield heap, World(), step


def run(both: Both, count: int) -> None:
    _, world, step = both
    step.run(count)
    for _ in range(count):
        world.run()


def plans(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Each plan that is made from now on."""
    made: list[object] = []
    real = PopulationSequence._make_plan

    def make(sequence: PopulationSequence) -> None:
        real(sequence)
        made.append(sequence._plan)

    monkeypatch.setattr(PopulationSequence, "_make_plan", make)
    return made


def test_runs_do_what_python_does(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    heap, world, _ = both
    made = plans(monkeypatch)
    for count in (1, 1, 2, 5, 1, 20, 0, 3):
        run(both, count)
        assert state_of(heap) == world.state
    assert len(heap.all(Being)) == len(world.plants) + len(world.animals)
    assert 1 <= len(made) < 30


def test_the_host_changes_things_between_runs(both: Both) -> None:
    heap, world, _ = both
    random = Random(7)
    for round in range(14):
        run(both, random.randint(1, 4))
        match round % 7:
            case 0:
                heap.new(Plant, 5, number=np.arange(5) + 100 * round)
                world.plants += [[k + 100 * round, 0] for k in range(5)]
            case 1:
                gone = [each for each in heap.all(Plant) if each.number % 3 == 0]
                heap.delete(gone)
                world.plants = [each for each in world.plants if each[0] % 3]
                assert not any(oa.is_alive(each) for each in gone)
            case 2:
                with heap:
                    oa.compact()
            case 3:
                oa.sort(heap.all(Plant), "number")
            case 4:
                heap.all(Animal).energy = 3
                for each in world.animals:
                    each[2] = 3
            case 5:
                heap.all(Being).grow()
                for each in (*world.plants, *world.animals):
                    each[1] += 1
            case 6:
                ended = heap.zeros(1, i32)
                beings = oa.concat(heap.all(Plant))
                end_old[min(4, len(beings))](beings, ended)
                assert int(ended[0]) == min(4, len(beings))
                left = Counter(heap.all(Plant).number.numpy().tolist())
                kept = []
                for each in world.plants:
                    if left[each[0]]:
                        left[each[0]] -= 1
                        kept.append(each)
                world.plants = kept
        assert state_of(heap) == world.state, round
    check_invariants(heap)


@in_few
def test_proxies_of_what_a_run_ended_say_so(both: Both) -> None:
    heap, world, _ = both
    run(both, 3)
    held = list(heap.all(Being))
    before = {int(each.number) for each in held}
    run(both, 4)
    alive = [oa.is_alive(each) for each in held]
    assert before and not all(alive)
    with pytest.raises(HeapError, match="deleted"):
        _ = held[alive.index(False)].number
    assert state_of(heap) == world.state


@in_few
def test_a_dump_has_what_runs_made(both: Both, tmp_path: Path) -> None:
    heap, world, _ = both
    run(both, 6)
    heap.dump(tmp_path / "dump")
    with oa.Heap(backend="cpu") as other:
        other.load(tmp_path / "dump")
        assert state_of(other) == world.state


def test_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where earlier runs have ended the host asks for nothing, as long as there is room."""
    for heap, world, step in _both("eager", "auto", "64"):
        run((heap, world, step), 8)
        heap.synchronize()
        run((heap, world, step), 1)
        with monkeypatch.context() as patch:

            def refuse(*_: Any) -> None:
                raise AssertionError("the host waits")

            patch.setattr(EagerDevice, "synchronize", refuse)
            patch.setattr(HostStaging, "wait", refuse)
            run((heap, world, step), 3)
        assert state_of(heap) == world.state


def test_no_more_than_a_few_runs_are_under_way() -> None:
    """A device that is slower than the host gets no endless queue."""
    for heap, world, step in _both("late", "auto", "64"):
        run((heap, world, step), 1)
        heap.synchronize()
        backend = heap.backend
        assert isinstance(backend, PretendDevice)
        run((heap, world, step), 1)
        each = len(backend._queue)
        run((heap, world, step), 20)
        assert len(backend._queue) <= 5 * each
        assert state_of(heap) == world.state


class Cell(oa.Object):
    number: i64

    def divide(self) -> None:
        oa.new(Cell, number=self.number * 2 + 1)
        self.number *= 2

    def bound(self) -> None:
        if self.number > 1 << 20:
            oa.delete(self)


@pytest.mark.parametrize("device", ["late", "eager", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_growth_to_the_limit(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room is made again and again; runs lose nothing."""
    made = plans(monkeypatch)
    backend: Any = {"late": PretendDevice(1 << 16), "eager": EagerDevice()}.get(device, device)
    with oa.Heap(backend=backend, initial_region=2) as heap:
        Cell(number=1)
        with oa.capture() as step:
            oa.all(Cell).divide()
        for generation in range(1, 12):
            step.run()
            if generation % 4 == 0:
                assert len(heap.all(Cell)) == 1 << generation
        assert sorted(heap.all(Cell).number.numpy().tolist()) == list(range(1 << 11, 1 << 12))
        assert 3 <= len(made) <= 11
        with oa.capture() as bounding:
            oa.all(Cell).divide()
            oa.all(Cell).bound()
        bounding.run(9)
        found = heap.all(Cell).number.numpy()
        assert sorted(found.tolist()) == [1 << 20]
        check_invariants(heap)


def test_memory_for_reports_goes_with_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()  # what other tests have left
    made, closed = plans(monkeypatch), list[HostStaging]()
    monkeypatch.setattr(HostStaging, "close", lambda staging: closed.append(staging))
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=2):
        Cell(number=1)
        with oa.capture() as step:
            oa.all(Cell).divide()
        step.run(10)
        assert len(made) > 2
        assert len(closed) == len(made) - 1


def test_without_room_the_launch_says_so() -> None:
    with oa.Heap(backend=PretendDevice(1 << 16), capacity=1 << 20, initial_region=32) as heap:
        oa.new(Cell, 64, number=1)
        with oa.capture() as step:
            oa.all(Cell).divide()
        with pytest.raises((HeapError, DeviceError), match=r"room|fit|more"):
            step.run(40)
            heap.synchronize()
        count = len(heap.all(Cell))
        assert count >= 64 and (heap.all(Cell).number.numpy() >= 1).all()
        oa.delete(heap.all(Cell)[: count // 2])
        assert len(heap.all(Cell)) == count - count // 2


@in_few
def test_two_steps_on_one_heap(both: Both) -> None:
    heap, world, first = both
    with oa.capture() as second:
        oa.all(Plant).grow()
        oa.all(Being).grow()
    for _ in range(4):
        run(both, 2)
        second.run(3)
        for each in world.plants:
            each[1] += 6
        for each in world.animals:
            each[1] += 3
    assert state_of(heap) == world.state


@in_few
def test_launches_after_a_run_see_its_objects(both: Both) -> None:
    """Nothing that a launch outside of the step rests on is what it was before the run."""
    heap, world, step = both
    ended = heap.zeros(1, i32)
    for _ in range(3):
        run(both, 2)
        heap.all(Being).grow()
        for each in (*world.plants, *world.animals):
            each[1] += 1
        step.run()
        world.run()
        beings = oa.concat(heap.all(Being))
        end_old[len(beings)](beings, ended)
        world.plants, world.animals = [], []
        assert len(heap.all(Being)) == 0
    run(both, 5)
    assert state_of(heap) == world.state


@oa.kernel
def make_plants(count: i32) -> None:
    i = oa.grid(1)
    if i < count and i % 3:
        Plant(number=i64(i))


def test_objects_that_the_host_makes_are_not_in_launches_before() -> None:
    """Also where the device has yet to look who lives."""
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=32) as heap:
        make_plants[60](60)
        ended = heap.zeros(1, i32)
        beings = heap.all(Plant)[5:20]
        end_old[15](beings, ended)
        heap.all(Plant).grow()
        heap.new(Plant, 9, number=1000)
        found = heap.all(Plant)
        assert len(found) == 34
        ages = found.age.numpy()[found.number.numpy() == 1000]
        assert ages.tolist() == [0] * 9 and found.age.numpy().sum() == 25


def test_lists_after_runs_look_at_all_slots() -> None:
    """Runs look at the first slots of a large region alone, and sum up no more."""
    for heap, world, step in _both("late", "auto", "64", initial_region=1 << 13):
        for _ in range(4):
            run((heap, world, step), 5)
            heap.all(Being).grow()
            for each in (*world.plants, *world.animals):
                each[1] += 1
            assert state_of(heap) == world.state


def test_classes_without_objects() -> None:
    with oa.Heap(backend=PretendDevice(1 << 16)) as heap:
        ended, nobody = heap.zeros(1, i32), heap.array(Being, [None])
        with oa.capture() as step:
            end_old[1](nobody, ended)
        step.run(3)
        assert int(ended[0]) == len(heap.all(Being)) == 0


@oa.kernel
def make_animals() -> None:
    Animal(number=i64(oa.grid(1)))


@oa.kernel
def end_animals(animals: oa.Array[Animal]) -> None:
    oa.delete(animals[oa.grid(1)])


def test_a_step_that_ends_all_it_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its room stays, though the host looks in between."""
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=32) as heap:
        clock = Clock(turn=0)
        with oa.capture() as step:
            make_animals[500]()
            oa.all(Animal).live(clock)
            oa.all(Animal).end()
        step.run(2)
        made = plans(monkeypatch)
        for _ in range(3):
            assert len(heap.all(Animal)) == 0
            step.run(2)
        assert not made
        check_invariants(heap)


def test_others_get_what_launches_have_emptied() -> None:
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=32, capacity="2MiB") as heap:
        animals = heap.new(Animal, 30_000)
        end_animals[30_000](animals)
        del animals
        assert len(heap.all(Animal)) == 0
        plants = heap.new(Plant, 40_000, number=7)
        assert len(heap.all(Plant)) == 40_000
        assert (plants.number == 7).all()
        check_invariants(heap)


def test_objects_of_the_host_behind_all_slots_of_the_plan() -> None:
    """Objects that it has made and deleted between runs leave others far behind."""
    for heap, world, step in _both("eager", "auto", "64", initial_region=1 << 13):
        run((heap, world, step), 5)
        many = heap.new(Plant, 4000, number=5)
        heap.delete(many[:3995])
        world.plants += [[5, 0] for _ in range(5)]
        run((heap, world, step), 1)
        assert state_of(heap) == world.state


def test_an_interrupted_wait_loses_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for heap, world, step in _both("late", "auto", "64"):
        run((heap, world, step), 3)
        for _ in range(6):
            with monkeypatch.context() as patch:

                def interrupt(*_: Any) -> None:
                    raise KeyboardInterrupt

                patch.setattr(HostStaging, "wait", interrupt)
                for _ in range(8):
                    try:
                        step.run()
                    except KeyboardInterrupt:
                        break
                    world.run()
            run((heap, world, step), 1)
        assert state_of(heap) == world.state


def test_a_method_that_comes_to_make_objects_is_captured_again() -> None:
    with oa.Heap(backend=PretendDevice(1 << 16)):

        class Thing(oa.Object):
            number: i64

            def act(self) -> None:
                self.number += 1

        class Other(oa.Object):
            number: i64

        Thing(number=1)
        with oa.capture() as step:
            oa.all(Thing).act()
        step.run(2)
        assert oa.all(Thing)[0].number == 3

        def act(self: Any) -> None:
            Other(number=self.number)

        Thing.act = act  # type: ignore[method-assign]
        step.run(2)
        assert oa.all(Other).number.numpy().tolist() == [3, 3]


def test_a_heap_goes_with_its_step() -> None:
    found = []
    for heap, world, step in _both("eager", "auto", "64"):
        run((heap, world, step), 2)
        found.append(weakref.ref(heap))
    del heap, world, step
    gc.collect()
    assert found[0]() is None


def test_a_thousand_runs_need_no_more_memory() -> None:
    for heap, world, step in _both("eager", "auto", "64"):
        run((heap, world, step), 60)
        before = heap.stats().slab_bytes
        run((heap, world, step), 400)
        assert state_of(heap) == world.state
        assert heap.stats().slab_bytes <= 2 * before
        assert population_sequence._PIECES < 10


class Spore(oa.Object):
    """Of the many that each may make it makes one at most."""

    number: i64

    def spread(self) -> None:
        for direction in range(8):
            if self.number % 8 == direction:
                oa.new(Husk, number=self.number)
                oa.new(Spore, number=self.number + 1)

    def wither(self) -> None:
        oa.delete(self)


class Husk(oa.Object):
    number: i64

    def decay(self) -> None:
        oa.delete(self)


@pytest.mark.parametrize("capacity", ["3MiB", "6MiB", "32MiB"])
def test_room_where_each_object_may_make_several(capacity: str) -> None:
    """The bound on what a run makes grows ninefold a run. Two runs ahead are not planned for, and
    where memory runs short, others' empty regions go without harm."""
    with oa.Heap(backend=PretendDevice(1 << 22), capacity=capacity, initial_region=32) as heap:
        oa.new(Spore, 1000, number=range(1000))
        with oa.capture() as step:
            oa.all(Husk).decay()
            oa.all(Spore).spread()
        for runs in range(1, 4):
            step.run()
            assert len(heap.all(Spore)) == 1000 << runs
            assert len(heap.all(Husk)) == 500 << runs
        check_invariants(heap)
