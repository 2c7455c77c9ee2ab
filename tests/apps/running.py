"""Networks and simulations that several tests of traffic use."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sharedoa as oa
from apps.common.launches import Launches
from apps.traffic.faithful.simulation import FaithfulSimulation
from apps.traffic.generated import generate
from apps.traffic.mix import CARS_ONLY, Mix
from apps.traffic.natural.simulation import NaturalSimulation, bus_stops
from apps.traffic.network import Network, build
from apps.traffic.reference import Reference
from apps.traffic.simulation import Simulation

MIXED = Mix(trucks=0.3, buses=0.2)


@functools.cache
def generated_network(size: int) -> Network:
    """The paper's network with that many intersections."""
    return build(generate(size, 42))


@contextmanager
def simulation(
    network: Network,
    *,
    mode: str = "sharedoa",
    backend: Any = "cpu",
    natural: bool = False,
    mix: Mix = CARS_ONLY,
) -> Iterator[Simulation]:
    """A simulation at its start, in a heap of its own."""
    with oa.Heap(mode=mode, backend=backend) as heap:
        launches = Launches(heap, timed=False)
        if natural:
            yield NaturalSimulation(heap, network, launches, mix)
        else:
            yield FaithfulSimulation(heap, network, launches)


def advance_to(running: Simulation, iteration: int) -> dict[str, int]:
    """Run up to an iteration; the counts then."""
    while running.iteration < iteration:
        running.advance()
    return running.counts()


def four_counts(active: int, created: int, removed: int, velocity_sum: int) -> dict[str, int]:
    """A row of the table in apps/traffic/README.md."""
    return {
        "active": active,
        "created": created,
        "removed": removed,
        "velocity_sum": velocity_sum,
    }


@functools.cache
def reference_counts(size: int, iteration: int, mix: Mix) -> dict[str, int]:
    """What the reference simulation of the natural flavour counts."""
    network = generated_network(size)
    reference = Reference(network, natural=True, mix=mix, bus_stops=bus_stops(network))
    return reference.run(iteration)
