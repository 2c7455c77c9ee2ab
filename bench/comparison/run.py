"""Every tool in turn, each in a process of its own, and one record of all."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.harness import Result, summary

from .cases import Case
from .toolset import ROOT, Tool

Row = dict[str, Any]
NAME = "comparison"
#: Seconds that one tool may take.
PATIENCE = 240.0


@dataclass(frozen=True)
class Selection:
    """What is measured: ``repeat`` samples of each step. ``label`` ends the record's name."""

    tools: Sequence[Tool]
    cases: Sequence[Case]
    backend: str
    repeat: int
    full: bool
    label: str = ""


def compare(selection: Selection, keep: Callable[[Result], object]) -> Result:
    """Measure all cases with all tools. What could not be measured is a row with the reason; a
    wrong result is a failure. ``keep`` gets what there is after every tool, so that a call that is
    ended leaves that."""
    settings: dict[str, Any] = {"repeat": selection.repeat, "full": selection.full, "tools": {}}
    name = f"{NAME}-{selection.label}" if selection.label else NAME
    result = Result(name, selection.backend, settings)
    for tool in selection.tools:
        begun = perf_counter()
        versions, rows = _run(tool, selection)
        for row in rows:
            failure = row.pop("failure", None)
            if failure is None:
                result.rows.append(_summarised(tool, selection.backend, row))
            else:
                case = _case(row)
                result.failures.append(f"{tool.name}, {case.workload}, {case.label}: {failure}")
        seconds = perf_counter() - begun
        settings["tools"][tool.name] = {"seconds": round(seconds, 1), "versions": versions}
        keep(result)
        measured = sum("samples" in row for row in rows)
        print(f"{tool.name}: {measured} rows in {seconds:.1f} s", file=sys.stderr, flush=True)
    return result


def _run(tool: Tool, selection: Selection) -> tuple[dict[str, str], list[Row]]:
    with tempfile.TemporaryDirectory(prefix="comparison-") as folder:
        file = Path(folder) / "rows"
        request = {
            "tool": tool.name,
            "backend": selection.backend,
            "repeat": selection.repeat,
            "folders": tool.folders,
            "rows": str(file),
            "cases": [asdict(case) for case in selection.cases],
        }
        try:
            done = subprocess.run(
                [tool.interpreter, "-m", "bench.comparison.worker"],
                input=json.dumps(request),
                env=tool.environment(Path(folder)),
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            ended = f"its process ended with status {done.returncode}: {_last_line(done.stderr)}"
        except subprocess.TimeoutExpired:
            ended = f"its process was stopped after {PATIENCE:.0f} s"
        except OSError as error:
            ended = f"{tool.interpreter} cannot be run: {error}"
        lines = file.read_text().splitlines() if file.exists() else []
    found: list[Row] = [json.loads(line) for line in lines]
    versions: dict[str, str] = found.pop(0)["versions"] if found else {}
    return versions, [*found, *_never_begun(found, selection.cases, ended)]


def _never_begun(found: Sequence[Row], cases: Sequence[Case], reason: str) -> Iterator[Row]:
    seen = {_case(row) for row in found}
    for case in cases:
        if case not in seen:
            yield {**asdict(case), "variant": "", "not_measured": reason}


def _case(row: Row) -> Case:
    return Case(**{name: row[name] for name in Case.__dataclass_fields__})


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else "nothing was printed"


def _summarised(tool: Tool, backend: str, row: Row) -> Row:
    device = "cpu" if tool.on_processor else backend
    head = {"tool": tool.name, "device": device, "case": _case(row).label}
    if "samples" not in row:
        return {**head, **row}
    host = row.pop("host")
    return {**head, **row, "host": summary(host) if host else None, **summary(row["samples"])}
