"""The faithful flavour's objects, made from a network, and its iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharedoa import i32
from sharedoa.runtime.prefix_sum import exclusive_prefix_sum

from ...common.launches import Launches
from ...common.references import IndexOf, link
from ...common.xorwow_streams import seeded_states
from ..mix import CAR
from ..network import PHASE_TIME, Network
from ..snapshot import Snapshot
from ..state import State
from . import kernels
from .classes import NORMAL, PRODUCER, Car, Cell, TrafficLight


class FaithfulSimulation:
    """Cells, lights and two arrays of cars, between which compaction alternates.

    Each array of objects holds twice the next power of two above the cells in use: the artifact's
    524,288 for its network of 850 intersections.
    """

    def __init__(self, heap: Any, network: Network, launches: Launches) -> None:
        self._network, self._launch = network, launches
        self.iteration = 0
        self.capacity = 2 << (network.cells - 1).bit_length()
        cells = heap.new(Cell, self.capacity)
        self._cells = cells[: network.cells]
        _fill_cells(heap, self._cells, network)
        self._lights = _make_lights(heap, self._cells, network)
        self._cars, self._next_cars = (heap.new(Car, self.capacity) for _ in range(2))
        self._active, self._next_active, self._prefix = (
            heap.zeros(self.capacity, i32) for _ in range(3)
        )
        self._counters = heap.zeros(2, i32)
        self._created, self._removed, self._moved = (
            heap.zeros(network.cells, i32) for _ in range(3)
        )
        self._prefix_sum = exclusive_prefix_sum(heap, network.cells)
        self._cell_index = IndexOf(self._cells)

    def advance(self) -> None:
        # The arrays are those of two iterations before.
        self._launch.repeat(self.iteration % 2, self._launch_all)
        self._cars, self._next_cars = self._next_cars, self._cars
        self._active, self._next_active = self._next_active, self._active
        self.iteration += 1

    def _launch_all(self) -> None:
        launch, slots = self._launch, self._network.cells
        cars, active, counters = self._cars, self._active, self._counters
        launch(
            kernels.kernel_ProducerCell_create_car,
            self._network.cells, self._cells, cars, active, counters, self._created,
        )  # fmt: skip
        launch(kernels.kernel_traffic_light_step, self._network.lights, self._lights)
        launch(kernels.kernel_Car_step_prepare_path, slots, cars, active, counters)
        launch(
            kernels.kernel_Car_step_move,
            slots, cars, active, counters, self._moved, self._removed,
        )  # fmt: skip
        self._prefix_sum.launch(launch, active, self._prefix)
        launch(kernels.kernel_compact_initialize, self.capacity, self._next_active)
        launch(
            kernels.kernel_compact_cars,
            slots, cars, active, self._prefix, self._next_cars, self._next_active, counters,
        )  # fmt: skip
        launch(kernels.kernel_compact_swap_pointers, 1, counters)

    def counts(self) -> dict[str, int]:
        return {
            "active": int(self._counters[kernels.COUNT]),
            "created": int(self._created.numpy().sum()),
            "removed": int(self._removed.numpy().sum()),
            "velocity_sum": int(self._moved.numpy().sum()),
        }

    def snapshot(self) -> Snapshot:
        cars = self._cars[: self.counts()["active"]]
        return Snapshot(
            step=self.iteration,
            cell=self._cell_index(cars.position.numpy()),
            velocity=np.array(cars.velocity),
            kind=np.full(len(cars), CAR, np.int32),
            limit=np.array(self._cells.current_max_velocity),
        )

    def state(self) -> State:
        counts = self.counts()
        cars = self._cars[: counts["active"]]
        return State(
            created=counts["created"],
            removed=counts["removed"],
            active=np.array(self._active),
            position=self._cell_index(cars.position.numpy()),
            velocity=np.array(cars.velocity),
            max_velocity=np.array(cars.max_velocity),
            path_length=np.array(cars.path_length),
            occupant=IndexOf(self._cars)(self._cells.car.numpy()),
            limit=np.array(self._cells.current_max_velocity),
            timer=np.array(self._lights.timer),
            phase=np.array(self._lights.phase),
        )


def _fill_cells(heap: Any, cells: Any, network: Network) -> None:
    cells.random_state = seeded_states(network.seed)
    link(heap, cells.incoming, cells, network.incoming)
    link(heap, cells.outgoing, cells, network.outgoing)
    cells.num_incoming = network.num_incoming
    cells.num_outgoing = network.num_outgoing
    cells.max_velocity = network.max_velocity
    cells.current_max_velocity = np.where(network.is_stop, 0, network.max_velocity)
    cells.x = network.x
    cells.y = network.y
    cells.is_target = network.is_target
    cells.field("type")[:] = np.where(network.is_producer, PRODUCER, NORMAL).astype(np.int8)


def _make_lights(heap: Any, cells: Any, network: Network) -> Any:
    lights = heap.new(
        TrafficLight, network.lights, num_cells=network.light_sizes, phase_time=PHASE_TIME
    )
    link(heap, lights.cells, cells, network.light_cells)
    return lights
