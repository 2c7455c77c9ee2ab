"""Dr.Jit, timed by its own history of kernels: a step is all of them, copies of buffers too.
Traffic is timed by the clock.

``FastMath`` is off, as every other tool keeps to IEEE 754 here. ``host`` is what tracing, code
generation and launching take in each step; a frozen function does without the first two.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..cases import CALL_EACH, FEW_OBJECTS, LIFE, MICROBENCHMARK, OBJECT_GRAPH, RAYS, TRAFFIC, Case
from ..program import WARM_UP, Found, Measurement, NotMeasured, seconds_of
from ..user_lines import count_python
from . import traffic

_BACKENDS = {"cuda": "CUDA", "cpu": "LLVM"}
_MILLI = 1e-3


def missing(backend: str) -> str:
    """Why nothing can be measured here, or nothing."""
    try:
        import drjit as dr
    except ImportError as error:
        return f"{error} (pip install drjit)"
    wanted = _BACKENDS[backend]
    if not dr.has_backend(getattr(dr.JitBackend, wanted)):
        return f"Dr.Jit's {wanted} backend finds no driver or library"
    return ""


def measure(case: Case, backend: str, repeat: int) -> Found:
    import drjit as dr

    from bench.peers import (
        drjit_call_each,
        drjit_few_objects,
        drjit_life,
        drjit_object_graph,
        drjit_rays,
        drjit_traffic,
    )

    programs: dict[str, Any] = {
        FEW_OBJECTS: drjit_few_objects,
        CALL_EACH: drjit_call_each,
        MICROBENCHMARK: drjit_call_each,
        OBJECT_GRAPH: drjit_object_graph,
        LIFE: drjit_life,
        RAYS: drjit_rays,
    }
    dr.set_flag(dr.JitFlag.FastMath, False)
    library = importlib.import_module("drjit.cuda" if backend == "cuda" else "drjit.llvm")
    dr.set_flag(dr.JitFlag.KernelHistory, case.workload != TRAFFIC)
    if case.workload == TRAFFIC:
        for variant in drjit_traffic.VARIANTS:
            simulation = drjit_traffic.ArraySimulation(traffic.network(case), variant, library)
            yield traffic.measure_peer(
                case, variant, repeat, drjit_traffic, simulation, dr.sync_thread
            )
        return
    peer = programs[case.workload]
    for variant in peer.VARIANTS:
        program = peer.prepare(case, variant, library)
        if isinstance(program, NotMeasured):
            yield program
            continue
        yield _measure(dr, program, variant, repeat)


def _measure(dr: Any, program: Any, variant: str, repeat: int) -> Measurement:
    def first_step() -> None:
        program.advance()
        dr.sync_thread()

    first = seconds_of(first_step)
    for _ in range(WARM_UP):
        program.advance()
    dr.sync_thread()
    dr.kernel_history_clear()
    host, samples, own, generating = [], [], [], []
    for _ in range(repeat):
        host.append(seconds_of(program.advance))
        dr.sync_thread()
        history = dr.kernel_history()
        samples.append(sum(entry["execution_time"] for entry in history) * _MILLI)
        generated = [entry for entry in history if entry["type"] == dr.KernelType.JIT]
        own.append(sum(entry["execution_time"] for entry in generated) * _MILLI)
        generating.append(sum(entry.get("codegen_time", 0) for entry in generated) * _MILLI)
    program.verify()
    details = {
        "kernels": len(history),
        "generated_kernels": len(generated),
        "generated_kernels_median": float(np.median(own)),
        "code_generation_median": float(np.median(generating)),
    }
    return Measurement(variant, samples, host, first, count_python(program.source), details)
