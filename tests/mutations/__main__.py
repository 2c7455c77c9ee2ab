"""Puts faults into copies of the tree, one at a time, and says whether tests find them:
``python -m tests.mutations``, or with names of faults (parts of them) and ``--jobs``."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from .catalogue import MUTATIONS
from .mutation import ROOT, Mutation

_PATIENCE = 900
SEEN = {"found", "timed out"}
"""What comes of faults that tests see. The latter is counted apart, as it may be mere slowness."""
_NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "__pycache__", "results", "out", ".*cache")
#: Of pytest: some tests failed, or files did not even import.
_FOUND = (1, 2)


def run(mutation: Mutation, root: Path) -> str:
    """What came of it: found, survived, timed out, or what went wrong. ``root`` is a copy of the
    tree."""
    file = root / mutation.file
    whole = file.read_text()
    mutation.apply(root)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not gpu and not slow", *mutation.tests]
    environment = {**os.environ, "PYTHONPATH": str(root), "HYPOTHESIS_PROFILE": "does it fail"}
    try:
        status = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, timeout=_PATIENCE
        ).returncode
    except subprocess.TimeoutExpired:
        return "timed out"  # it hangs, or the machine is slow
    finally:
        file.write_text(whole)
    if status == 0:
        return "survived"
    # A process that dies of a signal was not right, either.
    return "found" if status in _FOUND or status < 0 else f"pytest ended with status {status}"


def run_all(mutations: list[Mutation], jobs: int) -> list[str]:
    """What came of each."""
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            copies.put(Path(shutil.copytree(ROOT, f"{folder}/{number}", ignore=_NOT_COPIED)))

        def work(mutation: Mutation) -> str:
            copy, start = copies.get(), time.perf_counter()
            try:
                outcome = run(mutation, copy)
            finally:
                copies.put(copy)
            seconds = time.perf_counter() - start
            print(f"{outcome:10} {seconds:5.0f} s  {mutation.name}", flush=True)
            return outcome

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(work, mutations))


def main() -> int:
    """Status 1 if a fault survived, or a run of tests went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; all without")
    parser.add_argument("--jobs", type=int, default=2, help="at a time")
    given = parser.parse_args()
    chosen = [
        each for each in MUTATIONS if not given.names or any(n in each.name for n in given.names)
    ]
    outcomes = run_all(chosen, given.jobs)
    counts = Counter(outcomes)
    print(", ".join([f"{len(outcomes)} faults", *(f"{n} {what}" for what, n in counts.items())]))
    return 0 if counts.keys() <= SEEN else 1


if __name__ == "__main__":
    sys.exit(main())
