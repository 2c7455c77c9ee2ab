"""Runs queries from a network to their answers: what the command line calls."""

from __future__ import annotations

from collections import Counter

import numpy as np

import sharedoa as oa
from sharedoa.errors import ArgumentError

from ..common.film import require_drawable
from ..common.graph_files import MOST_VERTICES
from ..common.graph_generators import split_mix
from ..common.heap_record import record_heap
from ..common.launches import Launches
from ..common.phases import pauses, timed
from ..common.tntp import read_tntp
from ..interface import RunOptions, RunResult
from .generated import generate
from .network import Array, Network, build
from .parameters import NEVER
from .picture import Map
from .reference import check_times
from .routing import Answer, Routing


def run(options: RunOptions) -> RunResult:
    """Answer queries. ``size`` counts the nodes of the generated town, ``steps`` the queries; the
    classes are those that a user would write, with or without ``natural``.

    ``timings["run"]`` is the time of all queries but the first, which compiles the kernels and has
    its own entry. Raises ArgumentError for input that cannot be read or output that cannot be
    written, before anything runs, and CheckFailed.
    """
    assert options.steps is not None and options.seed is not None
    if options.out is not None:
        require_drawable(options.out)
    result = RunResult(counts={}, timings={"first step": 0.0, "run": 0.0})
    with timed(result, "network"):
        network = make_network(options)
    with oa.Heap(mode=options.mode, backend=options.backend, layout=options.layout) as heap:
        launches = Launches(heap, options.time_kernels, options.on_launch)
        with timed(result, "objects"):
            routing = Routing(heap, network, launches)
        drawing = Map(options.out, network, _title(options, network)) if options.out else None
        counts = Counter(dict.fromkeys(_count(network, None), 0))
        stops = set(pauses(options, animated=drawing is not None and drawing.animated))
        starts = start_nodes(network, options.steps, options.seed).tolist()
        for query, start in enumerate(starts, 1):
            with timed(result, "first step" if query == 1 else "run"):
                answer = routing.answer(start)
            counts.update(_count(network, answer))
            if options.check:
                check_times(network, start, answer.time)
                result.checks["earliest arrivals"] = query
            if drawing is not None and (
                query in stops if drawing.animated else query == len(starts)
            ):
                with timed(result, "picture"):
                    drawing.add(answer)
            if options.progress is not None and query in stops:
                options.progress(query, options.steps)
        result.counts = {
            "nodes": network.nodes,
            "roads": len(network.roads.origin),
            "ferries": len(network.ferries.origin),
            "walks": len(network.walks.origin),
            **counts,
        }
        result.timings |= {f"kernel {name}": t for name, t in launches.seconds.items()}
        record_heap(result, heap)
    if drawing is not None and starts:
        result.picture = drawing.write()
    return result


def make_network(options: RunOptions) -> Network:
    """The network that the options describe: read from a file, or generated."""
    assert options.size is not None and options.seed is not None
    if options.input is not None:
        return build(read_tntp(options.input), options.seed)
    if options.size > MOST_VERTICES:
        raise ArgumentError(
            f"a town of {options.size:,} nodes is too large",
            f"use a size of at most {MOST_VERTICES:,}",
        )
    return build(generate(options.size, options.seed), options.seed)


def start_nodes(network: Network, queries: int, seed: int) -> Array:
    """Where the queries begin: at zones, if there are any."""
    places = np.flatnonzero(network.is_zone) if network.is_zone.any() else np.arange(network.nodes)
    if not len(places):
        return places
    # Other numbers than those that the network takes.
    draws = split_mix((1 << 36) + np.arange(queries), seed)
    return places[(draws * len(places)).astype(np.int64)]


def _count(network: Network, answer: Answer | None) -> dict[str, int]:
    """What one answer adds to the counts."""
    if answer is None:
        time, used = np.empty(0, np.int64), np.empty(0, np.bool_)
    else:
        time, used = answer.time[answer.time != NEVER], answer.used
    roads, ferries = len(network.roads.origin), len(network.ferries.origin)
    parts = np.split(used, [roads, roads + ferries])
    names = ("roads_on_fastest_routes", "ferries_on_fastest_routes", "walks_on_fastest_routes")
    return {
        "reached": len(time),
        "time_sum": int(time.sum()),
        **{name: int(part.sum()) for name, part in zip(names, parts, strict=True)},
    }


def _title(options: RunOptions, network: Network) -> str:
    if options.input is None:
        return f"Generated town: {network.nodes:,} nodes"
    name = options.input.name.split(".")[0].removesuffix("_net").removesuffix("_node")
    return f"{name}: {network.nodes:,} nodes"
