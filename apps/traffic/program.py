"""Runs traffic from its network to its results: what the command line calls."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sharedoa as oa

from ..common.launches import Launches
from ..interface import RunOptions, RunResult
from .faithful.simulation import FaithfulSimulation
from .generated import generate
from .mix import Mix
from .natural.simulation import NaturalSimulation
from .network import Network, build
from .picture import Film, require_drawable
from .simulation import Simulation
from .state import check
from .tntp import read_road_graph

#: Frames of an animation, at most.
FRAMES = 100
#: Reports of progress, at most.
REPORTS = 50
NATURAL_MIX = Mix(trucks=0.15, buses=0.05)


def run(options: RunOptions, mix: Mix = NATURAL_MIX) -> RunResult:
    """Run traffic. ``size`` counts intersections of the generated network; ``mix`` is for the
    natural flavour, the faithful one has cars only.

    ``timings["run"]`` is the time of all steps but the first, which compiles the kernels and has
    its own entry; checks and pictures are not in it. Raises ArgumentError for input that cannot be
    read or output that cannot be written, before anything runs, and CheckFailed.
    """
    assert options.size is not None and options.steps is not None and options.seed is not None
    if options.out is not None:
        require_drawable(options.out)
    result = RunResult(counts={})
    with _timed(result, "network"):
        network = make_network(options)
    with oa.Heap(mode=options.mode, backend=options.backend, layout=options.layout) as heap:
        launches = Launches(heap, options.time_kernels)
        with _timed(result, "objects"):
            simulation: Simulation
            if options.natural:
                simulation = NaturalSimulation(heap, network, launches, mix)
            else:
                simulation = FaithfulSimulation(heap, network, launches)
        film = Film(options.out, network, _title(options, network)) if options.out else None
        _advance(simulation, heap, network, options, film, result)
        result.counts = simulation.counts()
        result.timings |= {f"kernel {name}": t for name, t in launches.seconds.items()}
        result.heap = heap.stats()
        result.objects, result.regions = result.heap.objects, result.heap.regions
        if film is not None:
            with _timed(result, "picture"):
                film.add(simulation.snapshot())
                result.picture = film.write()
    return result


def make_network(options: RunOptions) -> Network:
    """The network that the options describe: read from a file, or generated."""
    assert options.size is not None and options.seed is not None
    if options.input is not None:
        # Streams of different seeds must not be those of neighbouring intersections.
        return build(read_road_graph(options.input), seed_offset=options.seed << 32)
    return build(generate(options.size, options.seed))


def _advance(
    simulation: Simulation,
    heap: Any,
    network: Network,
    options: RunOptions,
    film: Film | None,
    result: RunResult,
) -> None:
    """All steps, with whatever happens between them."""
    assert options.steps is not None
    checks: Counter[str] = Counter()
    phase = "first step"
    for pause in _pauses(options, film):
        with _timed(result, phase):
            while simulation.iteration < pause:
                simulation.advance()
            heap.synchronize()
        phase = "run"
        if options.check:
            checks.update(check(simulation.state(), network, simulation.iteration))
        if film is not None and film.animated and pause < options.steps:
            film.add(simulation.snapshot())
        if options.progress is not None:
            options.progress(pause, options.steps)
    result.timings.setdefault("run", 0.0)
    result.checks = dict(checks)


def _pauses(options: RunOptions, film: Film | None) -> list[int]:
    """The steps after which the host looks at the simulation, or reports, and the last one."""
    assert options.steps is not None
    if options.check:
        parts = options.steps
    elif film is not None and film.animated:
        parts = min(FRAMES, options.steps)
    else:
        parts = min(REPORTS, options.steps)
    return sorted({1, *(options.steps * part // parts for part in range(1, parts + 1))})


@contextmanager
def _timed(result: RunResult, phase: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    passed = time.perf_counter() - start
    result.timings[phase] = result.timings.get(phase, 0.0) + passed


def _title(options: RunOptions, network: Network) -> str:
    roads = f"{len(network.graph.origin):,} roads, {network.cells:,} cells"
    if options.input is not None:
        name = options.input.stem.removesuffix("_net").removesuffix("_node")
        return f"{name}: {roads}"
    return f"{network.graph.intersections:,} intersections, {roads}"
