"""Two hundred runs of traffic by `oa.sweep` on a Dask cluster of processes on this machine: on one
worker, on one a core, and with a worker killed in the middle.

*sweep* is seconds of it on so many workers, which have compiled the kernels; *counting* is
what as many plain processes need for as much counting as one does alone, each: what this machine
gives to more processes at that moment. *killed* is with all workers, of which one is killed when
half of the runs are done. *by MPI* and *MPI killed* are the same on processes that mpiexec started
(mpi4py.futures): where one is killed MPI ends all of them, and the same call, made once more, does
what is left. Every table has each run once, with the results of one worker. Dask's workers have
one thread each (``OMP_NUM_THREADS``, which Dask sets). Where mpi4py is not installed those rows are
missing.

With ``--backend cuda`` the workers are those of `oa.sweep` itself, a process a GPU, and *sweep* is
with the first GPU and with all of them.

Expected before running: runs are some 0.1 s of Python and short launches on one core, and the
cluster takes 3 ms of all processes a run, and 0.04 of a core all the time: on two free cores 1.9 of
one worker's speed, on busy ones what counting gets. A killed worker costs its one or two runs, and
the start of another, some seconds in which half of the machine waits; under MPI a second start,
which is not counted, and what was under way. GPUs share nothing but the host's cores, of which
there are more than two workers need: 1.9 to 2.0 on two.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

import sharedoa as oa
from apps.interface import RunOptions
from apps.registry import APPS
from bench.harness import Options, Result, main, show, summary
from sharedoa.sweeps.main_script import Model
from sharedoa.sweeps.processes import places_here, processes_for

_COUNTED = 20_000_000
#: What the others are compared with, done by one worker.
_BESIDE = {"killed": "sweep", "MPI killed": "by MPI"}


def traffic(intersections: int, steps: int, seed: int, backend: str = "cpu") -> dict[str, int]:
    """Counts of one run, with classes as a user would write them."""
    options = RunOptions(
        size=intersections, steps=steps, seed=seed % 2**31, natural=True, backend=backend
    )
    return APPS["traffic"].run(options).counts


def run(options: Options) -> Result:
    """Raises ImportError without pandas, and on a CPU without Dask."""
    if options.backend == "cuda":
        return _on_gpus(options)
    sizes = {"intersections": [50, 100], "steps": [20, 40]} if options.full else {
        "intersections": [20], "steps": [2, 3]
    }  # fmt: skip
    repeats, rounds = (50, 3) if options.full else (5, 1)
    cores = len(os.sched_getaffinity(0))
    with_mpi = find_spec("mpi4py") is not None
    settings = {"repeats": repeats, "rounds": rounds, "load": list(os.getloadavg()), **sizes}
    settings["libraries"] = ["distributed", *["mpi4py"] * with_mpi]
    result = Result("sweep", "cpu", settings)
    samples: dict[tuple[str, int], list[float]] = {}
    tables: list[Any] = []
    with result.attempt("sweep"):
        for _ in range(rounds):
            _sweep(samples, tables, _swept, ("sweep", "killed"), sizes, repeats, cores)
            for workers in (1, cores):
                samples.setdefault(("counting", workers), []).append(_counting(workers))
    if with_mpi:
        with result.attempt("MPI"):
            for _ in range(rounds):
                names = "by MPI", "MPI killed"
                _sweep(samples, tables, swept_by_mpi, names, sizes, repeats, cores)
    with result.attempt("tables"):
        _require_equal(tables)
    alone = {what: np.median(each) for (what, workers), each in samples.items() if workers == 1}
    for (what, workers), each in samples.items():
        # Sweeps share the runs; of those who count each counts as much.
        work = workers if what == "counting" else 1
        speed = float(work * alone[_BESIDE.get(what, what)] / np.median(each))
        row = {"what": what, "workers": workers, "speed": speed if workers > 1 else 1.0}
        result.rows.append({**row, **summary(each)})
    _show(result, len(sizes["intersections"]) * len(sizes["steps"]) * repeats)
    return result


def _on_gpus(options: Options) -> Result:
    sizes = {"intersections": [200, 400], "steps": [40, 80]} if options.full else {
        "intersections": [20], "steps": [2, 3]
    }  # fmt: skip
    given: dict[str, Any] = {**sizes, "backend": [options.backend]}
    repeats, gpus = 50 if options.full else 5, len(places_here())
    settings = {"repeats": repeats, "load": list(os.getloadavg()), **sizes}
    result = Result("sweep", "cuda", settings)
    tables: list[Any] = []
    alone = 0.0
    with result.attempt("sweep"):
        for workers in sorted({1, gpus}):
            # No more workers than runs; of each, the first run loads and compiles.
            executor = processes_for(Model(traffic), workers)
            first: dict[str, Any] = {
                "intersections": sizes["intersections"][:1],
                "steps": [2],
                "backend": [options.backend],
            }
            oa.sweep(traffic, first, repeats=workers, executor=executor)
            began = perf_counter()
            tables.append(oa.sweep(traffic, given, repeats=repeats, seed=1, executor=executor))
            seconds = perf_counter() - began
            executor.shutdown()
            alone = alone or seconds
            row = {"what": "sweep", "workers": workers, "speed": alone / seconds}
            result.rows.append({**row, **summary([seconds])})
        _require_equal(tables)
    _show(result, len(tables[0]) if tables else 0)
    return result


def _require_equal(tables: list[Any]) -> None:
    wanted = tables[0].drop(columns="seconds")
    for table in tables:
        assert table["error"].isna().all() and table["seed"].is_unique, "a run is missing"
        assert table.drop(columns="seconds").equals(wanted), "results depend on the workers"


def _show(result: Result, runs: int) -> None:
    show(
        f"{runs} runs of traffic",
        ("what", "workers", "seconds", "of one worker's speed"),
        [(row["what"], row["workers"], row["median"], row["speed"]) for row in result.rows],
    )


_Swept = Callable[[dict[str, list[int]], int, int, bool], tuple[float, Any]]


def _sweep(
    samples: dict[tuple[str, int], list[float]],
    tables: list[Any],
    swept: _Swept,
    names: tuple[str, str],
    sizes: dict[str, list[int]],
    repeats: int,
    cores: int,
) -> None:
    """By one worker, by one a core, and so with one of them killed; what these are called."""
    whole, killed = names
    for what, workers in ((whole, 1), (whole, cores), (killed, cores)):
        seconds, table = swept(sizes, repeats, workers, what == killed)
        samples.setdefault((what, workers), []).append(seconds)
        tables.append(table)


def _swept(
    sizes: dict[str, list[int]], repeats: int, workers: int, kill: bool
) -> tuple[float, Any]:
    distributed: Any = import_module("distributed")  # which is not typed
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        # Each compiles the kernels, and all have what a sweep imports.
        client.run(traffic, sizes["intersections"][0], 2, 0)
        few = {"intersections": sizes["intersections"][:1], "steps": [2]}
        oa.sweep(traffic, few, repeats=workers, executor=client.get_executor())
        total = repeats * len(sizes["intersections"]) * len(sizes["steps"])
        to = Path(folder) / "runs.csv"
        first = next(iter(client.run(os.getpid).values()))
        killer = threading.Thread(target=_kill_in_the_middle, args=(first, to, total))
        if kill:
            killer.start()
        began = perf_counter()
        executor = client.get_executor()
        table = oa.sweep(traffic, sizes, repeats=repeats, seed=1, executor=executor, to=to)
        seconds = perf_counter() - began
        if kill:
            killer.join()
    return seconds, table


def swept_by_mpi(
    sizes: dict[str, list[int]], repeats: int, workers: int, kill: bool
) -> tuple[float, Any]:
    """Seconds and table of a sweep by so many processes of MPI, of which one may be killed when
    half of the runs are done; then the same command does the rest."""
    beside = Path(sys.executable).parent / "mpiexec"
    launcher = str(beside) if beside.exists() else "mpiexec"
    command = [launcher, "-n", str(workers + 1), sys.executable, "-m", "mpi4py.futures"]
    total = repeats * len(sizes["intersections"]) * len(sizes["steps"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command += ["-m", "bench.sweep_by_mpi", name, json.dumps(sizes), str(repeats)]
        seconds = 0.0
        if kill:
            started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while len(workers_ready := [*folder.glob("ready-*")]) < workers:
                assert started.poll() is None, "MPI does not start"
                sleep(0.01)
            began = perf_counter()
            first = int(workers_ready[0].name.partition("-")[2])
            _kill_in_the_middle(first, folder / "runs.csv", total)
            started.communicate()
            assert started.returncode, "MPI went on without one of its processes"
            seconds = perf_counter() - began
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        seconds += float(done.stdout.split()[-1])
        to = folder / "runs.csv"
        kept = import_module("pandas").read_csv(to)
        assert len(kept) == total and kept["seed"].is_unique, "not every run is kept once"
        return seconds, oa.sweep(traffic, sizes, repeats=repeats, seed=1, to=to)


def _kill_in_the_middle(first: int, to: Path, total: int) -> None:
    journal = to.with_name(f"{to.name}.journal")
    while not journal.exists() or journal.read_bytes().count(b"\n") <= total // 2:
        sleep(0.01)
    os.kill(first, signal.SIGKILL)


def _counting(workers: int) -> float:
    """Seconds until so many processes have counted, each as far as one would alone."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers) as pool:
        pool.map(_count, [1] * workers, chunksize=1)
        began = perf_counter()
        pool.map(_count, [_COUNTED] * workers, chunksize=1)
        return perf_counter() - began


def _count(number: int) -> int:
    total = 0
    for each in range(number):
        total ^= each
    return total


if __name__ == "__main__":
    main(run, __doc__)
