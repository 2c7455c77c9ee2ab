"""The state of a simulation as arrays, and the invariants that hold after every iteration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.references import NOTHING
from ..interface import CheckFailed
from .network import PHASE_TIME, Network
from .parameters import FASTEST

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class State:
    """Cells and vehicles by index, as the heap holds them."""

    created: int
    removed: int
    #: Flags of the vehicle slots, taken or not.
    active: Array
    #: Of each active vehicle in slot order.
    position: Array
    velocity: Array
    max_velocity: Array
    path_length: Array
    #: Slot of the vehicle that occupies each cell, NOTHING for a free one.
    occupant: Array
    #: Current limit of each cell.
    limit: Array
    #: Of each light.
    timer: Array
    phase: Array


def check(state: State, network: Network, iteration: int) -> Iterator[str]:
    """Verify every invariant and yield its name. Raises CheckFailed."""
    for name, verify in (
        ("conservation", _conservation),
        ("flags are a prefix", _prefix),
        ("one vehicle a cell", _occupation),
        ("velocity and path bounds", _bounds),
    ):
        verify(state)
        yield name
    _lights(state, network, iteration)
    yield "lights"


def _require(holds: Any, message: str) -> None:
    if not np.all(holds):
        raise CheckFailed(message)


def _conservation(state: State) -> None:
    active = int(state.active.sum())
    occupied = int((state.occupant != NOTHING).sum())
    _require(
        active == state.created - state.removed == occupied,
        f"{active} vehicles are active, {state.created} were created, {state.removed} removed, "
        f"{occupied} cells are occupied",
    )


def _prefix(state: State) -> None:
    count = int(state.active.sum())
    _require(state.active[:count] == 1, "a slot before an active vehicle's is not active")
    _require(state.active[count:] == 0, "a slot is active beyond the count")


def _occupation(state: State) -> None:
    slots = np.arange(len(state.position))
    _require(
        state.occupant[state.position] == slots, "an active vehicle's cell holds another vehicle"
    )


def _bounds(state: State) -> None:
    _require(state.velocity >= 0, "a velocity is negative")
    _require(state.velocity <= state.max_velocity, "a velocity is above the vehicle's top speed")
    _require(state.max_velocity <= FASTEST, f"a top speed is above {FASTEST}")
    _require(state.path_length <= FASTEST, f"a path is longer than {FASTEST} cells")


def _lights(state: State, network: Network, iteration: int) -> None:
    lit = network.light_sizes > 0
    sizes = network.light_sizes[lit]
    phase = (iteration // PHASE_TIME) % sizes
    _require(state.timer[lit] == iteration % PHASE_TIME, "a timer is not iteration mod 5")
    _require(state.phase[lit] == phase, "a phase is not floor(iteration / 5) mod size")
    expected = np.where(network.is_stop, 0, network.max_velocity)
    if iteration >= PHASE_TIME:
        green = network.light_cells[lit, phase]
        expected[green] = network.max_velocity[green]
    _require(state.limit == expected, "a light is green that should be red, or the other way round")
