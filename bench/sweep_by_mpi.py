"""A sweep of traffic by the workers that MPI started, for ``bench.sweep``:

    mpiexec -n 3 python -m mpi4py.futures -m bench.sweep_by_mpi FOLDER SIZES REPEATS

Prints seconds of the sweep, without starting workers and compiling; the table is in the folder.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter, sleep

import sharedoa as oa
from bench.sweep import traffic


def ready(folder: Path, workers: int, intersections: int) -> None:
    """Compile the kernels, in each of the workers, which wait for one another."""
    traffic(intersections, 2, 0)
    (folder / f"ready-{os.getpid()}").touch()
    while len([*folder.glob("ready-*")]) < workers:
        sleep(0.01)


def main(folder: Path, sizes: dict[str, list[int]], repeats: int) -> None:
    """The sweep, by all workers; what an earlier call has done is in the folder."""
    with import_module("mpi4py.futures").MPIPoolExecutor() as executor:
        workers = executor.num_workers
        for file in folder.glob("ready-*"):
            file.unlink()
        given = [folder] * workers, [workers] * workers, [sizes["intersections"][0]] * workers
        list(executor.map(ready, *given))
        began = perf_counter()
        to = folder / "runs.csv"
        oa.sweep(traffic, sizes, repeats=repeats, seed=1, executor=executor, to=to)
        print(perf_counter() - began, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]))
