"""The processes that `bench/compile_time.py` times; each prints what it measured as a line of JSON.

Apart from it, so that they import nothing that a user's program would not: the compiler is imported
by the first launch.
"""

from __future__ import annotations

import importlib
import json
import sys
from time import perf_counter, process_time
from typing import Any


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

    with oa.Heap(backend=backend) as heap:
        make_objects()
        heap.synchronize()
        times: dict[str, Any] = {}
        begun = perf_counter()
        importlib.import_module("sharedoa.runtime.launch")
        from sharedoa.runtime.pipeline import STAGES, Compilation

        times["import of the compiler"] = perf_counter() - begun
        begun = perf_counter()
        job = total.program.job(heap, heap.mode, False, heap.backend.target)
        times["source to typed tree"] = perf_counter() - begun
        compilation = Compilation(job)
        for extensions, stage in STAGES:
            begun = perf_counter()
            made = stage(compilation)
            times[f"stage {' '.join(e for e in extensions if e in made)}"] = perf_counter() - begun
            compilation.products.update(made)
        begun = perf_counter()
        lowered = compilation.lowered
        heap.backend.load(lowered.kernel_symbol, compilation.products, False, False)
        times["load"] = perf_counter() - begun
        compiling = sum(times.values()) - times["import of the compiler"]
        return {**times, "sum but for the import": compiling}


def _many_classes(backend: str) -> dict[str, Any]:
    """Of a population whose classes have each a method of their own, and the base one for each."""
    import sharedoa as oa
    from bench.class_family import FIELD, family

    made = family(1000)
    with oa.Heap(backend=backend) as heap:
        objects = [heap.new(cls, 10, **{FIELD: 0.0}) for cls in made.classes]
        population = heap.all(made.base)
        heap.synchronize()
        begun, processor = perf_counter(), process_time()
        population.update()
        heap.synchronize()
        clock, processor = perf_counter() - begun, process_time() - processor
        if not (objects[2].a == 3).all():
            raise AssertionError(f"the third class computed {objects[2].a}")
        return {
            "backend": heap.backend.name,
            "first call of 1,000 classes": clock,
            "the same, of the processor": processor,
        }


_PROBES = {"first-launch": _first_launch, "stages": _stages, "many-classes": _many_classes}

if __name__ == "__main__":
    print(json.dumps(_PROBES[sys.argv[1]](sys.argv[2])))
