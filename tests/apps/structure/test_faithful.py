"""The faithful flavour: object sizes of the artifact, known results in every mode."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from apps.interface import RunOptions
from apps.structure.faithful.classes import Node, NodeBase, Spring, SpringBase
from dispatch.mode import MODES
from sharedoa.model.object import shared_type

from ...modes import quick_modes
from .reference import Reference
from .running import (
    APP,
    SMALL_BROKEN,
    TORN,
    advance_to,
    bits,
    generated_structure,
    require_invariants,
    require_table,
    simulation,
    torn_apart,
)


@pytest.mark.parametrize(("cls", "size"), [(Node, 80), (Spring, 56)])
def test_sizes_with_a_header_of_8_bytes(cls: type, size: int) -> None:
    with oa.Heap(mode="cuda", backend="cpu") as heap:
        assert heap.layout.record(shared_type(cls)).size == size


@pytest.mark.parametrize(
    ("base", "cls", "methods"), [(NodeBase, Node, 12), (SpringBase, Spring, 9)]
)
def test_one_concrete_class_overrides_all_virtual_methods(
    base: type, cls: type, methods: int
) -> None:
    assert len(shared_type(base).slots) == methods
    assert len(shared_type(base).abstract_methods) == methods
    assert shared_type(base).concrete() == [shared_type(cls)]


@pytest.mark.parametrize("mode", quick_modes("typepointer"))
def test_small_results_in_every_mode(mode: str) -> None:
    with simulation(generated_structure(1_500), mode=mode) as running:
        require_table(running, 1_500)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_medium_results_in_every_mode(mode: str) -> None:
    with simulation(generated_structure(15_000), mode=mode) as running:
        require_table(running, 15_000)


def test_springs_broken_in_each_step() -> None:
    with simulation(generated_structure(1_500)) as running:
        broken = [0] + [advance_to(running, step)["broken"] for step in range(1, 11)]
        assert advance_to(running, 10)["cut_off"] == 3
    assert np.diff(broken).tolist() == SMALL_BROKEN


@pytest.mark.slow
def test_places_are_those_of_the_reference() -> None:
    """Bit by bit, also after most of the structure has been torn apart."""
    reference = torn_apart(repair=False)
    with simulation(generated_structure(400), mode="bits+switch") as running:
        counts = advance_to(running, TORN)
        state = running.state()
    assert counts == reference.counts()
    assert counts["broken"] > 150
    assert (bits(state.x, state.y) == bits(*live_places(reference))).all()


def live_places(reference: Reference) -> tuple[object, object]:
    return reference.x[reference.node_lives], reference.y[reference.node_lives]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["coal", "typepointer"])
def test_cpython_runs_the_same_program(mode: str) -> None:
    structure = generated_structure(20)
    with simulation(structure, mode=mode, backend="cpu") as running:
        expected = advance_to(running, 2)
    with simulation(structure, mode=mode, backend="python") as running:
        assert advance_to(running, 2) == expected
        require_invariants(running, structure)


@pytest.mark.slow
def test_debug_mode_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAREDOA_DEBUG", "1")
    structure = generated_structure(400)
    with simulation(structure, mode="coal") as running:
        counts = advance_to(running, 10)
        require_invariants(running, structure)
    assert counts["broken"] > 0


@pytest.mark.gpu
@pytest.mark.parametrize("size", [1_500, 15_000, 150_000])
@pytest.mark.parametrize("mode", MODES)
def test_results_on_a_gpu(mode: str, size: int) -> None:
    with simulation(generated_structure(size), mode=mode, backend="cuda") as running:
        require_table(running, size)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_invariants_hold_on_a_gpu(mode: str) -> None:
    options = RunOptions(size=150_000, steps=3, mode=mode, backend="cuda", check=True)
    result = APP.run(options)
    assert set(result.checks.values()) == {3}
    assert result.objects == 525_000
