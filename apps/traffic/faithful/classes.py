"""Cells, cars and traffic lights: fields and virtual methods of the artifact, in its order.

With a header of 8 bytes a cell and a car have 160 bytes and a light has 56. The state of cuRAND's
generator takes 48 bytes, of which uniform draws use 24.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i8, i32, u32

from ...common.xorwow import Xorwow

PRODUCER = 2
NORMAL = 1


class CellBase(oa.Object):
    """A piece of road that holds at most one car."""

    random_state: Xorwow
    random_unused: oa.inline[u32, 6]
    incoming: oa.inline[CellBase, 4]
    outgoing: oa.inline[CellBase, 4]
    car: CarBase | None
    num_incoming: i32
    num_outgoing: i32
    max_velocity: i32
    current_max_velocity: i32
    x: f32
    y: f32
    is_target: bool
    type: i8

    def random_uni(self) -> f32: ...
    def get_current_max_velocity(self) -> i32: ...
    def get_max_velocity(self) -> i32: ...
    def set_current_max_velocity(self, velocity: i32) -> None: ...
    def remove_speed_limit(self) -> None: ...
    def get_num_incoming(self) -> i32: ...
    def set_num_incoming(self, count: i32) -> None: ...
    def get_num_outgoing(self) -> i32: ...
    def set_num_outgoing(self, count: i32) -> None: ...
    def get_incoming(self, slot: i32) -> CellBase: ...
    def set_incoming(self, slot: i32, cell: CellBase) -> None: ...
    def get_outgoing(self, slot: i32) -> CellBase: ...
    def set_outgoing(self, slot: i32, cell: CellBase) -> None: ...
    def get_x(self) -> f32: ...
    def get_y(self) -> f32: ...
    def is_free(self) -> bool: ...
    def is_sink(self) -> bool: ...
    def get_is_target(self) -> bool: ...
    def set_target(self) -> None: ...
    def occupy(self, car: CarBase) -> None: ...
    def release(self) -> None: ...


class Cell(CellBase):
    def random_uni(self) -> f32:
        state = self.random_state.next()
        self.random_state = state
        return state.uniform()

    def get_current_max_velocity(self) -> i32:
        return self.current_max_velocity

    def get_max_velocity(self) -> i32:
        return self.max_velocity

    def set_current_max_velocity(self, velocity: i32) -> None:
        self.current_max_velocity = velocity

    def remove_speed_limit(self) -> None:
        self.current_max_velocity = self.max_velocity

    def get_num_incoming(self) -> i32:
        return self.num_incoming

    def set_num_incoming(self, count: i32) -> None:
        self.num_incoming = count

    def get_num_outgoing(self) -> i32:
        return self.num_outgoing

    def set_num_outgoing(self, count: i32) -> None:
        self.num_outgoing = count

    def get_incoming(self, slot: i32) -> CellBase:
        return self.incoming[slot]

    def set_incoming(self, slot: i32, cell: CellBase) -> None:
        self.incoming[slot] = cell

    def get_outgoing(self, slot: i32) -> CellBase:
        return self.outgoing[slot]

    def set_outgoing(self, slot: i32, cell: CellBase) -> None:
        self.outgoing[slot] = cell

    def get_x(self) -> f32:
        return self.x

    def get_y(self) -> f32:
        return self.y

    def is_free(self) -> bool:
        return self.car is None

    def is_sink(self) -> bool:
        return self.num_outgoing == 0

    def get_is_target(self) -> bool:
        return self.is_target

    def set_target(self) -> None:
        self.is_target = True

    def occupy(self, car: CarBase) -> None:
        assert self.car is None, "a car enters a cell that another one occupies"
        self.car = car

    def release(self) -> None:
        assert self.car is not None, "a car leaves a cell that nobody occupies"
        self.car = None


class CarBase(oa.Object):
    """A car, with the cells that it plans to pass in this step."""

    path: oa.inline[CellBase, 10]
    position: CellBase
    random_state: Xorwow
    random_unused: oa.inline[u32, 6]
    path_length: i32
    velocity: i32
    max_velocity: i32

    def set_path(self, cell: CellBase, place: i32) -> None: ...
    def get_path(self, place: i32) -> CellBase: ...
    def set_path_length(self, length: i32) -> None: ...
    def get_path_length(self) -> i32: ...
    def random_int(self, low: i32, high: i32) -> i32: ...
    def random_uni(self) -> f32: ...
    def step_initialize_iteration(self) -> None: ...
    def get_velocity(self) -> i32: ...
    def set_velocity(self, velocity: i32) -> None: ...
    def set_max_velocity(self, velocity: i32) -> None: ...
    def get_max_velocity(self) -> i32: ...
    def set_position(self, cell: CellBase) -> None: ...
    def get_position(self) -> CellBase: ...
    def step_slow_down(self) -> None: ...
    def next_step(self, cell: CellBase) -> CellBase: ...
    def step_accelerate(self) -> None: ...


class Car(CarBase):
    def set_path(self, cell: CellBase, place: i32) -> None:
        self.path[place] = cell

    def get_path(self, place: i32) -> CellBase:
        return self.path[place]

    def set_path_length(self, length: i32) -> None:
        self.path_length = length

    def get_path_length(self) -> i32:
        return self.path_length

    def random_int(self, low: i32, high: i32) -> i32:
        """One draw, from ``low`` to ``high - 1``."""
        state = self.random_state.next()
        self.random_state = state
        return i32(state.bits() % u32(high - low)) + low

    def random_uni(self) -> f32:
        state = self.random_state.next()
        self.random_state = state
        return state.uniform()

    def step_initialize_iteration(self) -> None:
        self.path_length = 0

    def get_velocity(self) -> i32:
        return self.velocity

    def set_velocity(self, velocity: i32) -> None:
        self.velocity = velocity

    def set_max_velocity(self, velocity: i32) -> None:
        self.max_velocity = velocity

    def get_max_velocity(self) -> i32:
        return self.max_velocity

    def set_position(self, cell: CellBase) -> None:
        self.position = cell

    def get_position(self) -> CellBase:
        return self.position

    def step_slow_down(self) -> None:
        if self.random_uni() < 0.2 and self.velocity > 0:
            self.velocity -= 1

    def next_step(self, cell: CellBase) -> CellBase:
        return cell.get_outgoing(self.random_int(0, cell.get_num_outgoing()))

    def step_accelerate(self) -> None:
        self.velocity = min(self.max_velocity, self.velocity + self.random_int(1, 3))


class TrafficLightBase(oa.Object):
    """The light of an intersection: lets one road at a time pass."""

    cells: oa.inline[CellBase, 4]
    num_cells: i32
    timer: i32
    phase_time: i32
    phase: i32

    def set_cell(self, slot: i32, cell: CellBase) -> None: ...
    def get_cell(self, slot: i32) -> CellBase: ...
    def get_num_cells(self) -> i32: ...
    def get_timer(self) -> i32: ...
    def set_timer(self, timer: i32) -> i32: ...
    def get_phase_time(self) -> i32: ...
    def set_phase(self, phase: i32) -> None: ...
    def get_phase(self) -> i32: ...


class TrafficLight(TrafficLightBase):
    def set_cell(self, slot: i32, cell: CellBase) -> None:
        self.cells[slot] = cell

    def get_cell(self, slot: i32) -> CellBase:
        return self.cells[slot]

    def get_num_cells(self) -> i32:
        return self.num_cells

    def get_timer(self) -> i32:
        return self.timer

    def set_timer(self, timer: i32) -> i32:
        self.timer = timer
        return timer

    def get_phase_time(self) -> i32:
        return self.phase_time

    def set_phase(self, phase: i32) -> None:
        self.phase = phase

    def get_phase(self) -> i32:
        return self.phase
