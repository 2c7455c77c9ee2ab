"""What programs did, as JSON: results with the machine and versions that they come from."""

from __future__ import annotations

import dataclasses
import datetime
import json
import platform
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np

from apps.interface import RunOptions, RunResult
from apps.registry import APPS, AppInfo
from ptxpass.output_file import write_whole

from .. import __version__
from ..backends import available
from ..errors import ConfigurationError
from .comparison import BASELINE, Comparison


def write_run(app: AppInfo, options: RunOptions, result: RunResult, file: Path) -> None:
    """One run: options, counts, checks, seconds of phases and kernels, objects, regions, heap."""
    run = {
        "app": app.name,
        "options": _options(options),
        "resolved": _resolved(app, options),
        **_result(result),
    }
    _write({**_origin(), "run": run}, file)


def write_comparisons(comparisons: list[Comparison], file: Path) -> None:
    """Raw samples of every mode, and what the last run of each gave."""
    _write({**_origin(), "apps": [_comparison(each) for each in comparisons]}, file)


def _origin() -> dict[str, Any]:
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {
            "platform": platform.platform(),
            "python": platform.python_version(),
            "backends": {b.name: b.reason for b in available() if b.ok},
        },
        "versions": {
            "sharedoa": __version__,
            "numpy": np.__version__,
            "llvmlite": llvmlite.__version__,
        },
    }


def _write(document: dict[str, Any], file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(document, indent=2) + "\n")
    except OSError as error:
        raise ConfigurationError(
            f"--json: {file} cannot be written: {error.strerror}", "name another file"
        ) from error


def _options(options: RunOptions) -> dict[str, Any]:
    """The options that were given."""
    given = {f.name: getattr(options, f.name) for f in dataclasses.fields(options)}
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in given.items()
        # By identity: a seed of 0 is equal to False, and was given.
        if value is not None and value is not False and value != {} and name != "progress"
    }


def _resolved(app: AppInfo, options: RunOptions) -> dict[str, Any]:
    """What the program ran with, its defaults included."""
    given = app.with_defaults(options)
    return {"size": given.size, "steps": given.steps, "seed": given.seed}


def _result(result: RunResult) -> dict[str, Any]:
    heap = None if result.heap is None else dataclasses.asdict(result.heap)
    return {
        "counts": result.counts,
        "checks": result.checks,
        "objects": result.objects,
        "regions": result.regions,
        "timings": result.timings,
        "heap": heap,
        "heap_settings": result.heap_settings,
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "app": comparison.app,
        "options": _options(comparison.options),
        "resolved": _resolved(APPS[comparison.app], comparison.options),
        "equal": not comparison.differences,
        "baseline": BASELINE,
        "modes": [
            {
                "mode": each.mode,
                "seconds": each.samples,
                "ratio": comparison.ratio(each),
                **_result(each.result),
            }
            for each in comparison.modes
        ],
    }
