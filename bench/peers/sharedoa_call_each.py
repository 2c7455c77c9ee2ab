"""One call an object, with classes of this project; their text depends on how many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.comparison import inputs
from bench.comparison.cases import POPULATION, Case
from bench.comparison.generated import expression, load
from bench.comparison.program import Program

_TEXT = """\
import sharedoa as oa
from sharedoa import f32

class Item(oa.Object):
    a: f32
    b: f32
    c: f32
    d: f32
    def update(self) -> None: ...
{classes}
@oa.kernel
def update_all(items: oa.Array[Item]):
    items[oa.grid(1)].update()

def make_items(heap, values):
    groups = [heap.new(cls, len(a), a=a) for cls, a in zip(Item.__subclasses__(), values)]
    return heap.concat(*groups)
"""
_CLASS = """
class Item{kind}(Item):
    def update(self) -> None:
        self.a = {expression}
"""


def source(types: int) -> str:
    return _TEXT.format(
        classes="".join(
            _CLASS.format(kind=kind, expression=expression(kind, "self.a")) for kind in range(types)
        )
    )


def prepare(case: Case, heap: Any) -> Program:
    given = inputs.objects_of(case)
    module = load(f"sharedoa_call_each_{case.types}", source(case.types))
    values = [given.a[given.rows(kind)] for kind in range(case.types)]
    items = module.make_items(heap, values)
    step: Callable[[], None]
    if case.order == POPULATION:
        population = heap.all(module.Item)

        def step() -> None:
            population.update()

    else:
        in_order = items[given.slots]
        launch = module.update_all[case.calls]

        def step() -> None:
            launch(in_order)

    return Program(
        step,
        lambda: np.array(items.a),
        lambda found, steps: inputs.require_equal(found, given.after_calls(steps)),
        source(case.types),
    )
