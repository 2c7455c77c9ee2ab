"""Levels that are visited before anybody looks how deep the search has come."""

from __future__ import annotations

import numpy as np
import pytest

from apps.structure.search import search
from apps.structure.structure import FREE

from .running import generated_structure


@pytest.mark.parametrize("deepest_node", [-1, 0, 3, 9])
@pytest.mark.parametrize("visited", [0, 1, 4, 12])
def test_levels(deepest_node: int, visited: int) -> None:
    """As many as are needed without them, each visited once."""
    deepest, seen = np.full(1, -1 if visited else 7), []

    def visit(level: int) -> None:
        seen.append(level)
        if level <= deepest_node:
            deepest[0] = level

    for level in range(visited):
        visit(level)
    assert search(visit, deepest, visited) == deepest_node + 2
    assert seen == list(range(max(visited, deepest_node + 2)))


def test_springs_lie_as_their_nodes_do() -> None:
    structure = generated_structure(1_500)
    order = structure.springs_by_node()
    assert sorted(order) == list(range(structure.springs))
    ends = np.stack([structure.first[order], structure.second[order]])
    first = np.where(structure.kind[ends] == FREE, ends, structure.nodes).min(axis=0)
    assert (np.diff(first) >= 0).all()
    # Of those whose first node is the same the order stays.
    assert (np.diff(order)[np.diff(first) == 0] > 0).all()
