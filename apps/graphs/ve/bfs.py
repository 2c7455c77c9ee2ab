"""Breadth-first levels from vertex 0, relaxed in place: within a sweep a level may spread further
than one edge, and after sweep k all vertices within k edges are final."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from ...interface import RunOptions, RunResult
from ..edges import EdgeInt
from ..object_graph import ArtifactWorkload
from ..program import run_workload
from ..reference import UNREACHED, Levels
from ..results import level_bars, level_counts
from .inspection import kernel_copy_back_int
from .vertices import ChiVertexInt


@oa.kernel
def kernel_BFS(vertices: oa.Array[ChiVertexInt], iteration: i32) -> None:
    i = oa.grid(1)
    vertex = vertices[i]
    out_edges = vertex.out_edges
    if iteration == 0:
        if i == 0:
            vertex.value = 0
            for k in range(len(out_edges)):
                out_edges[k].set_value(1)
    else:
        in_edges = vertex.in_edges
        level = vertex.value
        for k in range(len(in_edges)):
            level = min(level, in_edges[k].get_value())
        if level < vertex.value:
            vertex.value = level
            for k in range(len(out_edges)):
                edge = out_edges[k]
                if edge.get_value() > level + 1:
                    edge.set_value(level + 1)


@oa.kernel
def kernel_count_unsettled(vertices: oa.Array[ChiVertexInt], unsettled: oa.Array[i32]) -> None:
    vertex = vertices[oa.grid(1)]
    in_edges = vertex.in_edges
    for k in range(len(in_edges)):
        if in_edges[k].get_value() < vertex.value:
            oa.atomic_add(unsettled, 0, 1)


BFS = ArtifactWorkload(
    title="Breadth-first levels",
    vertex_class=ChiVertexInt,
    edge_class=EdgeInt,
    vertex_value=UNREACHED,
    edge_value=UNREACHED,
    sweep=(kernel_BFS,),
    copy_back=kernel_copy_back_int,
    count_unsettled=kernel_count_unsettled,
    reference=Levels,
    counts=level_counts,
    bars_title="vertices by level",
    bars=level_bars,
)


def run(options: RunOptions) -> RunResult:
    return run_workload(BFS, options)
