"""Ranges of NVTX, NVIDIA's way for programs to tell profilers what they are doing.

A profiler that wants them names its library in the environment of what it runs. Then functions are
put around those that launch, compile, run steps, build grids and move or settle objects, as
``profile`` does; without a profiler nothing is.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from ..backends.base import KernelLaunch
from ..backends.cpu import CpuBackend
from ..backends.gpu import GpuBackend
from ..backends.gpu_graph import GpuGraph
from ..heap import living, moving
from ..ir.job import Job
from ..once import once
from . import launch
from .capture import Capture
from .hash_grid import HashGrid

DOMAIN = "sharedoa"
#: Where profilers leave what NVTX calls (NVTX 3, ``nvtxInit.h``).
PROFILER = "NVTX_INJECTION64_PATH"


class Ranges:
    """Ranges in a domain of their own; begins and ends of one thread nest."""

    def __init__(self, domain: Any) -> None:
        self._domain = domain

    def within(self, name: str, work: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """What ``work`` gives, done within a range."""
        self._domain.push_range(self._domain.get_event_attributes(message=name))
        try:
            return work(*given, **named)
        finally:
            self._domain.pop_range()

    def around(self, owner: Any, function: str, name_of: Callable[..., str]) -> None:
        """Have every call of a function be a range; ``name_of`` is given what the call is."""
        whole = getattr(owner, function)

        @wraps(whole)
        def ranged(*given: Any, **named: Any) -> Any:
            return self.within(name_of(*given), whole, *given, **named)

        setattr(owner, function, ranged)

    def around_starts(self, backend: type[CpuBackend] | type[GpuBackend]) -> None:
        """Have every launch be a range: what ``prepare`` makes starts it."""
        whole = backend.prepare

        def prepare(self_: Any, launch: KernelLaunch) -> Callable[[], None]:
            return partial(self.within, launch.handle.symbol, whole(self_, launch))

        backend.prepare = prepare  # type: ignore[method-assign, assignment]


def _step(step: Capture, *_: Any) -> str:
    return "captured step"


def _graph(backend: GpuBackend, graph: GpuGraph, *_: Any) -> str:
    return f"graph: {', '.join(graph.symbols)}"


def _compilation(job: Job, *_: object) -> str:
    return f"compile {job.name}"


def _named(name: str) -> Callable[..., str]:
    return lambda *_: name


#: What is a range besides launches: the function, and what to call it.
_FUNCTIONS: Sequence[tuple[Any, str, Callable[..., str]]] = (
    (GpuBackend, "replay", _graph),
    (Capture, "run", _step),
    (launch, "_compiled", _compilation),
    (HashGrid, "_build", _named("build grid")),
    (living, "_settle", _named("settle births and deaths")),
    (moving, "_move", _named("move objects")),
)


@once
def begin() -> None:
    """Make ranges from now on, if a profiler asks for them and the library ``nvtx`` is there."""
    if PROFILER in os.environ and importlib.util.find_spec("nvtx") is not None:
        make(Ranges(importlib.import_module("nvtx").get_domain(DOMAIN)))


def make(ranges: Ranges) -> None:
    """Put ranges around everything."""
    for backend in (CpuBackend, GpuBackend):
        ranges.around_starts(backend)
    for owner, function, name_of in _FUNCTIONS:
        ranges.around(owner, function, name_of)
