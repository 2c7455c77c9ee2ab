"""What a change costs: this tree and another one, measured in turns on one machine.

``python -m bench.two_trees FOLDER`` with a checkout of the other tree. Each round starts a process
for each tree, in alternating order, which measures everything once; the record holds all samples,
and the table the ratio of the medians, this tree by the other. Only what both trees have is used.
``--busy``, for machines that do other things, takes the least instead of medians, and for calls the
time of the processor instead of the clock's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import sharedoa as oa
from sharedoa import f32

_ROUNDS = 5
_CALLS, _BATCH = 40, 50
_typical: Callable[[list[float]], float] = statistics.median
_now: Callable[[], float] = time.perf_counter
#: Size and steps of workloads on a CPU, about half a second each.
_ON_CPU = {
    "TRAF": (200, 200),
    "GOL": (600, 60),
    "STUT": (4000, 10),
    "GEN": (600, 60),
    "BFS (vE)": (30_000, 40),
    "CC (vE)": (30_000, 40),
    "PR (vE)": (30_000, 40),
    "BFS (vEN)": (30_000, 40),
    "CC (vEN)": (30_000, 40),
    "PR (vEN)": (30_000, 40),
    "RAY": (256, 2),
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


def _seconds(call: Callable[[], object], wait: Callable[[], object], batch: int = _BATCH) -> float:
    """Of one call of the host: typical of batches that are waited for afterwards."""
    for _ in range(batch):
        call()
    wait()
    found = []
    for _ in range(_CALLS):
        begun = _now()
        for _ in range(batch):
            call()
        found.append((_now() - begun) / batch)
        wait()
    return _typical(found)


def _calls(backend: str) -> Iterator[tuple[str, float]]:
    """What the host pays for a call."""
    with oa.Heap(backend=backend) as heap:
        wait = heap.synchronize
        numbers = oa.zeros(8, f32)
        few = oa.concat(oa.new(Body, 1000), oa.new(Star, 1000))
        order = np.random.default_rng(1).permutation(1 << 20)
        many = oa.concat(oa.new(Body, 1 << 19), oa.new(Star, 1 << 19))[order]
        star = oa.new(Star)
        launch, launch_few, launch_many = one[1], visit[len(few)], visit[len(many)]
        yield "launch of one thread", _seconds(lambda: launch(numbers), wait)
        yield "launch on 2,000 objects", _seconds(lambda: launch_few(few), wait)
        yield "launch on 1 Mi shuffled objects", _seconds(lambda: launch_many(many), wait, 10)
        yield "vectorised call of 2,000", _seconds(few.grow, wait)
        yield "vectorised call of 1 Mi shuffled", _seconds(many.grow, wait, 10)
        yield "population call", _seconds(oa.all(Body).grow, wait)
        with oa.capture() as step:
            launch(numbers)
            launch_few(few)
        yield "captured step", _seconds(step.run, wait)
        yield "one field read", _seconds(lambda: star.mass, wait)
        yield "one field written", _seconds(lambda: setattr(star, "mass", 1.0), wait)
        yield "one element read", _seconds(lambda: numbers[3], wait)
        yield (
            "1,000 objects made and deleted",
            _seconds(lambda: oa.delete(oa.new(Star, 1000)), wait),
        )
        yield "one object made and deleted", _seconds(lambda: oa.delete(oa.new(Star)), wait)
        leaf, kept = Twig(mass=1.0), []
        twig = Twig(mass=1.0, left=leaf)
        yield (
            "one object with references made",
            _seconds(lambda: kept.append(Twig(mass=1.0, left=leaf, right=twig)), wait),
        )
        yield "one reference read", _seconds(lambda: twig.left, wait)
        yield "one reference written", _seconds(lambda: setattr(twig, "right", leaf), wait)


def _workloads(backend: str) -> Iterator[tuple[str, float]]:
    """Seconds of all kernels of a run."""
    from apps.interface import RunOptions
    from apps.registry import APPS
    from bench.reproduction.workloads import NATURAL, WORKLOADS, kernel_seconds

    for workload in (*WORKLOADS, *NATURAL):
        name = f"{workload.name}{', natural' if workload.natural else ''}"
        if backend == "cpu":
            if workload.name not in _ON_CPU:
                continue
            size, steps = _ON_CPU[workload.name]
            options = RunOptions(
                size=size, steps=steps, natural=workload.natural, backend=backend, time_kernels=True
            )
            for _ in range(2):  # the first run compiles
                result = APPS[workload.app].run(options, **dict(workload.arguments))
        else:
            workload.run("auto", backend, full=False)
            result = workload.run("auto", backend, full=True)
        yield name, sum(kernel_seconds(result).values())


def _measure(backend: str, parts: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in parts:
        found |= _PARTS[part](backend)
    return found


_PARTS: dict[str, Callable[[str], Iterator[tuple[str, float]]]] = {
    "calls": _calls,
    "workloads": _workloads,
}


def _in_tree(tree: Path, given: argparse.Namespace) -> dict[str, float]:
    """Measure in a process that imports everything from ``tree``."""
    command = [sys.executable, "-P", __file__, "--here", "--backend", given.backend]
    command += ["--busy"] if given.busy else []
    path = os.pathsep.join(filter(None, [str(tree), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [*command, "--parts", *given.parts],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tree,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """The command line."""
    global _typical, _now
    parser = argparse.ArgumentParser(prog="python -m bench.two_trees", description=__doc__)
    parser.add_argument(
        "other", type=Path, nargs="?", help="a checkout of the tree to compare with"
    )
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--parts", nargs="+", default=list(_PARTS), choices=_PARTS)
    parser.add_argument("--out", type=Path, help="folder of the record")
    parser.add_argument("--label", default="two-trees", help="how its name begins")
    parser.add_argument("--busy", action="store_true", help="the least, not the median")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.busy:
        _typical, _now = min, time.process_time
    if given.here:
        print(json.dumps(_measure(given.backend, given.parts)))
        return
    if given.other is None:
        parser.error("name a checkout of the other tree")
    _compare(given)


def _compare(given: argparse.Namespace) -> None:
    trees = {"this": Path(__file__).resolve().parents[1], "other": given.other.resolve()}
    samples: dict[str, dict[str, list[float]]] = {}
    for number in range(given.rounds):
        for which in ("this", "other") if number % 2 else ("other", "this"):
            for name, seconds in _in_tree(trees[which], given).items():
                samples.setdefault(name, {"this": [], "other": []})[which].append(seconds)
        if given.out:  # a run that is ended leaves what it has
            _record(samples, given, number + 1)
    for name, both in samples.items():
        this, other = (_typical(both[which]) for which in ("this", "other"))
        print(f"{name:40} {this * 1e6:12,.2f} us {other * 1e6:12,.2f} us {this / other:8.3f}")
    print(f"{'geometric mean':40} {'':15} {'':15} {_mean_ratio(samples):8.3f}")


def _ratio(both: dict[str, list[float]]) -> float:
    return _typical(both["this"]) / _typical(both["other"])


def _mean_ratio(samples: dict[str, dict[str, list[float]]]) -> float:
    return statistics.geometric_mean(map(_ratio, samples.values()))


def _record(
    samples: dict[str, dict[str, list[float]]], given: argparse.Namespace, rounds: int
) -> None:
    from bench.harness import Result, write

    mean = _mean_ratio(samples)
    settings = {"rounds": rounds, "parts": given.parts, "geometric_mean": mean}
    settings["typical"] = "least" if given.busy else "median"
    settings["clock"] = "of the processor" if given.busy else "of the host"
    result = Result(given.label, given.backend, settings)
    result.rows += [{"what": n, "ratio": _ratio(both), **both} for n, both in samples.items()]
    write(result, given.out)


if __name__ == "__main__":
    main()
