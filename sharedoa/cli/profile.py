"""``sharedoa profile``: runs a script and tells what its launches took."""

from __future__ import annotations

import json
import os
import runpy
import sys
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Annotated

import typer

from ptxpass.output_file import write_whole

from .output_file import require_writable
from .report import new_table, print_table

if TYPE_CHECKING:
    from ..runtime.machine_rates import Rates
    from ..runtime.profile import Profile, Row

_NOTE = "by the host's clock; share: of {seconds:.3f} s, which is the whole script"
_LIMITS = """\
MB: estimated, by interpreting up to 32 groups of 32 threads before a launch: lines of 64 bytes (on
GPUs sectors of 32) that each group touches, whatever caches spare. limit, with the part of it that
is used: memory ({bytes:.1f} GB/s in a copy on this device), compute ({operations:.1f} G operations
a second), launch (mostly the {launch:.1f} us of an empty one), else latency: waiting, with less
than half of both"""
_STEPS = "a captured step has the time of its launches, which have rows of their own"
_GPUS = "a GPU was waited for before and after each launch, and that counts as its time"


def profile(
    script: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="a Python program; its arguments")
    ],
    arguments: Annotated[list[str] | None, typer.Argument(help="follow it")] = None,
    trace: Annotated[
        Path | None, typer.Option(help="write events for Perfetto, or chrome://tracing, to it")
    ] = None,
    perf_map: Annotated[
        bool, typer.Option("--perf-map", help="name code for the CPU in /tmp/perf-PID.map")
    ] = False,
) -> None:
    """Run a Python program, then print its kernels: launches, times, compilation."""
    from ..backends.perf_map import PerfMap
    from ..runtime.profile import naming, profiling

    if trace is not None:
        trace = trace.absolute()  # the script may go to another folder
        require_writable("--trace", trace)
    begun = perf_counter_ns()
    with naming(PerfMap()) if perf_map else nullcontext():
        try:
            with profiling(trace is not None) as profiled:
                try:
                    _run(script, arguments or [])
                finally:
                    whole = perf_counter_ns() - begun
        finally:
            if trace is not None:
                write_whole(trace, _trace(profiled, begun))
            _show(profiled, whole)


def _run(script: Path, arguments: list[str]) -> None:
    """Run it as Python would; SystemExit if it fails."""
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != str(script):
            trace = trace.tb_next
        error.__traceback__ = trace
        sys.excepthook(type(error), error, trace)
        raise SystemExit(1) from None


def _show(profiled: Profile, whole: int) -> None:
    table = new_table(
        "kernel", "where", "launches", "threads", "total ms", "mean us", "least us", "share",
        "MB", "GB/s", "limit", "compiled ms", "from cache ms",
    )  # fmt: skip
    for column in table.columns[2:]:
        column.justify = "right"
    rates = _rates(profiled)
    rows = sorted(profiled.rows.values(), key=lambda row: -row.total)
    for row in rows:
        table.add_row(
            row.name if row.kind in ("kernel", "step") else f"{row.name} ({row.kind})",
            _shown(row.place),
            str(row.launches),
            "" if row.kind == "step" else str(row.threads),
            f"{row.total / 1e6:.3f}",
            f"{row.mean / 1e3:.1f}",
            "" if row.least is None else f"{row.least / 1e3:.1f}",
            f"{row.total / whole:.1%}",
            *_moved(row, rates),
            _times(row.compilations, row.compiling),
            _times(row.found, row.finding),
        )
    print_table(table)
    typer.echo(_NOTE.format(seconds=whole / 1e9))
    if any(row.kind == "step" for row in rows):
        typer.echo(_STEPS)
    if profiled.waited:
        typer.echo(_GPUS)
    if rates is not None:
        typer.echo(
            _LIMITS.format(
                bytes=rates.bytes / 1e9,
                operations=rates.operations / 1e9,
                launch=rates.launch * 1e6,
            )
        )


def _rates(profiled: Profile) -> Rates | None:
    """What the device can do, if there was a launch that is to be compared with it."""
    from ..errors import SharedOAError
    from ..runtime.machine_rates import rates

    if profiled.backend is None:
        return None
    try:
        return rates(profiled.backend)
    except SharedOAError as error:
        typer.echo(f"what limits kernels is not known: {error}", err=True)
        return None


def _moved(row: Row, rates: Rates | None) -> tuple[str, str, str]:
    if row.is_whole is None or not row.total:
        return "", "", ""
    least = "" if row.is_whole else "at least "
    limit = row.limit(rates) if rates is not None else None
    shown = "" if limit is None else f"{limit[0]} {limit[1]:.0%}"
    return f"{least}{row.bytes / 1e6:.3g}", f"{least}{row.bytes / row.total:.3g}", shown


def _shown(place: str) -> str:
    """As short as it can be named from here."""
    return min(os.path.relpath(place), place, key=len) if place else ""


def _times(count: int, taken: int) -> str:
    return f"{taken / 1e6:.1f} ({count})" if count else ""


def _trace(profiled: Profile, begun: int) -> str:
    """Events as Chrome's trace viewer and Perfetto read them: complete ones, in us."""
    events = [
        {
            "name": each.name,
            "cat": each.kind,
            "ph": "X",
            "ts": (each.begun - begun) / 1e3,
            "dur": each.duration / 1e3,
            "pid": os.getpid(),
            "tid": each.thread,
            "args": {"where": each.place, "threads": each.threads, "bytes": each.bytes},
        }
        for each in profiled.events
    ]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})
