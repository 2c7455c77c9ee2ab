"""The paper's evaluation in parts: ``measure`` and ``counters`` run some of it and leave a record,
``merge`` puts records together, ``tables`` and ``plots`` show them.

Only ``measure`` and ``counters`` need a GPU.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.cupti import ending
from bench.harness import (
    RESULTS,
    Result,
    argument_parser,
    errors_in_words,
    file_of,
    options_from,
    parse_label,
    parse_modes,
    parse_positive,
    require_folder,
    write_record,
)

from . import counters, plots
from .document import publish
from .measure import PARTS, SCATTERED_SAMPLES, Selection, measure
from .ncu import find
from .records import PREFIX, RecordError, merge
from .tables import tables
from .timers import TIMERS, open_timer
from .workloads import DATA, MODES, NAMES, parse_workloads


@errors_in_words(RecordError)
def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.reproduction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    shared = argument_parser(None, add_help=False)

    part = commands.add_parser("measure", parents=[shared], help="times of some workloads")
    part.add_argument("--parts", type=_parts, default=PARTS, help=f"some of {', '.join(PARTS)}")
    part.add_argument(
        "--timer",
        choices=TIMERS,
        help="how kernels are timed: by CUPTI, which on NVIDIA GPUs is the default where it is "
        "found, launch by launch or in captured steps, or by events, which add about 3 us to each "
        "launch",
    )
    part.set_defaults(command=_measure)
    part.description = (
        f"Modes that place objects one by one have at most {SCATTERED_SAMPLES} samples a call. "
        f"{DATA} is the folder of the paper's inputs."
    )
    counted = commands.add_parser("counters", help="hardware counters by Nsight Compute")
    counted.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON file")
    counted.add_argument("--modes", type=parse_modes, default=MODES, help=", ".join(MODES))
    counted.add_argument("--steps", type=parse_positive, help="at most so many steps a run")
    counted.description = "At full size, in modes that place objects by class."
    counted.set_defaults(command=_counters)
    for each in (part, counted):
        each.add_argument("--workloads", type=_workloads, default=NAMES, help=", ".join(NAMES))
        each.add_argument("--label", type=parse_label, default="", help="end of the record's name")

    joined = commands.add_parser("merge", help="one record of several")
    joined.add_argument("record", type=Path, help="the file to write")
    joined.add_argument("files", type=Path, nargs="+", help="records to read")
    joined.set_defaults(command=_merge)
    shown = commands.add_parser("tables", help="print them as Markdown")
    shown.add_argument("files", type=Path, nargs="+", help="records to read")
    shown.add_argument(
        "--into", type=Path, help="replace the tables of this document instead of printing them"
    )
    shown.set_defaults(command=_tables)
    drawn = commands.add_parser("plots", help="draw PNG files")
    drawn.add_argument("folder", type=Path, help="where to")
    drawn.add_argument("files", type=Path, nargs="+", help="records of the evaluation")
    drawn.add_argument("--calls", type=Path, help="a record of virtual_call, for figure 12")
    drawn.set_defaults(command=_plots)

    given = parser.parse_args()
    given.command(given)


def _measure(given: argparse.Namespace) -> None:
    options = options_from(given)
    selection = Selection(given.workloads, given.parts, _name(PREFIX, given.label))
    timer, backend = open_timer(given.timer, options)
    _require_new(selection.name, backend, options.out)
    _finish(measure(options, selection, timer), options.out)


def _counters(given: argparse.Namespace) -> None:
    require_folder(given.out)
    ncu, name = find(), _name(counters.NAME, given.label)
    _require_new(name, "cuda", given.out)
    result = counters.count(ncu, given.workloads, given.modes, given.steps, name, given.out)
    _finish(result, given.out)


def _name(name: str, label: str) -> str:
    return f"{name}-{label}" if label else name


def _require_new(name: str, backend: str, folder: Path) -> None:
    """A part must not take the place of another one."""
    file = file_of(name, backend, folder)
    if file.exists():
        raise RecordError(f"{file} exists: give another --label or --out, or remove it")


def _finish(result: Result, folder: Path) -> None:
    if not result.rows and not result.failures:
        raise RecordError("nothing was selected: see --help for modes, workloads and parts")
    print(f"recorded in {file_of(result.name, result.backend, folder)}", flush=True)
    if result.failures:
        sys.exit(f"{len(result.failures)} failures")


def _merge(given: argparse.Namespace) -> None:
    record = merge(given.files)
    write_record(record.head, record.rows, given.record)
    print(f"{len(record.rows)} rows in {given.record}")


def _tables(given: argparse.Namespace) -> None:
    publish(tables(merge(given.files)), given.into)


def _plots(given: argparse.Namespace) -> None:
    for file in plots.draw(merge(given.files), given.calls, given.folder):
        print(file)


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in text.split(","))
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise argparse.ArgumentTypeError(f"no part {', '.join(unknown)}: {', '.join(PARTS)}")
    return parts


def _workloads(text: str) -> tuple[str, ...]:
    try:
        return parse_workloads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    ending.run(main)
