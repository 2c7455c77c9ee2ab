"""The natural flavour's objects, made from a network, and its iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharedoa import i64

from ...common.launches import Launches
from ...common.references import IndexOf, link
from ...common.xorwow_streams import seeded_states
from ..mix import BUS, CAR, TRUCK, Mix
from ..network import PHASE_TIME, Network
from ..parameters import BUS_STOP_SPACING
from ..snapshot import Snapshot
from ..state import State
from .classes import (
    Bus,
    BusStopCell,
    Car,
    Cell,
    ProducerCell,
    ProducerTargetCell,
    TargetCell,
    TrafficLight,
    Truck,
    Vehicle,
)

Array = np.ndarray[Any, Any]

_KINDS = {CAR: Car, TRUCK: Truck, BUS: Bus}


class NaturalSimulation:
    """Cells of five classes, lights, and the vehicles that are under way."""

    def __init__(self, heap: Any, network: Network, launches: Launches, mix: Mix) -> None:
        self._heap, self._launch, self._mix = heap, launches, mix
        self.iteration = 0
        self._cells = _make_cells(heap, network)
        self._lights = heap.new(
            TrafficLight, network.lights, num_cells=network.light_sizes, phase_time=PHASE_TIME
        )
        link(heap, self._lights.cells, self._cells, network.light_cells)
        self._counts = heap.zeros(3, i64)
        self._cell_index = IndexOf(self._cells)

    def advance(self) -> None:
        self._launch.repeat("iteration", self._iterate)
        self.iteration += 1

    def _iterate(self) -> None:
        for_all, mix = self._launch.for_all, self._mix
        for_all(ProducerCell, "produce", mix.truck_shares, mix.bus_shares, self._counts)
        for_all(TrafficLight, "step")
        for_all(Vehicle, "step_prepare_path")
        for_all(Vehicle, "step_move", self._counts)

    def counts(self) -> dict[str, int]:
        of_kinds = [self._heap.all(_KINDS[kind]) for kind in (CAR, TRUCK, BUS)]
        cars, trucks, buses = (len(each) for each in of_kinds)
        created, removed, passed = self._counts.numpy().tolist()
        passed += sum(int(each.passed.numpy().sum(dtype=np.int64)) for each in of_kinds)
        return {
            "active": cars + trucks + buses,
            "created": created,
            "removed": removed,
            "velocity_sum": passed,
            "cars": cars,
            "trucks": trucks,
            "buses": buses,
        }

    def _vehicles(self) -> tuple[Any, Array]:
        """All that are under way, and their kinds."""
        of_kinds = [self._heap.all(python_class) for python_class in _KINDS.values()]
        kinds = np.repeat(np.array([*_KINDS], np.int32), [len(each) for each in of_kinds])
        return self._heap.concat(*of_kinds), kinds

    def snapshot(self) -> Snapshot:
        vehicles, kinds = self._vehicles()
        return Snapshot(
            step=self.iteration,
            cell=self._cell_index(vehicles.position.numpy()),
            velocity=np.array(vehicles.velocity),
            kind=kinds,
            limit=np.array(self._cells.current_max_velocity),
        )

    def state(self) -> State:
        counts = self.counts()
        vehicles, _ = self._vehicles()
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


def _make_cells(heap: Any, network: Network) -> Any:
    """All cells in the order of the network."""
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
    return cells
