"""BRANCH: the bodies of the methods called by the number of the thread, without any dispatch, on
the same objects through the same references."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from bench.class_family import FIELD, family

from .. import inputs
from ..cases import CALL_EACH, INTERLEAVED, MICROBENCHMARK, SORTED, Case
from ..program import Found, Measurement, NotMeasured, Program, seconds_of
from .sharedoa_tool import LAYOUTS, launching, missing

__all__ = ["measure", "missing"]
_MODE = "range+switch"


def measure(case: Case, backend: str, repeat: int) -> Found:
    if case.workload not in (CALL_EACH, MICROBENCHMARK):
        yield NotMeasured("", "what runs without dispatch is written for one call an object")
    elif case.order not in (SORTED, INTERLEAVED):
        yield NotMeasured("", f"a thread's number does not tell the class in order {case.order}")
    else:
        for layout in LAYOUTS:
            with oa.Heap(mode=_MODE, layout=layout, backend=backend) as heap:
                yield _measure(case, layout, heap, repeat)


def _measure(case: Case, layout: str, heap: oa.Heap, repeat: int) -> Measurement:
    given, made = inputs.objects_of(case), family(case.types)
    groups = [
        heap.new(cls, given.each, **{FIELD: given.a[given.rows(kind)]})
        for kind, cls in enumerate(made.classes)
    ]
    items = heap.concat(*groups)
    in_order = items[given.slots]
    shift = 0 if case.order == INTERLEAVED else given.each.bit_length() - 1
    launch = made.module.branch[case.calls]
    program = Program(
        lambda: launch(in_order, shift, case.types - 1),
        lambda: np.array(getattr(items, FIELD)),
        lambda found, steps: inputs.require_equal(found, given.after_calls(steps)),
        "",
    )
    first = seconds_of(program.advance)
    host = launching(program, heap, repeat)
    samples = heap.backend.time_launches(program.advance, repeat)
    program.verify()
    return Measurement(layout, samples, host, first, 0)
