"""The device's own copy of as many 4-byte words as there are objects: reads and writes 8 bytes an
object, the least that a method which changes a field has to move."""

from __future__ import annotations

from bench.population import device_copy

from ..cases import MICROBENCHMARK, Case
from ..program import Found, Measurement, NotMeasured
from .sharedoa_tool import missing

__all__ = ["measure", "missing"]


def measure(case: Case, backend: str, repeat: int) -> Found:
    if case.workload == MICROBENCHMARK:
        yield Measurement("", device_copy(backend, case.objects, repeat), [], 0.0, 0)
    else:
        yield NotMeasured("", "a yardstick of the microbenchmark")
