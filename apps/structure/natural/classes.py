"""Nodes that are held, pulled or free, and the springs between them. What comes off is deleted at
the end of a step; for a spring that is repaired a node and two springs are made."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import f32, i8, i32

from ...common.references import NOTHING
from ..parameters import DAMPING, DT, MASS, SLOTS, UNREACHED

#: What became of a spring in this step: torn apart by force, or cut off from all anchors.
INTACT, BROKEN, CUT_OFF = 0, 1, 2
#: Places in the array that counts springs, beside BROKEN and CUT_OFF.
REPAIRED = 0


class Node(oa.Object, unordered=("distance",)):
    """A point with up to five springs."""

    springs: oa.inline[Spring, SLOTS]
    num_springs: i32
    #: In springs, from the nearest anchor.
    distance: i32
    x: f32
    y: f32
    #: Its number in the structure; NOTHING for one that was made in a repair.
    origin: i32
    #: It has lost its last spring. A node that never had one is not loose.
    loose: bool

    # Whether the structure hangs on this node.
    def is_anchor(self) -> bool: ...

    def distance_to(self, other: Node) -> f32:
        dx = self.x - other.x
        dy = self.y - other.y
        return np.sqrt(dx * dx + dy * dy)

    def attach(self, slot: i32, spring: Spring) -> None:
        assert self.springs[slot] is None, "two springs take one slot of a node"
        self.springs[slot] = spring
        oa.atomic_add(self, "num_springs", 1)

    def detach(self, slot: i32) -> None:
        self.springs[slot] = None
        if oa.atomic_sub(self, "num_springs", 1) == 1:
            self.loose = True

    def begin_search(self) -> None:
        self.distance = 0 if self.is_anchor() and not self.loose else UNREACHED

    def search(self, level: i32, deepest: oa.Array[i32]) -> None:
        """At distance ``level``, tell every neighbour that nobody has reached how far it is.
        ``deepest[0]`` becomes ``level`` if any node is there."""
        if self.distance != level:
            return
        deepest[0] = level
        for slot in range(SLOTS):
            spring = self.springs[slot]
            if spring is not None:
                other = spring.other_end(self)
                if other.distance == UNREACHED:
                    other.distance = level + 1

    def leave(self) -> None:
        """Go with the last spring."""
        if self.loose:
            oa.delete(self)


class AnchorNode(Node):
    """Held in its place."""

    def is_anchor(self) -> bool:
        return True


class PulledNode(Node):
    """Moves at its own velocity, whatever the springs do."""

    velocity_x: f32
    velocity_y: f32

    def is_anchor(self) -> bool:
        return False

    def pull(self) -> None:
        """Once a step."""
        self.x += self.velocity_x * DT
        self.y += self.velocity_y * DT


class FreeNode(Node):
    """Moved by its springs."""

    velocity_x: f32
    velocity_y: f32
    mass: f32

    def is_anchor(self) -> bool:
        return False

    def accelerate(self) -> None:
        """Take in the forces of the springs; no node moves meanwhile."""
        force_x, force_y = f32(0), f32(0)
        for slot in range(SLOTS):
            spring = self.springs[slot]
            if spring is not None:
                other = spring.other_end(self)
                distance = self.distance_to(other)
                if distance > 0:
                    force_x += (other.x - self.x) / distance * spring.force
                    force_y += (other.y - self.y) / distance * spring.force
        self.velocity_x = (self.velocity_x + force_x * DT / self.mass) * (1 - DAMPING)
        self.velocity_y = (self.velocity_y + force_y * DT / self.mass) * (1 - DAMPING)

    def move(self) -> None:
        self.x += self.velocity_x * DT
        self.y += self.velocity_y * DT


class Spring(oa.Object):
    """Pulls its two ends together when they are further apart than at first, and breaks under too
    much force."""

    first: Node
    second: Node
    #: Where the ends keep this spring.
    first_slot: i32
    second_slot: i32
    factor: f32
    initial_length: f32
    force: f32
    max_force: f32
    fate: i8

    def other_end(self, node: Node) -> Node:
        return self.second if self.first is node else self.first

    def stretch(self) -> None:
        """Find the force at the present length, and break under too much."""
        if self.fate != INTACT:
            return
        extension = self.first.distance_to(self.second) - self.initial_length
        self.force = self.factor * max(f32(0), extension)
        if self.force > self.max_force:
            self.come_off(BROKEN)

    def come_off(self, fate: i8) -> None:
        self.first.detach(self.first_slot)
        self.second.detach(self.second_slot)
        self.fate = fate

    def cut_off(self) -> None:
        """Come off together with the part of the structure that no anchor holds."""
        if self.fate == INTACT and self.first.distance == UNREACHED:
            self.come_off(CUT_OFF)

    def clear_up(self, counts: oa.Array[i32], repairs: bool) -> None:
        """Having come off, be gone, or be repaired between two nodes that still belong to the
        structure."""
        if self.fate == INTACT:
            return
        oa.atomic_add(counts, self.fate, 1)
        if repairs and self.fate == BROKEN and not self.first.loose and not self.second.loose:
            oa.new(Repair, spring=self)
        else:
            oa.delete(self)

    def join(
        self, first: Node, first_slot: i32, second: Node, second_slot: i32, factor: f32
    ) -> None:
        """Put a new spring between two nodes where they are, without force."""
        self.first, self.first_slot = first, first_slot
        self.second, self.second_slot = second, second_slot
        self.factor = factor
        self.initial_length = first.distance_to(second)
        first.attach(first_slot, self)
        second.attach(second_slot, self)


class Repair(oa.Object):
    """Of a broken spring."""

    spring: Spring

    def mend(self, counts: oa.Array[i32]) -> None:
        """Replace it by two, with a new node between them. Together these are as stiff as it was,
        and without force."""
        old = self.spring
        first, second = old.first, old.second
        middle = oa.new(
            FreeNode,
            x=(first.x + second.x) * f32(0.5),
            y=(first.y + second.y) * f32(0.5),
            mass=MASS,
            origin=NOTHING,
        )
        half = oa.new(Spring, max_force=old.max_force)
        half.join(first, old.first_slot, middle, 0, old.factor * 2)
        half = oa.new(Spring, max_force=old.max_force)
        half.join(middle, 1, second, old.second_slot, old.factor * 2)
        oa.atomic_add(counts, REPAIRED, 1)
        oa.delete(old)
        oa.delete(self)
