"""Plants and animals that make and end others in captured steps, and the same by plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32, i64
from sharedoa.backends.staging import HostStaging
from sharedoa.runtime.population_sequence import PopulationSequence

from ..backends.pretend_device import PretendDevice

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


def evolving(device: str, mode: str, references: str, **options: Any) -> Iterator[Both]:
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


def plans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Each plan that is made from now on."""
    made: list[Any] = []
    real = PopulationSequence._make_plan

    def make(sequence: PopulationSequence) -> None:
        real(sequence)
        made.append(sequence._plan)

    monkeypatch.setattr(PopulationSequence, "_make_plan", make)
    return made
