"""The table at the end, and the record."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .runner import ROOT, Result
from .verdicts import GOOD, OUTCOMES

#: Of a hundred outcomes, so many may be unclear; none may be worse.
UNCLEAR_ALLOWED = 1.0


def is_passed(results: Sequence[Result]) -> bool:
    """No crash, no hang, nothing wrong in silence, and hardly anything unclear, in each mode."""
    for debug in (False, True):
        found = Counter(each.outcome for each in results if each.debug == debug)
        if found["crash"] or found["hang"] or found["silent"]:
            return False
        if 100 * found["unclear"] > UNCLEAR_ALLOWED * found.total():
            return False
    return True


def table(results: Sequence[Result]) -> str:
    """Outcomes by subject and mode, with what went wrong below."""
    subjects = list(dict.fromkeys(_subject(each) for each in results))
    lines = [_row("", OUTCOMES)]
    for debug, name in ((False, "normal"), (True, "debug")):
        of_mode = [each for each in results if each.debug == debug]
        if not of_mode:
            continue
        for subject in subjects:
            part = [each for each in of_mode if _subject(each) == subject]
            if part:
                lines.append(_row(f"{subject}, {name}", _counts(part)))
        lines.append(_row(f"{name}, all {len(of_mode)}", _counts(of_mode)))
    bad = sorted(
        (each for each in results if each.outcome not in GOOD),
        key=lambda each: -OUTCOMES.index(each.outcome),
    )
    if bad:
        lines.append("")
    lines += [line(each) for each in bad]
    return "\n".join(lines)


def line(result: Result) -> str:
    mode = " (debug)" if result.debug else ""
    detail = " ".join(result.detail.split())
    return f"{result.outcome:8} {result.name}{mode}: {detail[:300]}"


def write(file: Path, results: Sequence[Result], backend: str, seconds: float) -> None:
    """Write a record of the run as JSON."""
    record: dict[str, Any] = {
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": _commit(),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "backend": backend,
        "seconds": round(seconds, 1),
        "passed": is_passed(results),
        "outcomes": {
            name: dict(Counter(each.outcome for each in results if each.debug == debug))
            for debug, name in ((False, "normal"), (True, "debug"))
        },
        "results": [dataclasses.asdict(each) for each in results],
    }
    text = json.dumps(record, indent=1) + "\n"
    for here in (f"{ROOT}{os.sep}", f"{tempfile.gettempdir()}{os.sep}"):
        text = text.replace(here, "")  # where this was run is nobody's business
    file.write_text(text, encoding="utf-8")


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()


def _subject(result: Result) -> str:
    return result.name.partition(".")[0]


def _counts(results: Sequence[Result]) -> list[str]:
    found = Counter(each.outcome for each in results)
    return [str(found[name]) if found[name] else "" for name in OUTCOMES]


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:28}" + "".join(f"{cell:>9}" for cell in cells)
