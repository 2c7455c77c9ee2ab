"""One case in a process of its own, under CUPTI:
``python -m bench.page_migrations.profiled_run PROGRAM FLAVOUR SIZE STEPS BACKEND CUPTI FILE``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apps.common.phases import PhaseWatcher, watched
from apps.interface import RunOptions
from apps.registry import APPS
from bench.cupti import ending
from bench.cupti.buffers import Buffers
from bench.cupti.library import Cupti

from .analysis import rows_of_kernels, rows_of_parts
from .cases import CONTROL, MODE, Case
from .collection import Collection
from .control import walk
from .phases import PhaseClock


def measure(case: Case, backend: str, cupti: Cupti) -> dict[str, Any]:
    """Run it and say what was collected. ``refused`` says why unified memory was not looked at.

    Raises CuptiError, and what the program raises.
    """
    synchronize = _open(backend)
    collection = Collection(cupti, Buffers())
    collection.start()
    clock = PhaseClock(cupti.timestamp, synchronize)
    counts = _run(case, backend, clock)
    synchronize()
    records, boundaries = collection.finish(), clock.boundaries()
    if not collection.refused and not records.unified_memory:
        collection.gaps.append("there is no record of unified memory at all")
    return {
        "cupti": cupti.version,
        "refused": collection.refused,
        "gaps": collection.gaps,
        "counts": counts,
        "parts": [] if collection.refused else rows_of_parts(records, boundaries),
        "kernels": rows_of_kernels(records, boundaries),
    }


def _open(backend: str) -> Callable[[], None]:
    """Initialise the driver, which CUPTI needs, but open no context, which it wants to see opened;
    the result waits for the device once there is one."""
    if backend != "cuda":
        return lambda: None
    from sharedoa.backends.cuda_device import cuda_device
    from sharedoa.backends.cuda_driver import load_driver

    load_driver()
    return lambda: cuda_device(0).synchronize()


def _run(case: Case, backend: str, watcher: PhaseWatcher) -> dict[str, int]:
    if case.program == CONTROL:
        from sharedoa.backends.cuda_device import cuda_device

        walk(cuda_device(0), watcher)
        return {}
    options = RunOptions(
        size=case.size, steps=case.steps, natural=case.natural, mode=MODE, backend=backend
    )
    with watched(watcher):
        return APPS[case.program].run(options).counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=[CONTROL, *APPS])
    parser.add_argument("flavour", choices=["faithful", "natural", ""])
    parser.add_argument("size", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("backend")
    parser.add_argument("cupti")
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    case = Case(given.program, given.flavour == "natural", given.size, given.steps)
    found = measure(case, given.backend, Cupti.load(given.cupti))
    given.file.write_text(json.dumps(found))


if __name__ == "__main__":
    ending.run(main)
