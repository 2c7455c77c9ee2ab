"""Runs the ray tracer from its scene to its picture: what the command line calls."""

from __future__ import annotations

from collections import Counter
from typing import Any

import sharedoa as oa
from sharedoa.errors import ArgumentError

from ..common.film import Film, require_drawable
from ..common.heap_record import record_heap
from ..common.launches import Launches
from ..common.phases import pauses, timed
from ..interface import RunOptions, RunResult
from .camera import require_side
from .faithful.population import populate
from .faithful.rendering import FaithfulRendering
from .natural.rendering import NaturalRendering
from .natural.sampling import MOST_PATHS
from .natural.scene_file import DEFAULT_SCENE, read_scene
from .rendering import Rendering

#: Of the faithful flavour, as in the paper's measurements.
OBJECTS = 1_000
#: More would take minutes to draw from ``rand()``, and hours to render.
MOST_OBJECTS = 10_000_000


def run(options: RunOptions, objects: int = OBJECTS) -> RunResult:
    """Render a picture. ``size`` counts the pixels of its longer side. ``steps`` counts, in the
    natural flavour, paths of light through each pixel; in the faithful one how often the picture
    of ``objects`` objects is rendered, the same each time.

    ``timings["run"]`` is the time of all steps but the first, which compiles the kernel and has its
    own entry; checks and pictures are not in it. Raises ArgumentError for input that cannot be
    read or output that cannot be written, before anything runs, and CheckFailed.
    """
    assert options.size is not None
    _require_possible(options, objects)
    result = RunResult(counts={})
    with oa.Heap(mode=options.mode, backend=options.backend, layout=options.layout) as heap:
        launches = Launches(heap, options.time_kernels, options.on_launch)
        with timed(result, "objects"):
            rendering = _rendering(heap, options, objects, launches)
            heap.synchronize()
        film = Film(options.out) if options.out is not None else None
        _advance(rendering, heap, options, film, result)
        result.counts = rendering.counts()
        result.timings |= {f"kernel {name}": t for name, t in launches.seconds.items()}
        record_heap(result, heap)
        if film is not None:
            with timed(result, "picture"):
                result.picture = film.write()
    return result


def _advance(
    rendering: Rendering, heap: Any, options: RunOptions, film: Film | None, result: RunResult
) -> None:
    """All steps, with whatever happens between them."""
    assert options.steps is not None
    checks: Counter[str] = Counter()
    step = 0
    for pause in pauses(options, film is not None and film.animated):
        with timed(result, "run" if step else "first step"):
            while step < pause:
                rendering.advance()
                step += 1
            heap.synchronize()
        if options.check:
            checks.update(rendering.check())
        if film is not None and (film.animated or step == options.steps):
            with timed(result, "picture"):
                film.add(_image(rendering))
        if options.progress is not None:
            options.progress(step, options.steps)
    result.timings.setdefault("run", 0.0)
    result.checks = dict(checks)


def _require_possible(options: RunOptions, objects: int) -> None:
    assert options.size is not None and options.steps is not None
    require_side(options.size)
    if options.steps < 1:
        raise ArgumentError(f"a picture of {options.steps} steps is not one", "give 1 or more")
    if options.input is not None and not options.natural:
        raise ArgumentError(
            f"{options.input}: the objects of the faithful flavour are generated, not read",
            "add --natural to render a scene file",
        )
    if not 1 <= objects <= MOST_OBJECTS:
        raise ArgumentError(
            f"a picture of {objects} objects cannot be made", f"give 1 to {MOST_OBJECTS}"
        )
    if options.natural and options.steps > MOST_PATHS:
        raise ArgumentError(
            f"there are no random numbers for {options.steps} paths a pixel",
            f"give at most {MOST_PATHS}",
        )
    if options.out is not None:
        require_drawable(options.out)


def _rendering(heap: Any, options: RunOptions, objects: int, launches: Launches) -> Rendering:
    assert options.size is not None and options.seed is not None
    if options.natural:
        scene = read_scene(options.input or DEFAULT_SCENE)
        return NaturalRendering(heap, scene, options.size, options.seed, launches)
    return FaithfulRendering(heap, populate(objects, options.seed), options.size, launches)


def _image(rendering: Rendering) -> Any:
    from PIL import Image

    return Image.fromarray(rendering.pixels())
