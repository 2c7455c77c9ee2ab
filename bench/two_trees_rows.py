"""What ``bench.two_trees`` measures, in a process of one tree: rows by name.

The process is told on its standard input what to do, a line of JSON each: the row, then how often
it is to be repeated for one sample, and answers each with a line: seconds of the clock and of the
processor of one repetition, and what programs counted. Only what both trees have is used.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32

#: Seconds that count, and what the program counted.
Counted = tuple[float, Any]
#: Runs a row so often.
Row = Callable[[int], Counted]

#: Size and steps of workloads on a CPU, 50 to 200 ms each on one core: to make code ready for a new
#: heap takes up to 1 ms, which is not what is asked for.
_ON_CPU = {
    "TRAF": (200, 60),
    "GOL": (300, 20),
    "STUT": (2000, 20),
    "GEN": (400, 80),
    "BFS (vE)": (100_000, 40),
    "CC (vE)": (30_000, 40),
    "PR (vE)": (20_000, 100),
    "BFS (vEN)": (100_000, 40),
    "CC (vEN)": (30_000, 40),
    "PR (vEN)": (20_000, 100),
    "RAY": (128, 1),
}
#: Programs in the classes of users, whole runs with the host's part: size and steps.
_PROGRAMS = {
    "traffic": (200, 200),
    "game_of_life": (128, 150),
    "structure": (500, 20),
    "generation": (240, 120),
    "bfs": (20_000, 40),
    "cc": (20_000, 40),
    "pagerank": (20_000, 100),
    "routes": (2_000, 10),
    "raytracer": (64, 16),
    "scalability": (1 << 16, 100),
}


class Body(oa.Object):
    mass: f32

    def grow(self) -> None:
        self.mass += 1.0


class Star(Body):
    def grow(self) -> None:
        self.mass += 2.0


class Twig(oa.Object):
    mass: f32
    left: Twig
    right: Twig


@oa.kernel
def one(numbers: oa.Array[f32]) -> None:
    numbers[0] = 1.0


@oa.kernel
def visit(bodies: oa.Array[Body]) -> None:
    i = oa.grid(1)
    if i < len(bodies):
        bodies[i].grow()


def _shuffled(count: int) -> Any:
    order = np.random.default_rng(1).permutation(count)
    return oa.concat(oa.new(Body, count // 2), oa.new(Star, count // 2))[order]


def _ordered(count: int) -> Any:
    return oa.concat(oa.new(Body, count // 2), oa.new(Star, count // 2))


def _launch_of_one() -> Callable[[], Any]:
    launch, numbers = one[1], oa.zeros(8, f32)
    return lambda: launch(numbers)


def _launch(bodies: Any) -> Callable[[], Any]:
    launch = visit[len(bodies)]
    return lambda: launch(bodies)


def _population() -> Callable[[], Any]:
    _ordered(2_000)
    return oa.all(Body).grow


def _captured() -> Callable[[], Any]:
    numbers, few = oa.zeros(8, f32), _ordered(2_000)
    with oa.capture() as step:
        one[1](numbers)
        visit[2_000](few)
    return step.run


def _field(is_written: bool) -> Callable[[], Any]:
    star = oa.new(Star)
    return (lambda: setattr(star, "mass", 1.0)) if is_written else (lambda: star.mass)


def _element() -> Callable[[], Any]:
    numbers = oa.zeros(8, f32)
    return lambda: numbers[3]


def _twig(is_written: bool) -> Callable[[], Any]:
    leaf = Twig(mass=1.0)
    twig = Twig(mass=1.0, left=leaf)
    return (lambda: setattr(twig, "right", leaf)) if is_written else (lambda: twig.left)


CALLS: dict[str, Callable[[], Callable[[], Any]]] = {
    "launch of one thread": _launch_of_one,
    "launch on 2,000 objects": lambda: _launch(_ordered(2_000)),
    "launch on 1 Mi shuffled objects": lambda: _launch(_shuffled(1 << 20)),
    "vectorised call of 2,000": lambda: _ordered(2_000).grow,
    "vectorised call of 2,000 shuffled": lambda: _shuffled(2_000).grow,
    "vectorised call of 1 Mi": lambda: _ordered(1 << 20).grow,
    "vectorised call of 1 Mi shuffled": lambda: _shuffled(1 << 20).grow,
    "population call": _population,
    "captured step": _captured,
    "one field read": lambda: _field(False),
    "one field written": lambda: _field(True),
    "one element read": _element,
    "one reference read": lambda: _twig(False),
    "one reference written": lambda: _twig(True),
    "1,000 objects made and deleted": lambda: lambda: oa.delete(oa.new(Star, 1000)),
    "one object made and deleted": lambda: lambda: oa.delete(oa.new(Star)),
}


@contextmanager
def _call(name: str, backend: str) -> Iterator[Row]:
    with oa.Heap(backend=backend) as heap:
        call = CALLS[name]()

        def row(times: int) -> Counted:
            begun = time.perf_counter()
            for _ in range(times):
                call()
            heap.synchronize()
            return time.perf_counter() - begun, None

        yield row


def _workload(name: str, backend: str) -> Counted:
    """Seconds of all kernels of a run."""
    from apps.interface import RunOptions
    from apps.registry import APPS
    from bench.reproduction.workloads import WORKLOADS, kernel_seconds

    workload = next(each for each in WORKLOADS if each.name == name)
    if backend == "cpu":
        size, steps = _ON_CPU[name]
        options = RunOptions(size=size, steps=steps, backend=backend, time_kernels=True)
        result = APPS[workload.app].run(options, **dict(workload.arguments))
    else:
        result = workload.run("auto", backend, full=True)
    return sum(kernel_seconds(result).values()), result.counts


def _program(name: str, backend: str) -> Counted:
    """Seconds of a run without what makes its objects."""
    from apps.interface import RunOptions
    from apps.registry import APPS

    size, steps = _PROGRAMS[name]
    options = RunOptions(size=size, steps=steps, backend=backend, natural=APPS[name].has_natural)
    result = APPS[name].run(options)
    return result.timings["run"], result.counts


def _runs(run: Callable[[str, str], Counted]) -> Callable[[str, str], Any]:
    """Samples are sums of runs."""

    @contextmanager
    def row_of(name: str, backend: str) -> Iterator[Row]:
        def row(times: int) -> Counted:
            found = [run(name, backend) for _ in range(times)]
            return sum(seconds for seconds, _ in found), found[-1][1]

        yield row

    return row_of


#: The names of each part, and what measures them.
PARTS: dict[str, tuple[list[str], Callable[[str, str], Any]]] = {
    "calls": (list(CALLS), _call),
    "workloads": (list(_ON_CPU), _runs(_workload)),
    "programs": (list(_PROGRAMS), _runs(_program)),
}


def main() -> None:
    """Serve one row."""
    asked = json.loads(input())
    os.sched_setaffinity(0, asked["cores"])
    answers, sys.stdout = sys.stdout, sys.stderr  # programs may print
    _, measures = PARTS[asked["part"]]
    with measures(asked["row"], asked["backend"]) as row:
        for line in sys.stdin:
            times, used = json.loads(line), time.process_time()
            seconds, counts = row(times)
            if seconds <= 0:
                raise RuntimeError("nothing was measured")
            used = time.process_time() - used
            print(json.dumps((seconds / times, used / times, counts)), file=answers, flush=True)


if __name__ == "__main__":
    main()
