"""Traffic of ``apps/traffic/faithful`` as numba loops over arrays: the same kernels in the same
order, with the same work for each cell and car slot, and the same random draws.

Objects are indices, each field is an array, and the generator of a car or producer is a row of six
words. As there, loops over car slots go as far as there can ever be cars.
Each array is an argument of its own: numba drops stores to arrays of a tuple in a parallel loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from apps.common.references import NOTHING
from apps.common.xorwow_streams import seeded_states
from apps.traffic.network import PHASE_TIME, Network
from apps.traffic.parameters import (
    CREATION_PROBABILITY,
    PATH_CELLS,
    SLOW_DOWN_PROBABILITY,
    SLOWEST,
    TOP_SPEEDS,
)

from .numba_prefix_sum import CHUNK, scan_chunks, scan_sums, sum_chunks
from .numba_xorwow import WORDS, draw, seed, uniform

Array = np.ndarray[Any, Any]

COUNT, NEXT_COUNT = 0, 1
_CREATION_PROBABILITY = np.float32(CREATION_PROBABILITY)
_SLOW_DOWN_PROBABILITY = np.float32(SLOW_DOWN_PROBABILITY)


class Cells(NamedTuple):
    """Fields of n cells."""

    random: Array
    outgoing: Array
    num_outgoing: Array
    car: Array
    limit: Array
    max_velocity: Array
    is_target: Array
    is_producer: Array


class Cars(NamedTuple):
    """Fields of as many cars as there can be, and whether each slot holds one."""

    path: Array
    position: Array
    random: Array
    unused: Array
    path_length: Array
    velocity: Array
    max_velocity: Array
    active: Array


class Lights(NamedTuple):
    """Fields of the lights."""

    cells: Array
    num_cells: Array
    timer: Array
    phase_time: Array
    phase: Array


@intrinsic
def atomic_add(typing_context, array, place):
    """Add 1 to an element of an i32 array; what it was. Numba has none for CPUs."""

    def generate(context, builder, signature, arguments):
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = cgutils.get_item_pointer(
            context, builder, signature.args[0], made, [arguments[1]], wraparound=False
        )
        return builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(32), 1), "monotonic")

    return types.int32(array, types.intp), generate


@njit(parallel=True)
def create_cars(
    cell_car,
    cell_is_producer,
    cell_random,
    car_position,
    car_path_length,
    car_velocity,
    car_max_velocity,
    car_active,
    car_random,
    counters,
    created,
):
    for i in prange(len(cell_car)):
        if (
            cell_is_producer[i]
            and cell_car[i] == NOTHING
            and uniform(draw(cell_random, i)) < _CREATION_PROBABILITY
        ):
            slot = atomic_add(counters, COUNT)
            value = draw(cell_random, i)
            car_position[slot] = i
            car_path_length[slot] = 0
            car_velocity[slot] = 0
            car_max_velocity[slot] = draw(cell_random, i) % np.uint32(TOP_SPEEDS) + SLOWEST
            car_active[slot] = 1
            cell_car[i] = slot
            seed(car_random, slot, value)
            created[i] += 1


@njit(parallel=True)
def step_lights(
    light_timer,
    light_num_cells,
    light_phase_time,
    cell_limit,
    light_cells,
    light_phase,
    cell_max_velocity,
):
    for i in prange(len(light_timer)):
        if light_num_cells[i] > 0:
            light_timer[i] = (light_timer[i] + 1) % light_phase_time[i]
            if light_timer[i] == 0:
                cell_limit[light_cells[i, light_phase[i]]] = 0
                light_phase[i] = (light_phase[i] + 1) % light_num_cells[i]
                green = light_cells[i, light_phase[i]]
                cell_limit[green] = cell_max_velocity[green]


@njit
def extend_path(
    car_position,
    car_velocity,
    cell_num_outgoing,
    cell_is_target,
    car_random,
    cell_outgoing,
    cell_car,
    car_path,
    car_path_length,
    i,
):
    cell = car_position[i]
    for _ in range(car_velocity[i]):
        if cell_num_outgoing[cell] == 0 or cell_is_target[cell]:
            break
        turn = draw(car_random, i) % np.uint32(cell_num_outgoing[cell])
        cell = cell_outgoing[cell, turn]
        if cell_car[cell] != NOTHING:
            break
        car_path[i, car_path_length[i]] = cell
        car_path_length[i] += 1
    car_velocity[i] = car_path_length[i]


@njit
def constrain_velocity(car_velocity, cell_limit, car_position, car_path, cell_car, i):
    car_velocity[i] = min(car_velocity[i], cell_limit[car_position[i]])
    distance = 1
    while distance <= car_velocity[i]:
        cell = car_path[i, distance - 1]
        if cell_car[cell] != NOTHING:
            car_velocity[i] = distance - 1
            break
        if car_velocity[i] > cell_limit[cell]:
            if cell_limit[cell] > distance - 1:
                car_velocity[i] = cell_limit[cell]
            else:
                car_velocity[i] = distance - 1
                break
        distance += 1


@njit(parallel=True)
def prepare_paths(
    car_active,
    car_path_length,
    car_velocity,
    car_random,
    car_max_velocity,
    car_position,
    cell_num_outgoing,
    cell_is_target,
    cell_outgoing,
    cell_car,
    car_path,
    cell_limit,
    counters,
    slots,
):
    for i in prange(slots):
        if i < counters[COUNT] and car_active[i] == 1:
            car_path_length[i] = 0
            faster = car_velocity[i] + 1 + np.int32(draw(car_random, i) % np.uint32(2))
            car_velocity[i] = min(car_max_velocity[i], faster)
            extend_path(
                car_position,
                car_velocity,
                cell_num_outgoing,
                cell_is_target,
                car_random,
                cell_outgoing,
                cell_car,
                car_path,
                car_path_length,
                i,
            )
            constrain_velocity(car_velocity, cell_limit, car_position, car_path, cell_car, i)
            dawdles = uniform(draw(car_random, i)) < _SLOW_DOWN_PROBABILITY
            if dawdles and car_velocity[i] > 0:
                car_velocity[i] -= 1


@njit(parallel=True)
def move_cars(
    car_active,
    car_velocity,
    car_path,
    cell_car,
    car_position,
    cell_num_outgoing,
    cell_is_target,
    counters,
    moved,
    removed,
    slots,
):
    for i in prange(slots):
        if i < counters[COUNT] and car_active[i] == 1:
            velocity = car_velocity[i]
            for step in range(velocity):
                cell = car_path[i, step]
                cell_car[car_position[i]] = NOTHING
                cell_car[cell] = i
                car_position[i] = cell
            moved[i] += velocity
            position = car_position[i]
            if cell_num_outgoing[position] == 0 or cell_is_target[position]:
                cell_car[position] = NOTHING
                car_position[i] = NOTHING
                car_active[i] = 0
                removed[i] += 1


@njit(parallel=True)
def clear(values):
    for i in prange(len(values)):
        values[i] = 0


@njit(parallel=True)
def compact_cars(
    car_active,
    next_path,
    car_path,
    next_random,
    car_random,
    next_unused,
    car_unused,
    next_position,
    car_position,
    next_path_length,
    car_path_length,
    next_velocity,
    car_velocity,
    next_max_velocity,
    car_max_velocity,
    next_active,
    cell_car,
    counters,
    prefix,
    slots,
):
    for i in prange(slots):
        if i < counters[COUNT] and car_active[i] == 1:
            slot = prefix[i]
            for place in range(PATH_CELLS):
                next_path[slot, place] = car_path[i, place]
            for word in range(WORDS):
                next_random[slot, word] = car_random[i, word]
                next_unused[slot, word] = car_unused[i, word]
            next_position[slot] = car_position[i]
            next_path_length[slot] = car_path_length[i]
            next_velocity[slot] = car_velocity[i]
            next_max_velocity[slot] = car_max_velocity[i]
            next_active[slot] = 1
            cell_car[next_position[slot]] = slot
            atomic_add(counters, NEXT_COUNT)


class ArraySimulation:
    """A network and its cars at iteration 0, with room for as many cars as the objects have."""

    def __init__(self, network: Network) -> None:
        self._slots = network.cells
        capacity = 2 << (network.cells - 1).bit_length()
        self._cells = Cells(
            random=_words(seeded_states(network.seed)),
            outgoing=network.outgoing.copy(),
            num_outgoing=network.num_outgoing.copy(),
            car=np.full(network.cells, NOTHING, np.int32),
            limit=np.where(network.is_stop, 0, network.max_velocity).astype(np.int32),
            max_velocity=network.max_velocity.copy(),
            is_target=network.is_target.copy(),
            is_producer=network.is_producer.copy(),
        )
        self._cars, self._next_cars = _no_cars(capacity), _no_cars(capacity)
        zeros = np.zeros(network.lights, np.int32)
        self._lights = Lights(
            cells=network.light_cells.copy(),
            num_cells=network.light_sizes.copy(),
            timer=zeros,
            phase_time=np.full(network.lights, PHASE_TIME, np.int32),
            phase=zeros.copy(),
        )
        self._counters = np.zeros(2, np.int32)
        self._created, self._moved, self._removed, self._prefix = (
            np.zeros(network.cells, np.int32) for _ in range(4)
        )
        self._sums = np.zeros(-(-network.cells // CHUNK), np.int32)

    def advance(self) -> None:
        cell, car, light, following = self._cells, self._cars, self._lights, self._next_cars
        counters, slots, sums, prefix = self._counters, self._slots, self._sums, self._prefix
        create_cars(
            cell.car, cell.is_producer, cell.random, car.position, car.path_length, car.velocity,
            car.max_velocity, car.active, car.random, counters, self._created,
        )  # fmt: skip
        step_lights(
            light.timer, light.num_cells, light.phase_time, cell.limit, light.cells, light.phase,
            cell.max_velocity,
        )  # fmt: skip
        prepare_paths(
            car.active, car.path_length, car.velocity, car.random, car.max_velocity, car.position,
            cell.num_outgoing, cell.is_target, cell.outgoing, cell.car, car.path, cell.limit,
            counters, slots,
        )  # fmt: skip
        move_cars(
            car.active, car.velocity, car.path, cell.car, car.position, cell.num_outgoing,
            cell.is_target, counters, self._moved, self._removed, slots,
        )  # fmt: skip
        sum_chunks(car.active, slots, sums)
        scan_sums(sums)
        scan_chunks(car.active, slots, sums, prefix)
        clear(following.active)
        compact_cars(
            car.active, following.path, car.path, following.random, car.random, following.unused,
            car.unused, following.position, car.position, following.path_length, car.path_length,
            following.velocity, car.velocity, following.max_velocity, car.max_velocity,
            following.active, cell.car, counters, prefix, slots,
        )  # fmt: skip
        counters[COUNT], counters[NEXT_COUNT] = counters[NEXT_COUNT], 0
        self._cars, self._next_cars = following, car

    def counts(self) -> dict[str, int]:
        """As those of the objects."""
        return {
            "active": int(self._counters[COUNT]),
            "created": int(self._created.sum()),
            "removed": int(self._removed.sum()),
            "velocity_sum": int(self._moved.sum()),
        }


def _words(states: Array) -> Array:
    return states.view(np.uint32).reshape(len(states), WORDS).copy()


def _no_cars(capacity: int) -> Cars:
    def column() -> Array:
        return np.zeros(capacity, np.int32)

    return Cars(
        path=np.zeros((capacity, PATH_CELLS), np.int32),
        position=column(),
        random=np.zeros((capacity, WORDS), np.uint32),
        unused=np.zeros((capacity, WORDS), np.uint32),
        path_length=column(),
        velocity=column(),
        max_velocity=column(),
        active=column(),
    )
