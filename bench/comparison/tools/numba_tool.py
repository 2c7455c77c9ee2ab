"""Parallel loops on the processor with numba."""

from __future__ import annotations

from ..cases import CALL_EACH, FEW_OBJECTS, LIFE, MICROBENCHMARK, OBJECT_GRAPH, RAYS, TRAFFIC, Case
from ..program import Found
from . import processor, traffic


def missing(backend: str) -> str:
    """Why nothing can be measured here, or nothing."""
    try:
        import numba
    except ImportError as error:
        return f"{error} (pip install numba)"
    cores = numba.config.NUMBA_NUM_THREADS
    return "" if cores else "numba has no threads"


def measure(case: Case, backend: str, repeat: int) -> Found:
    if case.workload == TRAFFIC:
        from bench.peers import numba_traffic

        simulation = numba_traffic.ArraySimulation(traffic.network(case))
        yield traffic.measure_peer(case, "", repeat, numba_traffic, simulation, lambda: None)
        return
    from bench.peers import (
        numba_call_each,
        numba_few_objects,
        numba_life,
        numba_object_graph,
        numba_rays,
    )

    programs = {
        FEW_OBJECTS: numba_few_objects,
        CALL_EACH: numba_call_each,
        MICROBENCHMARK: numba_call_each,
        OBJECT_GRAPH: numba_object_graph,
        LIFE: numba_life,
        RAYS: numba_rays,
    }
    yield from processor.measure(programs, case, repeat)
