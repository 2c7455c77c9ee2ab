"""The reference simulation reproduces the known results, so that it may judge the others."""

from __future__ import annotations

import numpy as np
import pytest

from apps.interface import CheckFailed
from apps.traffic.mix import BUS, CAR, TRUCK, Mix
from apps.traffic.natural.simulation import bus_stops
from apps.traffic.reference import Reference

from .running import four_counts, generated_network

TABLE = [
    (20, {200: (234, 507, 273, 86_916)}),
    pytest.param(
        50,
        {100: (350, 509, 159, 74_968), 500: (1_048, 2_406, 1_358, 594_877)},
        marks=pytest.mark.slow,
    ),
    pytest.param(
        850,
        {
            1: (88, 91, 3, 114),
            10: (826, 881, 55, 17_063),
            50: (3_214, 4_311, 1_097, 373_390),
            100: (5_233, 8_482, 3_249, 1_173_262),
        },
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("size", "rows"), TABLE)
def test_table(size: int, rows: dict[int, tuple[int, int, int, int]]) -> None:
    reference = Reference(generated_network(size))
    for iteration, row in rows.items():
        assert reference.run(iteration - reference.iteration) == four_counts(*row)


@pytest.mark.slow
def test_kinds_come_in_the_fractions_asked_for() -> None:
    network = generated_network(50)
    reference = Reference(network, natural=True, mix=Mix(0.5, 0.25), bus_stops=bus_stops(network))
    reference.run(500)
    shares = np.bincount(reference.vehicles["kind"], minlength=3) / reference.active
    assert shares[[CAR, TRUCK, BUS]] == pytest.approx([0.25, 0.5, 0.25], abs=0.06)


def test_overlapping_paths_are_noticed() -> None:
    reference = Reference(generated_network(20))
    reference.run(50)
    reference.vehicles = np.concatenate([reference.vehicles, reference.vehicles])
    with pytest.raises(CheckFailed, match="two vehicles move over one cell"):
        reference.run(5)
