"""Objects that refer to each other in all ways that fields can."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f64, i32


class Thing(oa.Object):
    id: i32


@oa.value
class Pair:
    left: Thing | None
    weight: i32
    right: Thing | None


class Node(Thing):
    next: Node | None
    links: oa.inline[Node, 2]
    pair: Pair
    others: oa.Array[Node]
    end: Bud | None

    def look(self, out: oa.Array[i32]) -> None:
        out[self.id] += self.number() + (0 if self.next is None else self.next.number())

    def number(self) -> i32:
        return self.id


class Named(Node):
    name: f64
    marks: oa.inline[i32, 3]

    def number(self) -> i32:
        return self.id * 100


class Bud(oa.Object):
    """The last one that a thread makes, without waiting."""

    owner: Node | None
