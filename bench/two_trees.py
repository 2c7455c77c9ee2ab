"""What a change costs: this tree and another one, measured in turns on one machine.

``python -m bench.two_trees FOLDER`` with a checkout of the other tree. For each row two processes
live side by side, one of each tree, on the same core (or ``--width`` cores: launches take another
way where there is one), and are asked for short samples in turns, A B B A: what the machine does
meanwhile it does to both. The ratio of the two samples of a turn is a *pair*. Each row is measured
by several such twins of processes, as what differs between two processes of one program (where
their memory lies, what hash seeds make of dictionaries) is more than what differs between samples
of one. The table has the median of the pairs, this tree by the other, and between what it lies with
95 % certainty: twins are drawn, then pairs of each (a bootstrap of clusters, A. C. Davison and D.
V. Hinkley, Bootstrap Methods and their Application, 1997, section 3.8). Expected of a change that
costs nothing: 1 lies within.

Programs and workloads are those of the other tree in both, as programs change, too; both have to
compute the same. Rows run on all given cores at once. ``--seconds`` ends it: first come the first
twins of all rows, so what is missing then are the last ones. ``--busy``, for machines that do other
things, takes the time of the processor instead of the clock's.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.two_trees_rows import PARTS

_ROWS = Path(__file__).with_name("two_trees_rows.py")
#: Samples are at least so long; shorter rows are repeated within.
_SAMPLE_SECONDS = 0.05
_WARM_UP_SECONDS = 0.5
_MOST_TIMES = 1 << 20
_DRAWS = 2000
THIS, OTHER = "this", "other"

#: What a tree runs on, taken from it; all else is taken from the other one.
_RUNTIME = ("dispatch", "ptxpass", "sharedoa")
_PROGRAMS = ("apps", "bench")

#: A sample: seconds of the clock, and of the processor.
Sample = tuple[float, float]


@dataclass
class Pairs:
    """All samples of a row: for each twins of processes those of both trees, in turns."""

    part: str
    name: str
    twins: list[dict[str, list[Sample]]] = field(default_factory=list)

    def ratios(self, clock: int) -> list[list[float]]:
        """Of each twins' pairs; ``clock`` 0 is the host's, 1 the processor's."""
        return [
            [a[clock] / b[clock] for a, b in zip(each[THIS], each[OTHER], strict=True)]
            for each in self.twins
        ]


def interval(ratios: Sequence[Sequence[float]], seed: int = 1) -> tuple[float, float, float]:
    """The median of pairs in clusters, and the ends of what it lies within with 95 % certainty."""
    draw = np.random.default_rng(seed)
    clusters = [np.asarray(each) for each in ratios]
    medians = []
    for _ in range(_DRAWS):
        chosen = draw.integers(len(clusters), size=len(clusters))
        pairs = [clusters[each][draw.integers(len(clusters[each]), size=len(clusters[each]))]
                 for each in chosen]  # fmt: skip
        medians.append(np.median(np.concatenate(pairs)))
    low, high = np.quantile(medians, [0.025, 0.975])
    return float(np.median(np.concatenate(clusters))), float(low), float(high)


class _Served:
    """A process of one tree that measures one row."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        #: What the programs of the last sample counted; it is the same each time.
        self.counts: Any = None

    def sample(self, times: int) -> Sample:
        """Raises RuntimeError if the process ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{times}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process ended with {self._process.wait()}")
        clock, processor, self.counts = json.loads(line)
        return clock, processor


@contextmanager
def _serving(tree: Path, asked: dict[str, Any]) -> Iterator[_Served]:
    path = os.pathsep.join(filter(None, [str(tree), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "SHAREDOA_CACHE_DIR": str(tree / "cache")}
    with subprocess.Popen(
        [sys.executable, "-P", str(_ROWS)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=tree,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked) + "\n")
        try:
            yield _Served(process)
        finally:
            process.kill()


def _times(served: _Served) -> int:
    """How often a row is repeated for a sample, after it was repeated until it is warm."""
    times, begun = 1, time.monotonic()
    while True:
        clock, processor = served.sample(times)
        is_long = max(clock, processor) * times >= _SAMPLE_SECONDS or times == _MOST_TIMES
        if is_long and time.monotonic() - begun >= _WARM_UP_SECONDS:
            return times
        if not is_long:
            times *= 2


@dataclass(frozen=True)
class Comparison:
    """Two trees, and how they are measured."""

    trees: dict[str, Path]
    backend: str
    pairs: int
    deadline: float

    def measure(self, row: Pairs, cores: list[int]) -> None:
        """One twins' pairs of a row more; fewer where time is up, none if there was not one."""
        asked = {"part": row.part, "row": row.name, "backend": self.backend, "cores": cores}
        with ExitStack() as stack:
            served = {
                which: stack.enter_context(_serving(tree, asked))
                for which, tree in self.trees.items()
            }
            times = max(_times(each) for each in served.values())
            if served[THIS].counts != served[OTHER].counts:
                raise RuntimeError(f"{served[THIS].counts}, and {served[OTHER].counts} there")
            found: dict[str, list[Sample]] = {THIS: [], OTHER: []}
            for number in range(self.pairs):
                if time.monotonic() > self.deadline:
                    break
                for which in (THIS, OTHER) if number % 2 else (OTHER, THIS):
                    found[which].append(served[which].sample(times))
        if found[THIS]:
            row.twins.append(found)


def compare(
    comparison: Comparison, rows: list[Pairs], twins: int, places: Sequence[list[int]]
) -> None:
    """Measure all rows, twins of each in all places at once, which are cores."""
    waiting: queue.SimpleQueue[Pairs] = queue.SimpleQueue()
    for _ in range(twins):
        for row in rows:
            waiting.put(row)

    def work(cores: list[int]) -> None:
        while time.monotonic() < comparison.deadline:
            try:
                row = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                comparison.measure(row, cores)
            except (RuntimeError, OSError) as error:
                print(f"{row.name}: {error}", file=sys.stderr)

    workers = [threading.Thread(target=work, args=(cores,)) for cores in places]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _mixed(folder: Path, runtime: Path, programs: Path) -> Path:
    """A tree that has its runtime from one and its programs from another one."""
    folder.mkdir()
    for tree, packages in ((runtime, _RUNTIME), (programs, _PROGRAMS)):
        for package in packages:
            (folder / package).symlink_to(tree / package)
    return folder


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.two_trees", description=__doc__)
    parser.add_argument("other", type=Path, help="a checkout of the tree to compare with")
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--rows", nargs="+", help="of these names alone")
    parser.add_argument("--twins", type=int, default=3, help="of processes, for a row")
    parser.add_argument("--pairs", type=int, default=20, help="of samples, for twins")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then it ends")
    parser.add_argument("--cores", type=int, nargs="+", help="that may be used; all")
    parser.add_argument("--width", type=int, default=1, help="cores of twins")
    parser.add_argument("--out", type=Path, help="folder of the record")
    parser.add_argument("--label", default="two-trees", help="how its name begins")
    parser.add_argument("--busy", action="store_true", help="count the processor's time")
    given = parser.parse_args()
    rows = [
        Pairs(part, name)
        for part in given.parts
        for name in PARTS[part][0]
        if given.rows is None or name in given.rows
    ]
    cores, width = given.cores or sorted(os.sched_getaffinity(0)), given.width
    places = [cores[at : at + width] for at in range(0, len(cores) - width + 1, width)]
    if given.backend != "cpu":
        places = [cores]  # there is one device
    trees = {THIS: Path(__file__).resolve().parents[1], OTHER: given.other.resolve()}
    deadline = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory() as scratch:
        mixed = {
            which: _mixed(Path(scratch, which), tree, trees[OTHER]) for which, tree in trees.items()
        }
        comparison = Comparison(mixed, given.backend, given.pairs, deadline)
        compare(comparison, rows, given.twins, places)
    _record(rows, given)
    for row in rows:
        if row.twins:
            print(_line(row, given.busy))


def _line(row: Pairs, is_busy: bool) -> str:
    ratio, low, high = interval(row.ratios(int(is_busy)))
    this, other = (_typical(row, which, is_busy) * 1e6 for which in (THIS, OTHER))
    count = sum(len(each[THIS]) for each in row.twins)
    return (
        f"{row.name:36} {this:12,.2f} us {other:12,.2f} us  {ratio:.3f} [{low:.3f}, {high:.3f}]"
        f"  {count} pairs of {len(row.twins)} twins"
    )


def _typical(row: Pairs, which: str, is_busy: bool) -> float:
    return float(np.median([s[int(is_busy)] for each in row.twins for s in each[which]]))


def _record(rows: list[Pairs], given: argparse.Namespace) -> None:
    if given.out is None:
        return
    from bench.harness import Result, write

    clock = "of the processor" if given.busy else "of the host"
    settings = {"parts": given.parts, "twins": given.twins, "pairs": given.pairs, "clock": clock}
    settings["width"] = given.width
    result = Result(given.label, given.backend, settings)
    for row in rows:
        if row.twins:
            ratio, low, high = interval(row.ratios(int(given.busy)))
            found = {"ratio": ratio, "low": low, "high": high, "twins": row.twins}
            result.rows.append({"part": row.part, "what": row.name, **found})
    write(result, given.out)


if __name__ == "__main__":
    main()
