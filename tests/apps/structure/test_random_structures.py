"""Both flavours and the reference agree bit by bit on structures that nobody would build."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.structure.structure import ANCHOR, FREE, PULLED, Structure
from tests.differential.effort import examples

from .reference import Reference
from .running import RUNS, advance_to, bits, require_invariants, simulation

#: Nodes may coincide, and springs be without length.
PLACES = st.integers(0, 6).map(lambda n: n / 8) | st.floats(0, 1, width=32)


def floats(values: Any) -> Any:
    return np.array(values, np.float32)


@st.composite
def structures(draw: st.DrawFn) -> Structure:
    """Up to 25 nodes of any kinds and any springs between them: isolated nodes, several springs
    between two nodes, no anchors, nothing at all."""
    nodes = draw(st.integers(0, 25))

    def each(values: st.SearchStrategy[Any], count: int = nodes) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    kind = np.array(each(st.sampled_from([ANCHOR, PULLED, FREE])), np.int32)
    speed = st.floats(-0.5, 0.5, width=32)
    velocity_x, velocity_y = (floats(each(speed)) * (kind == PULLED) for _ in range(2))
    room = [5] * nodes
    ends = []
    if nodes > 1:
        pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
        for first, second in draw(st.lists(pairs, max_size=2 * nodes)):
            if first != second and room[first] and room[second]:
                ends.append((first, second))
                room[first] -= 1
                room[second] -= 1
    columns = np.array(ends, np.int32).reshape(-1, 2).T
    return Structure(
        kind=kind,
        x=floats(each(PLACES)),
        y=floats(each(PLACES)),
        velocity_x=velocity_x.astype(np.float32),
        velocity_y=velocity_y.astype(np.float32),
        mass=floats(each(st.floats(50, 1000, width=32))),
        first=columns[0].copy(),
        second=columns[1].copy(),
        factor=floats(each(st.floats(0, 10, width=32), len(ends))),
        max_force=floats(each(st.sampled_from([0.0, 0.05, 0.5, 5.0]), len(ends))),
    )


@settings(max_examples=examples(9))
@given(structures(), st.integers(1, 4), st.sampled_from(RUNS), st.booleans())
def test_all_agree(structure: Structure, steps: int, run: tuple[str, bool], repair: bool) -> None:
    mode, natural = run
    reference = Reference(structure, repair=natural and repair)
    for _ in range(steps):
        reference.advance()
    with simulation(structure, mode=mode, natural=natural, repair=repair) as running:
        for step in range(1, steps + 1):
            counts = advance_to(running, step)
            require_invariants(running, structure)
        state = running.state()
    assert counts.pop("repaired", 0) == reference.repaired
    assert counts == reference.counts()
    live = reference.node_lives
    assert (bits(state.x, state.y) == bits(reference.x[live], reference.y[live])).all()


def meeting() -> Structure:
    """Two free nodes at one place between one that is held and one that is pulled away."""
    first, second = [0, 1, 1, 2], [1, 2, 3, 3]
    return Structure(
        kind=np.array([ANCHOR, FREE, FREE, PULLED], np.int32),
        x=floats([0, 0.5, 0.5, 0.75]),
        y=floats([0, 0.25, 0.25, 1]),
        velocity_x=floats([0, 0, 0, 0.125]),
        velocity_y=floats([0, 0, 0, 0.25]),
        mass=floats([100, 60, 70, 100]),
        first=np.array(first, np.int32),
        second=np.array(second, np.int32),
        factor=floats([3, 4, 5, 6]),
        max_force=floats([9, 9, 9, 9]),
    )


@pytest.mark.parametrize("natural", [False, True])
def test_nodes_at_one_place(natural: bool) -> None:
    structure = meeting()
    reference = Reference(structure)
    for _ in range(6):
        reference.advance()
    assert len(set(reference.x.tolist())) == len(set(reference.y.tolist())) == 4
    with simulation(structure, mode="range+switch", natural=natural) as running:
        advance_to(running, 6)
        state = running.state()
    assert (bits(state.x, state.y) == bits(reference.x, reference.y)).all()
