"""Runs a graph workload from its graph to its results: what the command line calls."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import sharedoa as oa
from sharedoa.errors import ArgumentError

from ..common.graph import Graph
from ..common.graph_files import MOST_VERTICES, read_graph
from ..common.graph_generators import coauthors
from ..common.heap_record import record_heap
from ..common.launches import Launches
from ..common.phases import timed
from ..interface import RunOptions, RunResult
from .chart import draw_chart, require_output, write_values
from .workload import Running, Workload

#: A sweep takes less than a millisecond on a GPU, which must not wait for the host after each.
SWEEPS_BETWEEN_REPORTS = 20


def run_workload(workload: Workload, options: RunOptions) -> RunResult:
    """Run a workload. ``size`` counts the vertices of the generated graph, ``steps`` the sweeps.

    The results of some programs become final: sweeps go on, ``steps`` at a time, until they are,
    which the first ``steps`` do not ensure in a graph with long paths.

    ``timings["run"]`` is the time of all sweeps but the first, which compiles the kernels and has
    its own entry. Raises ArgumentError for input that cannot be read or output that cannot be
    written, before anything runs, and CheckFailed.
    """
    if options.natural:
        raise ArgumentError(
            "this program has one flavour",
            "run it without --natural, or `routes`: paths over edges of several classes",
        )
    if options.out is not None:
        require_output(options.out)
    result = RunResult(counts={})
    with timed(result, "graph"):
        graph = make_graph(options)
        if workload.is_simple:
            graph = graph.simple()
    with oa.Heap(mode=options.mode, backend=options.backend, layout=options.layout) as heap:
        launches = Launches(heap, options.time_kernels, options.on_launch)
        with timed(result, "objects"):
            objects = workload.objects(heap, graph, launches)
        _sweep(objects, heap, graph, workload, options, result)
        values = objects.values()
        result.counts = {
            "vertices": graph.vertices,
            "edges": graph.edges,
            **workload.counts(values),
        }
        result.timings |= {f"kernel {name}": t for name, t in launches.seconds.items()}
        record_heap(result, heap)
    if options.out is not None:
        with timed(result, "output"):
            if options.out.suffix.lower() == ".txt":
                write_values(options.out, values)
            else:
                name = f"{workload.title}: {_name(options.input)}"
                draw_chart(options.out, name, workload.bars_title, workload.bars(values))
            result.picture = options.out
    return result


def make_graph(options: RunOptions) -> Graph:
    """The graph that the options describe: read from a file, or generated."""
    assert options.size is not None and options.seed is not None
    if options.input is not None:
        return read_graph(options.input)
    if options.size > MOST_VERTICES:
        raise ArgumentError(
            f"a graph of {options.size:,} vertices is too large",
            f"use a size of at most {MOST_VERTICES:,}",
        )
    return coauthors(options.size, options.seed)


def _sweep(
    objects: Running,
    heap: Any,
    graph: Graph,
    workload: Workload,
    options: RunOptions,
    result: RunResult,
) -> None:
    """All sweeps, with whatever happens between them."""
    assert options.steps is not None
    checks: Counter[str] = Counter()
    reference = workload.reference(graph) if options.check else None
    result.timings |= {"first step": 0.0, "run": 0.0}
    settled = options.steps == 0
    while not settled:
        start = objects.sweeps
        for pause in _pauses(options):
            with timed(result, "run" if objects.sweeps else "first step"):
                while objects.sweeps < start + pause:
                    objects.advance()
                heap.synchronize()
            if reference is not None:
                reference.check(objects.sweeps, objects.values())
                checks[reference.name] += 1
            if options.progress is not None:
                options.progress(objects.sweeps, start + options.steps)
        settled = objects.is_settled()
    if reference is not None and options.steps > 0:
        reference.check_result(objects.values())
        checks[f"final {reference.name}"] += 1
    result.checks = dict(checks)


def _pauses(options: RunOptions) -> list[int]:
    """The sweeps after which the host looks at the values, or reports: the first one, which
    compiles the kernels, the last one, and some between."""
    assert options.steps is not None
    between = 1 if options.check else SWEEPS_BETWEEN_REPORTS
    return sorted({1, *range(between, options.steps, between), options.steps})


def _name(file: Path | None) -> str:
    return "generated graph" if file is None else file.name.split(".")[0]
