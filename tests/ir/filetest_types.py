"""The classes and value structs that the files of ``filetests`` mention."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.ir.text import Named


@oa.value
class Point:
    x: f32
    y: f32


class Node(oa.Object):
    value: f32
    count: i32
    next: Node
    place: Point
    marks: oa.inline[f32, 4]

    def weight(self, by: f32) -> f32:
        return self.value


class Heavy(Node):
    def weight(self, by: f32) -> f32:
        return self.value * by


class Lists(oa.Object):
    ones: oa.Array[i32]
    others: oa.Array[i32]
    least: i32
    next: Lists


class MoreLists(Lists):
    more: oa.Array[i32]


NAMES: dict[str, Named] = {
    "Point": Point.__sharedoa_value__,
    **{cls.__name__: cls.__sharedoa__ for cls in (Node, Heavy, Lists, MoreLists)},
}
