"""``python -m tests.faults``: run the catalogue, print a table; status 1 unless it passes."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from ..forked import MODULES, import_all
from ..quick_code import made_quickly
from .catalogue import BACKENDS, SUBJECTS, Case, all_cases, jobs
from .report import is_passed, line, table, write
from .runner import THIRD_PARTY, Result, Runner, Settings, in_child, run_here
from .verdicts import GOOD

#: What shells give to a program that Ctrl-C ended.
INTERRUPTED = 130


def main() -> int:
    options = _options()
    with made_quickly(plainly=True) if options.warm else nullcontext():
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of what shells run in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    subjects = tuple(options.subject or SUBJECTS)
    if options.case:
        run_here(options.case, subjects)
        return 0
    if not options.fresh:
        import_all(MODULES if options.warm else THIRD_PARTY)
    found = in_child(lambda: [dataclasses.asdict(each) for each in all_cases(subjects)])
    assert isinstance(found, list)
    cases = [Case(**{**each, "backends": tuple(each["backends"])}) for each in found]
    modes = [
        debug for debug, other in ((False, options.debug), (True, options.normal)) if not other
    ]
    chosen = jobs(cases, options.backend, options.only, modes, options.sample)
    if options.list:
        for each in chosen:
            print(f"{each.name}: {each.case.doc}")
        return 0
    if not chosen:
        print("no case has such a name", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    settings = Settings(folder, options.backend, options.jobs, options.fresh, subjects)
    began = time.monotonic()
    runner, is_stopped = Runner(settings, _tell), False
    try:
        mine = runner.run(chosen)
    except KeyboardInterrupt:
        mine, is_stopped = None, True
    if mine is not None:  # the process of a case
        run_here(mine.case.name, subjects)
        return 0
    results = runner.results
    shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - began
    print(table(results))
    print(f"{len(results)} runs of {len({each.name for each in results})} cases, {seconds:.0f} s")
    if options.json:
        write(options.json, results, options.backend, seconds)
    if is_stopped:
        print("stopped: not all cases have been run", file=sys.stderr)
        return INTERRUPTED
    return 0 if is_passed(results) else 1


def _tell(result: Result) -> None:
    if result.outcome not in GOOD:
        print(line(result), file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description="Faults of users' programs, a process each."
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PATTERN",
        help="cases whose name contains this or matches it; may be given several times",
    )  # fmt: skip
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--debug", action="store_true", help="in debug mode alone")
    modes.add_argument("--normal", action="store_true", help="without debug mode alone")
    parser.add_argument("--backend", choices=BACKENDS, default="cpu")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a record")
    parser.add_argument("--sample", action="store_true", help="what make test runs")
    parser.add_argument("--list", action="store_true", help="print the cases and run none")
    starts = parser.add_mutually_exclusive_group()
    starts.add_argument(
        "--fresh", action="store_true", help="a new interpreter for each case, not a fork"
    )
    starts.add_argument(
        "--warm", action="store_true", help="forks of a process that has imported sharedoa"
    )
    parser.add_argument("--subject", action="append", help="modules with cases; all of this folder")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
