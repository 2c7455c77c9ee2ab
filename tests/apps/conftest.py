"""Networks and simulations that several tests of the programs use."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sharedoa as oa
from apps.common.launches import Launches
from apps.traffic.faithful.simulation import FaithfulSimulation
from apps.traffic.generated import generate
from apps.traffic.mix import CARS_ONLY, Mix
from apps.traffic.natural.simulation import NaturalSimulation
from apps.traffic.network import Network, build
from apps.traffic.simulation import Simulation


@functools.cache
def generated_network(size: int) -> Network:
    """The network of apps.md 3.3 with that many intersections."""
    return build(generate(size, 42))


@contextmanager
def simulation(
    network: Network,
    *,
    mode: str = "sharedoa",
    backend: str = "cpu",
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


@pytest.fixture
def data() -> Path:
    """The folder of real road networks."""
    beside = Path(__file__).parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("SHAREDOA_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no road networks in {folder}; set SHAREDOA_DATA to their folder")
    return folder
