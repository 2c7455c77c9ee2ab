"""One program in every mode on the same input: times, and whether the results are equal."""

from __future__ import annotations

import dataclasses
import datetime
import json
import platform
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from apps.interface import RunOptions, RunResult
from apps.registry import AppInfo

from .. import __version__
from ..backends import available
from ..errors import ConfigurationError
from .progress import reporting

#: The mode that times are given relative to: the paper's own allocator with ordinary vtables.
BASELINE = "sharedoa"
#: The phase of a program that is compared.
PHASE = "run"


@dataclass
class ModeResult:
    """One mode: seconds of each repetition, and what the last one gave."""

    mode: str
    samples: list[float]
    result: RunResult

    @property
    def seconds(self) -> float:
        return statistics.median(self.samples)


@dataclass
class Comparison:
    """One program in several modes; ``differences`` says which counts are not equal."""

    app: str
    options: RunOptions
    modes: list[ModeResult] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def ratio(self, result: ModeResult) -> float | None:
        """Time relative to mode ``sharedoa``, None if that was not run."""
        for other in self.modes:
            if other.mode == BASELINE:
                return result.seconds / other.seconds
        return None


def compare(app: AppInfo, modes: list[str], repeat: int, options: RunOptions) -> Comparison:
    """Run ``app`` in each mode ``repeat`` times and compare the counts."""
    found = Comparison(app.name, options)
    for mode in modes:
        samples = []
        for number in range(repeat):
            title = f"{app.name} {mode}" + (f" {number + 1}/{repeat}" if repeat > 1 else "")
            with reporting(title) as progress:
                result = app.run(dataclasses.replace(options, mode=mode, progress=progress))
            samples.append(result.timings[PHASE])
        found.modes.append(ModeResult(mode, samples, result))
    first, *others = found.modes
    for other in others:
        for name in sorted({*first.result.counts, *other.result.counts}):
            one, two = first.result.counts.get(name), other.result.counts.get(name)
            if one != two:
                found.differences.append(
                    f"{name} is {one} in mode {first.mode} and {two} in mode {other.mode}"
                )
    return found


def write_json(comparisons: list[Comparison], file: Path) -> None:
    """Raw samples with the machine and versions that they were measured on."""
    document = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {
            "platform": platform.platform(),
            "python": platform.python_version(),
            "backends": {b.name: b.reason for b in available() if b.ok},
        },
        "versions": {"sharedoa": __version__, "numpy": np.__version__},
        "apps": [_as_data(each) for each in comparisons],
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document, indent=2) + "\n")
    except OSError as error:
        raise ConfigurationError(
            f"--json: {file} cannot be written: {error.strerror}", "name another file"
        ) from error


def _as_data(comparison: Comparison) -> dict[str, Any]:
    given = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in dataclasses.asdict(comparison.options).items()
        if value not in (None, False)
    }
    return {
        "app": comparison.app,
        "options": given,
        "equal": not comparison.differences,
        "baseline": BASELINE,
        "modes": [
            {
                "mode": each.mode,
                "seconds": each.samples,
                "ratio": comparison.ratio(each),
                "counts": each.result.counts,
                "objects": each.result.objects,
                "regions": each.result.regions,
                "timings": each.result.timings,
            }
            for each in comparison.modes
        ],
    }
