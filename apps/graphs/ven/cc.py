"""Connected components, as ``ve.cc``, of virtual vertices."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from ...interface import RunOptions, RunResult
from ..edges import EdgeInt
from ..object_graph import ArtifactWorkload
from ..program import run_workload
from ..reference import Components
from ..results import component_bars, component_counts
from .inspection import kernel_copy_back_int
from .vertices import ChiVertexInt, VirtVertexInt


@oa.kernel
def kernel_CC(vertices: oa.Array[VirtVertexInt], iteration: i32) -> None:
    vertex = vertices[oa.grid(1)]
    if iteration == 0:
        label = vertex.get_id()
        for k in range(vertex.num_in_edges()):
            label = min(label, vertex.get_in_edge(k).get_vertex_id())
        vertex.set_value(label)
        for k in range(vertex.num_out_edges()):
            vertex.get_out_edge(k).set_value(label)
    else:
        label = vertex.get_value()
        for k in range(vertex.num_edges()):
            label = min(label, vertex.edge(k).get_value())
        vertex.set_value(label)
        for k in range(vertex.num_edges()):
            edge = vertex.edge(k)
            if edge.get_value() > label:
                edge.set_value(label)


@oa.kernel
def kernel_count_unsettled(vertices: oa.Array[VirtVertexInt], unsettled: oa.Array[i32]) -> None:
    vertex = vertices[oa.grid(1)]
    for k in range(vertex.num_edges()):
        if vertex.edge(k).get_value() != vertex.get_value():
            oa.atomic_add(unsettled, 0, 1)


CC = ArtifactWorkload(
    title="Connected components",
    vertex_class=ChiVertexInt,
    edge_class=EdgeInt,
    vertex_value=0,
    edge_value=0,
    sweep=(kernel_CC,),
    copy_back=kernel_copy_back_int,
    count_unsettled=kernel_count_unsettled,
    reference=Components,
    counts=component_counts,
    bars_title="components by number of vertices",
    bars=component_bars,
)


def run(options: RunOptions) -> RunResult:
    return run_workload(CC, options)
