"""One program in every mode on the same input: times, and whether the results are equal."""

from __future__ import annotations

import dataclasses
import statistics

from apps.interface import RunOptions, RunResult
from apps.registry import AppInfo
from dispatch.dataclass import dataclass, field

from ..progress import reporting

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
        """Time relative to mode ``sharedoa``, None if that was not run or took no time."""
        for other in self.modes:
            if other.mode == BASELINE and other.seconds:
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
