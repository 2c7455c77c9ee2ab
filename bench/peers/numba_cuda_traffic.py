"""Traffic of ``apps/traffic/faithful`` with numba-cuda: the same kernels in the same order, and the
same random draws.

Objects are indices. The fields of a class are the rows of one array, as each array that a kernel
takes costs the host time. Each class has one kind of object, or tells its kinds apart by a field:
nothing is left of dispatch but the test for producers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from apps.common.references import NOTHING
from apps.common.xorwow_streams import STATE_DTYPE, seeded_states
from apps.traffic.faithful.classes import NORMAL, PRODUCER
from apps.traffic.network import PHASE_TIME, Network
from apps.traffic.parameters import (
    CREATION_PROBABILITY,
    PATH_CELLS,
    SLOW_DOWN_PROBABILITY,
    SLOWEST,
    TOP_SPEEDS,
)
from apps.traffic.road_graph import MAX_DEGREE

from .numba_cuda_prefix_sum import PrefixSum
from .numba_cuda_xorwow import bits, following, load, seeded, store, uniform

Array = np.ndarray[Any, Any]

WORDS = len(STATE_DTYPE.names or ())
#: Rows of cells; the cells that follow one have the first MAX_DEGREE.
NUM_OUTGOING, CAR, LIMIT, LARGEST_LIMIT, IS_TARGET, TYPE = range(MAX_DEGREE, MAX_DEGREE + 6)
#: Rows of cars; the path has the first PATH_CELLS.
POSITION, PATH_LENGTH, VELOCITY, MAX_VELOCITY, ACTIVE = range(PATH_CELLS, PATH_CELLS + 5)
#: Rows of lights; their cells have the first MAX_DEGREE.
NUM_CELLS, TIMER, LIGHT_PHASE_TIME, PHASE = range(MAX_DEGREE, MAX_DEGREE + 4)
#: Rows of what is counted, and places in the array of counters.
CREATED, MOVED, REMOVED = range(3)
COUNT, NEXT_COUNT = 0, 1
_CREATION_PROBABILITY = np.float32(CREATION_PROBABILITY)
_SLOW_DOWN_PROBABILITY = np.float32(SLOW_DOWN_PROBABILITY)
_SPEEDS, _TWO = np.uint32(TOP_SPEEDS), np.uint32(2)
#: Threads of a block.
THREADS = 256


@cuda.jit(device=True)
def is_exit(cells, cell):
    return cells[NUM_OUTGOING, cell] == 0 or cells[IS_TARGET, cell] != 0


@cuda.jit(device=True)
def has_car(cars, counters, slots, i):
    return i < slots and i < counters[COUNT] and cars[ACTIVE, i] == 1


@cuda.jit
def create_cars(cells, cell_random, cars, car_random, counters, counted):
    i = cuda.grid(1)
    if i < cells.shape[1] and cells[TYPE, i] == PRODUCER and cells[CAR, i] == NOTHING:
        random = following(load(cell_random, i))
        if uniform(random) < _CREATION_PROBABILITY:
            slot = cuda.atomic.add(counters, COUNT, 1)
            random = following(random)
            value = bits(random)
            random = following(random)
            cars[POSITION, slot] = i
            cars[PATH_LENGTH, slot] = 0
            cars[VELOCITY, slot] = 0
            cars[MAX_VELOCITY, slot] = bits(random) % _SPEEDS + SLOWEST
            cars[ACTIVE, slot] = 1
            cells[CAR, i] = slot
            store(seeded(value), car_random, slot)
            counted[CREATED, i] += 1
        store(random, cell_random, i)


@cuda.jit
def step_lights(lights, cells):
    i = cuda.grid(1)
    if i < lights.shape[1] and lights[NUM_CELLS, i] > 0:
        lights[TIMER, i] = (lights[TIMER, i] + 1) % lights[LIGHT_PHASE_TIME, i]
        if lights[TIMER, i] == 0:
            cells[LIMIT, lights[lights[PHASE, i], i]] = 0
            lights[PHASE, i] = (lights[PHASE, i] + 1) % lights[NUM_CELLS, i]
            green = lights[lights[PHASE, i], i]
            cells[LIMIT, green] = cells[LARGEST_LIMIT, green]


@cuda.jit(device=True)
def extend_path(cells, cars, i, velocity, random):
    """The length of the path: as many free cells ahead as the car has velocity; and the state of
    its generator."""
    cell, length = cars[POSITION, i], 0
    while length < velocity and not is_exit(cells, cell):
        random = following(random)
        cell = cells[bits(random) % np.uint32(cells[NUM_OUTGOING, cell]), cell]
        if cells[CAR, cell] != NOTHING:
            break
        cars[length, i] = cell
        length += 1
    return length, random


@cuda.jit(device=True)
def constrain_velocity(cells, cars, i, velocity):
    """The velocity that keeps the limits of the cells ahead, and stops before an occupied one."""
    velocity = min(velocity, cells[LIMIT, cars[POSITION, i]])
    distance = 1
    while distance <= velocity:
        cell = cars[distance - 1, i]
        if cells[CAR, cell] != NOTHING:
            return distance - 1
        limit = cells[LIMIT, cell]
        if velocity > limit:
            if limit <= distance - 1:
                return distance - 1
            velocity = limit
        distance += 1
    return velocity


@cuda.jit
def prepare_paths(cells, cars, car_random, counters, slots):
    i = cuda.grid(1)
    if has_car(cars, counters, slots, i):
        random = following(load(car_random, i))
        faster = cars[VELOCITY, i] + 1 + np.int32(bits(random) % _TWO)
        wanted = min(cars[MAX_VELOCITY, i], faster)
        length, random = extend_path(cells, cars, i, wanted, random)
        velocity = constrain_velocity(cells, cars, i, length)
        random = following(random)
        if uniform(random) < _SLOW_DOWN_PROBABILITY and velocity > 0:
            velocity -= 1
        cars[PATH_LENGTH, i] = length
        cars[VELOCITY, i] = velocity
        store(random, car_random, i)


@cuda.jit
def move_cars(cells, cars, counters, counted, slots):
    i = cuda.grid(1)
    if has_car(cars, counters, slots, i):
        position, velocity = cars[POSITION, i], cars[VELOCITY, i]
        for step in range(velocity):
            cells[CAR, position] = NOTHING
            position = cars[step, i]
            cells[CAR, position] = i
        counted[MOVED, i] += velocity
        if is_exit(cells, position):
            cells[CAR, position] = NOTHING
            position = np.int32(NOTHING)
            cars[ACTIVE, i] = 0
            counted[REMOVED, i] += 1
        cars[POSITION, i] = position


@cuda.jit
def initialize_next(next_cars):
    i = cuda.grid(1)
    if i < next_cars.shape[1]:
        next_cars[ACTIVE, i] = 0


@cuda.jit
def compact_cars(
    cells, cars, random, unused, prefix, next_cars, next_random, next_unused, counters, slots
):
    i = cuda.grid(1)
    if has_car(cars, counters, slots, i):
        slot = prefix[i]
        for row in range(cars.shape[0]):
            next_cars[row, slot] = cars[row, i]
        for word in range(WORDS):
            next_random[word, slot] = random[word, i]
            next_unused[word, slot] = unused[word, i]
        cells[CAR, cars[POSITION, i]] = slot
        cuda.atomic.add(counters, NEXT_COUNT, 1)


@cuda.jit
def take_next_count(counters):
    if cuda.grid(1) == 0:
        counters[COUNT] = counters[NEXT_COUNT]
        counters[NEXT_COUNT] = 0


class ArraySimulation:
    """A network and its cars at iteration 0, with room for as many cars as the objects have."""

    def __init__(self, network: Network) -> None:
        self._cells = cuda.to_device(_cells(network))
        self._cell_random = cuda.to_device(_words(seeded_states(network.seed)))
        self._lights = cuda.to_device(_lights(network))
        self._counters = cuda.to_device(np.zeros(2, np.int32))
        self._counted = cuda.to_device(np.zeros((3, network.cells), np.int32))
        self._prefix = cuda.to_device(np.zeros(network.cells, np.int32))
        self._prefix_sum = PrefixSum(network.cells)
        capacity = 2 << (network.cells - 1).bit_length()
        cars, following_cars = _no_cars(capacity), _no_cars(capacity)
        #: Launches of a step; every other one has the cars in the other arrays.
        self._launches = [
            self._step(network, cars, following_cars),
            self._step(network, following_cars, cars),
        ]

    def _step(self, network: Network, now: Any, then: Any) -> list[Callable[[], None]]:
        cells, counters, counted = self._cells, self._counters, self._counted
        slots, (cars, random, unused), (next_cars, next_random, next_unused) = (
            network.cells, now, then,
        )  # fmt: skip
        active, prefix = cars[ACTIVE], self._prefix
        return [
            _launch(
                create_cars, slots, cells, self._cell_random, cars, random, counters, counted
            ),
            _launch(step_lights, network.lights, self._lights, cells),
            _launch(prepare_paths, slots, cells, cars, random, counters, slots),
            _launch(move_cars, slots, cells, cars, counters, counted, slots),
            lambda: self._prefix_sum.launch(active, prefix),
            _launch(initialize_next, next_cars.shape[1], next_cars),
            _launch(
                compact_cars, slots, cells, cars, random, unused, prefix, next_cars, next_random,
                next_unused, counters, slots,
            ),
            _launch(take_next_count, 1, counters),
        ]  # fmt: skip

    def advance(self) -> None:
        for launch in self._launches[0]:
            launch()
        self._launches.reverse()

    def counts(self) -> dict[str, int]:
        """As those of the objects."""
        counted = self._counted.copy_to_host().sum(axis=1)
        return {
            "active": int(self._counters.copy_to_host()[COUNT]),
            "created": int(counted[CREATED]),
            "removed": int(counted[REMOVED]),
            "velocity_sum": int(counted[MOVED]),
        }


def _launch(kernel: Any, threads: int, *arguments: Any) -> Callable[[], None]:
    launch = kernel[(threads + THREADS - 1) // THREADS, THREADS]
    return lambda: launch(*arguments)


def _words(states: Array) -> Array:
    return np.ascontiguousarray(states.view(np.uint32).reshape(len(states), WORDS).T)


def _cells(network: Network) -> Array:
    rows = np.empty((MAX_DEGREE + 6, network.cells), np.int32)
    rows[:MAX_DEGREE] = network.outgoing.T
    rows[NUM_OUTGOING] = network.num_outgoing
    rows[CAR] = NOTHING
    rows[LIMIT] = np.where(network.is_stop, 0, network.max_velocity)
    rows[LARGEST_LIMIT] = network.max_velocity
    rows[IS_TARGET] = network.is_target
    rows[TYPE] = np.where(network.is_producer, PRODUCER, NORMAL)
    return rows


def _lights(network: Network) -> Array:
    rows = np.zeros((MAX_DEGREE + 4, network.lights), np.int32)
    rows[:MAX_DEGREE] = network.light_cells.T
    rows[NUM_CELLS] = network.light_sizes
    rows[LIGHT_PHASE_TIME] = PHASE_TIME
    return rows


def _no_cars(capacity: int) -> tuple[Any, Any, Any]:
    """Arrays of the fields, of the generators, and of what generators have besides."""
    fields = np.zeros((PATH_CELLS + 5, capacity), np.int32)
    words = np.zeros((WORDS, capacity), np.uint32)
    return cuda.to_device(fields), cuda.to_device(words), cuda.to_device(words)
