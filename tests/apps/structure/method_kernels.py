"""The methods that the natural flavour calls for whole populations, in kernels of their own."""

from __future__ import annotations

import sharedoa as oa
from apps.structure.natural.classes import FreeNode, Node, PulledNode, Repair, Spring
from sharedoa import i32


@oa.kernel
def pull(nodes: oa.Array[PulledNode]) -> None:
    nodes[oa.grid(1)].pull()


@oa.kernel
def stretch(springs: oa.Array[Spring]) -> None:
    springs[oa.grid(1)].stretch()


@oa.kernel
def accelerate(nodes: oa.Array[FreeNode]) -> None:
    nodes[oa.grid(1)].accelerate()


@oa.kernel
def move(nodes: oa.Array[FreeNode]) -> None:
    nodes[oa.grid(1)].move()


@oa.kernel
def begin_search(nodes: oa.Array[Node]) -> None:
    nodes[oa.grid(1)].begin_search()


@oa.kernel
def search(nodes: oa.Array[Node], level: i32, deepest: oa.Array[i32]) -> None:
    nodes[oa.grid(1)].search(level, deepest)


@oa.kernel
def cut_off(springs: oa.Array[Spring]) -> None:
    springs[oa.grid(1)].cut_off()


@oa.kernel
def clear_up(springs: oa.Array[Spring], counts: oa.Array[i32], repairs: bool) -> None:
    springs[oa.grid(1)].clear_up(counts, repairs)


@oa.kernel
def mend(repairs: oa.Array[Repair], counts: oa.Array[i32]) -> None:
    repairs[oa.grid(1)].mend(counts)


@oa.kernel
def leave(nodes: oa.Array[Node]) -> None:
    nodes[oa.grid(1)].leave()
