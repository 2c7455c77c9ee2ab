"""A call in a call, with classes of this project."""

from __future__ import annotations

from typing import Any

import numpy as np

import sharedoa as oa
from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in
from sharedoa import f32


# [user code]
class Node(oa.Object):
    a: f32
    b: f32
    partner: Node

    def value(self) -> f32: ...

    def update(self) -> None: ...


class Node0(Node):
    def value(self) -> f32:
        return self.b + 1.0

    def update(self) -> None:
        self.a = self.a + self.partner.value()


class Node1(Node):
    def value(self) -> f32:
        return 2.0 - self.b

    def update(self) -> None:
        self.a = self.partner.value() - self.a


class Node2(Node0):
    def value(self) -> f32:
        return self.b + 3.0


class Node3(Node1):
    def value(self) -> f32:
        return 4.0 - self.b


@oa.kernel
def update_all(nodes: oa.Array[Node]) -> None:
    nodes[oa.grid(1)].update()


def make_nodes(heap: Any, a: Any, b: Any, partners: Any) -> Any:
    classes = (Node0, Node1, Node2, Node3)
    parts = [np.split(values, len(classes)) for values in (a, b)]
    groups = [
        heap.new(cls, len(own_a), a=own_a, b=own_b)
        for cls, own_a, own_b in zip(classes, *parts, strict=True)
    ]
    nodes = heap.concat(*groups)
    for group, own in zip(groups, np.split(partners, len(classes)), strict=True):
        group.partner = nodes[own]
    return nodes


# [end of user code]


def prepare(case: Case, heap: Any) -> Program:
    given = inputs.objects_of(case)
    nodes = make_nodes(heap, given.a, given.b, given.partners)
    in_order = nodes[given.slots]
    launch = update_all[case.calls]
    return Program(
        lambda: launch(in_order),
        lambda: np.array(nodes.a),
        lambda found, steps: inputs.require_equal(found, given.after_nested_calls(steps)),
        marked_in(__file__),
    )
