"""Every program of ``apps/``, as its command runs it: in the classes that a user would write where
it has them, at its own size, and with ``--full`` at the paper's with 100 steps at most.

Samples are seconds a step (a sweep of graphs, a picture's pass) of whole runs, without the first
step, which compiles; the host's part is in them. What is recorded of programs one by one elsewhere
takes care of more; this says of all of them, alike, how fast they are.

Expected before running, on two CPU cores, at the programs' own sizes: 0.1 to 5 ms a step; only
nbody (4 million pairs, 10 ms), collision (9 million, 25 ms) and the ray tracer (40,000 paths) more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from apps.interface import RunOptions
from apps.registry import APPS, AppInfo
from bench.harness import (
    MILLISECONDS,
    Options,
    Result,
    argument_parser,
    backend_name,
    errors_in_words,
    named_parts,
    options_from,
    parse_some,
    record,
    show,
    summary,
)

#: Runs of each program.
_RUNS = 3
_MOST_STEPS = 100


def run(options: Options, names: Iterable[str] = APPS) -> Result:
    """Run the programs of these names some times each; one that fails is a failure."""
    result = Result("programs", backend_name(options), {"runs": _RUNS, "full": options.full})
    for name in names:
        with result.attempt(name):
            result.rows.append(_measured(APPS[name], options))
    show(
        "Programs, milliseconds a step",
        ["program", "size", "unit", "steps", "median", "least"],
        [
            [
                row["program"], row["size"], APPS[row["program"]].unit, row["steps"],
                MILLISECONDS * row["median"], MILLISECONDS * row["min"],
            ]
            for row in result.rows
        ],
    )  # fmt: skip
    return result


def _measured(app: AppInfo, options: Options) -> dict[str, Any]:
    size = app.paper_size if options.full else app.size
    # One step more than are timed.
    steps = 1 + min(_MOST_STEPS, app.paper_steps if options.full else app.steps)
    samples, counts = [], []
    for _ in range(_RUNS):
        done = [0]  # graphs go on until nothing changes
        run = app.run(
            RunOptions(
                size=size,
                steps=steps,
                backend=options.backend,
                natural=app.has_natural,
                progress=lambda step, _, done=done: done.append(step),
            )
        )
        samples.append(run.timings["run"] / (done[-1] - 1))
        counts.append(run.counts)
    assert all(each == counts[0] for each in counts), "runs differ"
    row = {"program": app.name, "size": size, "steps": done[-1] - 1, "natural": app.has_natural}
    return row | {"counts": counts[0]} | summary(samples)


@errors_in_words()
def main() -> None:
    """The command line of this benchmark: as others have it, with parts. The name of the record of
    a part says which one it is."""
    parser = argument_parser(__doc__)
    parser.add_argument("--programs", type=parse_some(APPS), help="with commas between; all")
    given = parser.parse_args()
    options = options_from(given)
    result = run(options, given.programs or APPS)
    result.name = named_parts(result.name, given.programs or ())
    record(result, options)
    if result.failures:
        sys.exit(f"{len(result.failures)} failures")


if __name__ == "__main__":
    main()
