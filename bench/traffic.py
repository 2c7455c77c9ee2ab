"""Traffic in every mode: the paper's program (faithful) and what a user would write (natural).

Each mode runs the same input; a row has the seconds of the simulation loop, and from a second,
shorter run with a wait after each launch the seconds of every kernel. The faithful counts are
compared with those of an independent program; modes must agree among each other in both flavours.

Expected before running, on an H200 with 850 intersections: launches bound the loop. An iteration
has eight kernels and a prefix sum, ten launches of 5 to 8 us: 1000 iterations 60 to 90 ms and
5000 iterations 0.3 to 0.45 s where kernels are shorter than that; modes differ by the longer
ones, prepare and move, whose time is dependent loads. range+switch and bits+switch 20 to 40 %
faster than coal and sharedoa in kernel time, cuda slowest; the paper's order coal < sharedoa is
not expected, since that card's second-level cache holds all objects (the artifact's own coal
loses to its sharedoa there).
"""

from __future__ import annotations

import gc
import sys
from typing import Any

import sharedoa as oa
from apps.interface import RunOptions, RunResult
from apps.registry import APPS
from bench.harness import Options, Result, main, show

#: (intersections, iterations): active, created, removed, sum of velocities; an independent program
#: on plain arrays computes them.
REFERENCE = {
    (20, 200): (234, 507, 273, 86_916),
    (50, 100): (350, 509, 159, 74_968),
    (50, 500): (1_048, 2_406, 1_358, 594_877),
    (850, 1_000): (25_536, 81_111, 55_575, 18_795_647),
    (850, 5_000): (51_744, 355_139, 303_395, 91_538_703),
}
_COUNTS = ("active", "created", "removed", "velocity_sum")
_KERNEL = "kernel "
#: Iterations of the run that waits for every kernel.
_TIMED_STEPS = 100
#: Runs of each mode; the fastest modes vary by what else the host does.
_RUNS = 3


def run(options: Options) -> Result:
    """Run both flavours in every mode; counts that are wrong or differ are an AssertionError."""
    with oa.Heap(backend=options.backend) as heap:
        backend = heap.backend.name
    sizes = [(850, 1_000), (850, 5_000)] if options.full else [(20, 200)]
    runs = _RUNS if options.full else 1
    result = Result("traffic", backend, {"runs": runs, "timed_steps": _TIMED_STEPS})
    for natural in (False, True):
        # 5000 iterations show nothing of the natural flavour that 1000 do not.
        for size, steps in sizes[:1] if natural else sizes:
            _run_modes(result, options, natural, size, steps, runs)
    show(
        "Traffic",
        ("flavour", "N", "iterations", "mode", "s", "kernels s", "objects"),
        [
            (
                row["flavour"], row["intersections"], row["iterations"], row["mode"],
                min(row["samples"]), row["kernels_total"], row["objects"],
            )
            for row in result.rows
        ],
    )  # fmt: skip
    return result


def _run_modes(
    result: Result, options: Options, natural: bool, size: int, steps: int, runs: int
) -> None:
    agreed: dict[str, int] | None = None
    backend = options.backend
    for mode in options.modes:
        found = [_simulate(backend, natural, size, steps, mode) for _ in range(runs)]
        timed = _simulate(backend, natural, size, min(steps, _TIMED_STEPS), mode, kernels=True)
        counts = found[0].counts
        agreed = agreed or counts
        _compare(counts, agreed, mode)
        if not natural:
            reference = dict(zip(_COUNTS, REFERENCE[size, steps], strict=True))
            _compare({name: counts[name] for name in _COUNTS}, reference, mode)
        kernels = {
            name.removeprefix(_KERNEL): seconds
            for name, seconds in timed.timings.items()
            if name.startswith(_KERNEL)
        }
        row: dict[str, Any] = {
            "flavour": "natural" if natural else "faithful",
            "intersections": size,
            "iterations": steps,
            "mode": mode,
            "samples": [each.timings["run"] for each in found],
            "kernels": kernels,
            "kernels_total": sum(kernels.values()),
            "counts": counts,
            "objects": found[0].objects,
            "regions": found[0].regions,
            "timings": found[0].timings,
        }
        result.rows.append(row)
        print(
            f"{row['flavour']} {size}/{steps} {mode}: {min(row['samples']):.3f} s", file=sys.stderr
        )
        gc.collect()


def _simulate(
    backend: str, natural: bool, size: int, steps: int, mode: str, kernels: bool = False
) -> RunResult:
    options = RunOptions(
        size=size, steps=steps, natural=natural, mode=mode, backend=backend, time_kernels=kernels
    )
    return APPS["traffic"].run(options)


def _compare(found: dict[str, int], expected: dict[str, int], mode: str) -> None:
    if found != expected:
        raise AssertionError(f"traffic in mode {mode} gives {found}, not {expected}")


if __name__ == "__main__":
    main(run, __doc__)
