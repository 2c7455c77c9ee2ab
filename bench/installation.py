"""From a built wheel to a first result, as a new user has it: an empty environment, pip install,
``sharedoa info`` and the first program of README.md, all within a minute.

``python -m bench.installation`` builds the wheel of this tree and makes the environment in a
temporary folder. pip takes what the wheel depends on from wherever it is set up to look, without a
cache of its own; our cache of compiled code is empty. *processor* is what the step's processes had
of it, *seconds* what the clock said: on a busy machine they differ.

Expected before running: pip 15 s of which most is unpacking (llvmlite is 150 MB), ``info`` 2 s, of
which half is Python compiling modules, the program 3 s.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from bench.harness import Options, Result, main, show

_ROOT = Path(__file__).parents[1]
_MOST_SECONDS = 60.0


def run(options: Options) -> Result:
    result = Result("installation", "cpu", {"load": list(os.getloadavg())})
    with tempfile.TemporaryDirectory() as name, result.attempt("installation"):
        folder = Path(name)
        _built(folder)
        steps = _steps(folder)
        for what, step in steps.items():
            began, used = perf_counter(), _processor()
            step()
            row = {"what": what, "seconds": perf_counter() - began}
            result.rows.append({**row, "processor": _processor() - used})
        total = {key: sum(row[key] for row in result.rows) for key in ("seconds", "processor")}
        result.rows.append({"what": "all", **total})
        assert total["seconds"] < _MOST_SECONDS, f"{total['seconds']:.0f} s are over a minute"
    rows = [(row["what"], row["seconds"], row["processor"]) for row in result.rows]
    show("from the wheel to a result", ("step", "seconds", "processor"), rows)
    return result


def _built(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    _checked([*command, "--wheel-dir", str(folder), str(_ROOT)], folder)


def _steps(folder: Path) -> dict[str, Callable[[], object]]:
    (wheel,) = folder.glob("sharedoa-*.whl")
    text = (_ROOT / "README.md").read_text()
    program = folder / "first.py"
    program.write_text(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)[0])
    binaries = folder / "empty" / ("Scripts" if os.name == "nt" else "bin")
    install = [str(binaries / "pip"), "install", "--quiet", "--no-cache-dir", str(wheel)]

    def info() -> None:
        assert "backend cpu" in _checked([str(binaries / "sharedoa"), "info"], folder)

    def first() -> None:
        assert "314.159" in _checked([str(binaries / "python"), str(program)], folder)

    return {
        "environment": lambda: venv.create(folder / "empty", with_pip=True),
        "pip install": lambda: _checked(install, folder),
        "sharedoa info": info,
        "the program": first,
        "the program again": first,
    }


def _checked(command: list[str], folder: Path) -> str:
    """What it prints; AssertionError if it fails. It has nothing of this process's Python."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables = {"SHAREDOA_CACHE_DIR": str(folder / "cache"), "SHAREDOA_BACKEND": "cpu"}
    done = subprocess.run(
        command, cwd=folder, env={**kept, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command[0]}: {done.stderr[-2000:]}"
    return done.stdout


def _processor() -> float:
    """Seconds of the processor that processes have had which this one waited for."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main(run, __doc__)
