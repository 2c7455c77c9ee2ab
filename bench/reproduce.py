"""The paper's evaluation: its eleven workloads in its five modes and in ours.

"Judging a Type by Its Pointer", figures 6 and 10 and table 2 (figure 12 is ``virtual_call``).
Faithful ports at the artifact's sizes. A sample is the sum of the times of all kernels of one
run, taken with events on the device; creation of objects and reading of results are outside, as
in the paper. One run before the samples compiles the kernels. Counts must be equal in all modes.

``SHAREDOA_DATA`` is the folder of the paper's inputs: the board of GOL and the graph. Without it
they run on generated ones of about the same size.

Expected before running, on an H200, where the second-level cache holds most of these heaps:
typepointer and sharedoa within 10 % of each other (the artifact: geometric mean 1.025), coal
behind sharedoa (0.859) where calls are many and fields few; cuda 0.6 to 0.8; range+switch and
bits+switch ahead of every mode of the paper, as bodies are inlined: 1.2 to 2 times sharedoa.
Events add about 3 us to each launch, which hides differences where kernels are short (traffic).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import sharedoa as oa
from apps.interface import RunOptions, RunResult
from apps.registry import APPS
from bench.harness import MILLISECONDS, Options, Result, main, show, summary
from dispatch.mode import parse_mode

DATA = "SHAREDOA_DATA"
BOARD, GRAPH = "tm.pgm.gz", "coauthors_synth.graph.gz"
BASELINE = "sharedoa"
#: Modes of the paper, and the best of ours.
MODES = (
    "cuda", "concord", "sharedoa", "coal", "typepointer",
    "tag+switch", "range+switch", "bits+switch",
)  # fmt: skip
#: Samples of a workload where objects are made one by one, which takes seconds.
_SCATTERED_SAMPLES = 1
_KERNEL = "kernel "


@dataclass(frozen=True)
class Workload:
    """``artifact``: milliseconds of the paper's own programs on one H200, medians of three, in the
    order of the paper's modes. ``input`` is a file of the data folder, ``size`` another than the
    paper's, ``arguments`` what the program takes besides."""

    name: str
    app: str
    artifact: tuple[float | None, ...]
    input: str = ""
    size: int | None = None
    arguments: tuple[tuple[str, Any], ...] = ()


WORKLOADS = (
    Workload("TRAF", "traffic", (1501.4, 1228.7, 1375.8, 1588.2, 1322.5)),
    Workload("GOL", "game_of_life", (948.1, None, 667.5, 898.4, 666.2), BOARD),
    Workload("STUT", "structure", (53.00, 40.18, 24.84, 24.30, 20.55)),
    Workload("GEN", "generation", (257.5, 217.5, 205.3, 282.3, 201.5)),
    Workload("BFS (vE)", "bfs", (6.539, 6.021, 5.143, 5.351, 5.211), GRAPH),
    Workload("CC (vE)", "cc", (18.03, 16.19, 11.58, 12.00, 11.97), GRAPH),
    Workload("PR (vE)", "pagerank", (12.15, 11.21, 8.928, 7.870, 7.800), GRAPH),
    Workload("BFS (vEN)", "bfs_ven", (7.310, 6.574, 6.046, 8.697, 5.995), GRAPH),
    Workload("CC (vEN)", "cc_ven", (20.97, 18.40, 14.57, 21.25, 14.83), GRAPH),
    Workload("PR (vEN)", "pagerank_ven", (13.47, 12.22, 10.39, 11.13, 8.654), GRAPH),
    Workload("RAY", "raytracer", (1.245, 0.582, 1.219, 1.460, 1.543), "", 512, (("objects", 100),)),
)
#: Objects in the first region of a class, figure 10; the artifact's own runs have the marked one.
REGIONS = (4096, 32_768, 262_144, 2_097_152, 2_397_152, 4_194_304)
_SWEPT = ("TRAF", "GOL", "STUT")


def run(options: Options) -> Result:
    """All workloads in every mode, then the sweep of region sizes; wrong counts are failures."""
    with oa.Heap(backend=options.backend) as heap:
        backend = heap.backend.name
    settings = {"full": options.full, "repeat": options.repeat, "inputs": _inputs()}
    result = Result("reproduction", backend, settings)
    for workload in WORKLOADS:
        for mode in [mode for mode in MODES if mode in options.modes]:
            with result.attempt(f"{workload.name} in mode {mode}"):
                row = _measure(workload, mode, options, backend)
                result.rows.append(row)
                _require_equal_counts(row, result.rows)
                print(f"{workload.name} {mode}: {_milliseconds(row):.3f} ms", file=sys.stderr)
            gc.collect()
    for workload in [w for w in WORKLOADS if w.name in _SWEPT]:
        for region in REGIONS if options.full else REGIONS[:2]:
            with result.attempt(f"{workload.name} with regions from {region}"):
                result.rows.append(_sweep(workload, region, options, backend))
            gc.collect()
    _show(result.rows)
    return result


def _measure(workload: Workload, mode: str, options: Options, backend: str) -> dict[str, Any]:
    scattered = parse_mode(mode).placement == "scattered"
    samples = min(options.repeat, _SCATTERED_SAMPLES) if scattered else options.repeat
    # A run of its own for the compiler: a small one, as only the objects' number differs.
    _simulate(workload, mode, options.full, backend, warm_up=True)
    runs = [_simulate(workload, mode, options.full, backend) for _ in range(samples)]
    row = {"figure": "6", "mode": mode, **_as_row(workload, runs)}
    if options.full and backend == "cuda":
        row["artifact"] = _of_the_artifact(workload, mode)
    return row


def _sweep(workload: Workload, region: int, options: Options, backend: str) -> dict[str, Any]:
    with _initial_region(region):
        found = _simulate(workload, "coal", options.full, backend)
    return {
        "figure": "10",
        "mode": "coal",
        "initial_region": region,
        "external_fragmentation": found.heap.external_fragmentation,
        **_as_row(workload, [found]),
    }


def _of_the_artifact(workload: Workload, mode: str) -> float | None:
    """Seconds of the artifact's program for this mode, if it has one."""
    milliseconds = dict(zip(MODES[:5], workload.artifact, strict=True)).get(mode)
    return None if milliseconds is None else milliseconds / MILLISECONDS


def _as_row(workload: Workload, runs: list[RunResult]) -> dict[str, Any]:
    last = runs[-1]
    classes = last.heap.classes.values()
    return {
        "workload": workload.name,
        **summary([sum(_kernels(each).values()) for each in runs]),
        "kernels": _kernels(last),
        "creation": last.timings.get("objects"),
        "loop": last.timings.get("run"),
        "counts": last.counts,
        "objects": last.objects,
        "regions": last.regions,
        "bytes_an_object": sum(c.bytes_used for c in classes) / max(last.objects, 1),
    }


def _kernels(result: RunResult) -> dict[str, float]:
    return {
        name.removeprefix(_KERNEL): seconds
        for name, seconds in result.timings.items()
        if name.startswith(_KERNEL)
    }


def _simulate(
    workload: Workload, mode: str, full: bool, backend: str, warm_up: bool = False
) -> RunResult:
    app = APPS[workload.app]
    small = warm_up or not full
    file = None if small else _file(workload.input)
    options = RunOptions(
        size=None if small else workload.size or app.paper_size,
        steps=None if small else app.paper_steps,
        input=file,
        mode=mode,
        backend=backend,
        time_kernels=True,
    )
    return app.run(options, **dict(workload.arguments))


@contextmanager
def _initial_region(objects: int) -> Iterator[None]:
    """The setting that programs cannot be given otherwise."""
    name = "SHAREDOA_INITIAL_REGION"
    before = os.environ.get(name)
    os.environ[name] = str(objects)
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _require_equal_counts(row: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    first = next(other for other in rows if other["workload"] == row["workload"])
    if row["counts"] != first["counts"]:
        raise AssertionError(
            f"the counts are {row['counts']}, in mode {first['mode']} {first['counts']}"
        )


def _file(name: str) -> Path | None:
    """A file of the data folder, if it is there."""
    folder = os.environ.get(DATA)
    file = Path(folder) / name if folder and name else None
    return file if file is not None and file.is_file() else None


def _inputs() -> list[str]:
    return [name for name in (BOARD, GRAPH) if _file(name)]


def _milliseconds(row: dict[str, Any]) -> float:
    return float(row["median"]) * MILLISECONDS


def _show(rows: list[dict[str, Any]]) -> None:
    figure_6 = [row for row in rows if row["figure"] == "6"]
    times = {(row["workload"], row["mode"]): row["median"] for row in figure_6}
    table = []
    for row in figure_6:
        base = times.get((row["workload"], BASELINE))
        row["speed"] = base / row["median"] if base else None
        row["to_artifact"] = row["median"] / row["artifact"] if row.get("artifact") else None
        table.append(
            (
                row["workload"], row["mode"], row["objects"], row["regions"],
                row["bytes_an_object"], _milliseconds(row), row["speed"], row["to_artifact"],
            )
        )  # fmt: skip
    headings = (
        "workload", "mode", "objects", "regions", "bytes", "kernels ms", "to sharedoa",
        "to artifact's",
    )  # fmt: skip
    show("Figure 6 and table 2", headings, table)
    means = []
    for mode in MODES:
        speeds = [row["speed"] for row in figure_6 if row["mode"] == mode and row["speed"]]
        if speeds:
            means.append((mode, len(speeds), geometric_mean(speeds), min(speeds), max(speeds)))
    show("Speed to sharedoa", ("mode", "workloads", "geometric mean", "least", "most"), means)
    sweep = [
        (
            row["workload"], row["initial_region"], row["regions"], _milliseconds(row),
            row["external_fragmentation"],
        )
        for row in rows
        if row["figure"] == "10"
    ]  # fmt: skip
    show("Figure 10", ("workload", "first region", "regions", "ms", "fragmentation"), sweep)


if __name__ == "__main__":
    main(run, __doc__)
