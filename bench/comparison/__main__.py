"""This project beside other tools: ``run`` measures and leaves a record and a report, ``report``
makes the page of records again, ``tables`` prints their tables or puts them into a document.

A tool that is not installed, or does not work on this machine, is a row that says so.
``PEER_NUMBA_PATH`` and ``PEER_DRJIT_PATH`` name folders with packages that only those tools use,
``PEER_NUMBA_PYTHON`` and ``PEER_DRJIT_PYTHON`` interpreters of their own.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.harness import (
    BACKENDS,
    RESULTS,
    Options,
    backend_name,
    errors_in_words,
    parse_label,
    parse_positive,
    parse_some,
    require_folder,
    write,
)
from bench.reproduction.document import publish

from .cases import WORKLOADS, cases
from .records import RecordError, join, read
from .report import write_report
from .run import Selection, compare
from .tables import tables
from .toolset import BY_NAME

REPEAT, FEW = 30, 5


@errors_in_words(RecordError)
def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.comparison",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    measured = commands.add_parser("run", help="measure, record and report")
    measured.add_argument("--backend", default="auto", choices=BACKENDS)
    measured.add_argument("--full", action="store_true", help="the sizes that are recorded")
    measured.add_argument("--out", type=Path, default=RESULTS, help="folder of record and report")
    measured.add_argument(
        "--repeat",
        type=parse_positive,
        help=f"samples of each step: {REPEAT}, without --full {FEW}",
    )
    measured.add_argument("--tools", type=parse_some(BY_NAME), help=", ".join(BY_NAME))
    measured.add_argument("--workloads", type=parse_some(WORKLOADS), help=", ".join(WORKLOADS))
    measured.add_argument(
        "--label", type=parse_label, default="", help="end of the record's name, for parts"
    )
    measured.set_defaults(command=_run)

    reported = commands.add_parser("report", help="the HTML page of records")
    reported.add_argument("--out", type=Path, default=RESULTS, help="folder of the page")
    reported.set_defaults(command=_report)

    shown = commands.add_parser("tables", help="the tables of records as Markdown")
    shown.add_argument(
        "--into", type=Path, help="replace the tables of this document instead of printing them"
    )
    shown.set_defaults(command=_tables)

    for command in (reported, shown):
        command.add_argument("records", type=Path, nargs="+", help="of one device, by tools")

    given = parser.parse_args(arguments)
    given.command(given)


def _run(given: argparse.Namespace) -> None:
    require_folder(given.out)
    backend = backend_name(Options(backend=given.backend))
    chosen = given.workloads or tuple(WORKLOADS)
    selection = Selection(
        [BY_NAME[name] for name in given.tools or BY_NAME],
        [case for case in cases(given.full) if case.workload in chosen],
        backend,
        given.repeat or (REPEAT if given.full else FEW),
        given.full,
        given.label,
    )
    result = compare(selection, lambda unfinished: write(unfinished, given.out))
    record = write(result, given.out)
    print(f"recorded in {record}\nreported in {write_report(read(record), given.out)}", flush=True)
    if result.failures:
        sys.exit("\n".join([f"{len(result.failures)} failures", *result.failures]))


def _report(given: argparse.Namespace) -> None:
    require_folder(given.out)
    print(write_report(join(given.records), given.out))


def _tables(given: argparse.Namespace) -> None:
    publish(tables(join(given.records)), given.into)


if __name__ == "__main__":
    main()
