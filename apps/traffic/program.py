"""Runs traffic from its network to its results: what the command line calls."""

from __future__ import annotations

from collections import Counter
from typing import Any

import sharedoa as oa

from ..common.film import Film, require_drawable
from ..common.heap_record import record_heap
from ..common.launches import Launches
from ..common.phases import pauses, timed
from ..interface import RunOptions, RunResult
from .faithful.simulation import FaithfulSimulation
from .generated import generate
from .mix import Mix
from .natural.simulation import NaturalSimulation
from .network import Network, build
from .picture import FILM_SIDE, PICTURE_SIDE, Picture
from .simulation import Simulation
from .state import check
from .tntp import read_road_graph

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
    with timed(result, "network"):
        network = make_network(options)
    with oa.Heap(mode=options.mode, backend=options.backend, layout=options.layout) as heap:
        launches = Launches(heap, options.time_kernels, options.on_launch)
        with timed(result, "objects"):
            simulation: Simulation
            if options.natural:
                simulation = NaturalSimulation(heap, network, launches, mix)
            else:
                simulation = FaithfulSimulation(heap, network, launches)
        film = Film(options.out) if options.out else None
        _advance(simulation, heap, network, options, film, result)
        result.counts = simulation.counts()
        result.timings |= {f"kernel {name}": t for name, t in launches.seconds.items()}
        record_heap(result, heap)
        if film is not None:
            with timed(result, "picture"):
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
    picture = _picture(options, network, film) if film else None
    checks: Counter[str] = Counter()
    phase = "first step"
    for pause in pauses(options, film is not None and film.animated):
        with timed(result, phase):
            while simulation.iteration < pause:
                simulation.advance()
            heap.synchronize()
        phase = "run"
        if options.check:
            checks.update(check(simulation.state(), network, simulation.iteration))
        if film and picture and (film.animated or pause == options.steps):
            with timed(result, "picture"):
                film.add(picture.frame(simulation.snapshot()))
        if options.progress is not None:
            options.progress(pause, options.steps)
    result.timings.setdefault("run", 0.0)
    result.checks = dict(checks)


def _picture(options: RunOptions, network: Network, film: Film) -> Picture:
    side = FILM_SIDE if film.animated else PICTURE_SIDE
    return Picture(network, _title(options, network), side)


def _title(options: RunOptions, network: Network) -> str:
    roads = f"{len(network.graph.origin):,} roads, {network.cells:,} cells"
    if options.input is not None:
        name = options.input.stem.removesuffix("_net").removesuffix("_node")
        return f"{name}: {roads}"
    return f"{network.graph.intersections:,} intersections, {roads}"
