"""Times: the eleven workloads in all modes (figure 6), the sweep of region sizes (figure 10), and
the natural ports.

A sample is the sum of the times of all kernels of one run, taken as ``timers`` says; creation of
objects and reading of results are outside, as in the paper. A small run before the samples compiles
the kernels. Counts must be equal in all modes.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.harness import MILLISECONDS, Options, Result, backend_name, summary, write

from .call_sites import CallSites
from .timers import EventTimer, Sample, Timer
from .workloads import (
    MODES,
    NAMES,
    NATURAL,
    WORKLOADS,
    Workload,
    inputs,
    is_scattered,
)

FIGURE_6, FIGURE_10, NATURAL_PORTS = PARTS = ("figure6", "figure10", "natural")
#: Samples of a workload where objects are made one by one: making them takes far longer than the
#: run, and has to be done for each. Records of several calls can be merged.
SCATTERED_SAMPLES = 3
#: Objects in the first region of a class, figure 10; the artifact's own runs have ARTIFACT_REGION.
ARTIFACT_REGION = 2_397_152
REGIONS = (4096, 32_768, 262_144, 2_097_152, ARTIFACT_REGION, 4_194_304)
SWEPT, SWEPT_MODE = ("TRAF", "GOL", "STUT", "GEN"), "coal"


@dataclass(frozen=True)
class Selection:
    """What of the evaluation is run, and the name of the record."""

    workloads: tuple[str, ...] = NAMES
    parts: tuple[str, ...] = PARTS
    name: str = "reproduction"


@dataclass(frozen=True)
class _Conditions:
    """What all rows are measured under."""

    options: Options
    backend: str
    timer: Timer


def measure(options: Options, selection: Selection, timer: Timer | None = None) -> Result:
    """Run what is selected, by events unless there is a ``timer``; wrong counts are failures. The
    record is written after every mode of every workload, so that a call that is ended leaves what
    it has."""
    conditions = _Conditions(options, backend_name(options), timer or EventTimer())
    settings = {"full": options.full, "inputs": inputs(), **conditions.timer.settings()}
    result = Result(selection.name, conditions.backend, settings)
    for what, row_of in _rows(selection, conditions):
        with result.attempt(what):
            row = row_of()
            result.rows.append(row)
            print(f"{what}: {row['median'] * MILLISECONDS:.3f} ms", file=sys.stderr, flush=True)
            _require_equal_counts(row, result.rows)
        _free_heaps(options)
        write(result, options.out)
    return result


def _rows(selection: Selection, conditions: _Conditions) -> Iterator[tuple[str, Any]]:
    """Each row: what it is, and the function that measures it."""
    options = conditions.options
    for part, workloads in ((FIGURE_6, WORKLOADS), (NATURAL_PORTS, NATURAL)):
        for workload in _selected(workloads, selection, part):
            for mode in [mode for mode in MODES if mode in options.modes]:
                # Natural ports are compared among modes that place objects alike.
                if part == FIGURE_6 or not is_scattered(mode):
                    yield (
                        f"{part}: {workload.name} in mode {mode}",
                        lambda w=workload, m=mode, p=part: _times(p, w, m, conditions),
                    )
    if SWEPT_MODE not in options.modes:
        return
    for workload in _selected(WORKLOADS, selection, FIGURE_10):
        for region in REGIONS if options.full else REGIONS[:2]:
            if workload.name in SWEPT:
                yield (
                    f"{FIGURE_10}: {workload.name} with regions from {region}",
                    lambda w=workload, r=region: _sweep(w, r, conditions),
                )


def _selected(
    workloads: tuple[Workload, ...], selection: Selection, part: str
) -> Iterator[Workload]:
    if part in selection.parts:
        yield from (workload for workload in workloads if workload.name in selection.workloads)


def _times(part: str, workload: Workload, mode: str, conditions: _Conditions) -> dict[str, Any]:
    repeat = conditions.options.repeat
    sites = _compile(workload, mode, conditions)
    samples = []
    for _ in range(min(repeat, SCATTERED_SAMPLES) if is_scattered(mode) else repeat):
        samples.append(_sample(workload, mode, conditions))
        _free_heaps(conditions.options)
    row = {"figure": _FIGURES[part], "mode": mode, **_as_row(workload, conditions, samples)}
    return row | {"launches": samples[-1].launches} | sites.row()


def _compile(workload: Workload, mode: str, conditions: _Conditions) -> CallSites:
    """Run it small; what was found at its call sites."""
    sites, timed = CallSites(), conditions.timer.in_program
    workload.run(mode, conditions.backend, full=False, timed=timed, on_launch=sites)
    return sites


def _sample(workload: Workload, mode: str, conditions: _Conditions) -> Sample:
    full = conditions.options.full
    return conditions.timer.sample(workload, mode, conditions.backend, full)


#: How rows are marked in records.
_FIGURES = {FIGURE_6: "6", FIGURE_10: "10", NATURAL_PORTS: "natural"}


def _free_heaps(options: Options) -> None:
    """Give back the memory of heaps that nobody refers to, before the next run takes as much."""
    if options.full:  # small ones can wait for Python to do so, which takes less time
        gc.collect()


def _sweep(workload: Workload, region: int, conditions: _Conditions) -> dict[str, Any]:
    with _initial_region(region):
        _compile(workload, SWEPT_MODE, conditions)
        found = _sample(workload, SWEPT_MODE, conditions)
    return {
        "figure": _FIGURES[FIGURE_10],
        "mode": SWEPT_MODE,
        "initial_region": region,
        "external_fragmentation": found.result.heap.external_fragmentation,
        **_as_row(workload, conditions, [found]),
    }


def _as_row(workload: Workload, conditions: _Conditions, samples: list[Sample]) -> dict[str, Any]:
    last = samples[-1].result
    classes = last.heap.classes.values()
    return {
        "workload": workload.name,
        "timer": conditions.timer.name,
        **summary([sum(each.seconds.values()) for each in samples]),
        "kernels": samples[-1].seconds,
        "creation": last.timings.get("objects"),
        "loop": last.timings.get("run"),
        "counts": last.counts,
        "objects": last.objects,
        "regions": last.regions,
        "bytes_an_object": sum(c.bytes_used for c in classes) / max(last.objects, 1),
    }


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
    natural = row["figure"] == _FIGURES[NATURAL_PORTS]
    first = next(
        other
        for other in rows
        if other["workload"] == row["workload"]
        and (other["figure"] == _FIGURES[NATURAL_PORTS]) == natural
    )
    if row["counts"] != first["counts"]:
        raise AssertionError(
            f"the counts are {row['counts']}, in mode {first['mode']} {first['counts']}"
        )
