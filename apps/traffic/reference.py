"""The simulation on plain NumPy arrays: an independent check of every other implementation.

It shares the network and the numbers of the rules with the object-oriented flavours, and no code:
vehicles are columns of arrays, and all of them take each small step together. That equals vehicle
after vehicle, because preparing reads cells and writes only the vehicle itself, and the cells that
vehicles then move over never overlap, which ``advance`` verifies.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..common.xorwow_streams import STATE_DTYPE, seeded_states, uniform
from ..interface import CheckFailed
from .mix import BUS, CAR, CARS_ONLY, TRUCK, Mix
from .network import PHASE_TIME, Network
from .parameters import (
    BUS_TOP_SPEED,
    CREATION_PROBABILITY,
    DWELL_TIME,
    PATH_CELLS,
    SLOW_DOWN_PROBABILITY,
    SLOWEST,
    TOP_SPEEDS,
    TRUCK_SLOW_DOWN_PROBABILITY,
    TRUCK_TOP_SPEED,
)

Array = np.ndarray[Any, Any]

_VEHICLE = np.dtype(
    [
        ("random", STATE_DTYPE),
        ("position", np.int32),
        ("velocity", np.int32),
        ("max_velocity", np.int32),
        ("kind", np.int32),
        ("waiting", np.int32),
    ]
)


class Reference:
    """The state of a simulation. ``natural`` selects DynaSOAr's removal rule: a vehicle leaves only
    in a step in which it moved."""

    def __init__(
        self,
        network: Network,
        *,
        natural: bool = False,
        mix: Mix = CARS_ONLY,
        bus_stops: Array | None = None,
    ) -> None:
        self.network = network
        self.natural = natural
        self.mix = mix
        self.is_bus_stop = np.zeros(network.cells, np.bool_) if bus_stops is None else bus_stops
        self.is_exit = network.is_target | (network.num_outgoing == 0)
        self.producers = np.flatnonzero(network.is_producer)
        self.producer_random = seeded_states(network.seed[self.producers])
        self.limit = np.where(network.is_stop, 0, network.max_velocity)
        self.occupied = np.zeros(network.cells, np.bool_)
        self.vehicles = np.empty(0, _VEHICLE)
        self.iteration = self.created = self.removed = self.velocity_sum = 0

    @property
    def active(self) -> int:
        return len(self.vehicles)

    def counts(self) -> dict[str, int]:
        return {
            "active": self.active,
            "created": self.created,
            "removed": self.removed,
            "velocity_sum": self.velocity_sum,
        }

    def run(self, steps: int) -> dict[str, int]:
        for _ in range(steps):
            self.advance()
        return self.counts()

    def advance(self) -> None:
        """One iteration. Raises CheckFailed when two vehicles move over one cell."""
        self.iteration += 1
        self._create()
        self._switch_lights()
        path, velocity = self._plan()
        self._move(path, velocity)

    def _create(self) -> None:
        ready = np.flatnonzero(~self.occupied[self.producers])
        fires = ready[uniform(_draw(self.producer_random, ready)) < CREATION_PROBABILITY]
        new = np.zeros(len(fires), _VEHICLE)
        seeds = _draw(self.producer_random, fires)
        top = (_draw(self.producer_random, fires) % np.uint32(TOP_SPEEDS)).astype(np.int32)
        share = seeds >> np.uint32(16)
        kinds = [share < self.mix.truck_shares, share < self.mix.bus_shares]
        new["kind"] = np.select(kinds, [TRUCK, BUS], CAR)
        tops = {CAR: SLOWEST + TOP_SPEEDS, TRUCK: TRUCK_TOP_SPEED, BUS: BUS_TOP_SPEED}
        limits = np.array([tops[kind] for kind in sorted(tops)])
        new["max_velocity"] = (top + SLOWEST).clip(max=limits[new["kind"]])
        new["random"] = seeded_states(seeds.view(np.int32))
        new["position"] = self.producers[fires]
        self.occupied[new["position"]] = True
        self.vehicles = np.concatenate([self.vehicles, new])
        self.created += len(new)

    def _switch_lights(self) -> None:
        """The closed form: at a multiple of the phase time the next stop cell becomes green."""
        if self.iteration % PHASE_TIME:
            return
        network = self.network
        lit = np.flatnonzero(network.light_sizes)
        phase = (self.iteration // PHASE_TIME) % network.light_sizes[lit]
        self.limit[network.is_stop] = 0
        green = network.light_cells[lit, phase]
        self.limit[green] = network.max_velocity[green]

    def _plan(self) -> tuple[Array, Array]:
        """Accelerate, extend the path, constrain, slow down: the path and velocity of each."""
        vehicles = self.vehicles
        waits = vehicles["waiting"] > 0
        vehicles["waiting"][waits] -= 1
        going = np.flatnonzero(~waits)
        path, velocity = self._extend(self._accelerate(going), going)
        velocity = self._constrain(path, velocity)
        odds = np.full(len(vehicles), SLOW_DOWN_PROBABILITY)
        odds[vehicles["kind"] == TRUCK] = TRUCK_SLOW_DOWN_PROBABILITY
        slowed = going[uniform(_draw(vehicles["random"], going)) < odds[going]]
        velocity[slowed] = np.maximum(velocity[slowed] - 1, 0)
        vehicles["velocity"] = velocity
        return path, velocity

    def _accelerate(self, going: Array) -> Array:
        vehicles = self.vehicles
        cars = going[vehicles["kind"][going] == CAR]
        speed = vehicles["velocity"] + 1
        speed[cars] += (_draw(vehicles["random"], cars) % np.uint32(2)).astype(np.int32)
        speed = speed.clip(max=vehicles["max_velocity"])
        planned = np.zeros(len(vehicles), np.int32)
        planned[going] = speed[going]
        return planned

    def _extend(self, speed: Array, going: Array) -> tuple[Array, Array]:
        vehicles, network = self.vehicles, self.network
        path = np.zeros((len(vehicles), PATH_CELLS), np.int32)
        length = np.zeros(len(vehicles), np.int32)
        cell = vehicles["position"].copy()
        for step in range(int(speed.max(initial=0))):
            going = going[speed[going] > step]
            going = going[~self.is_exit[cell[going]]]
            degree = network.num_outgoing[cell[going]].astype(np.uint32)
            slot = _draw(vehicles["random"], going) % degree
            ahead = network.outgoing[cell[going], slot]
            free = ~self.occupied[ahead]
            going, ahead = going[free], ahead[free]
            path[going, step] = cell[going] = ahead
            length[going] += 1
        return path, length

    def _constrain(self, path: Array, velocity: Array) -> Array:
        velocity = velocity.clip(max=self.limit[self.vehicles["position"]])
        walking = np.arange(len(velocity))
        for distance in range(1, PATH_CELLS + 1):
            walking = walking[velocity[walking] >= distance]
            cell = path[walking, distance - 1]
            limit = self.limit[cell]
            blocked = self.occupied[cell] | (limit <= distance - 1)
            velocity[walking[blocked]] = distance - 1
            walking, limit = walking[~blocked], limit[~blocked]
            velocity[walking] = np.minimum(velocity[walking], limit)
        return velocity

    def _move(self, path: Array, velocity: Array) -> None:
        vehicles = self.vehicles
        crossed = path[np.arange(PATH_CELLS) < velocity[:, None]]
        if len(np.unique(crossed)) != len(crossed):
            raise CheckFailed(f"iteration {self.iteration}: two vehicles move over one cell")
        moved = velocity > 0
        self.velocity_sum += int(velocity.sum())
        self.occupied[vehicles["position"][moved]] = False
        vehicles["position"][moved] = path[moved, velocity[moved] - 1]
        self.occupied[vehicles["position"][moved]] = True
        leaves = self.is_exit[vehicles["position"]]
        if self.natural:
            leaves &= moved
        stops = moved & (vehicles["kind"] == BUS) & self.is_bus_stop[vehicles["position"]]
        vehicles["waiting"][stops] = DWELL_TIME
        self.occupied[vehicles["position"][leaves]] = False
        self.removed += int(leaves.sum())
        self.vehicles = vehicles[~leaves]


def _draw(states: Array, which: Array) -> Array:
    """One draw from each of the chosen streams."""
    state = states[which]
    t = state["v0"] ^ (state["v0"] >> np.uint32(2))
    last = state["v4"]
    last = last ^ (last << np.uint32(4)) ^ t ^ (t << np.uint32(1))
    names = ["v0", "v1", "v2", "v3", "v4"]
    for name, following in pairwise(names):
        state[name] = state[following]
    state["v4"] = last
    state["d"] += np.uint32(362437)
    states[which] = state
    return np.asarray(last + state["d"])
