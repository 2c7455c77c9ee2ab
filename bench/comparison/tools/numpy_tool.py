"""Plain NumPy on the processor."""

from __future__ import annotations

from bench.peers import (
    numpy_call_each,
    numpy_few_objects,
    numpy_life,
    numpy_object_graph,
    numpy_rays,
)

from ..cases import CALL_EACH, FEW_OBJECTS, LIFE, MICROBENCHMARK, OBJECT_GRAPH, RAYS, Case
from ..program import Found
from . import processor

_PROGRAMS = {
    FEW_OBJECTS: numpy_few_objects,
    CALL_EACH: numpy_call_each,
    MICROBENCHMARK: numpy_call_each,
    OBJECT_GRAPH: numpy_object_graph,
    LIFE: numpy_life,
    RAYS: numpy_rays,
}


def missing(backend: str) -> str:
    """Nothing: NumPy is everywhere."""
    return ""


def measure(case: Case, backend: str, repeat: int) -> Found:
    return processor.measure(_PROGRAMS, case, repeat)
