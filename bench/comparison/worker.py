"""The process of one tool: measures the cases that it reads, and writes a line of JSON a row.

``python -m bench.comparison.worker`` with a request as JSON on standard input. A row that is
written stays, whatever happens to the process after it.
"""

from __future__ import annotations

import importlib
import json
import site
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .cases import CALL_EACH, MICROBENCHMARK, Case
from .inputs import WrongResult
from .program import Measurement, NotMeasured
from .toolset import BY_NAME

Row = dict[str, Any]
_PACKAGES = ("numpy", "llvmlite", "numba", "numba-cuda", "drjit", "cuda-bindings", "cuda-core")


def main() -> None:
    """Answer the request."""
    request = json.load(sys.stdin)
    for folder in request["folders"]:
        # They are on the path already; what numba-cuda installs as a .pth file is not read there.
        site.addsitedir(folder)
    with Path(request["rows"]).open("a") as file:
        for row in rows(request):
            file.write(json.dumps(row) + "\n")
            file.flush()


def rows(request: Row) -> Iterator[Row]:
    """First the versions of what is used, then the rows of every case in turn."""
    module = importlib.import_module(f"bench.comparison.tools.{BY_NAME[request['tool']].module}")
    yield {"versions": versions()}
    cases = [Case(**case) for case in request["cases"]]
    reason = module.missing(request["backend"])
    if not reason and hasattr(module, "begin"):
        module.begin(cases)
    compiled: set[tuple[Any, ...]] = set()
    for case in cases:
        if reason:
            yield {**asdict(case), "variant": "", "not_measured": reason}
            continue
        found = module.measure(case, request["backend"], request["repeat"])
        try:
            for each in found:
                yield {**asdict(case), **_row(case, each, compiled)}
        except WrongResult as error:
            yield {**asdict(case), "variant": "", "failure": str(error)}
        except Exception as error:
            # Another tool's errors are its own: the other cases and tools go on.
            text = f"{type(error).__name__}: {error}"[:600]
            yield {**asdict(case), "variant": "", "not_measured": text}


def _row(case: Case, found: Measurement | NotMeasured, compiled: set[tuple[Any, ...]]) -> Row:
    if isinstance(found, NotMeasured):
        return {"variant": found.variant, "not_measured": found.reason}
    workload = CALL_EACH if case.workload == MICROBENCHMARK else case.workload
    program = (workload, case.types, found.variant)
    # Code is kept in memory: only the first step of a program in this process compiles it.
    first = None if program in compiled else found.first
    compiled.add(program)
    return {
        "variant": found.variant,
        "lines": found.lines,
        "first": first,
        "host": found.host,
        "samples": found.samples,
        **({"details": found.details} if found.details else {}),
    }


def versions() -> dict[str, str]:
    """Of the interpreter and of packages that tools are made of, as this process finds them."""
    found = {"python": sys.version.split()[0]}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main()
