"""Traffic of ``apps/traffic/faithful`` with Dr.Jit: an array a field, and a mask in place of each
branch. Each class has one kind of object, or tells its kinds apart by a field, so that nothing is
left of dispatch.

A car's loops over the cells ahead are traced cell by cell: a ``dr.while_loop`` would keep the path
in an array a thread. A step is evaluated kernel by kernel, as what one writes the next one reads.
"""

from __future__ import annotations

from typing import Any

import drjit as dr
import numpy as np

from apps.common.references import NOTHING
from apps.common.xorwow_streams import STATE_DTYPE, seeded_states
from apps.traffic.network import PHASE_TIME, Network
from apps.traffic.parameters import (
    CREATION_PROBABILITY,
    PATH_CELLS,
    SLOW_DOWN_PROBABILITY,
    SLOWEST,
    TOP_SPEEDS,
)
from apps.traffic.road_graph import MAX_DEGREE

from .drjit_xorwow import bits, following, seeded, uniform

Fields = dict[str, Any]

#: How a step is run: traced each time, or the first time only.
TRACED, FROZEN = "arrays", "arrays, frozen"
VARIANTS = (TRACED, FROZEN)

WORDS = STATE_DTYPE.names or ()
_CREATION_PROBABILITY = float(CREATION_PROBABILITY)
_SLOW_DOWN_PROBABILITY = float(SLOW_DOWN_PROBABILITY)


def create_cars(library, state):
    Int32, cells, cars = library.Int32, state["cells"], state["cars"]
    ready = cells["is_producer"] & (cells["car"] == NOTHING)
    first = following(cells["random"])
    fires = ready & (uniform(first) < _CREATION_PROBABILITY)
    second = following(first)
    third = following(second)
    slot = dr.scatter_inc(state["count"], library.UInt32(0), fires)
    made = {
        "position": dr.arange(Int32, dr.width(fires)),
        "path_length": Int32(0),
        "velocity": Int32(0),
        "max_velocity": Int32(bits(third) % TOP_SPEEDS) + SLOWEST,
        "active": library.UInt32(1),
        "random": seeded(bits(second)),
    }
    for name, value in made.items():
        scatter(cars[name], value, slot, fires)
    cells["car"] = dr.select(fires, Int32(slot), cells["car"])
    drawn = chosen(fires, third, first)
    cells["random"] = chosen(ready, drawn, cells["random"])
    state["created"] += dr.select(fires, Int32(1), 0)
    dr.eval(state)


def step_lights(library, state):
    Int32, UInt32 = library.Int32, library.UInt32
    cells, lights = state["cells"], state["lights"]
    lit = lights["num_cells"] > 0
    timer = dr.select(lit, after(lights["timer"], lights["phase_time"]), lights["timer"])
    turns = lit & (timer == 0)
    phase = dr.select(turns, after(lights["phase"], lights["num_cells"]), lights["phase"])
    first = dr.arange(Int32, dr.width(lit)) * MAX_DEGREE
    red = dr.gather(UInt32, lights["cells"], UInt32(first + lights["phase"]), turns)
    green = dr.gather(UInt32, lights["cells"], UInt32(first + phase), turns)
    dr.scatter(cells["limit"], Int32(0), red, turns)
    dr.scatter(cells["limit"], dr.gather(Int32, cells["max_velocity"], green, turns), green, turns)
    lights |= {"timer": timer, "phase": phase}
    dr.eval(state)


def after(number, count):
    """The next of so many numbers. Not by division: lanes without an element may have a 0 there,
    with which a processor does not divide."""
    return dr.select(number + 1 == count, 0, number + 1)


def with_car(library, state):
    active = state["cars"]["active"]
    return (dr.arange(library.UInt32, dr.width(active)) < state["count"]) & (active == 1)


def is_exit(library, cells, cell, mask):
    ends = dr.gather(library.UInt32, cells["num_outgoing"], cell, mask) == 0
    return ends | dr.gather(library.Bool, cells["is_target"], cell, mask)


def extend_path(library, cells, position, going, wanted, random):
    """Of as many free cells ahead as each car has velocity: the path, its length, and the state of
    the generator."""
    UInt32 = library.UInt32
    cell, length, path = UInt32(position), library.Int32(0), []
    for step in range(PATH_CELLS):
        going = going & (step < wanted) & ~is_exit(library, cells, cell, going)
        random = chosen(going, following(random), random)
        degree = dr.gather(UInt32, cells["num_outgoing"], cell, going)
        turn = bits(random) % dr.select(going, degree, 1)
        ahead = dr.gather(UInt32, cells["outgoing"], cell * MAX_DEGREE + turn, going)
        going = going & (dr.gather(library.Int32, cells["car"], ahead, going) == NOTHING)
        cell = dr.select(going, ahead, cell)
        length += dr.select(going, library.Int32(1), 0)
        path.append(library.Int32(cell))
    return path, length, random


def constrain_velocity(library, cells, position, walking, path, velocity):
    """The velocity that keeps the limits of the cells ahead, and stops before an occupied one."""
    Int32, UInt32 = library.Int32, library.UInt32
    limit = dr.gather(Int32, cells["limit"], UInt32(position), walking)
    velocity = dr.minimum(velocity, limit)
    for step, cell in enumerate(path):
        walking = walking & (step < velocity)
        limit = dr.gather(Int32, cells["limit"], UInt32(cell), walking)
        taken = dr.gather(Int32, cells["car"], UInt32(cell), walking) != NOTHING
        stops = walking & (taken | (limit <= step))
        velocity = dr.select(stops, step, velocity)
        walking = walking & ~stops
        velocity = dr.select(walking, dr.minimum(velocity, limit), velocity)
    return velocity


def prepare_paths(library, state):
    cells, cars = state["cells"], state["cars"]
    position, live = cars["position"], with_car(library, state)
    random = following(cars["random"])
    faster = cars["velocity"] + 1 + library.Int32(bits(random) % 2)
    wanted = dr.minimum(cars["max_velocity"], faster)
    path, length, random = extend_path(library, cells, position, live, wanted, random)
    velocity = constrain_velocity(library, cells, position, live, path, length)
    random = following(random)
    dawdles = (uniform(random) < _SLOW_DOWN_PROBABILITY) & (velocity > 0)
    cars |= {
        "path": path,
        "path_length": length,
        "velocity": dr.select(dawdles, velocity - 1, velocity),
        "random": random,
    }
    dr.eval(state)


def move_cars(library, state):
    Int32, UInt32 = library.Int32, library.UInt32
    cells, cars = state["cells"], state["cars"]
    live, position = with_car(library, state), cars["position"]
    for step, cell in enumerate(cars["path"]):
        position = dr.select(step < cars["velocity"], cell, position)
    leaves = live & is_exit(library, cells, UInt32(position), live)
    own = dr.select(leaves, NOTHING, dr.arange(Int32, dr.width(live)))
    # The cells between are free before and after; each scatter to an array is a kernel.
    dr.scatter(cells["car"], Int32(NOTHING), UInt32(cars["position"]), live)
    dr.scatter(cells["car"], own, UInt32(position), live)
    state["moved"] += dr.select(live, cars["velocity"], 0)
    state["removed"] += dr.select(leaves, Int32(1), 0)
    cars["position"] = dr.select(leaves, NOTHING, position)
    cars["active"] = dr.select(leaves, 0, cars["active"])
    dr.eval(state)


def compact_cars(library, state):
    cars, then = state["cars"], state["next_cars"]
    live, slot = with_car(library, state), dr.prefix_sum(cars["active"])
    then["active"] = dr.zeros(library.UInt32, dr.width(live))
    for name, target in then.items():
        scatter(target, cars[name], slot, live)
    place = library.UInt32(cars["position"])
    dr.scatter(state["cells"]["car"], library.Int32(slot), place, live)
    state["count"] = dr.sum(cars["active"])
    state["cars"], state["next_cars"] = then, cars
    dr.eval(state)


def step(library, state):
    for kernel in (create_cars, step_lights, prepare_paths, move_cars, compact_cars):
        kernel(library, state)
    return state


def scatter(targets, values, index, mask):
    """Of one field, or of one in several words."""
    if isinstance(targets, list):
        for target, value in zip(targets, values, strict=True):
            dr.scatter(target, value, index, mask)
    else:
        dr.scatter(targets, values, index, mask)


def chosen(mask, one, other):
    """One of two states of a generator."""
    return [dr.select(mask, *words) for words in zip(one, other, strict=True)]


class ArraySimulation:
    """A network and its cars at iteration 0, with room for as many cars as there are cells."""

    def __init__(self, network: Network, variant: str, library: Any) -> None:
        def traced(state: Fields) -> Fields:
            return step(library, state)

        self._step = dr.freeze(traced) if variant == FROZEN else traced
        counted = {
            name: dr.opaque(library.Int32, 0, network.cells)
            for name in ("created", "moved", "removed")
        }
        self._state: Fields = {
            "cells": _cells(network, library),
            "lights": _lights(network, library),
            "cars": _no_cars(network.cells, library),
            "next_cars": _no_cars(network.cells, library),
            "count": dr.opaque(library.UInt32, 0),
            **counted,
        }

    def advance(self) -> None:
        self._state = self._step(self._state)

    def counts(self) -> dict[str, int]:
        """As those of the objects."""
        state = self._state
        return {
            "active": int(state["count"].numpy()[0]),
            "created": int(state["created"].numpy().sum()),
            "removed": int(state["removed"].numpy().sum()),
            "velocity_sum": int(state["moved"].numpy().sum()),
        }


def _cells(network: Network, library: Any) -> Fields:
    states = seeded_states(network.seed)
    limit = np.where(network.is_stop, 0, network.max_velocity).astype(np.int32)
    return {
        "random": [library.UInt32(np.ascontiguousarray(states[word])) for word in WORDS],
        "outgoing": library.UInt32(network.outgoing.ravel().astype(np.uint32)),
        "num_outgoing": library.UInt32(network.num_outgoing.astype(np.uint32)),
        "car": dr.opaque(library.Int32, NOTHING, network.cells),
        "limit": library.Int32(limit),
        "max_velocity": library.Int32(network.max_velocity),
        "is_target": library.Bool(network.is_target),
        "is_producer": library.Bool(network.is_producer),
    }


def _lights(network: Network, library: Any) -> Fields:
    return {
        "cells": library.UInt32(network.light_cells.ravel().astype(np.uint32)),
        "num_cells": library.Int32(network.light_sizes),
        "timer": dr.opaque(library.Int32, 0, network.lights),
        "phase_time": dr.opaque(library.Int32, PHASE_TIME, network.lights),
        "phase": dr.opaque(library.Int32, 0, network.lights),
    }


def _no_cars(slots: int, library: Any) -> Fields:
    def columns(kind: Any, count: int) -> list[Any]:
        return [dr.opaque(kind, 0, slots) for _ in range(count)]

    position, path_length, velocity, max_velocity = columns(library.Int32, 4)
    return {
        "path": columns(library.Int32, PATH_CELLS),
        "position": position,
        "random": columns(library.UInt32, len(WORDS)),
        "unused": columns(library.UInt32, len(WORDS)),
        "path_length": path_length,
        "velocity": velocity,
        "max_velocity": max_velocity,
        "active": dr.opaque(library.UInt32, 0, slots),
    }
