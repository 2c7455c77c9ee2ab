"""One call an object with Dr.Jit.

A reference is a tag and a slot; each class has a buffer. Or values are gathered before the call and
scattered behind it, which classes with the same field allow; a population needs neither.
"""

from __future__ import annotations

from typing import Any

import drjit as dr
import numpy as np

from bench.comparison import inputs
from bench.comparison.cases import POPULATION, Case
from bench.comparison.program import NotMeasured, Program
from bench.comparison.user_lines import marked_in

SLOTS, EVALUATED = "tag and slot", "tag and slot, evaluated"
VALUES, FROZEN, INSTANCES = "values passed", "values passed, frozen", "instances"
VARIANTS = (SLOTS, EVALUATED, VALUES, FROZEN, INSTANCES)
#: Each instance costs the host some microseconds a step: above this nothing else is seen.
MOST_INSTANCES = 1024


# [user code: objects]
class Items:
    """The objects of a class, or one object."""

    def __init__(self, kind, a):
        self.kind, self.a = kind, a

    def update(self, slot):
        value, constant = dr.gather(type(self.a), self.a, slot), self.kind + 1
        changed = value + constant if self.kind % 2 == 0 else constant - value
        dr.scatter(self.a, changed, slot)


def make_items(Float, kinds, values):
    return [Items(kind, Float(a)) for kind, a in zip(kinds, values, strict=True)]


def update_all(items, tags, slots):
    dr.switch(tags, [each.update for each in items], slots)


# [end of user code]


# [user code: values]
def updated(kind, value):
    return value + (kind + 1) if kind % 2 == 0 else (kind + 1) - value


def update_values(types, tags, values):
    methods = [lambda value, kind=kind: updated(kind, value) for kind in range(types)]
    return dr.switch(tags, methods, values)


def update_referred(types, tags, slots, a):
    changed = update_values(types, tags, dr.gather(type(a), a, slots))
    a = type(a)(a)
    dr.scatter(a, changed, slots)
    return a


# [end of user code]


def prepare(case: Case, variant: str, library: Any) -> Program | NotMeasured:
    given = inputs.objects_of(case)
    if variant == INSTANCES and case.objects > MOST_INSTANCES:
        reason = f"every instance is traced again in each step: stopped at {MOST_INSTANCES:,}"
        return NotMeasured(variant, reason)
    if variant in (VALUES, FROZEN):
        return _with_values(case, given, library, variant == FROZEN)
    Float, UInt32 = library.Float, library.UInt32
    tags, slots = UInt32(given.tags), UInt32((given.slots % given.each).astype(np.uint32))
    rows = [given.rows(kind) for kind in range(case.types)]
    if variant == INSTANCES:
        tags, slots = UInt32(given.slots.astype(np.uint32)), dr.opaque(UInt32, 0, case.calls)
        rows = [slice(slot, slot + 1) for slot in range(case.objects)]
    kinds = [row.start // given.each for row in rows]
    items = make_items(Float, kinds, [given.a[row] for row in rows])

    def step() -> None:
        with dr.scoped_set_flag(dr.JitFlag.SymbolicCalls, variant != EVALUATED):
            update_all(items, tags, slots)
            dr.eval([each.a for each in items])

    return Program(
        step,
        lambda: np.concatenate([each.a.numpy() for each in items]),
        lambda found, steps: inputs.require_equal(found, given.after_calls(steps)),
        marked_in(__file__, "objects"),
    )


def _with_values(case: Case, given: inputs.Objects, library: Any, is_frozen: bool) -> Program:
    Float, UInt32 = library.Float, library.UInt32
    state = [Float(given.a)]
    classes, tags, slots = (UInt32(each) for each in (given.classes, given.tags, given.slots))

    def update(a: Any) -> Any:
        if case.order == POPULATION:
            return update_values(case.types, classes, a)
        return update_referred(case.types, tags, slots, a)

    if is_frozen:
        update = dr.freeze(update)

    def step() -> None:
        state[0] = update(state[0])
        dr.eval(state)

    return Program(
        step,
        lambda: state[0].numpy(),
        lambda found, steps: inputs.require_equal(found, given.after_calls(steps)),
        marked_in(__file__, "values"),
    )
