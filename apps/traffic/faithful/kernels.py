"""The kernels of one iteration, under the names that they have in the artifact.

Car slots 0 to count - 1 are taken; ``active`` says which of them still hold a car. The count lives
on the device. Kernels over car slots are launched for as many cars as there can ever be, one in a
cell, and leave at once beyond the count, so that the host never waits for it.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32, u32

from ...common.xorwow import seeded
from ..parameters import CREATION_PROBABILITY, SLOW_DOWN_PROBABILITY, SLOWEST, TOP_SPEEDS
from .classes import PRODUCER, CarBase, CellBase, TrafficLightBase

#: Places in the array of counters.
COUNT, NEXT_COUNT = 0, 1


@oa.func
def draw(cell: CellBase) -> u32:
    """One raw draw from a producer's generator."""
    state = cell.random_state.next()
    cell.random_state = state
    return state.bits()


@oa.kernel
def kernel_ProducerCell_create_car(
    cells: oa.Array[CellBase],
    cars: oa.Array[CarBase],
    active: oa.Array[i32],
    counters: oa.Array[i32],
    created: oa.Array[i32],
) -> None:
    i = oa.grid(1)
    cell = cells[i]
    if cell.type == PRODUCER and cell.is_free() and cell.random_uni() < CREATION_PROBABILITY:
        slot = oa.atomic_add(counters, COUNT, 1)
        car = cars[slot]
        seed = draw(cell)
        car.set_position(cell)
        car.set_path_length(0)
        car.set_velocity(0)
        car.set_max_velocity(i32(draw(cell) % TOP_SPEEDS) + SLOWEST)
        active[slot] = 1
        assert cell.is_free()
        cell.occupy(car)
        car.random_state = seeded(seed)
        created[i] += 1


@oa.kernel
def kernel_traffic_light_step(lights: oa.Array[TrafficLightBase]) -> None:
    light = lights[oa.grid(1)]
    if light.get_num_cells() > 0:
        light.set_timer((light.get_timer() + 1) % light.get_phase_time())
        if light.get_timer() == 0:
            assert light.get_phase() < light.get_num_cells()
            light.get_cell(light.get_phase()).set_current_max_velocity(0)
            light.set_phase((light.get_phase() + 1) % light.get_num_cells())
            light.get_cell(light.get_phase()).remove_speed_limit()


@oa.func
def extend_path(car: CarBase) -> None:
    """Plan as many free cells ahead as the car has velocity."""
    cell = car.get_position()
    for _ in range(car.get_velocity()):
        if cell.is_sink() or cell.get_is_target():
            break
        cell = car.next_step(cell)
        if not cell.is_free():
            break
        length = car.get_path_length()
        car.set_path(cell, length)
        car.set_path_length(length + 1)
    car.set_velocity(car.get_path_length())


@oa.func
def constrain_velocity(car: CarBase) -> None:
    """Keep the limits of the cells ahead, and stop before an occupied one."""
    limit = car.get_position().get_current_max_velocity()
    if car.get_velocity() > limit:
        car.set_velocity(limit)
    distance = i32(1)
    while distance <= car.get_velocity():
        cell = car.get_path(distance - 1)
        if not cell.is_free():
            car.set_velocity(distance - 1)
            break
        if car.get_velocity() > cell.get_current_max_velocity():
            if cell.get_current_max_velocity() > distance - 1:
                car.set_velocity(cell.get_current_max_velocity())
            else:
                car.set_velocity(distance - 1)
                break
        distance += 1


@oa.kernel
def kernel_Car_step_prepare_path(
    cars: oa.Array[CarBase], active: oa.Array[i32], counters: oa.Array[i32]
) -> None:
    i = oa.grid(1)
    if i < counters[COUNT] and active[i] == 1:
        car = cars[i]
        car.step_initialize_iteration()
        car.step_accelerate()
        extend_path(car)
        constrain_velocity(car)
        assert car.get_velocity() <= car.get_path_length()
        if car.random_uni() < SLOW_DOWN_PROBABILITY and car.get_velocity() > 0:
            car.set_velocity(car.get_velocity() - 1)


@oa.kernel
def kernel_Car_step_move(
    cars: oa.Array[CarBase],
    active: oa.Array[i32],
    counters: oa.Array[i32],
    moved: oa.Array[i32],
    removed: oa.Array[i32],
) -> None:
    i = oa.grid(1)
    if i < counters[COUNT] and active[i] == 1:
        car = cars[i]
        velocity = car.get_velocity()
        for step in range(velocity):
            cell = car.get_path(step)
            car.get_position().release()
            cell.occupy(car)
            car.set_position(cell)
        moved[i] += velocity
        position = car.get_position()
        if position.is_sink() or position.get_is_target():
            position.release()
            car.set_position(None)  # type: ignore[arg-type]  # only of cars on the road is it asked
            active[i] = 0
            removed[i] += 1


@oa.kernel
def kernel_compact_initialize(next_active: oa.Array[i32]) -> None:
    next_active[oa.grid(1)] = 0


@oa.func
def copy_car(source: CarBase, copy: CarBase) -> None:
    """The whole object, generator included, as the artifact's assignment of one to another."""
    for place in range(len(source.path)):
        copy.path[place] = source.path[place]
    copy.position = source.position
    copy.random_state = source.random_state
    for place in range(len(source.random_unused)):
        copy.random_unused[place] = source.random_unused[place]
    copy.path_length = source.path_length
    copy.velocity = source.velocity
    copy.max_velocity = source.max_velocity


@oa.kernel
def kernel_compact_cars(
    cars: oa.Array[CarBase],
    active: oa.Array[i32],
    prefix: oa.Array[i32],
    next_cars: oa.Array[CarBase],
    next_active: oa.Array[i32],
    counters: oa.Array[i32],
) -> None:
    i = oa.grid(1)
    if i < counters[COUNT] and active[i] == 1:
        slot = prefix[i]
        car = next_cars[slot]
        copy_car(cars[i], car)
        next_active[slot] = 1
        # The artifact stores the pointer of the slot left behind, which does no harm.
        position = car.get_position()
        position.release()
        position.occupy(car)
        oa.atomic_add(counters, NEXT_COUNT, 1)


@oa.kernel
def kernel_compact_swap_pointers(counters: oa.Array[i32]) -> None:
    """The host swaps which arrays it passes to the next iteration; the count changes here."""
    if oa.grid(1) == 0:
        counters[COUNT] = counters[NEXT_COUNT]
        counters[NEXT_COUNT] = 0
