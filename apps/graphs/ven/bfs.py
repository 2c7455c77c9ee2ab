"""Breadth-first levels from vertex 0, as ``ve.bfs``, of virtual vertices."""

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
from .vertices import ChiVertexInt, VirtVertexInt


@oa.kernel
def kernel_BFS(vertices: oa.Array[VirtVertexInt], iteration: i32) -> None:
    i = oa.grid(1)
    vertex = vertices[i]
    if iteration == 0:
        if i == 0:
            vertex.set_value(0)
            for k in range(vertex.num_out_edges()):
                vertex.get_out_edge(k).set_value(1)
    else:
        level = vertex.get_value()
        for k in range(vertex.num_in_edges()):
            level = min(level, vertex.get_in_edge(k).get_value())
        if level < vertex.get_value():
            vertex.set_value(level)
            for k in range(vertex.num_out_edges()):
                edge = vertex.get_out_edge(k)
                if edge.get_value() > level + 1:
                    edge.set_value(level + 1)


@oa.kernel
def kernel_count_unsettled(vertices: oa.Array[VirtVertexInt], unsettled: oa.Array[i32]) -> None:
    vertex = vertices[oa.grid(1)]
    for k in range(vertex.num_in_edges()):
        if vertex.get_in_edge(k).get_value() < vertex.get_value():
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
