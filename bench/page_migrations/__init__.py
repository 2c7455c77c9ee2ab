"""Does memory move page by page in any program? Events of unified memory, counted by CUPTI.

Every program runs in a process of its own on the GPU, in mode ``auto``, in its flavours. Of each
part of a run (before the steps, first step, later steps, after them) there are the faults of GPU
and host, and what moved: how many pieces of which sizes, in which direction, and why. Memory that
sharedoa asks for (``cuMemPrefetchAsync``) moves in pieces of up to 2 MiB; page by page shows as
many pieces of 4 to 64 KiB that a fault is the cause of, each continuing the one before: a *sweep*.
The host reads and writes less than 64 KiB without asking, so sweeps up to ``FEW_PAGES`` are meant
to be. A walk through memory that is made to fault, and the same one asked for, run first: they
show that the counters see the difference.

Faults and migrations are also told by kernel: a launch is *disturbed* if one happened meanwhile.
Where the driver does not tell of unified memory, that is a failure, and what is left are the times
of all kernels: a first launch that takes far longer than the later ones has something to wait for.

``python -m bench.page_migrations structure`` runs this program alone and shows all of its kernels.

Expected before running: in the control thousands of faults and one sweep through all of it, then
none. In the programs no longer sweep anywhere, and no fault of the GPU in any step; in later steps
migrations by themselves of a few pages where the host reads a number after each step (routes,
structure, graphs).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.cupti.library import find
from bench.harness import Options, Result, backend_name, errors_in_words, options_from, record
from bench.harness import argument_parser as options_parser

from .analysis import FEW_PAGES
from .cases import CONTROL, MODE, Case, cases
from .control import complaints
from .report import report

NAME = "page-migrations"
_ROOT = Path(__file__).parents[2]
#: Seconds for one process; the paper's sizes need minutes where everything faults.
_LIMIT, _FULL_LIMIT = 120, 1800


class RunFailed(AssertionError):
    """A process ended without saying what it counted."""


def run(options: Options, programs: tuple[str, ...] = ()) -> Result:
    """Count the events of ``programs``, all by default. On machines without a GPU nothing."""
    backend = backend_name(options)
    result = Result(NAME, backend, {"full": options.full, "mode": MODE, "few_pages": FEW_PAGES})
    if backend != "cuda":
        print(f"{NAME}: counts what happens on an NVIDIA GPU; this runs on {backend}", flush=True)
        return result
    with result.attempt("CUPTI"):
        measure(result, find(), cases(options.full, programs), options.full)
        report(result.rows, all_kernels=bool(programs))
    return result


def measure(result: Result, cupti: str, chosen: list[Case], full: bool) -> None:
    """Run each case in a process with the library ``cupti``; ``result`` gets a row of each and
    what went wrong."""
    result.settings["cupti"] = cupti
    for case in chosen:
        with result.attempt(str(case)):
            found = _measure(case, result.backend, cupti, _FULL_LIMIT if full else _LIMIT)
            row = {
                "program": case.program,
                "flavour": case.flavour,
                "size": case.size,
                "steps": case.steps,
                **found,
            }
            result.rows.append(row)
            problems = [f"{case}: {gap}" for gap in row["gaps"]]
            if row["refused"]:
                problems.append(f"unified memory is not counted: {row['refused']}")
            elif case.program == CONTROL:
                problems += complaints(row["parts"])
            for problem in problems:
                if problem not in result.failures:
                    result.failures.append(problem)
                    print(f"failed: {problem}", file=sys.stderr)
            print(f"{case}: done", file=sys.stderr, flush=True)


def _measure(case: Case, backend: str, cupti: str, limit: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        command = [
            sys.executable, "-m", "bench.page_migrations.profiled_run", case.program, case.flavour,
            str(case.size), str(case.steps), backend, cupti, str(file),
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=_ROOT, capture_output=True, text=True, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired:
            raise RunFailed(f"the process did not end within {limit:g} s") from None
        if done.returncode != 0 or not file.is_file():
            said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
            raise RunFailed(f"the process ended with {done.returncode}:\n{said}")
        found: dict[str, Any] = json.loads(file.read_text())
    return found


@errors_in_words()
def main() -> None:
    """The command line: as of every benchmark, and names of programs."""
    from apps.registry import APPS

    parser = options_parser(__doc__)
    parser.add_argument("programs", nargs="*", metavar="program", help=f"of {', '.join(APPS)}; all")
    given = parser.parse_args()
    unknown = sorted(set(given.programs) - set(APPS))
    if unknown:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(APPS)}")
    options = options_from(given)
    result = run(options, tuple(given.programs))
    record(result, options)
    if result.failures:
        sys.exit(f"{len(result.failures)} failures")
