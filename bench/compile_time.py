"""From source to the first result: a kernel with ten reachable methods, and the import.

Every sample is a fresh Python process: without code caches (ours and the driver's), and with both
as an earlier process left them. One kind of process launches the kernel once and reads the result;
another goes through the stages one by one (`bench/compile_probes.py`), the third calls a method
of a population of 1,000 classes. Python's own bytecode is there in all of them. The import, and
that with what a program first asks of the package, which loads the most of it, are time of the
processor; all else is by the clock.

Expected before running: import 120 to 200 ms, two thirds of it NumPy and llvmlite. First launch
150 to 250 ms on a GPU: 30 to 60 ms from source to IR, 30 to 50 ms in LLVM, 10 to 40 ms in the
driver's compiler, the rest opening the heap and moving memory. On a CPU 100 to 200 ms. With filled
caches neither LLVM nor the driver's compiler runs: the front end, code generation and the pass
remain, since their text is the key, and loading.

Found on an H200's host (bench/results): import 234 ms, more than expected; first launch 58 ms, a
quarter of it: 16 ms in the front end, 5 in code generation and the pass, 15 in LLVM, 16 in the
driver. Opening the device and the heap takes 151 ms before that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.harness import MILLISECONDS, Options, Result, main, show, summary

_ROOT = Path(__file__).parents[1]
_COLD = {"SHAREDOA_CACHE_DIR": "off", "CUDA_CACHE_DISABLE": "1"}
_IMPORT = """
from time import process_time
begun = process_time()
import sharedoa
imported = process_time()
sharedoa.Heap, sharedoa.kernel, sharedoa.Object
loaded = process_time()
import json
print(json.dumps({"import sharedoa": imported - begun, "and its first use": loaded - begun}))
"""


def run(options: Options) -> Result:
    """Start fresh processes and collect what each reports."""
    repeat = 10 if options.full else 2
    launches = {
        "first launch": ["-m", "bench.compile_probes", "first-launch", options.backend],
        "stages": ["-m", "bench.compile_probes", "stages", options.backend],
        "many classes": ["-m", "bench.compile_probes", "many-classes", options.backend],
    }
    backend = ""
    samples: dict[tuple[str, str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        bytecode = {"PYTHONPYCACHEPREFIX": f"{folder}/bytecode", "PYTHONDONTWRITEBYTECODE": ""}
        warm = {"SHAREDOA_CACHE_DIR": f"{folder}/ours", "CUDA_CACHE_PATH": f"{folder}/driver"}
        for caches, settings, probes in (
            ("", {}, {"import": ["-c", _IMPORT]}),
            ("none", _COLD, launches),
            ("filled", warm, launches),
        ):
            for probe, arguments in probes.items():
                _probe(arguments, settings | bytecode)
                for _ in range(repeat):
                    report = _probe(arguments, settings | bytecode)
                    backend = report.pop("backend", backend)
                    for name, seconds in report.items():
                        samples.setdefault((probe, caches, name), []).append(seconds)
    result = Result("compile-time", backend, {"processes": repeat, "methods": 10})
    for (probe, caches, name), times in samples.items():
        result.rows.append(
            {"process": probe, "code caches": caches, "what": name, **summary(times)}
        )
    show(
        "In a fresh process",
        ("process", "code caches", "what", "ms"),
        [
            (row["process"], row["code caches"], row["what"], row["median"] * MILLISECONDS)
            for row in result.rows
        ],
    )
    return result


def _probe(arguments: list[str], settings: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **settings},
        cwd=_ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


if __name__ == "__main__":
    main(run, __doc__)
