"""PageRank, not divided by the number of vertices.

The artifact reads and writes edges in one kernel, so that its result depends on the schedule. Here
all vertices read before any writes, in two kernels of the same calls: the sums are always the same.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32

from ...interface import RunOptions, RunResult
from ..edges import EdgeFloat
from ..object_graph import ArtifactWorkload
from ..parameters import DAMPING, JUMP
from ..program import run_workload
from ..reference import Ranks
from ..results import rank_bars, rank_counts
from .inspection import kernel_copy_back_float
from .vertices import ChiVertexFloat


@oa.kernel
def kernel_PR_gather(vertices: oa.Array[ChiVertexFloat], iteration: i32) -> None:
    vertex = vertices[oa.grid(1)]
    if iteration == 0:
        vertex.value = 1.0
    else:
        in_edges = vertex.in_edges
        total = f32(0)
        for k in range(len(in_edges)):
            total += in_edges[k].get_value()
        vertex.value = JUMP + DAMPING * total


@oa.kernel
def kernel_PR_scatter(vertices: oa.Array[ChiVertexFloat], iteration: i32) -> None:
    """In the first sweep edges keep the 0 that they start with."""
    vertex = vertices[oa.grid(1)]
    out_edges = vertex.out_edges
    if iteration > 0 and len(out_edges) > 0:
        share = vertex.value / f32(len(out_edges))
        for k in range(len(out_edges)):
            out_edges[k].set_value(share)


PAGERANK = ArtifactWorkload(
    title="PageRank",
    vertex_class=ChiVertexFloat,
    edge_class=EdgeFloat,
    vertex_value=0.0,
    edge_value=0.0,
    sweep=(kernel_PR_gather, kernel_PR_scatter),
    copy_back=kernel_copy_back_float,
    count_unsettled=None,
    reference=Ranks,
    counts=rank_counts,
    bars_title="vertices by rank, from the number below on",
    bars=rank_bars,
)


def run(options: RunOptions) -> RunResult:
    return run_workload(PAGERANK, options)
