"""The natural flavour's objects, made from a network, and its iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharedoa import i32
from sharedoa.runtime.prefix_sum import exclusive_prefix_sum

from ...common.launches import Launches
from ...common.references import IndexOf, link
from ...common.xorwow_streams import seeded_states
from ..mix import BUS, CAR, TRUCK, Mix
from ..network import PHASE_TIME, Network
from ..parameters import BUS_STOP_SPACING
from ..snapshot import Snapshot
from ..state import State
from . import kernels
from .classes import (
    Bus,
    BusStopCell,
    Car,
    Cell,
    ProducerCell,
    ProducerTargetCell,
    TargetCell,
    Traffic,
    TrafficLight,
    Truck,
    Vehicle,
    VehiclePool,
)

Array = np.ndarray[Any, Any]

_KINDS = {CAR: Car, TRUCK: Truck, BUS: Bus}


class NaturalSimulation:
    """Cells of five classes, lights, and for each kind of vehicle a pool as large as the network,
    so that no producer ever waits for one."""

    def __init__(self, heap: Any, network: Network, launches: Launches, mix: Mix) -> None:
        self._network, self._launch = network, launches
        self.iteration = 0
        self._cells, self._producers = _make_cells(heap, network)
        self._lights = heap.new(
            TrafficLight, network.lights, num_cells=network.light_sizes, phase_time=PHASE_TIME
        )
        link(heap, self._lights.cells, self._cells, network.light_cells)
        self._traffic, vehicles, self._kind = _make_pools(heap, network.cells, mix)
        self._vehicles, self._next_vehicles = (heap.zeros(network.cells, Vehicle) for _ in range(2))
        self._count = heap.zeros(1, i32)
        self._created = heap.zeros(len(self._producers), i32)
        self._goes_on, self._prefix, self._removed, self._moved = (
            heap.zeros(network.cells, i32) for _ in range(4)
        )
        self._prefix_sum = exclusive_prefix_sum(heap, network.cells)
        self._cell_index, self._vehicle_index = IndexOf(self._cells), IndexOf(vehicles)

    def advance(self) -> None:
        # The arrays are those of two iterations before.
        self._launch.repeat(self.iteration % 2, self._launch_all)
        self._vehicles, self._next_vehicles = self._next_vehicles, self._vehicles
        self.iteration += 1

    def _launch_all(self) -> None:
        launch, slots = self._launch, self._network.cells
        vehicles, count, goes_on = self._vehicles, self._count, self._goes_on
        launch(
            kernels.create_vehicles,
            len(self._producers), self._producers, self._traffic, vehicles, count, self._created,
        )  # fmt: skip
        launch(kernels.switch_lights, self._network.lights, self._lights)
        launch(kernels.prepare_paths, slots, vehicles, count)
        launch(kernels.move_vehicles, slots, vehicles, count, goes_on, self._moved, self._removed)
        self._prefix_sum.launch(launch, goes_on, self._prefix)
        launch(kernels.keep_vehicles, slots, vehicles, goes_on, self._prefix, self._next_vehicles)
        launch(kernels.count_vehicles, 1, goes_on, self._prefix, count)

    def counts(self) -> dict[str, int]:
        count = int(self._count[0])
        kinds = np.bincount(self._kinds_of(self._vehicles[:count]), minlength=len(_KINDS))
        return {
            "active": count,
            "created": int(self._created.numpy().sum()),
            "removed": int(self._removed.numpy().sum()),
            "velocity_sum": int(self._moved.numpy().sum()),
            "cars": int(kinds[CAR]),
            "trucks": int(kinds[TRUCK]),
            "buses": int(kinds[BUS]),
        }

    def snapshot(self) -> Snapshot:
        vehicles = self._vehicles[: int(self._count[0])]
        return Snapshot(
            step=self.iteration,
            cell=self._cell_index(vehicles.position.numpy()),
            velocity=np.array(vehicles.velocity),
            kind=self._kinds_of(vehicles),
            limit=np.array(self._cells.current_max_velocity),
        )

    def _kinds_of(self, vehicles: Any) -> Array:
        return np.asarray(self._kind[self._vehicle_index(vehicles.numpy())])

    def state(self) -> State:
        counts = self.counts()
        vehicles = self._vehicles[: counts["active"]]
        return State(
            created=counts["created"],
            removed=counts["removed"],
            active=np.ones(len(vehicles), np.int32),
            position=self._cell_index(vehicles.position.numpy()),
            velocity=np.array(vehicles.velocity),
            max_velocity=np.array(vehicles.max_velocity),
            path_length=np.array(vehicles.path_length),
            occupant=IndexOf(vehicles)(self._cells.vehicle.numpy()),
            limit=np.array(self._cells.current_max_velocity),
            timer=np.array(self._lights.timer),
            phase=np.array(self._lights.phase),
        )


def bus_stops(network: Network) -> Array:
    """Which cells are bus stops: plain cells in the middle of each stretch of BUS_STOP_SPACING."""
    lengths = network.last_cell - network.first_cell + 1
    along = np.arange(network.cells) - np.repeat(network.first_cell, lengths)
    plain = ~(network.is_producer | network.is_target | network.is_stop)
    return plain & (along % BUS_STOP_SPACING == BUS_STOP_SPACING // 2)


def _make_cells(heap: Any, network: Network) -> tuple[Any, Any]:
    """All cells in the order of the network, and the producers among them."""
    producer, target, stop = network.is_producer, network.is_target, bus_stops(network)
    classes = {
        ProducerCell: producer & ~target,
        ProducerTargetCell: producer & target,
        TargetCell: target & ~producer,
        BusStopCell: stop,
        Cell: ~(producer | target | stop),
    }
    cells = heap.zeros(network.cells, Cell)
    producers = heap.zeros(int(producer.sum()), ProducerCell)
    for python_class, chosen in classes.items():
        made = heap.new(python_class, int(chosen.sum()))
        cells[chosen] = made
        if issubclass(python_class, ProducerCell):
            producers[chosen[producer]] = made
    producers.random_state = seeded_states(network.seed[producer])
    cells.num_outgoing = network.num_outgoing
    cells.max_velocity = network.max_velocity
    cells.current_max_velocity = np.where(network.is_stop, 0, network.max_velocity)
    link(heap, cells.outgoing, cells, network.outgoing)
    return cells, producers


def _make_pools(heap: Any, size: int, mix: Mix) -> tuple[Any, Any, Array]:
    """The traffic object, and all vehicles with their kinds."""
    pools, vehicles, kinds = {}, [], []
    for kind, python_class in _KINDS.items():
        count = size if mix.fraction(kind) > 0 else 0
        pool = heap.new(VehiclePool, available=count)
        if count:
            made = heap.new(python_class, count, pool=pool)
            pool.vehicles = made
            vehicles.append(made)
            kinds += [kind]
        pools[kind] = pool
    traffic = heap.new(
        Traffic,
        cars=pools[CAR],
        trucks=pools[TRUCK],
        buses=pools[BUS],
        truck_shares=mix.truck_shares,
        bus_shares=mix.bus_shares,
    )
    return traffic, heap.concat(*vehicles), np.repeat(np.array(kinds, np.int32), size)
