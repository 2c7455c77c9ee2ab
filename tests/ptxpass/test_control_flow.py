"""Dominators, loops and joins, against networkx and by definition."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxpass.control_flow import ControlFlow

Successors = list[list[int]]


@st.composite
def graphs(draw: st.DrawFn, backwards: bool = True) -> Successors:
    """Up to 9 blocks, each with at most three successors; without cycles unless ``backwards``."""
    count = draw(st.integers(1, 9))
    return [
        draw(st.lists(st.integers(0 if backwards else block + 1, count - 1), max_size=3))
        if backwards or block + 1 < count
        else []
        for block in range(count)
    ]


def directed(flow: ControlFlow) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(flow.order)
    graph.add_edges_from((block, after) for block in flow.order for after in flow.successors[block])
    return graph


def expected_dominators(graph: nx.DiGraph, root: int) -> dict[int, int]:
    found = nx.immediate_dominators(graph, root)
    return {block: above for block, above in found.items() if block != root}


@given(graphs())
def test_dominators(successors: Successors) -> None:
    flow = ControlFlow(successors)
    graph = directed(flow)
    assert flow.dominators == expected_dominators(graph, 0)
    if flow.exit in graph:
        assert flow.postdominators == expected_dominators(graph.reverse(), flow.exit)


@given(graphs())
def test_joins_are_reached_by_disjoint_paths(successors: Successors) -> None:
    flow = ControlFlow(successors)
    graph = directed(flow)
    for branch in flow.order:
        if flow.exit not in nx.descendants(graph, branch) | {branch}:
            continue
        last = flow.reconvergence(branch)
        # What lies behind the point of reconvergence is cut off.
        ways = graph.copy()
        ways.remove_edges_from(list(graph.out_edges(last)))
        expected = {
            block
            for block in nx.descendants(ways, branch) - {branch}
            if nx.node_connectivity(_without_edge(ways, branch, block), branch, block)
            + ways.has_edge(branch, block)
            >= 2
        }
        assert flow.joins(branch) == expected, branch


def _without_edge(graph: nx.DiGraph, source: int, target: int) -> nx.DiGraph:
    """networkx counts disjoint paths between blocks that are not adjacent."""
    copy = graph.copy()
    if copy.has_edge(source, target):
        copy.remove_edge(source, target)
    return copy


@pytest.mark.parametrize(
    ("successors", "loops"),
    [
        ([[1], [2, 3], [1], []], {1: {1, 2}}),
        ([[1], [1, 2], []], {1: {1}}),
        # An inner loop 2-3, an outer one 1-4.
        ([[1], [2, 5], [3, 4], [2], [1], []], {1: {1, 2, 3, 4}, 2: {2, 3}}),
        # Two ways back to one header.
        ([[1], [2, 4], [1, 3], [1], []], {1: {1, 2, 3}}),
        ([[1, 2], [2], []], {}),
    ],
)
def test_loops(successors: Successors, loops: dict[int, set[int]]) -> None:
    found = ControlFlow(successors).loops
    assert {loop.header: set(loop.blocks) for loop in found} == loops


def test_break_joins_behind_the_loop_only() -> None:
    # 1 tests the loop, 2 may break to 4, 3 goes on.
    flow = ControlFlow([[1], [2, 4], [3, 4], [1], []])
    assert flow.reconvergence(2) == 4
    assert flow.joins(2) == {4}


def test_joins_in_nested_loops() -> None:
    # Loop 1-2-3-4-5, in it loop 2 and loop 3-4-6; the branch is 4.
    flow = ControlFlow([[1], [2], [2, 3, 7], [4, 1, 7], [5, 6], [1], [3], []])
    assert flow.joins(4) == {1, 3, 7}


def test_block_that_cannot_be_reached() -> None:
    flow = ControlFlow([[2], [2], []])
    assert 1 not in flow.order
    assert flow.predecessors[2] == [0]
