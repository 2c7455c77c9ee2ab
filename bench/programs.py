"""Every program of ``apps/``, as its command runs it: in the classes that a user would write where
it has them, at its own size, and with ``--full`` at the paper's with 100 steps at most.

Samples are seconds a step (a sweep of graphs, a picture's pass) of whole runs, without the first
step, which compiles; the host's part is in them. What is recorded of programs one by one elsewhere
takes care of more; this says of all of them, alike, how fast they are.

``--whole-runs`` takes the agent models at DynaSOAr's sizes, three processes each, with an empty
code cache and with what the earlier ones left there: the second compiles for clusters that the
first one chose at last. Samples are seconds a step of pieces, from the second step on; of each
piece there is what the host did in it. ``--board`` is a picture for the game of life, which runs
once more from it. Expected on an H200 with a filled cache: what steps under way take, and 20 to 40
% more for what is planned and looked at.

Expected before running, on two CPU cores, at the programs' own sizes: 0.1 to 5 ms a step; only
nbody (4 million pairs, 10 ms), collision (9 million, 25 ms) and the ray tracer (40,000 paths) more.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from apps.interface import RunOptions
from apps.registry import APPS, AppInfo
from bench.first_steps import count_work
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
_CACHES = "empty", "filled", "filled twice"
#: Whole runs by name: how they are run at full size.
WHOLE: dict[str, dict[str, Any]] = {
    "wator": {"steps": 500, "settings": {"width": 2048, "height": 2560}},
    "sugarscape": {"size": 1700, "steps": 500},
    "traffic": {"size": 17_500, "steps": 1000},
    "nbody": {"size": 20_000, "steps": 100},
    "collision": {"size": 40_000, "steps": 50},
    "barnes_hut": {"size": 300_000, "steps": 10},
    "game_of_life": {"size": 12_699, "steps": 40},
    "generation": {"size": 5000, "steps": 1000},
    "structure": {"size": 1_500_000, "steps": 10},
}


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


def whole_runs(options: Options, names: Iterable[str], board: Path | None = None) -> Result:
    """Run each program in processes that share a code cache, one after another."""
    result = Result("whole-runs", backend_name(options), {"full": options.full})
    runs: list[tuple[str, Path | None]] = [(each, None) for each in names]
    if board is not None:
        runs += [(each, board) for each, _ in runs if each == "game_of_life"]
    for name, picture in runs:
        with TemporaryDirectory() as folder:
            for cache in _CACHES:
                command = [sys.executable, "-m", "bench.programs", "--one", name]
                command += ["--backend", options.backend, *["--full"] * options.full]
                command += ["--board", str(picture)] if picture else []
                environment = {**os.environ, "SHAREDOA_CACHE_DIR": folder}
                done = subprocess.run(command, env=environment, text=True, capture_output=True)
                if done.returncode:
                    result.failures.append(f"{name}: {done.stderr[-500:]}")
                    break
                row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
                about = {"program": name, "board": picture and picture.name, "cache": cache}
                row = about | row
                result.rows.append(row)
                spent = {k: round(v, 3) for k, v in sorted(row["seconds"].items())}
                print(f"{name}, {cache}: {1e3 * row['mean']:.3f} ms a step, {spent}", flush=True)
    return result


def _whole_run(name: str, options: Options, board: Path | None) -> dict[str, Any]:
    """One run in this process, from its objects to its results."""
    app = APPS[name]
    given = WHOLE[name] if options.full else {"steps": min(app.steps, 3)}
    work: defaultdict[str, float] = defaultdict(int)
    begun, before, last = perf_counter(), 0, 0.0
    samples: list[float] = []
    pieces: list[dict[str, Any]] = []

    def pause(step: int, _: int) -> None:
        nonlocal before, last
        now = perf_counter()
        if step > 1:
            samples.append((now - last) / (step - before))
        pieces.append({"to": step, "at": now - begun, **work})
        work.clear()
        before, last = step, perf_counter()

    count_work(work)
    asked = RunOptions(backend=options.backend, natural=app.has_natural, input=board)
    ran = app.run(replace(asked, progress=pause, **given))
    row = {**given, "mean": ran.timings["run"] / (before - 1), "seconds": ran.timings}
    return row | {"counts": ran.counts, "pieces": pieces} | summary(samples)


@errors_in_words()
def main() -> None:
    """The command line of this benchmark: as others have it, with parts. The name of the record of
    a part says which one it is."""
    parser = argument_parser(__doc__)
    parser.add_argument("--programs", type=parse_some(APPS), help="with commas between; all")
    parser.add_argument("--whole-runs", action="store_true", help="of the agent models")
    parser.add_argument("--board", type=Path, help="of the game of life, in whole runs")
    parser.add_argument("--one", choices=WHOLE, help=argparse.SUPPRESS)
    given = parser.parse_args()
    options = options_from(given)
    if given.one:
        print(json.dumps(_whole_run(given.one, options, given.board)))
        return
    if given.whole_runs:
        result = whole_runs(options, given.programs or WHOLE, given.board)
    else:
        result = run(options, given.programs or APPS)
    result.name = named_parts(result.name, given.programs or ())
    record(result, options)
    if result.failures:
        sys.exit(f"{len(result.failures)} failures")


if __name__ == "__main__":
    main()
