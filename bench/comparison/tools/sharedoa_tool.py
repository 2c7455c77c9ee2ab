"""This project: every mode and layout, or a few where a workload has many cases."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import sharedoa as oa
from bench.peers import (
    sharedoa_call_each,
    sharedoa_few_objects,
    sharedoa_life,
    sharedoa_object_graph,
    sharedoa_rays,
)
from dispatch.mode import AUTO, MODES, parse_mode

from ..cases import (
    CALL_EACH,
    FEW_OBJECTS,
    LIFE,
    MI,
    MICROBENCHMARK,
    OBJECT_GRAPH,
    RAYS,
    TRAFFIC,
    Case,
)
from ..program import Found, Measurement, NotMeasured, Program, host_samples, seconds_of
from ..user_lines import count_python
from . import traffic

LAYOUTS = ("tile", "aos")
#: Modes and layouts where not all are measured.
FEW = ((AUTO, "tile"), (AUTO, "aos"), ("coal", "aos"))
#: Objects of the device's own allocator take some 4 s a Mi.
SCATTERED_LIMIT = MI // 4

_PROGRAMS: dict[str, ModuleType] = {
    FEW_OBJECTS: sharedoa_few_objects,
    CALL_EACH: sharedoa_call_each,
    MICROBENCHMARK: sharedoa_call_each,
    OBJECT_GRAPH: sharedoa_object_graph,
    LIFE: sharedoa_life,
    RAYS: sharedoa_rays,
}


def missing(backend: str) -> str:
    """Why nothing can be measured here, or nothing."""
    try:
        oa.Heap(backend=backend)
    except oa.SharedOAError as error:
        return str(error)
    return ""


def measure(case: Case, backend: str, repeat: int) -> Found:
    for mode, layout in _forms(case):
        variant = f"{mode}, {layout}"
        if parse_mode(mode).placement == "scattered" and case.objects > SCATTERED_LIMIT:
            yield NotMeasured(variant, "placing so many objects one by one takes minutes")
            continue
        with oa.Heap(mode=mode, layout=layout, backend=backend) as heap:
            if case.workload == TRAFFIC:
                yield traffic.measure_ours(case, variant, heap, repeat)
            else:
                yield _measure(case, variant, heap, repeat)
        gc.collect()


def _forms(case: Case) -> Iterator[tuple[str, str]]:
    if not case.every_mode:
        yield from FEW
        return
    for mode in MODES:
        for layout in LAYOUTS:
            # Objects that are placed one by one are records in every layout.
            if layout == "aos" or parse_mode(mode).placement == "by_type":
                yield mode, layout


def _measure(case: Case, variant: str, heap: Any, repeat: int) -> Measurement:
    program = _PROGRAMS[case.workload].prepare(case, heap)

    def first_step() -> None:
        program.advance()
        heap.synchronize()

    first = seconds_of(first_step)
    host = launching(program, heap, repeat)
    samples = heap.backend.time_launches(program.advance, repeat)
    program.verify()
    return Measurement(variant, samples, host, first, _lines(program.source))


def launching(program: Program, heap: oa.Heap, repeat: int) -> list[float]:
    """Seconds that the host needs to launch each step; none on a backend that runs it meanwhile."""
    if heap.backend.name == "cpu":
        return []
    return host_samples(program.advance, heap.synchronize, repeat)


@cache
def _lines(source: str) -> int:
    return count_python(source)
