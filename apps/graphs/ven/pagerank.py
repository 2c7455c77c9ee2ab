"""PageRank, as ``ve.pagerank``, of virtual vertices."""

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
from .vertices import ChiVertexFloat, VirtVertexFloat


@oa.kernel
def kernel_PR_gather(vertices: oa.Array[VirtVertexFloat], iteration: i32) -> None:
    vertex = vertices[oa.grid(1)]
    if iteration == 0:
        vertex.set_value(1.0)
    else:
        total = f32(0)
        for k in range(vertex.num_in_edges()):
            total += vertex.get_in_edge(k).get_value()
        vertex.set_value(JUMP + DAMPING * total)


@oa.kernel
def kernel_PR_scatter(vertices: oa.Array[VirtVertexFloat], iteration: i32) -> None:
    """In the first sweep edges keep the 0 that they start with."""
    if iteration > 0:
        vertex = vertices[oa.grid(1)]
        count = vertex.num_out_edges()
        if count > 0:
            share = vertex.get_value() / f32(count)
            for k in range(count):
                vertex.get_out_edge(k).set_value(share)


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
