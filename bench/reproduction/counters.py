"""Hardware counters of the workloads, by Nsight Compute: figures 7 to 9.

Each workload runs once in each mode that places objects by type, at full size, under one process of
``ncu``. Of each kernel a few launches are looked at (``sampling``); each stands for those until the
next one, so that a row has the counters of the whole run.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness import Result, write

from .ncu import METRICS, ProfiledLaunch, ProfileError, profile
from .published import LOAD_TRANSACTIONS, WARP_INSTRUCTIONS
from .sampling import weights
from .workloads import MODES, WORKLOADS, Workload, inputs, is_scattered

Counters = Mapping[str, float]
NAME = "reproduction-counters"


@dataclass(frozen=True)
class Figure:
    """A figure of counters: ``value`` makes it of a row's, None where it has none. ``relative``:
    shown in relation to sharedoa. ``published``: averages by mode, by where they are from."""

    name: str
    title: str
    value: Callable[[Counters], float | None]
    relative: bool = True
    published: dict[str, dict[str, float]] = field(default_factory=dict)


def _share(part: str, whole: str) -> Callable[[Counters], float | None]:
    return lambda counters: counters[part] / counters[whole] if counters[whole] else None


FIGURES = (
    Figure(
        "figure-7",
        "Figure 7: warp instructions relative to sharedoa",
        lambda counters: counters["warp_instructions"],
        published={"paper, V100": WARP_INSTRUCTIONS},
    ),
    Figure(
        "figure-8",
        "Figure 8: sectors of global loads relative to sharedoa",
        lambda counters: counters["global_load_sectors"],
        published={"paper, V100": LOAD_TRANSACTIONS},
    ),
    Figure(
        "figure-9",
        "Figure 9: hit rate of global loads in the first-level cache",
        _share("global_load_hits", "global_load_sectors"),
        relative=False,
    ),
    Figure(
        "local-memory",
        "Sectors of local memory (stack and spills) for each sector of global loads",
        lambda c: (
            (c["local_load_sectors"] + c["local_store_sectors"]) / c["global_load_sectors"]
            if c["global_load_sectors"]
            else None
        ),
        relative=False,
    ),
    Figure(
        "second-level-cache",
        "Hit rate in the second-level cache",
        _share("l2_hits", "l2_sectors"),
        relative=False,
    ),
    Figure(
        "dram",
        "Bytes to and from DRAM relative to sharedoa",
        lambda counters: counters["dram_read_bytes"] + counters["dram_write_bytes"],
    ),
)


def count(
    ncu: str,
    workloads: Sequence[str],
    modes: Sequence[str],
    steps: int | None,
    name: str,
    folder: Path,
) -> Result:
    """Profile the ``workloads`` in those of ``modes`` that place by type with the program ``ncu``;
    the record ``name`` is written to ``folder`` after each. ``steps`` limits the length of runs.

    Raises ConfigurationError where counters may not be read: no other run would do better.
    """
    result = Result(name, "cuda", {"full": True, "inputs": inputs()})
    for workload in [each for each in WORKLOADS if each.name in workloads]:
        for mode in [each for each in MODES if each in modes and not is_scattered(each)]:
            what = f"counters: {workload.name} in mode {mode}"
            try:
                row = _row(ncu, workload, mode, steps)
            except ProfileError as error:
                result.failures.append(f"{what}: {error}")
                print(f"failed: {result.failures[-1]}", file=sys.stderr)
            else:
                result.rows.append(row)
                print(f"{what}: {row['profiled']} launches", file=sys.stderr, flush=True)
            write(result, folder)
    return result


def _row(ncu: str, workload: Workload, mode: str, steps: int | None) -> dict[str, Any]:
    full = workload.full_steps()
    chosen = full if steps is None else min(steps, full)
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "run.json"
        program = [
            sys.executable, "-m", "bench.reproduction.profiled_run",
            workload.name, mode, str(chosen), str(said),
        ]  # fmt: skip
        launches = profile(ncu, Path(folder) / "ncu.csv", program)
        run = json.loads(said.read_text())
    kernels = totals(launches, run["launches"])
    return {
        "figure": "counters",
        "workload": workload.name,
        "mode": mode,
        "steps": chosen,
        "counts": run["counts"],
        "launches": run["launches"],
        "profiled": len(launches),
        "counters": {name: sum(c[name] for c in kernels.values()) for name in METRICS},
        "kernels": kernels,
    }


def totals(
    launches: Sequence[ProfiledLaunch], launched: Mapping[str, int]
) -> dict[str, dict[str, float]]:
    """Counters of all launches of each kernel, estimated from those that were looked at; kernels
    that are not in ``launched`` are left out.

    Raises ProfileError if not just the launches that ``is_sampled`` tells were looked at.
    """
    by_kernel: dict[str, list[Counters]] = defaultdict(list)
    for launch in launches:
        by_kernel[launch.kernel].append(launch.counters)
    found = {}
    for kernel, count in launched.items():
        samples, stands_for = by_kernel[kernel], weights(count)
        if len(samples) != len(stands_for):
            raise ProfileError(
                f"{kernel}: ncu looked at {len(samples)} launches of {count}, not at "
                f"{len(stands_for)}"
            )
        found[kernel] = {
            name: sum(w * s[name] for w, s in zip(stands_for, samples, strict=True))
            for name in METRICS
        }
    return found
