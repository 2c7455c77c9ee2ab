"""From source to the first result: a kernel with ten reachable methods, from cold, and the import.

Every sample is a fresh Python process without code caches (ours and the driver's). One kind of
process launches the kernel once and reads the result; the other goes through the stages one by
one.

Expected before running: import 120 to 200 ms, two thirds of it NumPy and llvmlite. First launch
150 to 250 ms on a GPU: 30 to 60 ms from source to IR, 30 to 50 ms in LLVM, 10 to 40 ms in the
driver's compiler, the rest opening the heap and moving memory. On a CPU 100 to 200 ms.

Found on an H200's host (bench/results): import 234 ms, more than expected; first launch 58 ms, a
quarter of it: 16 ms in the front end, 5 in code generation and the pass, 15 in LLVM, 16 in the
driver. Opening the device and the heap takes 151 ms before that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.harness import MILLISECONDS, Options, Result, main, show, summary

_ROOT = Path(__file__).parents[1]
_COLD = {"SHAREDOA_CACHE_DIR": "off", "CUDA_CACHE_DISABLE": "1"}
_IMPORT = """
from time import perf_counter
begun = perf_counter()
import sharedoa
import json
print(json.dumps({"import sharedoa": perf_counter() - begun}))
"""


def run(options: Options) -> Result:
    """Start fresh processes and collect what each reports."""
    repeat = 10 if options.full else 2
    probes = {
        "import": ["-c", _IMPORT],
        "first launch": ["-m", "bench.compile_time", "first-launch", options.backend],
        "stages": ["-m", "bench.compile_time", "stages", options.backend],
    }
    backend = ""
    samples: dict[tuple[str, str], list[float]] = {}
    for probe, arguments in probes.items():
        for _ in range(repeat):
            report = _probe(arguments)
            backend = report.pop("backend", backend)
            for name, seconds in report.items():
                samples.setdefault((probe, name), []).append(seconds)
    result = Result("compile-time", backend, {"processes": repeat, "methods": 10, "cache": "off"})
    for (probe, name), times in samples.items():
        result.rows.append({"process": probe, "what": name, **summary(times)})
    show(
        "From cold, in a fresh process",
        ("process", "what", "ms"),
        [(row["process"], row["what"], row["median"] * MILLISECONDS) for row in result.rows],
    )
    return result


def _probe(arguments: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **_COLD},
        cwd=_ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def _first_launch(backend: str) -> dict[str, Any]:
    import sharedoa as oa
    from bench.ten_methods import expected_total, make_objects, total

    begun = perf_counter()
    with oa.Heap(backend=backend) as heap:
        objects, out = make_objects()
        heap.synchronize()
        opened = perf_counter()
        total[len(objects)](objects, out)
        returned = perf_counter()
        found = out.numpy()
        finished = perf_counter()
        if not (found == expected_total(len(objects))).all():
            raise AssertionError(f"the kernel computed {found}")
        return {
            "backend": heap.backend.name,
            "heap and objects": opened - begun,
            "first launch until it returns": returned - opened,
            "first launch until its result is read": finished - opened,
        }


def _stages(backend: str) -> dict[str, Any]:
    import sharedoa as oa
    from bench.ten_methods import make_objects, total
    from sharedoa.runtime.pipeline import STAGES, Compilation

    with oa.Heap(backend=backend) as heap:
        make_objects()
        heap.synchronize()
        times: dict[str, Any] = {}
        begun = perf_counter()
        program = total.program.translation().program
        times["source to typed tree"] = perf_counter() - begun
        compilation = Compilation(
            total.name, program, heap.backend.target, heap.layout, heap.encoding, heap.mode, False
        )
        for extensions, stage in STAGES:
            begun = perf_counter()
            made = stage(compilation)
            times[f"stage {' '.join(e for e in extensions if e in made)}"] = perf_counter() - begun
            compilation.products.update(made)
        begun = perf_counter()
        lowered = compilation.lowered
        heap.backend.load(lowered.kernel_symbol, compilation.products, False, False)
        times["load"] = perf_counter() - begun
        return {**times, "sum": sum(times.values())}


_PROBES = {"first-launch": _first_launch, "stages": _stages}

if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in _PROBES:
        print(json.dumps(_PROBES[sys.argv[1]](sys.argv[2])))
    else:
        main(run, __doc__)
