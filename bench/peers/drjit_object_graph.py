"""A call in a call with Dr.Jit: a reference is a tag and a slot; a switch in a switch."""

from __future__ import annotations

from typing import Any

import drjit as dr
import numpy as np

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in


# [user code]
class Nodes:
    """The objects of a class."""

    def __init__(self, library, a, b, partner_tags, partner_slots):
        self.a, self.b = library.Float(a), library.Float(b)
        self.partner_tags = library.UInt32(partner_tags)
        self.partner_slots = library.UInt32(partner_slots)

    def partner_value(self, slot, nodes):
        tag = dr.gather(type(self.partner_tags), self.partner_tags, slot)
        partner = dr.gather(type(self.partner_slots), self.partner_slots, slot)
        return dr.switch(tag, [each.value for each in nodes], partner)


class Nodes0(Nodes):
    def value(self, slot):
        return dr.gather(type(self.b), self.b, slot) + 1

    def update(self, slot, nodes):
        value = dr.gather(type(self.a), self.a, slot)
        dr.scatter(self.a, value + self.partner_value(slot, nodes), slot)


class Nodes1(Nodes):
    def value(self, slot):
        return 2 - dr.gather(type(self.b), self.b, slot)

    def update(self, slot, nodes):
        value = dr.gather(type(self.a), self.a, slot)
        dr.scatter(self.a, self.partner_value(slot, nodes) - value, slot)


class Nodes2(Nodes0):
    def value(self, slot):
        return dr.gather(type(self.b), self.b, slot) + 3


class Nodes3(Nodes1):
    def value(self, slot):
        return 4 - dr.gather(type(self.b), self.b, slot)


def make_nodes(library, *fields):
    classes = (Nodes0, Nodes1, Nodes2, Nodes3)
    parts = [np.split(values, len(classes)) for values in fields]
    return [cls(library, *own) for cls, *own in zip(classes, *parts, strict=True)]


def update_all(nodes, tags, slots):
    dr.switch(tags, [lambda slot, own=own: own.update(slot, nodes) for own in nodes], slots)


# [end of user code]

VARIANTS = ("tag and slot",)


def prepare(case: Case, variant: str, library: Any) -> Program:
    given = inputs.objects_of(case)
    partner_tags, partner_slots = given.classes[given.partners], given.partners % given.each
    tags, slots = library.UInt32(given.tags), library.UInt32(given.slots % given.each)
    nodes = make_nodes(library, given.a, given.b, partner_tags, partner_slots)

    def step() -> None:
        update_all(nodes, tags, slots)
        dr.eval([each.a for each in nodes])

    return Program(
        step,
        lambda: np.concatenate([each.a.numpy() for each in nodes]),
        lambda found, steps: inputs.require_equal(found, given.after_nested_calls(steps)),
        marked_in(__file__),
    )
