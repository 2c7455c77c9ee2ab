"""Traffic in every mode: the paper's program (faithful) and what a user would write (natural).

Each mode runs the same input; a row has the seconds of the simulation loop after its first step,
which compiles, and from a second, shorter run with a wait after each launch the seconds of every
kernel. The faithful counts are compared with those of an independent program; modes must agree
among each other in both flavours.

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
from dataclasses import dataclass
from typing import Any

import sharedoa as oa
from apps.interface import RunOptions, RunResult
from apps.registry import APPS
from bench.harness import Options, Result, main, show
from dispatch.mode import parse_mode

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
#: What rows of one simulation have in common.
_INPUT = ("flavour", "intersections", "iterations")
_KERNEL = "kernel "
#: Iterations of the run that waits for every kernel.
_TIMED_STEPS = 100


@dataclass(frozen=True)
class Input:
    """One simulation; ``runs`` of it are samples, ``by_kernel`` adds one that times each kernel."""

    natural: bool
    intersections: int
    iterations: int
    runs: int
    by_kernel: bool = True

    @property
    def flavour(self) -> str:
        return "natural" if self.natural else "faithful"


SMALL = (Input(False, 20, 200, 1), Input(True, 20, 200, 1))
FULL = (
    Input(False, 850, 1_000, 3),
    Input(False, 850, 5_000, 1, by_kernel=False),
    Input(True, 850, 1_000, 3),
)


def run(options: Options) -> Result:
    """Run both flavours in every mode; counts that are wrong or differ are failures."""
    with oa.Heap(backend=options.backend) as heap:
        backend = heap.backend.name
    result = Result("traffic", backend, {"timed_steps": _TIMED_STEPS, "full": options.full})
    for input in FULL if options.full else SMALL:
        for mode in options.modes:
            with result.attempt(f"{input} in mode {mode}"):
                row = _run_mode(input, mode, backend)
                result.rows.append(row)
                _progress(row)
                _check(row, result.rows)
            gc.collect()
    show(
        "Traffic",
        ("flavour", "N", "iterations", "mode", "s", "kernels s", "objects"),
        [
            (
                row["flavour"], row["intersections"], row["iterations"], row["mode"],
                min(row["samples"]), sum(row["kernels"].values()) or None, row["objects"],
            )
            for row in result.rows
        ],
    )  # fmt: skip
    return result


def _run_mode(input: Input, mode: str, backend: str) -> dict[str, Any]:
    # Making the objects takes far longer than the runs where they are placed one by one.
    runs = 1 if parse_mode(mode).placement == "scattered" else input.runs
    found = [_simulate(input, mode, backend) for _ in range(runs)]
    kernels = {}
    if input.by_kernel:
        timed = _simulate(input, mode, backend, by_kernel=True).timings
        kernels = {
            name.removeprefix(_KERNEL): seconds
            for name, seconds in timed.items()
            if name.startswith(_KERNEL)
        }
    return {
        "flavour": input.flavour,
        "intersections": input.intersections,
        "iterations": input.iterations,
        "mode": mode,
        "samples": [each.timings["run"] for each in found],
        "kernels": kernels,
        "counts": found[0].counts,
        "objects": found[0].objects,
        "regions": found[0].regions,
        "timings": found[0].timings,
    }


def _check(row: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Counts as the reference has them, and as the first mode found them."""
    counts = row["counts"]
    alike = [r for r in rows if all(r[name] == row[name] for name in _INPUT)]
    _compare(counts, alike[0]["counts"])
    reference = REFERENCE.get((row["intersections"], row["iterations"]))
    if reference is not None and row["flavour"] == "faithful":
        _compare(
            {name: counts[name] for name in _COUNTS}, dict(zip(_COUNTS, reference, strict=True))
        )


def _compare(found: dict[str, int], expected: dict[str, int]) -> None:
    if found != expected:
        raise AssertionError(f"the counts are {found}, not {expected}")


def _progress(row: dict[str, Any]) -> None:
    seconds = min(row["samples"])
    where = f"{row['flavour']} {row['intersections']}/{row['iterations']}"
    print(f"{where} {row['mode']}: {seconds:.3f} s", file=sys.stderr)


def _simulate(input: Input, mode: str, backend: str, by_kernel: bool = False) -> RunResult:
    steps = min(input.iterations, _TIMED_STEPS) if by_kernel else input.iterations
    options = RunOptions(
        size=input.intersections,
        steps=steps,
        natural=input.natural,
        mode=mode,
        backend=backend,
        time_kernels=by_kernel,
    )
    return APPS["traffic"].run(options)


if __name__ == "__main__":
    main(run, __doc__)
