"""Each invariant notices its violation."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

import sharedoa as oa
from apps.common.references import NOTHING
from apps.interface import CheckFailed
from apps.structure.state import State, StrictIndexOf, check, reached
from apps.structure.structure import ANCHOR, FREE, PULLED

from .running import advance_to, generated_structure, simulation

STEP = 10
SIZE = 400


@pytest.fixture(scope="module", params=[False, True], ids=["faithful", "natural"])
def state(request: pytest.FixtureRequest) -> State:
    natural: bool = request.param
    with simulation(generated_structure(SIZE), natural=natural, repair=True) as running:
        assert advance_to(running, STEP)["broken"] > 0
        return running.state()


def verify(state: State) -> list[str]:
    return list(check(state, generated_structure(SIZE), STEP))


def changed(state: State, name: str, place: Any, value: Any) -> State:
    values = getattr(state, name).copy()
    values[place] = value
    return dataclasses.replace(state, **{name: values})


def test_all_hold(state: State) -> None:
    assert len(verify(state)) == 5


def test_reach_is_that_of_scipy(state: State) -> None:
    ends = state.first, state.second
    size = (len(state.kind),) * 2
    graph = coo_matrix((np.ones(len(ends[0])), ends), size)
    _, part = connected_components(graph, directed=False)
    anchored = np.isin(part, part[state.kind == ANCHOR])
    assert (reached(state) == anchored).all()


def first_of(state: State, kind: int) -> int:
    return int(np.flatnonzero((state.kind == kind) & (state.num_springs > 0))[0])


@pytest.mark.parametrize(
    ("name", "kind", "value", "message"),
    [
        ("num_springs", FREE, 9, "other springs than its slots hold"),
        ("springs", FREE, NOTHING, "other springs than its slots hold"),
        ("x", ANCHOR, 0.1, "an anchor has moved"),
        ("y", PULLED, 0.1, "not where its velocity brings it"),
        ("kind", FREE, ANCHOR, "has become an anchor"),
    ],
)
def test_nodes(state: State, name: str, kind: int, value: Any, message: str) -> None:
    with pytest.raises(CheckFailed, match=message):
        verify(changed(state, name, first_of(state, kind), value))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("force", 0.6, "under too much force"), ("force", -0.1, "a spring pushes")],
)
def test_springs(state: State, name: str, value: Any, message: str) -> None:
    with pytest.raises(CheckFailed, match=message):
        verify(changed(state, name, 3, value))


def test_a_spring_in_a_wrong_node(state: State) -> None:
    other = (state.first[3] + 1) % len(state.kind)
    with pytest.raises(CheckFailed, match="exactly one slot of each of its ends"):
        verify(changed(state, "first", 3, other))


def test_more_springs_than_slots(state: State) -> None:
    longer = {
        name: np.append(getattr(state, name), getattr(state, name)[:1])
        for name in ("first", "second", "force", "max_force")
    }
    with pytest.raises(CheckFailed, match="ends of"):
        verify(dataclasses.replace(state, **longer))


def test_a_part_without_an_anchor(state: State) -> None:
    kind = np.where(state.kind == ANCHOR, FREE, state.kind)
    with pytest.raises(CheckFailed, match="connected to no anchor"):
        verify(dataclasses.replace(state, kind=kind))


def test_references_to_other_objects() -> None:
    from apps.structure.natural.classes import FreeNode

    with oa.Heap(backend="cpu"):
        nodes = oa.new(FreeNode, 5)
        index = StrictIndexOf(nodes[1:], "node")
        assert index(nodes[1:].numpy()).tolist() == [0, 1, 2, 3]
        assert index(np.zeros(1, np.uint64)).tolist() == [NOTHING]
        for known in (index, StrictIndexOf(nodes[:0], "node")):
            with pytest.raises(CheckFailed, match="leads to no node"):
                known(nodes[:1].numpy())
