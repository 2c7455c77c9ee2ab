"""What every program takes and gives back, so that one command line runs and compares them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Called with (steps done, steps in all) while a program runs.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class RunOptions:
    """How a program is to run. ``None`` is the program's own default, for ``mode``, ``backend`` and
    ``layout`` that of sharedoa's settings."""

    #: Of the generated input; what it counts is in ``AppInfo.unit``.
    size: int | None = None
    steps: int | None = None
    seed: int | None = None
    #: A file to read instead of generating the input.
    input: Path | None = None
    #: Where to draw a picture, or an animation (``.gif``).
    out: Path | None = None
    #: The classes that a user would write, instead of those of the paper's artifact.
    natural: bool = False
    mode: str | None = None
    backend: str | None = None
    layout: str | None = None
    #: Verify the program's invariants after every step. Slow: each check reads the heap.
    check: bool = False
    #: Wait for each kernel and time it. Slow: launches no longer overlap.
    time_kernels: bool = False
    #: Called with each kernel, or ``PopulationCall``, before each of its launches, in the heap that
    #: it is launched in.
    on_launch: Callable[[Any], None] | None = None
    progress: Progress | None = None
    #: What the program takes besides (``AppInfo.settings``), by name.
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class RunResult:
    """What a run did. ``counts`` are exact and equal in every mode and on every backend."""

    counts: dict[str, int]
    #: Each invariant that was verified, with how often; a violated one raises CheckFailed instead.
    checks: dict[str, int] = field(default_factory=dict)
    #: Seconds of each phase, and with ``time_kernels`` of each kernel as ``kernel NAME``.
    timings: dict[str, float] = field(default_factory=dict)
    #: Live objects and typed regions of the heap at the end.
    objects: int = 0
    regions: int = 0
    #: ``heap.stats()`` at the end.
    heap: Any = None
    #: What the heap was made with: mode, backend, layout, bits of a reference, debug and fastmath.
    heap_settings: dict[str, Any] = field(default_factory=dict)
    picture: Path | None = None


class CheckFailed(AssertionError):
    """A program's own invariant does not hold: the simulation computed something wrong."""
