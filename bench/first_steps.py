"""What the host does in the first steps of a program: this tree and another one, in turns.

``python -m bench.first_steps FOLDER`` with a checkout of the other tree. A process of one tree runs
a program twice, with new objects: without any code, and when there is code for what the first time
came to. It notes the processor time of the thread that runs the program, without kernels, and how
many steps were planned and kernels compiled, by launches and beside them, after 1, 8, 25 and 50
steps. Processes of both trees take turns, A B B A.

``pretended`` is a device that is this machine's processor: steps whose populations change are
planned, fused and looked at as on a GPU, and kernels are compiled for the processor. What a GPU's
driver does is not in it.

Expected of captured steps that are looked at before they are compiled, and of plans that outlive
compilations: half the time of structure's first eight steps, as its kernels were compiled three to
four times; nothing of traffic's, of which nothing is rearranged; of the others 5 to 20 %.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import sharedoa as oa
from apps.common.launches import Launches
from bench.harness import RESULTS, machine, versions
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.cpu import CpuBackend
from sharedoa.backends.staging import HostStaging
from sharedoa.heap.heap import Heap
from sharedoa.runtime import background, clustering, launch
from sharedoa.runtime.population_plan import CannotPlanError
from sharedoa.runtime.population_sequence import PopulationSequence
from sharedoa.targets.host import HostTarget

AFTER = (1, 8, 25, 50)
PROGRAMS = ("structure", "sugarscape", "wator", "generation", "traffic")
BACKENDS = ("pretended", "cpu")
_SEED = 42
#: Threads that fill a large card.
_BUSY = 132 * 2048


def _made(program: str, heap: Any) -> Any:
    """A simulation of 25,600 cells, generation of 48,841; structure of 20,000 nodes, traffic of 850
    intersections."""
    launches = Launches(heap, timed=False)
    if program == "structure":
        from apps.structure.generated import generate as structure
        from apps.structure.natural.simulation import NaturalSimulation as Structure

        return Structure(heap, structure(20_000, _SEED), launches, repair=True)
    if program == "sugarscape":
        from apps.sugarscape.simulation import Simulation as Sugarscape

        return Sugarscape(heap, 160, 160, _SEED, launches)
    if program == "wator":
        from apps.wator.simulation import Simulation as Wator

        return Wator(heap, 160, 160, _SEED, launches)
    if program == "generation":
        from apps.generation.burst import burst
        from apps.generation.natural.simulation import NaturalSimulation as Generation

        return Generation(heap, burst(221), launches)
    from apps.traffic.generated import generate as streets
    from apps.traffic.mix import CARS_ONLY
    from apps.traffic.natural.simulation import NaturalSimulation as Traffic
    from apps.traffic.network import build

    return Traffic(heap, build(streets(850, _SEED)), launches, CARS_ONLY)


class _Target(HostTarget):
    name = "pretended"
    is_device = True


class _Ended(HostStaging):
    def has_ended(self, piece: int) -> bool:
        return True


class _Device(CpuBackend):
    """Takes itself for a device, which has ended whatever it was given."""

    name = label = "pretended"
    _own = _Target()

    @property
    def target(self) -> _Target:
        return self._own

    def _staging(self, pieces: int, piece_bytes: int) -> HostStaging:
        return _Ended(self.synchronize, pieces, piece_bytes)

    def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
        return threads[0] * threads[1] >= _BUSY


def count_work(counts: defaultdict[str, float]) -> None:
    """Count from now on what launches have the host do, and note its seconds there."""

    def counted(work: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            is_main = threading.current_thread() is threading.main_thread()
            name, start = what if is_main else f"{what} beside", time.perf_counter()
            counts[name] += 1
            try:
                return work(*arguments)
            except CannotPlanError:
                counts[f"{name} in vain"] += 1
                raise
            finally:
                counts[f"seconds of {name}"] += time.perf_counter() - start

        return call

    places = (
        (launch, "compile", "compilations"),
        (PopulationSequence, "_make_plan", "plans"),
        (clustering, "sample", "looks"),
        (Heap, "rearrange", "rearranged"),
    )
    for owner, name, what in places:
        setattr(owner, name, counted(getattr(owner, name), what))


class _Measured:
    """Times and numbers of a process, from ``begin`` on."""

    def __init__(self) -> None:
        self._in_kernels = 0.0
        self._before = self._now()
        self.counts: defaultdict[str, float] = defaultdict(int)
        count_work(self.counts)
        prepare = CpuBackend.prepare

        def timed(backend: CpuBackend, what: KernelLaunch) -> Callable[[], None]:
            start = prepare(backend, what)

            def run() -> None:
                before = time.thread_time()
                start()
                self._in_kernels += time.thread_time() - before

            return run

        CpuBackend.prepare = timed  # type: ignore[method-assign, assignment]

    def _now(self) -> float:
        return time.thread_time() - self._in_kernels

    def begin(self) -> None:
        self.counts.clear()
        self._before = self._now()

    def so_far(self) -> dict[str, Any]:
        return {"seconds": self._now() - self._before, **self.counts}


def _run(program: str, backend: str) -> list[list[dict[str, Any]]]:
    """What was measured the first and the second time, after each number of steps."""
    device: Any = _Device() if backend == "pretended" else backend
    measured, found = _Measured(), []
    for _ in range(2):
        with oa.Heap(backend=device) as heap:
            simulation, rows = _made(program, heap), []
            heap.synchronize()
            measured.begin()
            for step in range(1, AFTER[-1] + 1):
                simulation.advance()
                heap.synchronize()
                if step in AFTER:
                    rows.append({"steps": step, **measured.so_far()})
            found.append(rows)
        background.wait()
    return found


def _measure(tree: Path, program: str, backend: str) -> list[list[dict[str, Any]]]:
    environment = {**os.environ, "PYTHONPATH": str(tree), "SHAREDOA_CACHE_DIR": "off"}
    command = [sys.executable, "-P", str(Path(__file__)), "--one", program, backend]
    done = subprocess.run(
        command, cwd=tree, env=environment, text=True, check=True, capture_output=True
    )
    found: list[list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="the other tree")
    parser.add_argument("--turns", type=int, default=2, help="of a process of each tree")
    every = [f"{program}:{backend}" for backend in BACKENDS for program in PROGRAMS]
    parser.add_argument("--rows", nargs="+", choices=every, default=every)
    parser.add_argument("--one", nargs=2, metavar=("PROGRAM", "BACKEND"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(_run(*given.one)))
        return
    trees = {"this": Path(__file__).resolve().parents[1], "other": given.folder.resolve()}
    rows = []
    for row in given.rows:
        program, backend = row.split(":")
        found: dict[str, list[Any]] = {"this": [], "other": []}
        for turn in range(given.turns):
            for tree in ("this", "other") if turn % 2 == 0 else ("other", "this"):
                found[tree].append(_measure(trees[tree], program, backend))
        rows.append({"program": program, "backend": backend, **found})
        for time_, name in enumerate(("without code", "with code")):
            print(f"{program}, {backend}, {name}:", flush=True)
            for place, steps in enumerate(AFTER):
                both = [[run[time_][place] for run in found[each]] for each in found]
                ms = [1e3 * median(each["seconds"] for each in own) for own in both]
                counts = [{k: v for k, v in own[0].items() if k != "seconds"} for own in both]
                print(f"  {steps:3} steps: {ms[0]:.0f} ms, {ms[1]:.0f} before; {counts}")
        _record(rows)


def _record(rows: list[dict[str, Any]]) -> None:
    """Write all that there is so far."""
    day = datetime.datetime.now(datetime.UTC).date()
    path = RESULTS / f"first-steps-pretended-{day}.json"
    about = {"machine": machine("cpu"), "versions": versions()}
    path.write_text(
        json.dumps({"benchmark": "first_steps", **about, "rows": rows}, indent=1) + "\n"
    )
    print(f"recorded in {path}", flush=True)


if __name__ == "__main__":
    main()
