"""Many random programs and histories, recorded: ``python -m tests.differential.campaign --help``.

Every program runs in a process of several (``processes``). What is compared with is plain Python,
as in the tests.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from bench.harness import machine, versions, write_record
from dispatch.mode import AUTO, MODES, parse_mode

from . import births
from .aliasing import agreement, features, places
from .crossing import play as crossing
from .processes import Done, run_all
from .programs import Size

FAMILIES = ("memory", "calls", "lives", "births", "crossing")


@dataclass(frozen=True)
class Task:
    """One program or history, on one backend, in these modes."""

    family: str
    seed: int
    backend: str
    modes: tuple[str, ...]


@dataclass
class Tally:
    """What came of the tasks, by family and backend."""

    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    failures: list[dict[str, Any]] = field(default_factory=list)

    def add(self, done: Done[Task]) -> None:
        task, failure = done.task, done.failure
        key = task.family, task.backend
        self.done[key] += 1
        self.runs[key] += len(task.modes)
        self.seconds[key] += done.seconds
        if failure is not None:
            where = {"family": task.family, "seed": task.seed, "backend": task.backend}
            self.failures.append({**where, "modes": list(task.modes), "failure": failure})
            print(f"seed {task.seed} ({task.family}, {task.backend}): {failure}", flush=True)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "family": family, "backend": backend, "programs": self.done[family, backend],
                "runs": self.runs[family, backend],
                "process_seconds": round(self.seconds[family, backend], 3),
                "failures": sum(
                    (f["family"], f["backend"]) == (family, backend) for f in self.failures
                ),
            }
            for family, backend in sorted(self.done)
        ]  # fmt: skip


# -------------------------------------------------------------------- in a process


@cache
def _sizes() -> ExitStack:
    """Reductions of few elements by kernels, in this process."""
    from ..many.small import small_sizes

    entered = ExitStack()
    entered.enter_context(small_sizes())
    return entered


def run_task(task: Task, folder: Path) -> None:
    """Raises whatever shows that something is wrong."""
    for mode in task.modes:
        if task.family == "memory":
            program, steps = agreement.made(task.seed, features.MENDED)
            opened = places.heaps(task.backend, mode, task.seed)
            agreement.play(program, steps, folder, opened)
        elif task.family == "calls":
            from .test_programs import agree  # hypothesis and pytest are not for everybody

            _sizes()
            random = Random(task.seed)
            size = Size(random.randint(0, 8), random.randint(1, 3), random.randint(1, 6))
            agree(folder, task.seed, size, mode, places.backend(task.backend))
        elif task.family == "crossing":
            crossing.play(folder, task.seed, places.heaps(task.backend, mode, task.seed), 40)
        elif task.family == "births":
            with places.heaps(task.backend, mode, task.seed)(0) as heap:
                births.play_source(folder, task.seed, heap)
        else:
            from .test_histories import play

            with places.heaps(task.backend, mode, task.seed)(0) as heap:
                play(heap, task.seed, 12, 20)


def _by_class(mode: str) -> str:
    """A mode whose kernels make objects."""
    return mode if parse_mode(mode).placement == "by_type" else AUTO


def tasks_of(given: argparse.Namespace) -> list[Task]:
    """Modes in turn, or all for each program."""
    found = []
    for number in range(given.programs):
        family = given.families[number % len(given.families)]
        seed = given.seed + number
        for backend in given.backends:
            known = places.modes_of(backend)
            modes = known if given.every_mode else (known[seed % len(known)],)
            if family == "births":
                modes = tuple(dict.fromkeys(map(_by_class, modes)))
            found.append(Task(family, seed, backend, modes))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Status 1 if anything failed."""
    given = _parser().parse_args(arguments)
    tasks = tasks_of(given)
    start = time.perf_counter()
    tally = Tally()
    until = None if given.seconds is None else start + given.seconds
    for done in run_all(run_task, tasks, given.jobs, until):
        tally.add(done)
    seconds = time.perf_counter() - start
    rows = tally.rows()
    for row in rows:
        print(json.dumps(row))
    count = sum(tally.done.values())
    print(f"{count} of {len(tasks)} run, {len(tally.failures)} failures, {seconds:.0f} s")
    if given.json:
        head = {
            "record": "random programs",
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": machine("cuda" if "cuda" in given.backends else "cpu"),
            "versions": versions(),
            "settings": {
                "programs": given.programs, "first_seed": given.seed, "families": given.families,
                "backends": given.backends, "modes": "all" if given.every_mode else "in turn",
                "jobs": given.jobs, "seconds": given.seconds, "features": sorted(features.MENDED),
            },
            "seconds": round(seconds, 1),
            "not_run": len(tasks) - count,
            "failures": tally.failures,
        }  # fmt: skip
        write_record(head, rows, given.json)
    return 1 if tally.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential.campaign", description=__doc__
    )
    parser.add_argument("--programs", type=int, default=100, help="how many, with seeds in a row")
    parser.add_argument("--seed", type=int, default=0, help="of the first")
    parser.add_argument(
        "--backend", dest="backends", type=_names(places.BACKENDS), default=["cpu", "interpreted"],
        help=f"each program runs on all of these: {', '.join(places.BACKENDS)}",
    )  # fmt: skip
    parser.add_argument(
        "--family", dest="families", type=_names(FAMILIES), default=["memory"],
        help="memory: arrays and objects by several names; calls: classes and expressions; lives: "
        "objects come and go; births: kernels make and end them; crossing: what the host does "
        "between launches of all kinds; programs are of each in turn",
    )  # fmt: skip
    parser.add_argument(
        "--every-mode", action="store_true", help=f"each program in all of {len(MODES)} modes"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--seconds", type=float, help="end then, and say how many were run")
    parser.add_argument("--json", type=Path, help="the record")
    return parser


def _names(known: tuple[str, ...]) -> Any:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        if not set(names) <= set(known):
            raise argparse.ArgumentTypeError(f"choose from {', '.join(known)}")
        return names

    return parse


if __name__ == "__main__":
    sys.exit(main())
