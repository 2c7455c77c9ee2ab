"""The faithful flavour: object sizes of the artifact, known results in every mode."""

from __future__ import annotations

import pytest

import sharedoa as oa
from apps.interface import RunOptions
from apps.registry import APPS
from apps.traffic.faithful.classes import (
    Car,
    CarBase,
    Cell,
    CellBase,
    TrafficLight,
    TrafficLightBase,
)
from dispatch.mode import MODES
from sharedoa.model.object import shared_type

from ..modes import LONG, quick_modes
from .running import advance_to, four_counts, generated_network, simulation


@pytest.mark.parametrize(("cls", "size"), [(Cell, 160), (Car, 160), (TrafficLight, 56)])
def test_sizes_with_a_header_of_8_bytes(cls: type, size: int) -> None:
    with oa.Heap(mode="cuda", backend="cpu") as heap:
        assert heap.layout.record(shared_type(cls)).size == size


@pytest.mark.parametrize(
    ("base", "cls", "methods"),
    [(CellBase, Cell, 21), (CarBase, Car, 16), (TrafficLightBase, TrafficLight, 8)],
)
def test_one_concrete_class_overrides_all_virtual_methods(
    base: type, cls: type, methods: int
) -> None:
    assert len(shared_type(base).slots) == methods
    assert len(shared_type(base).abstract_methods) == methods
    assert shared_type(base).concrete() == [shared_type(cls)]


@pytest.mark.parametrize("mode", quick_modes("range+switch"))
def test_results_in_every_mode(mode: str) -> None:
    with simulation(generated_network(20), mode=mode) as running:
        assert advance_to(running, 200) == four_counts(234, 507, 273, 86_916)
    with simulation(generated_network(50), mode=mode) as running:
        assert advance_to(running, 100) == four_counts(350, 509, 159, 74_968)


@pytest.mark.slow
def test_larger_results() -> None:
    with simulation(generated_network(50)) as running:
        assert advance_to(running, 500) == four_counts(1_048, 2_406, 1_358, 594_877)


@pytest.mark.parametrize("mode", quick_modes("concord"))
def test_invariants_hold_after_every_iteration(mode: str) -> None:
    options = RunOptions(size=20, steps=60, mode=mode, backend="cpu", check=True)
    result = APPS["traffic"].run(options)
    assert set(result.checks.values()) == {60}
    assert len(result.checks) == 5


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["coal", "typepointer"])
def test_cpython_runs_the_same_program(mode: str) -> None:
    network = generated_network(3)
    with simulation(network, mode=mode, backend="cpu") as running:
        expected = advance_to(running, 4)
    with simulation(network, mode=mode, backend="python") as running:
        assert advance_to(running, 4) == expected
    assert expected["velocity_sum"] > 0


@pytest.mark.slow
def test_paper_size() -> None:
    options = RunOptions(size=850, steps=1000, mode="range+switch", backend="cpu")
    result = APPS["traffic"].run(options)
    assert result.objects == 1_573_714
    assert result.counts == four_counts(25_536, 81_111, 55_575, 18_795_647)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_paper_size_on_a_gpu(mode: str) -> None:
    with simulation(generated_network(850), mode=mode, backend="cuda") as running:
        assert advance_to(running, 1000) == four_counts(25_536, 81_111, 55_575, 18_795_647)
        assert advance_to(running, 5000) == four_counts(51_744, 355_139, 303_395, 91_538_703)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("mode", "size"),
    [(mode, size) for mode in MODES for size in (20, 850) if size == 20 or mode in LONG],
)
def test_invariants_hold_on_a_gpu(mode: str, size: int) -> None:
    options = RunOptions(size=size, steps=60, mode=mode, backend="cuda", check=True)
    assert set(APPS["traffic"].run(options).checks.values()) == {60}


@pytest.mark.slow
def test_debug_mode_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with simulation(generated_network(20), mode="coal") as running:
        expected = advance_to(running, 40)
    monkeypatch.setenv("SHAREDOA_DEBUG", "1")
    with simulation(generated_network(20), mode="coal") as running:
        assert advance_to(running, 40) == expected
