"""Gradients of many random programs, compared with dual numbers, and recorded:
``python -m tests.gradients.campaign --help``.

By its seed a program is small or large, and runs in a mode, with a layout and references, with or
without checkpoints, and in debug mode or not; over all seeds everything is met.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from bench.harness import machine, versions, write_record

from ..differential.effort import layout_for, references_for
from ..differential.processes import Done, run_all
from ..quick_code import made_quickly
from .comparison import BY_CLASS, agree

BACKENDS = ("cpu", "python", "interpreted", "cuda")


@dataclass(frozen=True)
class Task:
    """A program, and how it is run."""

    seed: int
    backend: str
    mode: str
    checkpoints: int | None
    debug: bool
    is_small: bool
    #: Whether machine code is made quickly (``quick_code``).
    is_quick: bool

    @property
    def ways(self) -> list[str]:
        """How it is run, in words that are counted."""
        layout, references = layout_for(self.mode, self.seed), references_for(self.mode, self.seed)
        return [
            f"mode {self.mode}", f"layout {layout}", f"references of {references} bits",
            "with checkpoints" if self.checkpoints else "without checkpoints",
            "debug mode" if self.debug else "release mode", "small" if self.is_small else "large",
            "instructions one by one" if self.is_quick else "instructions as always",
        ]  # fmt: skip


def task_of(seed: int, backend: str) -> Task:
    """How the program of a seed is run."""
    random = Random(f"gradients {seed}")
    # The interpreter shows what GPUs do, and takes long.
    mode = random.choice(BY_CLASS) if backend != "interpreted" else "auto"
    checkpoints = random.randint(1, 5) if random.random() < 0.2 else None
    debug, is_small = random.random() < 0.1, random.random() < 0.85
    is_quick = random.random() < 0.75 and backend == "cpu"
    return Task(seed, backend, mode, checkpoints, debug, is_small, is_quick)


def run_task(task: Task, folder: Path) -> bool:
    """Whether the program could be compared; raises what shows that something is wrong."""
    _take_few_cores()
    with made_quickly() if task.is_quick else nullcontext():
        return agree(
            folder, task.seed, task.mode, task.backend, task.checkpoints, task.debug,
            is_small=task.is_small,
        )  # fmt: skip


@cache
def _take_few_cores() -> None:
    """Of many processes each has all cores for its kernels, and wakes them for a few threads."""
    if multiprocessing.parent_process() is None or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    first = os.getpid() % len(cores)
    os.sched_setaffinity(0, {cores[first], cores[(first + 1) % len(cores)]})


class Tally:
    """What came of all programs."""

    def __init__(self) -> None:
        self.compared = 0
        self.too_large: list[int] = []
        self.failures: list[dict[str, Any]] = []
        self.seconds = 0.0
        self._compared_by_way: Counter[str] = Counter()
        self._failed_by_way: Counter[str] = Counter()

    @property
    def run(self) -> int:
        return self.compared + len(self.too_large) + len(self.failures)

    def add(self, done: Done[Task]) -> None:
        task = done.task
        self.seconds += done.seconds
        if done.failure is not None:
            where = {"seed": task.seed, "backend": task.backend, "ways": task.ways}
            self.failures.append({**where, "failure": done.failure})
            self._failed_by_way.update(task.ways)
            print(f"seed {task.seed} ({', '.join(task.ways)}): {done.failure}", flush=True)
        elif done.result:
            self.compared += 1
            self._compared_by_way.update(task.ways)
        else:
            self.too_large.append(task.seed)

    def rows(self) -> list[dict[str, Any]]:
        """By way, how many gradients agreed, and how many programs failed."""
        ways = sorted({*self._compared_by_way, *self._failed_by_way})
        return [
            {"way": w, "agreed": self._compared_by_way[w], "failed": self._failed_by_way[w]}
            for w in ways
        ]


def main(arguments: list[str] | None = None) -> int:
    """Status 1 if anything failed."""
    given = _parser().parse_args(arguments)
    tally, start = Tally(), time.perf_counter()
    tasks = (task_of(given.first + k, given.backend) for k in range(given.count))
    until = None if given.seconds is None else start + given.seconds
    for done in run_all(run_task, tasks, given.jobs, until):
        tally.add(done)
        if tally.run % 500 == 0:
            seconds = time.perf_counter() - start
            print(f"{tally.run} programs, {len(tally.failures)} failed, {seconds:.0f} s")
    seconds = time.perf_counter() - start
    rows = tally.rows()
    for row in rows:
        print(json.dumps(row))
    print(
        f"{tally.run} of {given.count} programs run in {seconds:.0f} s: {tally.compared} agreed, "
        f"{len(tally.failures)} failed, of {len(tally.too_large)} the numbers are too large"
    )
    if given.json:
        head = {
            "record": "gradients of random programs",
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": machine("cuda" if given.backend == "cuda" else "cpu"),
            "versions": versions(),
            "settings": {
                "first_seed": given.first, "programs": given.count, "backend": given.backend,
                "jobs": given.jobs, "seconds": given.seconds,
            },
            "seconds": round(seconds, 1), "process_seconds": round(tally.seconds, 1),
            "run": tally.run, "agreed": tally.compared, "not_run": given.count - tally.run,
            "numbers_too_large": sorted(tally.too_large), "failures": tally.failures,
        }  # fmt: skip
        write_record(head, rows, given.json)
    return 1 if tally.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.gradients.campaign", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--backend", choices=BACKENDS, default="cpu")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument(
        "--seconds", type=float, help="end then, and say how many programs were run"
    )
    parser.add_argument("--json", type=Path, help="the record")
    return parser


if __name__ == "__main__":
    sys.exit(main())
