"""Connected components: the smallest number spreads over edges, against their direction too.

The artifact's accessor for all edges of a vertex gives its in-edges twice, so that its labels end
at the smallest number within two edges. Here the out-edges follow, as in GraphChi.

Both vertices of an edge read and write it. When they write in one sweep the larger label may win;
the vertex of the smaller one writes again in the next, so that this delays the result only.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from ...interface import RunOptions, RunResult
from ..edges import ChiEdgeInt, EdgeInt
from ..object_graph import ArtifactWorkload
from ..program import run_workload
from ..reference import Components
from ..results import component_bars, component_counts
from .inspection import kernel_copy_back_int
from .vertices import ChiVertexInt


@oa.func
def smallest_value(edges: oa.Array[ChiEdgeInt], label: i32) -> i32:
    for k in range(len(edges)):
        label = min(label, edges[k].get_value())
    return label


@oa.func
def lower_values(edges: oa.Array[ChiEdgeInt], label: i32) -> None:
    for k in range(len(edges)):
        edge = edges[k]
        if edge.get_value() > label:
            edge.set_value(label)


@oa.kernel
def kernel_CC(vertices: oa.Array[ChiVertexInt], iteration: i32) -> None:
    vertex = vertices[oa.grid(1)]
    in_edges = vertex.in_edges
    out_edges = vertex.out_edges
    if iteration == 0:
        label = vertex.id
        for k in range(len(in_edges)):
            label = min(label, in_edges[k].get_vertex_id())
        vertex.value = label
        for k in range(len(out_edges)):
            out_edges[k].set_value(label)
    else:
        label = smallest_value(out_edges, smallest_value(in_edges, vertex.value))
        vertex.value = label
        lower_values(in_edges, label)
        lower_values(out_edges, label)


@oa.kernel
def kernel_count_unsettled(vertices: oa.Array[ChiVertexInt], unsettled: oa.Array[i32]) -> None:
    vertex = vertices[oa.grid(1)]
    in_edges = vertex.in_edges
    out_edges = vertex.out_edges
    for k in range(len(in_edges)):
        if in_edges[k].get_value() != vertex.value:
            oa.atomic_add(unsettled, 0, 1)
    for k in range(len(out_edges)):
        if out_edges[k].get_value() != vertex.value:
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
