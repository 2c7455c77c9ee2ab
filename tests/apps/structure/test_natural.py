"""The natural flavour: known results without repairs, the reference's with them, and what the heap
goes through while objects come and go."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import sharedoa as oa
from apps.interface import RunOptions
from apps.structure.natural.classes import AnchorNode, FreeNode, Node, PulledNode, Spring
from apps.structure.program import run
from apps.structure.structure import ANCHOR, FREE, Structure
from dispatch.mode import MODES

from ...codegen.interpreted import InterpretedGpu
from ...modes import quick_modes
from .method_kernels import begin_search
from .reference import Reference
from .running import (
    APP,
    TORN,
    advance_to,
    bits,
    generated_structure,
    require_invariants,
    require_repaired,
    require_table,
    simulation,
    torn_apart,
)


@pytest.mark.parametrize("mode", quick_modes("header+vtable"))
def test_small_results_in_every_mode(mode: str) -> None:
    with simulation(generated_structure(1_500), mode=mode, natural=True) as running:
        require_table(running, 1_500)


@pytest.mark.parametrize("mode", quick_modes("concord"))
def test_results_with_repairs_in_every_mode(mode: str) -> None:
    require_repaired(1_500, mode, "cpu")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_medium_results_in_every_mode(mode: str) -> None:
    with simulation(generated_structure(15_000), mode=mode, natural=True) as running:
        require_table(running, 15_000)


@pytest.mark.parametrize(
    ("mode", "repair"),
    [
        ("auto", True),
        # Without repairs others do it: tables, and the faithful flavour.
        *(pytest.param(mode, False, marks=pytest.mark.slow) for mode in ("auto", "typepointer")),
        pytest.param("typepointer", True, marks=pytest.mark.slow),
    ],
)
def test_places_are_those_of_the_reference(mode: str, repair: bool) -> None:
    """Bit by bit, also after most of the structure has been torn apart."""
    structure, reference = generated_structure(400), torn_apart(repair)
    with simulation(structure, mode=mode, natural=True, repair=repair) as running:
        counts = advance_to(running, TORN)
        state = running.state()
        require_invariants(running, structure)
    assert counts.pop("repaired") == reference.repaired
    assert counts == reference.counts()
    live = reference.node_lives
    assert (bits(state.x, state.y) == bits(reference.x[live], reference.y[live])).all()


def references(python_class: type) -> set[int]:
    return set(oa.all(python_class).references().tolist())


@pytest.mark.parametrize("mode", quick_modes("coal"))
def test_objects_come_and_go(mode: str) -> None:
    """What has come off is deleted, its places are used again, and regions are added."""
    structure = generated_structure(1_500)
    with simulation(structure, mode=mode, natural=True, repair=True, initial_region=16) as running:
        heap = oa.current_heap()
        epochs = {heap.layout_epoch}
        free, dead, again = references(FreeNode), set[int](), set[int]()
        for step in range(1, 26):
            counts = advance_to(running, step)
            assert len(oa.all(Node)) == counts["nodes"]
            assert len(oa.all(Spring)) == counts["springs"]
            assert heap.stats().objects == counts["nodes"] + counts["springs"]
            now = references(FreeNode)
            again |= now & dead
            dead = (dead | (free - now)) - now
            free = now
            epochs.add(heap.layout_epoch)
        require_invariants(running, structure)
    assert counts["repaired"] > 200
    assert len(epochs) > 1
    assert again


def test_a_reference_to_what_was_deleted_is_refused() -> None:
    structure = generated_structure(1_500)
    with simulation(structure, natural=True) as running:
        before = oa.concat(oa.all(Spring))
        advance_to(running, 1)
        with pytest.raises(oa.HeapError, match="deleted"):
            before.force.numpy()


def test_everything_may_go() -> None:
    """A structure without anchors comes off as a whole in the first step."""
    structure = _without_anchors(generated_structure(100))
    with simulation(structure, natural=True, repair=True) as running:
        counts = advance_to(running, 3)
        require_invariants(running, structure)
        assert (len(oa.all(Spring)), len(oa.all(AnchorNode))) == (0, 0)
    isolated = int((structure.degrees() == 0).sum())
    assert (counts["springs"], counts["nodes"], counts["cut_off"]) == (0, isolated, 175)
    assert counts["search_launches"] == 3


def _without_anchors(structure: Structure) -> Structure:
    kind = np.where(structure.kind == ANCHOR, FREE, structure.kind).astype(np.int32)
    return dataclasses.replace(structure, kind=kind)


@pytest.mark.parametrize("mode", [pytest.param("sharedoa", marks=pytest.mark.slow), "range+switch"])
def test_cpython_runs_the_same_program(mode: str) -> None:
    structure = generated_structure(20)
    with simulation(structure, mode=mode, backend="cpu", natural=True, repair=True) as running:
        expected = advance_to(running, 2)
    with simulation(structure, mode=mode, backend="python", natural=True, repair=True) as running:
        assert advance_to(running, 2) == expected


@pytest.mark.slow
def test_warps() -> None:
    """A structure that comes off in part and is repaired, in the interpreter of PTX."""
    structure = dataclasses.replace(
        generated_structure(20), max_force=np.full(35, 0.01, np.float32)
    )
    reference = Reference(structure, repair=True)
    reference.advance()
    gpu = InterpretedGpu()
    with simulation(structure, backend=gpu, natural=True, repair=True) as running:
        counts = advance_to(running, 1)
        require_invariants(running, structure)
    assert counts.pop("repaired") == reference.repaired > 0
    assert counts == reference.counts()


def test_calls_have_several_classes_to_choose_from() -> None:
    with simulation(generated_structure(20), mode="coal", natural=True):
        text = begin_search.explain()
        assert all(cls.__name__ in text for cls in (AnchorNode, PulledNode, FreeNode))


@pytest.mark.parametrize(
    ("size", "max_force", "steps"),
    [(60, 0.01, 2), pytest.param(400, None, 10, marks=pytest.mark.slow)],
)
def test_debug_mode_finds_nothing(
    monkeypatch: pytest.MonkeyPatch, size: int, max_force: float | None, steps: int
) -> None:
    monkeypatch.setenv("SHAREDOA_DEBUG", "1")
    structure = generated_structure(size)
    if max_force is not None:  # nearly all springs break and are repaired
        weak = np.full_like(structure.max_force, max_force)
        structure = dataclasses.replace(structure, max_force=weak)
    with simulation(structure, mode="coal", natural=True, repair=True) as running:
        counts = advance_to(running, steps)
        require_invariants(running, structure)
    assert counts["repaired"] > 0


def test_repairs_are_what_a_run_does_unless_told_otherwise() -> None:
    options = RunOptions(size=1_500, steps=10, seed=42, backend="cpu", natural=True)
    assert run(options).counts["repaired"] == 14
    assert run(options, repair=False).counts["repaired"] == 0


@pytest.mark.gpu
@pytest.mark.parametrize("size", [1_500, 15_000, 150_000])
@pytest.mark.parametrize("mode", MODES)
def test_results_on_a_gpu(mode: str, size: int) -> None:
    with simulation(generated_structure(size), mode=mode, backend="cuda", natural=True) as running:
        require_table(running, size)


@pytest.mark.gpu
@pytest.mark.parametrize("size", [1_500, 15_000, 150_000])
@pytest.mark.parametrize("mode", MODES)
def test_results_with_repairs_on_a_gpu(mode: str, size: int) -> None:
    require_repaired(size, mode, "cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_invariants_hold_on_a_gpu(mode: str) -> None:
    options = RunOptions(size=15_000, steps=20, mode=mode, backend="cuda", natural=True, check=True)
    assert set(APP.run(options).checks.values()) == {20}
