"""Cells, vehicles and lights. Cars follow the rules of DynaSOAr's traffic example. Producers make
vehicles, which are deleted when their journeys end."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32, i64, u32

from ...common.xorwow import Xorwow, seeded
from ..parameters import (
    BUS_TOP_SPEED,
    CREATION_PROBABILITY,
    DWELL_TIME,
    SLOW_DOWN_PROBABILITY,
    SLOWEST,
    TOP_SPEEDS,
    TRUCK_SLOW_DOWN_PROBABILITY,
    TRUCK_TOP_SPEED,
)

#: Places in the array that counts vehicles so far, and the cells that those removed have passed.
CREATED, REMOVED, PASSED = range(3)


class Cell(oa.Object):
    """A piece of road that holds at most one vehicle."""

    vehicle: Vehicle | None
    outgoing: oa.inline[Cell, 4]
    num_outgoing: i32
    max_velocity: i32
    current_max_velocity: i32

    def is_free(self) -> bool:
        return self.vehicle is None

    def is_exit(self) -> bool:
        """Whether vehicles that arrive here leave the network."""
        return self.num_outgoing == 0

    def dwell_time(self) -> i32:
        """Steps that a bus waits here."""
        return i32(0)

    def occupy(self, vehicle: Vehicle) -> None:
        assert self.vehicle is None, "a vehicle enters a cell that another one occupies"
        self.vehicle = vehicle

    def release(self) -> None:
        assert self.vehicle is not None, "a vehicle leaves a cell that nobody occupies"
        self.vehicle = None


class TargetCell(Cell):
    """The end of a journey."""

    def is_exit(self) -> bool:
        return True


class BusStopCell(Cell):
    def dwell_time(self) -> i32:
        return i32(DWELL_TIME)


class ProducerCell(Cell):
    """The beginning of journeys."""

    random_state: Xorwow

    def produce(self, truck_shares: u32, bus_shares: u32, counts: oa.Array[i64]) -> None:
        """Make a vehicle now and then while the cell is free. The upper half of its seed chooses
        its kind: so many of 65,536 are trucks, and trucks or buses."""
        if not self.is_free():
            return
        chance = self.random_state.next()
        self.random_state = chance
        if chance.uniform() >= CREATION_PROBABILITY:
            return
        seed = chance.next()
        speed = seed.next()
        self.random_state = speed
        share, drawn_speed = seed.bits() >> 16, i32(speed.bits() % TOP_SPEEDS) + SLOWEST
        if share < truck_shares:
            Truck(self, seed.bits(), drawn_speed)
        elif share < bus_shares:
            Bus(self, seed.bits(), drawn_speed)
        else:
            Car(self, seed.bits(), drawn_speed)
        oa.atomic_add(counts, CREATED, 1)


class ProducerTargetCell(ProducerCell):
    """Both ends at once: what is made here and never moves stays for ever."""

    def is_exit(self) -> bool:
        return True


class Vehicle(oa.Object):
    """What moves over cells, at most ten of them in a step."""

    path: oa.inline[Cell, 10]
    position: Cell
    random_state: Xorwow
    path_length: i32
    velocity: i32
    max_velocity: i32
    #: Cells since the journey began.
    passed: i32

    def __init__(self, cell: Cell, seed: u32, drawn_speed: i32) -> None:
        """Start a journey."""
        cell.occupy(self)
        self.position = cell
        self.max_velocity = self.top_speed(drawn_speed)
        self.random_state = seeded(seed)

    # The velocity that the driver would like next, whatever the limits.
    def accelerated(self) -> i32: ...

    def top_speed(self, drawn: i32) -> i32:
        """The fastest that this kind goes when its driver would go ``drawn``."""
        return drawn

    def slow_down_probability(self) -> f32:
        return SLOW_DOWN_PROBABILITY

    def draw(self) -> u32:
        state = self.random_state.next()
        self.random_state = state
        return state.bits()

    def step_prepare_path(self) -> None:
        """Choose the cells ahead and the velocity of this step; reads cells, writes none."""
        self.velocity = min(self.max_velocity, self.accelerated())
        self.extend_path()
        self.constrain_velocity()
        self.slow_down()

    def extend_path(self) -> None:
        """Plan as many free cells ahead as the velocity allows, turning at random."""
        self.path_length = 0
        cell = self.position
        for _ in range(self.velocity):
            if cell.is_exit():
                break
            cell = cell.outgoing[self.draw() % u32(cell.num_outgoing)]
            if not cell.is_free():
                break
            self.path[self.path_length] = cell
            self.path_length += 1
        self.velocity = self.path_length

    def constrain_velocity(self) -> None:
        """Keep the limits of the cells ahead, and stop before an occupied one."""
        self.velocity = min(self.velocity, self.position.current_max_velocity)
        passed = i32(0)
        while passed < self.velocity:
            cell = self.path[passed]
            limit = cell.current_max_velocity
            if not cell.is_free() or limit <= passed:
                self.velocity = passed
                break
            self.velocity = min(self.velocity, limit)
            passed += 1

    def slow_down(self) -> None:
        """Dawdle now and then."""
        state = self.random_state.next()
        self.random_state = state
        if state.uniform() < self.slow_down_probability() and self.velocity > 0:
            self.velocity -= 1

    def step_move(self, counts: oa.Array[i64]) -> None:
        """Go to the last cell of the planned path; where that is an exit, leave the network."""
        if self.velocity == 0:
            return
        cell = self.path[self.velocity - 1]
        self.position.release()
        self.position = cell
        self.passed += self.velocity
        if cell.is_exit():
            oa.atomic_add(counts, REMOVED, 1)
            oa.atomic_add(counts, PASSED, i64(self.passed))
            oa.delete(self)
        else:
            cell.occupy(self)


class Car(Vehicle):
    def accelerated(self) -> i32:
        return self.velocity + 1 + i32(self.draw() % 2)


class Truck(Vehicle):
    """Slow to accelerate, slow at best, and dawdles more."""

    def accelerated(self) -> i32:
        return self.velocity + 1

    def top_speed(self, drawn: i32) -> i32:
        return min(drawn, TRUCK_TOP_SPEED)

    def slow_down_probability(self) -> f32:
        return TRUCK_SLOW_DOWN_PROBABILITY


class Bus(Vehicle):
    """Waits where it comes to stand on a bus stop."""

    waiting: i32

    def accelerated(self) -> i32:
        return self.velocity + 1

    def top_speed(self, drawn: i32) -> i32:
        return min(drawn, BUS_TOP_SPEED)

    def step_prepare_path(self) -> None:
        if self.waiting > 0:
            self.waiting -= 1
            self.velocity = 0
            self.path_length = 0
        else:
            super().step_prepare_path()

    def step_move(self, counts: oa.Array[i64]) -> None:
        super().step_move(counts)
        if self.velocity > 0:
            self.waiting = self.position.dwell_time()


class TrafficLight(oa.Object):
    """Lets the roads into an intersection pass one after another."""

    cells: oa.inline[Cell, 4]
    num_cells: i32
    timer: i32
    phase_time: i32
    phase: i32

    def step(self) -> None:
        if self.num_cells == 0:
            return
        self.timer = (self.timer + 1) % self.phase_time
        if self.timer == 0:
            self.cells[self.phase].current_max_velocity = 0
            self.phase = (self.phase + 1) % self.num_cells
            green = self.cells[self.phase]
            green.current_max_velocity = green.max_velocity
