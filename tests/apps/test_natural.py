"""The natural flavour against the reference simulation, with one kind of vehicle and with three."""

from __future__ import annotations

import pytest

from apps.interface import RunOptions
from apps.registry import APPS
from apps.traffic.mix import CARS_ONLY, Mix
from apps.traffic.program import run
from dispatch.mode import MODES
from sharedoa import ArgumentError

from ..codegen.interpreted import InterpretedGpu
from ..modes import LONG, quick_modes
from .running import (
    MIXED,
    advance_to,
    generated_network,
    reference_counts,
    simulation,
)
from .vehicle_kernels import prepare_paths

ONE_KIND = (Mix(trucks=1.0), Mix(buses=1.0))
FOUR = ("active", "created", "removed", "velocity_sum")


@pytest.mark.parametrize(
    ("size", "iteration", "mix"),
    [
        *((20, 200, mix) for mix in (CARS_ONLY, ONE_KIND[1])),
        # All kinds at once are in the test of modes below.
        *(pytest.param(20, 200, mix, marks=pytest.mark.slow) for mix in (MIXED, ONE_KIND[0])),
        *(
            pytest.param(50, 500, mix, marks=pytest.mark.slow)
            for mix in (CARS_ONLY, MIXED, *ONE_KIND)
        ),
    ],
)
def test_against_the_reference(size: int, iteration: int, mix: Mix) -> None:
    with simulation(generated_network(size), natural=True, mix=mix) as running:
        counts = advance_to(running, iteration)
    assert {name: counts[name] for name in FOUR} == reference_counts(size, iteration, mix)
    assert counts["cars"] + counts["trucks"] + counts["buses"] == counts["active"]


@pytest.mark.parametrize("mode", quick_modes("typepointer"))
def test_results_in_every_mode(mode: str) -> None:
    with simulation(generated_network(20), mode=mode, natural=True, mix=MIXED) as running:
        counts = advance_to(running, 200)
    assert {name: counts[name] for name in FOUR} == reference_counts(20, 200, MIXED)
    assert min(counts["cars"], counts["trucks"], counts["buses"]) > 0


def test_invariants_hold_after_every_iteration() -> None:
    options = RunOptions(size=20, steps=20, backend="cpu", natural=True, check=True)
    result = APPS["traffic"].run(options)
    assert set(result.checks.values()) == {20}


@pytest.mark.parametrize("mode", ["sharedoa", pytest.param("range+switch", marks=pytest.mark.slow)])
def test_cpython_runs_the_same_program(mode: str) -> None:
    network = generated_network(5)
    with simulation(network, mode=mode, backend="cpu", natural=True, mix=MIXED) as running:
        expected = advance_to(running, 15)
    with simulation(network, mode=mode, backend="python", natural=True, mix=MIXED) as running:
        assert advance_to(running, 15) == expected
    assert expected["trucks"] + expected["buses"] > 0


@pytest.mark.slow
def test_warps() -> None:
    network = generated_network(4)
    with simulation(network, backend="cpu", natural=True, mix=MIXED) as running:
        expected = advance_to(running, 4)
    with simulation(network, backend=InterpretedGpu(), natural=True, mix=MIXED) as running:
        assert advance_to(running, 4) == expected
    assert expected["created"] > 0


def test_only_vehicles_under_way_are_objects() -> None:
    options = RunOptions(size=20, steps=200, backend="cpu", natural=True)
    result = APPS["traffic"].run(options)
    network = generated_network(20)
    assert result.counts["removed"] > 0
    assert result.objects == network.cells + network.lights + result.counts["active"]


def test_calls_have_several_classes_to_choose_from() -> None:
    with simulation(generated_network(3), mode="coal", natural=True, mix=MIXED):
        text = prepare_paths.explain()
    for name in ("Car", "Truck", "Bus", "TargetCell", "ProducerTargetCell"):
        assert name in text


@pytest.mark.gpu
@pytest.mark.parametrize("mode", LONG)
def test_paper_size_on_a_gpu(mode: str) -> None:
    _check_paper_size(mode, "cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in LONG])
def test_a_smaller_size_on_a_gpu(mode: str) -> None:
    with simulation(generated_network(50), mode=mode, backend="cuda", natural=True) as running:
        counts = advance_to(running, 200)
    assert {name: counts[name] for name in FOUR} == reference_counts(50, 200, CARS_ONLY)


@pytest.mark.slow
def test_paper_size() -> None:
    _check_paper_size("range+switch", "cpu")


def _check_paper_size(mode: str, backend: str) -> None:
    """Results with the removal rule of DynaSOAr that no code of ours computed."""
    with simulation(generated_network(850), mode=mode, backend=backend, natural=True) as running:
        counts = advance_to(running, 1000)
    assert counts["active"] == counts["cars"] == 26_619
    assert counts["created"] == 80_619


@pytest.mark.parametrize("fractions", [(0.6, 0.5), (-0.1, 0.0), (float("nan"), 0.0)])
def test_impossible_mix(fractions: tuple[float, float]) -> None:
    with pytest.raises(ArgumentError, match="no fractions of one whole"):
        Mix(*fractions)


def test_run_takes_a_mix() -> None:
    options = RunOptions(size=20, steps=50, seed=42, backend="cpu", natural=True)
    assert run(options, Mix(trucks=1.0)).counts["cars"] == 0
