"""The classes of both flavours: the artifact's sizes and methods; several classes at a call."""

from __future__ import annotations

import pytest

import sharedoa as oa
from apps.generation.faithful.classes import Agent, AgentV, Cell, CellV
from apps.generation.natural import kernels
from sharedoa.model.object import shared_type

from .running import simulation, small_star


@pytest.mark.parametrize(("cls", "size"), [(Agent, 32), (Cell, 32)])
def test_sizes_with_a_header_of_8_bytes(cls: type, size: int) -> None:
    with oa.Heap(mode="cuda", backend="cpu") as heap:
        assert heap.layout.record(shared_type(cls)).size == size


@pytest.mark.parametrize(("base", "cls", "methods"), [(AgentV, Agent, 12), (CellV, Cell, 4)])
def test_one_concrete_class_overrides_all_virtual_methods(
    base: type, cls: type, methods: int
) -> None:
    assert len(shared_type(base).slots) == methods
    assert len(shared_type(base).abstract_methods) == methods
    assert shared_type(base).concrete() == [shared_type(cls)]


def test_calls_have_several_classes_to_choose_from() -> None:
    with simulation(small_star(), mode="coal", natural=True):
        text = kernels.show_states.explain()
    for name in ("Candidate", "Alive", "Decaying"):
        assert name in text
