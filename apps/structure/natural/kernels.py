"""The kernels of one step. Nodes of all kinds share one array."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i8, i32

from ..parameters import UNREACHED
from .classes import CUT_OFF, INTACT, FreeNode, Node, Spring


@oa.kernel
def pull_nodes(nodes: oa.Array[Node]) -> None:
    nodes[oa.grid(1)].pull()


@oa.kernel
def stretch_springs(springs: oa.Array[Spring]) -> None:
    springs[oa.grid(1)].stretch()


@oa.kernel
def accelerate_nodes(nodes: oa.Array[Node]) -> None:
    """Changes velocities only, so that every node sees all others where they were."""
    nodes[oa.grid(1)].accelerate()


@oa.kernel
def move_nodes(nodes: oa.Array[Node]) -> None:
    nodes[oa.grid(1)].move()


@oa.kernel
def begin_search(nodes: oa.Array[Node]) -> None:
    nodes[oa.grid(1)].begin_search()


@oa.kernel
def search_level(nodes: oa.Array[Node], level: i32, deepest: oa.Array[i32]) -> None:
    """``deepest[0]`` becomes ``level`` if any node is as far from the anchors."""
    node = nodes[oa.grid(1)]
    if node.distance == level:
        deepest[0] = level
        node.reach_neighbours()


@oa.kernel
def cut_off_springs(springs: oa.Array[Spring]) -> None:
    """Springs come off together with the part of the structure that no anchor holds."""
    spring = springs[oa.grid(1)]
    if spring.fate == INTACT and spring.first.distance == UNREACHED:
        spring.come_off(CUT_OFF)


@oa.kernel
def report_springs(
    springs: oa.Array[Spring], fates: oa.Array[i8], repairable: oa.Array[bool]
) -> None:
    """Put what the host wants to know side by side, so that it need not look at every object."""
    i = oa.grid(1)
    fates[i] = springs[i].fate
    repairable[i] = springs[i].can_be_repaired()


@oa.kernel
def report_nodes(nodes: oa.Array[Node], loose: oa.Array[bool]) -> None:
    i = oa.grid(1)
    loose[i] = nodes[i].loose


@oa.kernel
def repair_springs(
    broken: oa.Array[Spring],
    middles: oa.Array[FreeNode],
    first_halves: oa.Array[Spring],
    second_halves: oa.Array[Spring],
) -> None:
    i = oa.grid(1)
    broken[i].repair(middles[i], first_halves[i], second_halves[i])
